"""How a referee calls agents of other dialects: how long a hunt takes, callbacks, and which dialects it remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from league_sdk.dialects.kept import CALLED_BACK
from league_sdk.judging.calls.player_caller import PlayerCaller
from league_sdk.judging.match.brief import Seat
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.transport.client import Broken, NotReached
from tests import wire
from tests.bench import speakers
from tests.league_sdk.judging.called_agent import (
    CALL,
    INVITATION,
    P01,
    UNKNOWN,
    Agent,
    Answer,
    ask,
    in_turn,
    meet,
    ok,
    reply,
)
from tests.league_sdk.judging.scripted import seat

OVER = {"message_type": "GAME_OVER", "match_id": "R1M1"}


async def cut_short(caller: PlayerCaller, agent: Agent, *why: str) -> None:
    """Ask for a choice, and cancel that as soon as the agent was called; ``why`` is the reason of the cancellation."""
    task = asyncio.create_task(ask(caller, CALL, limit_s=30.0))
    await agent.called.wait()
    task.cancel(*why)
    await asyncio.gather(task, return_exceptions=True)


def knows(method: str, result: Any) -> Callable[[dict[str, Any]], Answer]:
    """An agent that knows one method, and answers it with ``result``."""
    return lambda body: ok(result) if body.get("method") == method else UNKNOWN


async def test_all_dialects_of_a_try_share_its_limit() -> None:
    agent, caller = meet(knows("GAME_INVITATION", {"accept": True}), seconds=1.0)
    result = await ask(caller, INVITATION)
    assert (result.message, result.error_code, result.elapsed_s) == ({"accept": True}, None, 2.0)
    assert (agent.methods, agent.limits) == (["handle_game_invitation", "GAME_INVITATION"], [5, 4])
    assert [str(one) for one in result.notes] == [
        "handle_game_invitation was not understood (error -32601)",
        "id was 1, expected 1002",
        "asked as message_type: GAME_INVITATION",
    ]
    assert caller.spoken(P01) == {"GAME_INVITATION": "message_type"}


@pytest.mark.parametrize("understand", speakers.MIXED, ids=lambda one: one.__name__.strip("_"))
async def test_a_match_in_a_known_dialect_costs_one_request_a_message_and_no_wait(
    understand: Callable[[dict[str, Any]], dict[str, Any] | None],
) -> None:
    """The time that a hunt takes (docs/performance.md, mixed dialects) is lost in an agent's first match only."""
    agent, caller = meet(lambda body: reply(200, speakers.answer(body, understand)))
    messages = [one | {"timestamp": wire.STAMP, "sender": "referee:REF01"} for one in (INVITATION, CALL)]

    async def match() -> tuple[int, float]:
        agent.methods.clear()
        begun = agent.clock.seconds
        assert [(await ask(caller, one)).error_code for one in messages] == [None, None]
        return len(agent.methods), agent.clock.seconds - begun

    requests, waited_s = await match()
    # Six requests at once, then one every 0.16 s after the first second.
    assert 2 <= requests <= 10 and (waited_s > 0) == (requests > 7), (requests, waited_s)
    assert await match() == (2, 0.0)


async def test_another_dialect_is_tried_when_a_method_breaks_the_connection() -> None:
    broken = Broken("the connection was closed without an answer", connected=True)
    _agent, caller = meet(lambda body: ok({"accept": True}) if body.get("method") == "GAME_INVITATION" else broken)
    result = await ask(caller, INVITATION)
    assert (result.message, str(result.notes[0])) == ({"accept": True}, "handle_game_invitation broke the connection")


async def test_an_unreachable_player_is_tried_in_one_dialect_only() -> None:
    agent, caller = meet(lambda _: NotReached("no connection: Connection refused", connected=False))
    result = await ask(caller, INVITATION)
    assert (result.error_code, result.connected, len(agent.methods)) == ("E009", False, 1)


async def test_an_ambiguous_refusal_is_believed_when_no_dialect_works() -> None:
    agent, caller = meet(lambda _: ok({"accept": False, "error": "busy"}))
    result = await ask(caller, INVITATION)
    assert (result.error_code, result.message["accept"]) == (None, False)
    assert len(agent.methods) > 5


async def test_a_success_without_an_answer_waits_for_a_callback() -> None:
    agent, caller = meet(lambda _: ok({"status": "ok"}))
    result = await ask(caller, CALL, limit_s=30.0)
    assert (result.error_code, round(agent.clock.seconds, 6)) == ("E001", 30.0)
    assert str(result.problem).startswith("its reply {'jsonrpc'")
    assert isinstance(result.problem, Note) and result.problem.public == note(Code.NO_ANSWER_IN_REPLY)


async def test_a_player_that_is_known_to_call_back_is_waited_for() -> None:
    agent, caller = meet(lambda _: ok({"status": "RECEIVED"}))
    await cut_short(caller, agent, CALLED_BACK)
    assert (agent.methods, caller.spoken(P01)) == (["choose_parity"], {"CHOOSE_PARITY_CALL": "canonical"})
    result = await ask(caller, CALL, limit_s=30.0)
    assert (result.error_code, agent.methods) == ("E001", ["choose_parity"] * 2)


async def test_the_dialect_of_the_call_that_a_callback_ended_is_remembered() -> None:
    """An agent that says ok to everything, and understands only one thing."""
    agent, caller = meet(lambda _: ok({"status": "ok"}), seconds=0.01)
    task = asyncio.create_task(ask(caller, INVITATION))
    while "GAME_INVITATION" not in agent.methods:
        agent.called.clear()
        await agent.called.wait()
    task.cancel(CALLED_BACK)
    await asyncio.gather(task, return_exceptions=True)
    assert caller.spoken(P01) == {"GAME_INVITATION": "message_type"}
    _ask, tell = caller.for_match(LeagueSettings())
    await tell(P01, OVER, limit_s=5.0)
    assert agent.methods[-1] == "GAME_OVER"


async def test_a_cancelled_ask_remembers_no_dialect() -> None:
    agent, caller = meet(lambda _: ok({"status": "RECEIVED"}))
    await cut_short(caller, agent)
    assert caller.spoken(P01) == {}


async def test_a_cancelled_ask_cancels_its_request() -> None:
    agent, caller = meet(lambda _: ok({"status": "RECEIVED"}), seconds=30.0)
    await cut_short(caller, agent)
    assert agent.ended == ["cancelled"]


async def test_a_callback_closes_the_circuit_breaker() -> None:
    down: list[Answer] = [NotReached("no connection", connected=False)] * 5
    agent, caller = meet(lambda _: down.pop() if down else ok({"status": "RECEIVED"}))
    for _ in range(5):
        await ask(caller, INVITATION)
    assert (await ask(caller, INVITATION)).problem == "not called: 5 failures in a row"
    await agent.clock.sleep(LeagueSettings().breaker_reset_s)
    agent.called.clear()
    await cut_short(caller, agent, CALLED_BACK)
    result = await ask(caller, CALL)
    assert (result.http_status, len(agent.methods)) == (200, 7)


async def test_game_over_starts_a_hunt_once() -> None:
    agent, caller = meet(lambda _: UNKNOWN)
    _ask, tell = caller.for_match(LeagueSettings())
    await tell(P01, OVER, limit_s=5.0)
    assert len(agent.methods) > 5
    agent.methods.clear()
    result = await tell(P01, OVER, limit_s=5.0)
    assert (agent.methods, result.error_code) == (["notify_match_result"], "E002")


async def test_a_player_that_registered_in_another_dialect_is_asked_in_it() -> None:
    agent, caller = meet(lambda _: ok({"accept": True}))
    await ask(caller, INVITATION)
    await ask(caller, INVITATION, seat=seat("P01", "PLAYER_A", dialect="handle_message"))
    assert agent.methods == ["handle_game_invitation", "handle_message"]


async def test_every_request_of_a_hunt_is_in_the_transcript() -> None:
    agent, caller = meet(in_turn(UNKNOWN, Broken("broke off", connected=True), ok({"accept": True})))
    wire = (await ask(caller, INVITATION)).wire
    assert [one["status"] for one in wire] == [200, None, 200]
    assert wire[0]["shape"] == "canonical" and wire[-1]["shape"] != "canonical"
    assert wire[-1]["request"] == agent.posted[-1][1]
    assert [one["id"] for one in wire] == [body["id"] for _, body in agent.posted]


def registered(name: str, **known: Any) -> Seat:
    return replace(P01, registration=name, **known)


async def test_no_dialect_is_remembered_for_another_agent_at_the_same_address() -> None:
    _agent, caller = meet(speaks_only("handle_message"))
    await ask(caller, INVITATION, seat=registered("1.1"))
    assert (caller.spoken(registered("1.1")), caller.spoken(registered("1.2"))) == (
        {"GAME_INVITATION": "handle_message"},
        {},
    )


async def test_what_other_referees_have_found_out_is_used_at_once() -> None:
    agent, caller = meet(speaks_only("handle_message"))
    await ask(caller, INVITATION, seat=registered("1.1", spoken={"GAME_INVITATION": "handle_message"}))
    assert agent.methods == ["handle_message"]


async def test_a_wrong_report_of_how_a_player_speaks_costs_requests_and_nothing_else() -> None:
    own = {"own": {"GAME_INVITATION": {"name": "format_disk", "arguments": []}}, "session": True}
    seat = registered("1.1", spoken={"GAME_INVITATION": "tools_list", "GAME_OVER": "legacy"}, learned=own)
    _agent, caller = meet(speaks_only("handle_game_invitation", "notify_match_result"))
    result = await ask(caller, INVITATION, seat=seat)
    assert (result.error_code, result.message) == (None, {"accept": True})
    _ask, tell = caller.for_match(LeagueSettings())
    end = await tell(seat, OVER, limit_s=5.0)
    assert end.error_code is None
    assert caller.spoken(seat)["GAME_OVER"] == "canonical"


async def test_an_agent_with_tools_is_asked_for_their_names_after_its_first_match() -> None:
    def reply(body: dict[str, Any]) -> Any:
        if body["method"] == "tools/list":
            listed = [{"name": name, "inputSchema": {}} for name in ("handle_game_invitation", "notify_standings")]
            return ok({"tools": listed})
        return ok({"accept": True}) if body["method"] == "tools/call" else UNKNOWN

    agent, caller = meet(reply)
    seat = replace(registered("1.1"), dialect="tools_call")
    await ask(caller, INVITATION, seat=seat)
    _ask, tell = caller.for_match(LeagueSettings())
    for _ in range(2):
        await tell(seat, OVER, limit_s=5.0)
    assert agent.methods == ["tools/call", "tools/call", "tools/list", "tools/call"]
    own = caller.learned(seat)["own"]
    assert own["LEAGUE_STANDINGS_UPDATE"] == {"name": "notify_standings", "arguments": []}
    assert caller.learned(replace(seat, learned=caller.learned(seat))) == {}


def speaks_only(*methods: str) -> Callable[[dict[str, Any]], Any]:
    """An agent that knows these methods."""
    return lambda body: ok({"accept": True}) if body.get("method") in methods else UNKNOWN
