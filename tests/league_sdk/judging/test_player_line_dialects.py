"""A referee's line in front of agents that speak otherwise: spellings within one limit, callbacks, memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from league_sdk.judging.asking import CALLED_BACK
from league_sdk.judging.heard import Heard
from league_sdk.judging.player_line import PlayerLine
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.transport.client import Broken, NotReached
from tests.league_sdk.judging.line_agent import CALL, INVITATION, P01, UNKNOWN, Agent, Answer, Meet, ok
from tests.league_sdk.judging.scripted import seat

OVER = {"message_type": "GAME_OVER", "match_id": "R1M1"}


async def ask(line: PlayerLine, message: dict[str, Any], limit_s: float = 5.0) -> Heard:
    call, _tell = line.for_match(LeagueSettings(), "parity_choice")
    return await call(P01, message, limit_s=limit_s)


async def cut_short(line: PlayerLine, agent: Agent, *why: str) -> None:
    """Ask for a choice, and end that as soon as the agent was called."""
    asked = asyncio.create_task(ask(line, CALL, limit_s=30.0))
    await agent.called.wait()
    asked.cancel(*why)
    await asyncio.gather(asked, return_exceptions=True)


def knows(method: str, result: Any) -> Callable[[dict[str, Any]], Answer]:
    return lambda body: ok(result) if body.get("method") == method else UNKNOWN


async def test_other_spellings_share_the_limit_of_the_try(meet: Meet) -> None:
    agent, line = meet(knows("GAME_INVITATION", {"accept": True}), seconds=1.0)
    heard = await ask(line, INVITATION)
    assert (heard.message, heard.error_code, heard.elapsed_s) == ({"accept": True}, None, 2.0)
    assert (agent.heard, agent.limits) == (["handle_game_invitation", "GAME_INVITATION"], [5, 4])
    assert [str(one) for one in heard.notes] == [
        "handle_game_invitation was not understood (error -32601)",
        "id was 1, expected 1002",
        "asked as message_type: GAME_INVITATION",
    ]
    assert line.spoken(P01) == {"GAME_INVITATION": "message_type"}


async def test_what_worked_is_tried_first_and_alone_the_next_time(meet: Meet) -> None:
    agent, line = meet(knows("GAME_INVITATION", {"accept": True}))
    await ask(line, INVITATION)
    agent.heard.clear()
    await ask(line, INVITATION)
    assert agent.heard == ["GAME_INVITATION"]


async def test_out_of_time_between_two_spellings(meet: Meet) -> None:
    agent, line = meet(lambda _: UNKNOWN, seconds=2.0)
    heard = await ask(line, INVITATION)
    assert (heard.error_code, len(agent.heard)) == ("E002", 3)


async def test_a_connection_that_breaks_over_a_method_is_tried_in_other_words(meet: Meet) -> None:
    broken = Broken("the connection was closed without an answer", connected=True)
    _agent, line = meet(lambda body: ok({"accept": True}) if body.get("method") == "GAME_INVITATION" else broken)
    heard = await ask(line, INVITATION)
    assert (heard.message, str(heard.notes[0])) == ({"accept": True}, "handle_game_invitation broke the connection")


async def test_one_that_is_not_there_is_not_tried_in_other_words(meet: Meet) -> None:
    agent, line = meet(lambda _: NotReached("no connection: Connection refused", connected=False))
    heard = await ask(line, INVITATION)
    assert (heard.error_code, heard.connected, len(agent.heard)) == ("E009", False, 1)


async def test_a_refusal_that_may_be_none_is_believed_when_nothing_else_comes(meet: Meet) -> None:
    agent, line = meet(lambda _: ok({"accept": False, "error": "busy"}))
    heard = await ask(line, INVITATION)
    assert (heard.error_code, heard.message["accept"]) == (None, False)
    assert len(agent.heard) > 5


async def test_a_success_without_an_answer_is_waited_out(meet: Meet) -> None:
    agent, line = meet(lambda _: ok({"status": "ok"}))
    heard = await ask(line, CALL, limit_s=30.0)
    assert (heard.error_code, round(agent.clock.seconds, 6)) == ("E001", 30.0)
    assert str(heard.problem).startswith("its reply {'jsonrpc'")
    assert isinstance(heard.problem, Note) and heard.problem.public == note(Code.NO_ANSWER_IN_REPLY)


async def test_one_that_is_known_to_call_back_is_given_the_time(meet: Meet) -> None:
    agent, line = meet(lambda _: ok({"status": "RECEIVED"}))
    await cut_short(line, agent, CALLED_BACK)
    assert (agent.heard, line.spoken(P01)) == (["choose_parity"], {"CHOOSE_PARITY_CALL": "canonical"})
    heard = await ask(line, CALL, limit_s=30.0)
    assert (heard.error_code, agent.heard) == ("E001", ["choose_parity"] * 2)


async def test_the_call_under_way_when_the_callback_came_was_understood(meet: Meet) -> None:
    """An agent that says ok to everything, and understands only one thing."""
    agent, line = meet(lambda _: ok({"status": "ok"}), seconds=0.01)
    asked = asyncio.create_task(ask(line, INVITATION))
    while "GAME_INVITATION" not in agent.heard:
        agent.called.clear()
        await agent.called.wait()
    asked.cancel(CALLED_BACK)
    await asyncio.gather(asked, return_exceptions=True)
    assert line.spoken(P01) == {"GAME_INVITATION": "message_type"}
    _ask, tell = line.for_match(LeagueSettings())
    await tell(P01, OVER, limit_s=5.0)
    assert agent.heard[-1] == "GAME_OVER"


async def test_a_match_that_is_given_up_teaches_nothing(meet: Meet) -> None:
    agent, line = meet(lambda _: ok({"status": "RECEIVED"}))
    await cut_short(line, agent)
    assert line.spoken(P01) == {}


async def test_a_match_that_is_given_up_leaves_no_request_behind(meet: Meet) -> None:
    agent, line = meet(lambda _: ok({"status": "RECEIVED"}), seconds=30.0)
    await cut_short(line, agent)
    assert agent.ended == ["cancelled"]


async def test_a_callback_to_the_test_call_closes_the_breaker(meet: Meet) -> None:
    down: list[Answer] = [NotReached("no connection", connected=False)] * 5
    agent, line = meet(lambda _: down.pop() if down else ok({"status": "RECEIVED"}))
    for _ in range(5):
        await ask(line, INVITATION)
    assert (await ask(line, INVITATION)).problem == "not called: 5 failures in a row"
    await agent.clock.sleep(LeagueSettings().breaker_reset_s)
    agent.called.clear()
    await cut_short(line, agent, CALLED_BACK)
    heard = await ask(line, CALL)
    assert (heard.http_status, len(agent.heard)) == (200, 7)


async def test_game_over_is_worth_a_search_once(meet: Meet) -> None:
    agent, line = meet(lambda _: UNKNOWN)
    _ask, tell = line.for_match(LeagueSettings())
    await tell(P01, OVER, limit_s=5.0)
    assert len(agent.heard) > 5
    agent.heard.clear()
    heard = await tell(P01, OVER, limit_s=5.0)
    assert (agent.heard, heard.error_code) == (["notify_match_result"], "E002")


async def test_other_messages_are_said_once(meet: Meet) -> None:
    agent, line = meet(lambda _: UNKNOWN)
    _ask, tell = line.for_match(LeagueSettings())
    await tell(P01, {"message_type": "GAME_ERROR"}, limit_s=5.0)
    assert agent.heard == ["notify_game_error"]


async def test_one_that_registered_anew_in_other_words_is_met_anew(meet: Meet) -> None:
    agent, line = meet(lambda _: ok({"accept": True}))
    await ask(line, INVITATION)
    call, _tell = line.for_match(LeagueSettings(), "parity_choice")
    await call(seat("P01", "PLAYER_A", dialect="handle_message"), INVITATION, limit_s=5.0)
    assert agent.heard == ["handle_game_invitation", "handle_message"]
