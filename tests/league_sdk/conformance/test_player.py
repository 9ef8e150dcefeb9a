"""Correct players conform in everything; every wrong one is told exactly what is wrong with it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from league_sdk.conformance.clauses import PLAYER
from league_sdk.conformance.fixtures import Identity
from league_sdk.conformance.listener import CallbackListener
from league_sdk.conformance.player import NOT_HEARD
from league_sdk.conformance.report import Verdict
from league_sdk.player import AlwaysOdd, Player, PlayerServer, Strategy
from tests.league_sdk.conformance.agents import (
    BRIEF,
    NAMES,
    TOKEN,
    Agent,
    Params,
    Wrong,
    chapter8,
    checked,
    found,
    having,
    post,
    served,
    stamp,
)  # fmt: skip

PROBES = {"tool.get_player_state", "tool.make_move"}
"""What an agent need not have."""


async def test_the_strict_player_of_chapter_8_conforms(tmp_path: Path) -> None:
    log = tmp_path / "strict.jsonl"
    async with chapter8(log) as url:
        report = await checked(url)
    # The chapter has nothing on any of these: it notes what is wrong with a message and plays on, answers what has no
    # id like everything else, and knows one error for every body that is no request.
    tolerated = {"robust.missing_field", "robust.wrong_type", "robust.notification", "robust.broken_json"}
    assert found(report) == (set(), tolerated), report.to_json()
    assert having(report, Verdict.SKIPPED) == PROBES
    assert report.can_play
    assert report.dialect == "canonical"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    unknown = {line.get("method") for line in lines if line.get("deviation") == "a method the chapter does not know"}
    assert unknown >= {"get_player_state", "no_such_method"}


async def test_our_own_player_conforms_in_every_clause() -> None:
    player = Player("Ours", AlwaysOdd())
    player.accept({"player_id": "P07", "auth_token": TOKEN, "league_token": "tok_" + "b" * 32, "league_id": "x"})
    server = PlayerServer({"/mcp": player})
    port = await server.start("127.0.0.1", 0)
    try:
        report = await checked(f"http://127.0.0.1:{port}/mcp")
    finally:
        await server.stop()
    assert found(report) == (set(), set()), report.to_json()
    assert having(report, Verdict.SKIPPED) == set()
    assert report.summary == "This agent can play here, and all that was asked of it is as the documents have it."
    assert report.next_step == ""


class First(Strategy):
    """The same move for the same question."""

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        return options[0]


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "even_odd_numbers"])
async def test_a_declared_game_is_played(game: str) -> None:
    player = Player("Ours", First())
    player.accept({"player_id": "P07", "auth_token": TOKEN, "league_token": TOKEN, "league_id": "x"})
    server = PlayerServer({"/mcp": player})
    port = await server.start("127.0.0.1", 0)
    try:
        alone = await checked(f"http://127.0.0.1:{port}/mcp", game_types=[game])
        both = await checked(f"http://127.0.0.1:{port}/mcp", game_types=["no such game", game, "even_odd"])
    finally:
        await server.stop()
    assert found(alone) == found(both) == (set(), set()), alone.to_json()
    assert alone.clause("tool.make_move").why == f"It played {game} with it."
    assert both.clause("tool.make_move").why.endswith(f" in {game}.")


async def test_a_correct_agent_conforms_and_every_clause_is_decided_once() -> None:
    agent, told = Agent(), []
    report = await checked(agent, on_clause=told.append)
    assert found(report) == (set(), set()), report.to_json()
    assert having(report, Verdict.SKIPPED) == PROBES
    assert [clause.id for clause in report.clauses] == list(PLAYER)
    assert sorted(clause.id for clause in told) == sorted(PLAYER)
    assert agent.methods[-1] == "notify_league_completed"


async def test_without_the_farewell_nothing_tells_it_to_go_home() -> None:
    agent = Agent()
    report = await checked(agent, farewell=False)
    assert "notify_league_completed" not in agent.methods
    assert having(report, Verdict.SKIPPED) == {*PROBES, "message.league_completed"}


# One thing wrong: one clause --------------------------------------------------------------------------------


class NoAccept(Agent):
    async def join(self, params: Params) -> Any:
        return {key: value for key, value in (await super().join(params)).items() if key != "accept"}


class Refuses(Agent):
    async def join(self, params: Params) -> Any:
        return await super().join(params) | {"accept": False}


class SaysAccepted(Agent):
    async def join(self, params: Params) -> Any:
        ack = await super().join(params)
        del ack["accept"]
        return ack | {"status": "ACCEPTED"}


class JoinsOnce(Agent):
    async def join(self, params: Params) -> Any:
        first = [one.get("match_id") for one in self.seen].count(params["match_id"]) == 1
        return await super().join(params) | {"accept": first}


class PlaysOnce(Agent):
    async def join(self, params: Params) -> Any:
        return await super().join(params) | {"accept": params["role_in_match"] == "PLAYER_A"}


class Shouts(Agent):
    async def choose(self, params: Params) -> Any:
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice="EVEN")


class SaysChoice(Agent):
    async def choose(self, params: Params) -> Any:
        return self.message("CHOOSE_PARITY_RESPONSE", params, choice="odd")


class Wavers(Agent):
    async def choose(self, params: Params) -> Any:
        self.choices += 1
        parity = ("even", "odd")[self.choices % 2]
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice=parity)


class Local(Agent):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return super().message(kind, params, **fields) | {"timestamp": "2025-01-15T10:30:00.123456"}


class LocalArrival(Agent):
    async def join(self, params: Params) -> Any:
        return await super().join(params) | {"arrival_timestamp": "2025-01-15T10:30:00+02:00"}


class OtherName(Agent):
    player_id = "alpha"


class OtherSender(Agent):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return super().message(kind, params, **fields) | {"sender": "player:Alpha"}


class EchoesToken(Agent):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return super().message(kind, params, **fields) | {"auth_token": params["auth_token"]}


class OwnConversation(Agent):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return super().message(kind, params, **fields) | {"conversation_id": "mine"}


class NoType(Agent):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return {key: value for key, value in super().message(kind, params, **fields).items() if key != "message_type"}


class OwnIds(Agent):
    def reply(self, rpc_id: Any, result: Any) -> Any:
        return {"jsonrpc": "2.0", "result": result, "id": 1}


class NullError(Agent):
    def reply(self, rpc_id: Any, result: Any) -> Any:
        return {"jsonrpc": "2.0", "result": result, "error": None, "id": rpc_id}


class ByType(Agent):
    names = {kind: kind for kind in NAMES.values()}


class ParityChoose(Agent):
    names = {"parity_choose" if name == "choose_parity" else name: kind for name, kind in NAMES.items()}


class Fragile(Agent):
    """A model without room for more."""

    async def join(self, params: Params) -> Any:
        if any(name.startswith("x_") for name in params):
            raise KeyError("x_")
        return await super().join(params)


class TakesAll(Agent):
    """Reads nothing it does not need."""

    async def call(self, method: Any, params: Params) -> Any:
        if method == "handle_game_invitation":
            return self.message("GAME_JOIN_ACK", {"match_id": None} | params, arrival_timestamp=stamp(), accept=True)
        return await super().call(method, params)


class HelpfulWithUnknown(Agent):
    async def call(self, method: Any, params: Params) -> Any:
        try:
            return await super().call(method, params)
        except Wrong as wrong:
            if wrong.code == -32601:
                return {"status": "unknown_message_type"}
            raise


class Stumbles(Agent):
    """Never recovers from a message it could not use."""

    async def join(self, params: Params) -> Any:
        if self.broken:
            raise Wrong(-32000)
        return await super().join(params)

    broken = False

    async def call(self, method: Any, params: Params) -> Any:
        self.broken = self.broken or method == "no_such_method"
        return await super().call(method, params)


WRONG: list[tuple[type[Agent], set[str], set[str]]] = [
    (NoAccept, {"join.accepts"}, set()),
    (Refuses, {"join.accepts"}, set()),
    (Shouts, {"choice.legal", "second.choice"}, set()),
    (SaysAccepted, set(), {"join.field"}),
    (JoinsOnce, set(), {"join.repeated"}),
    (PlaysOnce, {"second.join", "robust.slow_body", "robust.afterwards"}, set()),
    (SaysChoice, set(), {"choice.field"}),
    (Wavers, set(), {"choice.repeated"}),
    (Local, set(), {"answer.timestamp"}),
    (LocalArrival, set(), {"answer.timestamp"}),
    (OtherName, set(), {"answer.player_id", "answer.sender"}),
    (OtherSender, set(), {"answer.sender"}),
    (EchoesToken, set(), {"answer.auth_token"}),
    (OwnConversation, set(), {"answer.conversation_id"}),
    (NoType, set(), {"answer.message_type"}),
    (OwnIds, set(), {"rpc.id"}),
    (NullError, set(), {"rpc.reply"}),
    (ByType, set(), {"method.names"}),
    (ParityChoose, set(), {"method.names"}),
    (Fragile, {"robust.extra_fields"}, set()),
    (TakesAll, set(), {"robust.missing_field", "robust.wrong_type"}),
    (HelpfulWithUnknown, set(), {"robust.unknown_method"}),
    (Stumbles, {"robust.afterwards"}, set()),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "fails", "tolerated"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
async def test_what_is_wrong_is_said_and_nothing_else(kind: type[Agent], fails: set[str], tolerated: set[str]) -> None:
    report = await checked(kind())
    assert found(report) == (fails, tolerated), [(c.id, c.why) for c in report.clauses if c.verdict == "fails"]
    assert report.can_play is not (fails & {"join.accepts", "choice.legal"} != set())


# Agents that do not answer as an agent does -------------------------------------------------------------------


async def test_nobody_there() -> None:
    async with served(Agent().serve) as url:
        pass
    report = await checked(url)
    assert found(report) == ({"http.reached"}, set())
    assert having(report, Verdict.SKIPPED) == set(PLAYER) - {"http.reached"}
    assert report.clauses[1].why == "Not asked: the address cannot be reached."
    assert report.summary.startswith("This agent cannot play here as it is: No connection: Connection refused.")


async def test_the_silent_one_is_given_up_after_three_silences() -> None:
    class Silent(Agent):
        async def call(self, method: Any, params: Params) -> Any:
            self.methods.append(method)
            return await self.never()

    agent = Silent()
    report = await checked(agent, limits=BRIEF)
    assert found(report) == ({"http.reached", "join.in_time"}, set())
    told = ["ping", "notify_round", "handle_game_invitation", "notify_match_result"]
    assert agent.methods == told
    assert report.clause("choice.legal").why == "Not asked: 3 requests in a row were not answered."


async def test_one_that_thinks_too_long() -> None:
    class Slow(Agent):
        async def choose(self, params: Params) -> Any:
            return await self.never()

    report = await checked(Slow(), limits=BRIEF)
    assert found(report)[0] == {"choice.in_time", "second.choice"}
    assert report.clause("choice.in_time").why == "It did not answer within 0.5 s."
    assert not report.can_play


async def test_the_time_of_a_check_is_bounded() -> None:
    class Slow(Agent):
        async def told(self, kind: str, params: Params) -> Any:
            return await self.never()

    report = await checked(Slow(), limits=replace(BRIEF, other_s=60, overall_s=0.5))
    assert found(report) == (set(), set())
    assert report.clause("join.accepts").why == "Not asked: the time of the check is used up."


async def test_a_page_is_no_agent() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html></html>", content_type="text/html")

    async with served(page) as url:
        report = await checked(url)
    fails, _ = found(report)
    assert fails == {"http.json", "join.accepts", "choice.legal"}
    assert report.next_step.startswith("HTTP 200, and no JSON.")


async def test_a_redirect_is_found_and_said() -> None:
    agent = Agent()

    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/mcp/")

    app = web.Application()
    app.router.add_post("/mcp", redirect)
    app.router.add_post("/mcp/", agent.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        report = await checked(f"{base}/mcp")
    finally:
        await runner.cleanup()
    assert found(report) == (set(), {"http.json"})
    assert report.can_play
    why = f"Not at the address given, but at {base}/mcp/. The league finds it; register that address."
    assert report.clause("http.json").why == why


async def test_broadcasts_need_no_understanding() -> None:
    class Deaf(Agent):
        names = {name: NAMES[name] for name in ("handle_game_invitation", "choose_parity", "notify_match_result")}

    report = await checked(Deaf())
    told = {clause for clause in PLAYER if clause.startswith("message.") and "game_over" not in clause}
    assert found(report) == (set(), told)
    assert report.can_play


class ByPost(Agent):
    """Answers by POST to the address in the message, in a conversation of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.sending: set[asyncio.Task[None]] = set()

    async def join(self, params: Params) -> Any:
        return self.later("GAME_JOIN_ACK", await super().join(params), params)

    async def choose(self, params: Params) -> Any:
        return self.later("CHOOSE_PARITY_RESPONSE", await super().choose(params), params)

    def later(self, method: str, message: Params, params: Params) -> Any:
        message |= {"conversation_id": "a new one"}
        body = {"jsonrpc": "2.0", "method": method, "params": message, "id": "1"}
        task = asyncio.create_task(post(params["referee_endpoint"], body))
        self.sending.add(task)
        task.add_done_callback(self.sending.discard)
        return {"status": "RECEIVED"}


async def test_an_answer_by_post_is_heard() -> None:
    callbacks = CallbackListener()
    await callbacks.start("127.0.0.1")
    try:
        report = await checked(ByPost(), callbacks=callbacks)
    finally:
        await callbacks.stop()
    assert found(report) == (set(), {"rpc.reply"}), report.to_json()
    assert report.can_play
    assert report.clause("join.accepts").came["message_type"] == "GAME_JOIN_ACK"


class Promises(ByPost):
    """Says that an answer will come."""

    def later(self, method: str, message: Params, params: Params) -> Any:
        return {"status": "PENDING"}


async def test_without_anyone_who_listens_it_is_not_known() -> None:
    report = await checked(Promises())
    unheard = {clause.id for clause in report.clauses if clause.why == NOT_HEARD}
    assert unheard == {"join.in_time", "join.accepts", "choice.in_time", "choice.legal"}
    assert found(report)[0] == set()
    assert not report.can_play
    assert "could not be heard here" in report.summary


async def test_a_promise_to_post_that_is_not_kept() -> None:
    callbacks = CallbackListener()
    await callbacks.start("127.0.0.1")
    try:
        report = await checked(Promises(), callbacks=callbacks, limits=BRIEF)
    finally:
        await callbacks.stop()
    assert found(report)[0] == {"join.in_time", "choice.in_time"}
    why = "It confirmed the receipt, and within 0.5 s no GAME_JOIN_ACK came by POST."
    assert report.clause("join.in_time").why == why


# Who the agent is ---------------------------------------------------------------------------------------------


async def test_an_agent_nothing_is_known_of_is_called_as_it_calls_itself() -> None:
    class Registered(Agent):
        player_id = "P23"

    agent = Registered()
    report = await checked(agent)
    assert found(report) == (set(), set())
    assert {params["player_id"] for params in agent.seen} == {"P01", "P23"}


async def test_the_id_of_a_registered_agent_is_known() -> None:
    class Insists(Agent):
        player_id = "P01"

    report = await checked(Insists(), identity=Identity(player_id="P07", known=True))
    assert found(report) == (set(), {"answer.player_id", "answer.sender"})
    assert report.clause("answer.player_id").why.startswith('It called itself "P01", and is P07')


async def test_no_token_and_no_control_character_reaches_the_report() -> None:
    class Nasty(Agent):
        async def told(self, kind: str, params: Params) -> Any:
            raise Wrong(-32000)

        def error(self, rpc_id: Any, code: int) -> Any:
            error = {"code": code, "message": f"\x1b[2J\u202e{TOKEN} {'x' * 5000}"}
            return {"jsonrpc": "2.0", "error": error, "id": rpc_id}

    report = await checked(Nasty(), identity=Identity(league_token="tok_" + "c" * 32))
    text = json.dumps(report.to_json(), ensure_ascii=False)
    assert "tok_a" not in text
    assert "tok_c" not in text
    said = " ".join([report.summary, report.next_step, *(clause.why for clause in report.clauses)])
    assert said.isprintable()
    assert len(text) < 500_000
