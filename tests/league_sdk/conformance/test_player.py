"""The check of players, with correct ones, with silent ones, and with ones that answer by POST."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from league_sdk.conformance.clauses.player import NOT_HEARD, PLAYER
from league_sdk.conformance.report import Verdict
from league_sdk.conformance.subject import Identity
from league_sdk.player import Player, PlayerServer, Strategy
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.notes import Code
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import (
    NAMES,
    SHORT_LIMITS,
    TOKEN,
    Agent,
    Params,
    Wrong,
    chapter8,
    checked,
    clause,
    failed_and_tolerated,
    having,
    post,
)  # fmt: skip
from tests.sizes import sampled

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")

PROBES = {"tool.get_player_state", "tool.make_move"}
"""The clauses about tools that an agent need not have."""
OF_ALL = [name for name, rule in PLAYER.rules.items() if not rule.for_some]
"""The clauses that every report has."""


async def test_the_strict_player_of_chapter_8_conforms(tmp_path: Path) -> None:
    log = tmp_path / "strict.jsonl"
    async with chapter8(log) as url:
        report = await checked(url)
    # Chapter 8 says nothing about these cases: the strict player notes what is wrong with a message, plays on, answers
    # a request without id like any other, and has one error for every body that is not a request.
    tolerated = {"robust.missing_field", "robust.wrong_type", "robust.notification", "robust.broken_json"}
    assert failed_and_tolerated(report) == (set(), tolerated), report.to_json()
    assert having(report, Verdict.SKIPPED) == PROBES
    assert report.can_play
    assert report.dialect == "canonical"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    unknown = {line.get("method") for line in lines if line.get("deviation") == "a method the chapter does not know"}
    assert unknown >= {"get_player_state", "no_such_method"}


async def test_a_player_whose_league_is_played_is_sent_no_round_and_no_table_of_the_check(tmp_path: Path) -> None:
    log = tmp_path / "strict.jsonl"
    async with chapter8(log) as url:
        report = await checked(url, in_play=True)
    assert report.can_play, report.to_json()
    told = {
        f"message.{kind}" for kind in ("round_announcement", "standings_update", "round_completed", "league_completed")
    }
    assert having(report, Verdict.SKIPPED) == PROBES | told
    assert "its league is being played" in clause(report, "message.standings_update").why
    sent = log.read_text(encoding="utf-8")
    assert "GAME_INVITATION" in sent
    for kind in ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"):
        assert kind not in sent


class First(Strategy):
    """Plays the first option, so that a repeated request gets the same answer."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        return options[0]

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        return options[0]


@pytest_asyncio.fixture
async def ours() -> AsyncIterator[str]:
    """The address of our own player."""
    player = Player("Ours", First())
    player.accept({"player_id": "P07", "auth_token": TOKEN, "league_token": "tok_" + "b" * 32, "league_id": "x"})
    server = PlayerServer({"/mcp": player})
    yield f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}/mcp"
    await server.stop()


async def test_our_own_player_conforms_in_every_clause(ours: str) -> None:
    """Except the clause about its token, which our player sends only to a caller that shows the league's token."""
    report = await checked(ours)
    assert having(report, Verdict.CONFORMS) == set(OF_ALL) - {"answer.auth_token"}, report.to_json()
    assert clause(report, "answer.auth_token").verdict is Verdict.SKIPPED
    assert report.summary == "This agent can play here, and all that was asked of it is as the documents have it."
    assert report.next_step == ""


@pytest.mark.parametrize("game", sampled(["tic_tac_toe", "connect_four", "even_odd_numbers"], every=2))
async def test_a_game_that_the_agent_declares_is_played(game: str, ours: str) -> None:
    alone = await checked(ours, game_types=[game])
    both = await checked(ours, game_types=["no such game", game, "even_odd"])
    assert failed_and_tolerated(alone) == failed_and_tolerated(both) == (set(), set()), alone.to_json()
    assert clause(alone, "tool.make_move").why == f"It played {game} with it."
    assert clause(both, "tool.make_move").why.endswith(f" in {game}.")


async def test_a_declared_game_in_which_no_legal_move_came_is_not_reported_as_played() -> None:
    report = await checked(Agent(), game_types=["tic_tac_toe"])
    assert clause(report, "join.accepts").verdict is Verdict.CONFORMS
    assert clause(report, "choice.legal").verdict is Verdict.FAILS
    outcome = clause(report, "tool.make_move")
    assert outcome.verdict is Verdict.FAILS
    assert outcome.why.startswith("It declares tic_tac_toe, and made no legal move in it: ")


class RefusingNotifications(Agent):
    """Answers a request without id with HTTP 404 and no body."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.text()
        if '"id"' not in body and body.endswith("}"):
            return web.Response(status=404)
        return await super().serve(request)


async def test_a_refusal_of_a_notification_without_a_body_is_not_reported_as_one_with_a_body() -> None:
    outcome = clause(await checked(RefusingNotifications()), "robust.notification")
    assert (outcome.verdict, outcome.why) == (Verdict.TOLERATED, "HTTP 404. The league sends none.")


class Undecided(Agent):
    """Chooses something that is not a parity."""

    async def choose(self, params: Params) -> Any:
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice="maybe")


async def test_what_a_game_says_of_a_move_is_in_the_report_as_a_note_that_is_translated() -> None:
    report = await checked(Undecided())
    outcome = clause(report, "choice.legal")
    assert outcome.why == 'parity_choice must be exactly "even" or "odd". Seen: "maybe".'
    assert outcome.why_words is not None
    translator = _Translator()
    outcome.why_words.in_words(translator)
    assert Code.NO_PARITY.sentence in translator.texts


class _Translator:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> str:
        self.texts.append(text)
        return text


async def test_a_correct_agent_conforms_and_every_clause_is_decided_once() -> None:
    agent, clauses = Agent(), []
    report = await checked(agent, on_clause=clauses.append)
    assert failed_and_tolerated(report) == (set(), set()), report.to_json()
    assert having(report, Verdict.SKIPPED) == PROBES
    assert [clause.id for clause in report.clauses] == OF_ALL
    assert sorted(clause.id for clause in clauses) == sorted(OF_ALL)
    assert agent.methods[-1] == "notify_league_completed"


async def test_league_completed_is_not_sent_if_the_subject_says_so() -> None:
    agent = Agent()
    report = await checked(agent, send_league_completed=False)
    assert "notify_league_completed" not in agent.methods
    assert having(report, Verdict.SKIPPED) == {*PROBES, "message.league_completed"}


# Agents that do not answer as an agent does -------------------------------------------------------------------


async def test_an_address_without_an_agent_is_reported() -> None:
    async with listening(Agent().serve) as url:
        pass
    report = await checked(url)
    assert failed_and_tolerated(report) == ({"http.reached"}, set())
    assert having(report, Verdict.SKIPPED) == set(OF_ALL) - {"http.reached"}
    assert report.clauses[1].why == "Not asked: the address cannot be reached."
    assert report.summary.startswith("This agent cannot play here as it is: No connection: Connection refused.")


async def test_the_check_stops_after_three_requests_without_an_answer() -> None:
    class Silent(Agent):
        async def call(self, method: Any, params: Params) -> Any:
            self.methods.append(method)
            return await self.never()

    agent = Silent()
    report = await checked(agent, limits=SHORT_LIMITS)
    assert failed_and_tolerated(report) == ({"http.reached", "join.in_time"}, set())
    # In a match, too, a referee invites a silent player four times.
    invited = ["handle_game_invitation", "notify_game_error"] * 4
    assert agent.methods == ["notify_round", "ping", *invited, "notify_match_result"]
    assert clause(report, "choice.legal").why == "Not asked: 3 requests in a row were not answered."


async def test_an_agent_that_takes_too_long_for_its_choice_fails() -> None:
    class Slow(Agent):
        async def choose(self, params: Params) -> Any:
            return await self.never()

    report = await checked(Slow(), limits=SHORT_LIMITS.model_copy(update={"max_retries": 1}))
    assert failed_and_tolerated(report)[0] == {"choice.in_time", "second.choice"}
    assert clause(report, "choice.in_time").why == "It did not answer within 0.5 s."
    assert not report.can_play


async def test_the_check_stops_when_its_time_is_used_up() -> None:
    class Slow(Agent):
        async def acknowledge(self, kind: str, params: Params) -> Any:
            return await self.never()

    report = await checked(Slow(), limits=SHORT_LIMITS.model_copy(update={"generic_timeout_s": 60}), overall_s=0.5)
    assert failed_and_tolerated(report) == (set(), set())
    assert clause(report, "join.accepts").why == "Not asked: the time of the check is used up."


async def test_a_web_page_fails_as_an_agent() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html></html>", content_type="text/html")

    async with listening(page) as url:
        report = await checked(url)
    fails, _ = failed_and_tolerated(report)
    assert fails == {"http.json", "join.accepts", "choice.legal"}
    assert report.next_step.startswith("HTTP 200, and no JSON.")


async def test_a_redirected_address_is_tolerated_and_reported() -> None:
    agent = Agent()

    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/mcp/")

    async with listening({"/mcp": redirect, "/mcp/": agent.serve}) as base:
        report = await checked(f"{base}/mcp")
    assert failed_and_tolerated(report) == (set(), {"http.json"})
    assert report.can_play
    why = f"Not at the address given, but at {base}/mcp/. The league finds it; register that address."
    assert clause(report, "http.json").why == why


async def test_an_agent_that_does_not_know_broadcasts_is_tolerated() -> None:
    class MatchesOnly(Agent):
        names = {name: NAMES[name] for name in ("handle_game_invitation", "choose_parity", "notify_match_result")}

    report = await checked(MatchesOnly())
    broadcasts = {name for name in PLAYER.rules if name.startswith("message.") and "game_over" not in name}
    assert failed_and_tolerated(report) == (set(), broadcasts)
    assert report.can_play


class ByPost(Agent):
    """Answers by a POST to ``referee_endpoint``, with a conversation id of its own."""

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


class ConfirmsAnything(ByPost):
    """Confirms the receipt of every message whose match id is missing or is not a string."""

    async def call(self, method: Any, params: Params) -> Any:
        if method in self.names and not isinstance(params.get("match_id"), str):
            return {"status": "RECEIVED"}
        return await super().call(method, params)


@pytest.mark.parametrize(
    ("kind", "tolerated"), [(ByPost, set()), (ConfirmsAnything, {"robust.missing_field", "robust.wrong_type"})]
)
async def test_an_agent_that_answers_by_post_can_play(kind: type[Agent], tolerated: set[str]) -> None:
    report = await checked(kind(), listen="127.0.0.1")
    assert failed_and_tolerated(report) == (set(), {"rpc.reply"} | tolerated), report.to_json()
    assert report.can_play
    assert clause(report, "join.accepts").came["message_type"] == "GAME_JOIN_ACK"


class Promises(ByPost):
    """Promises an answer and does not send it."""

    def later(self, method: str, message: Params, params: Params) -> Any:
        return {"status": "PENDING"}


async def test_an_agent_that_answers_by_post_cannot_be_judged_without_a_listener() -> None:
    report = await checked(Promises(), limits=LeagueSettings(retry_base_s=0.05))
    unheard = {clause.id for clause in report.clauses if clause.why == NOT_HEARD}
    assert unheard == {"join.in_time", "join.accepts", "choice.in_time", "choice.legal"}
    assert failed_and_tolerated(report)[0] == set()
    assert not report.can_play
    assert "could not be heard here" in report.summary


async def test_an_agent_that_promises_a_post_and_sends_none_fails() -> None:
    report = await checked(Promises(), listen="127.0.0.1", limits=SHORT_LIMITS.model_copy(update={"max_retries": 1}))
    assert failed_and_tolerated(report)[0] == {"join.in_time", "choice.in_time"}
    why = "It confirmed the receipt, and within 0.5 s no GAME_JOIN_ACK came by POST."
    assert clause(report, "join.in_time").why == why


# Who the agent is ---------------------------------------------------------------------------------------------


async def test_an_unknown_agent_is_addressed_by_the_id_it_uses() -> None:
    class Registered(Agent):
        player_id = "P23"

    agent = Registered()
    report = await checked(agent)
    assert failed_and_tolerated(report) == (set(), set())
    assert {params["player_id"] for params in agent.seen} == {"P01", "P23"}


async def test_a_registered_agent_that_uses_another_id_is_reported() -> None:
    class Insists(Agent):
        player_id = "P01"

    report = await checked(Insists(), identity=Identity(player_id="P07", known=True))
    assert failed_and_tolerated(report) == (set(), {"answer.player_id", "answer.sender"})
    assert clause(report, "answer.player_id").why.startswith('It called itself "P01", and is P07')


async def test_no_token_and_no_control_character_reaches_the_report() -> None:
    class Nasty(Agent):
        async def acknowledge(self, kind: str, params: Params) -> Any:
            raise Wrong(-32000)

        def error(self, rpc_id: Any, code: int) -> Any:
            error = {"code": code, "message": f"\x1b[2J\u202e{TOKEN} {'x' * 5000}"}
            return {"jsonrpc": "2.0", "error": error, "id": rpc_id}

    report = await checked(Nasty(), identity=Identity(league_token="tok_" + "c" * 32))
    text = json.dumps(report.to_json(), ensure_ascii=False)
    assert "tok_a" not in text
    assert "tok_c" not in text
    sentences = " ".join([report.summary, report.next_step, *(clause.why for clause in report.clauses)])
    assert sentences.isprintable()
    assert len(text) < 500_000
