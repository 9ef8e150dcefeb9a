"""A referee's line in front of agents that speak otherwise: spellings within one limit, callbacks, memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from league_sdk.judging import player_line as module
from league_sdk.judging.asking import CALLED_BACK
from league_sdk.judging.canary import Canary
from league_sdk.judging.heard import Heard
from league_sdk.judging.player_line import PlayerLine
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import Broken, CallFailed, NotReached, Reply
from league_sdk.transport.policy import EndpointPolicy
from tests.league_sdk.judging.scripted import Clock, seat

INVITATION = {"message_type": "GAME_INVITATION", "match_id": "R1M1"}
CALL = {"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1"}
OVER = {"message_type": "GAME_OVER", "match_id": "R1M1"}
P01 = seat("P01", "PLAYER_A")
Answer = Reply | CallFailed


def said(status: int, body: Any, problem: str = "") -> Reply:
    return Reply(status, body, problem, 0.5)


def ok(result: Any) -> Reply:
    return said(200, {"jsonrpc": "2.0", "id": 1, "result": result})


UNKNOWN = said(200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}})


class Agent:
    """Instead of the HTTP client: an agent that takes ``seconds`` for each answer."""

    def __init__(self, clock: Clock, answer: Callable[[dict[str, Any]], Answer], seconds: float = 0.0) -> None:
        self.clock, self.answer, self.seconds = clock, answer, seconds
        self.heard: list[str] = []
        self.limits: list[float] = []
        self.ended: list[str] = []
        self.called = asyncio.Event()

    async def post(self, url: str, body: dict[str, Any], *, limit_s: float, headers: None = None) -> Reply:
        self.heard.append(body.get("method", "flat"))
        self.limits.append(round(limit_s, 6))
        self.called.set()
        try:
            await self.clock.sleep(self.seconds)
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        answer = self.answer(body)
        if isinstance(answer, CallFailed):
            raise answer
        return answer

    async def aclose(self) -> None:
        self.heard.append("closed")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def line_to(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> PlayerLine:
    monkeypatch.setattr(module, "Client", lambda **_: agent)
    return PlayerLine(EndpointPolicy(), agent.clock, Breaker(agent.clock.monotonic), Canary(agent.clock))


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


async def test_other_spellings_share_the_limit_of_the_try(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, knows("GAME_INVITATION", {"accept": True}), seconds=1.0)
    line = line_to(agent, monkeypatch)
    heard = await ask(line, INVITATION)
    assert (heard.message, heard.error_code, heard.elapsed_s) == ({"accept": True}, None, 2.0)
    assert (agent.heard, agent.limits) == (["handle_game_invitation", "GAME_INVITATION"], [5, 4])
    assert "handle_game_invitation was not understood (error -32601)" in heard.notes
    assert "asked as message_type: GAME_INVITATION" in heard.notes
    assert line.spoken(P01) == {"GAME_INVITATION": "message_type"}


async def test_what_worked_is_tried_first_and_alone_the_next_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(clock, knows("GAME_INVITATION", {"accept": True}))
    line = line_to(agent, monkeypatch)
    await ask(line, INVITATION)
    agent.heard.clear()
    await ask(line, INVITATION)
    assert agent.heard == ["GAME_INVITATION"]


async def test_out_of_time_between_two_spellings(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: UNKNOWN, seconds=2.0)
    heard = await ask(line_to(agent, monkeypatch), INVITATION)
    assert (heard.error_code, len(agent.heard)) == ("E002", 3)


async def test_a_connection_that_breaks_over_a_method_is_tried_in_other_words(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken("the connection was closed without an answer", connected=True)
    agent = Agent(clock, lambda body: ok({"accept": True}) if body.get("method") == "GAME_INVITATION" else broken)
    heard = await ask(line_to(agent, monkeypatch), INVITATION)
    assert (heard.message, heard.notes[0]) == ({"accept": True}, "handle_game_invitation broke the connection")


async def test_one_that_is_not_there_is_not_tried_in_other_words(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: NotReached("no connection: Connection refused", connected=False))
    heard = await ask(line_to(agent, monkeypatch), INVITATION)
    assert (heard.error_code, heard.connected, len(agent.heard)) == ("E009", False, 1)


async def test_a_refusal_that_may_be_none_is_believed_when_nothing_else_comes(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(clock, lambda _: ok({"accept": False, "error": "busy"}))
    heard = await ask(line_to(agent, monkeypatch), INVITATION)
    assert (heard.error_code, heard.message["accept"]) == (None, False)
    assert len(agent.heard) > 5


async def test_a_success_without_an_answer_is_waited_out(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: ok({"status": "ok"}))
    heard = await ask(line_to(agent, monkeypatch), CALL, limit_s=30.0)
    assert (heard.error_code, round(clock.seconds, 6)) == ("E001", 30.0)
    assert heard.problem.startswith("its reply {'jsonrpc'")
    assert heard.problem.endswith("holds no answer, and none followed")


async def test_one_that_is_known_to_call_back_is_given_the_time(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: ok({"status": "RECEIVED"}))
    line = line_to(agent, monkeypatch)
    await cut_short(line, agent, CALLED_BACK)
    assert (agent.heard, line.spoken(P01)) == (["choose_parity"], {"CHOOSE_PARITY_CALL": "canonical"})
    heard = await ask(line, CALL, limit_s=30.0)
    assert (heard.error_code, agent.heard) == ("E001", ["choose_parity"] * 2)


async def test_the_call_under_way_when_the_callback_came_was_understood(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that says ok to everything, and understands only one thing."""
    agent = Agent(clock, lambda _: ok({"status": "ok"}), seconds=0.01)
    line = line_to(agent, monkeypatch)
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


async def test_a_match_that_is_given_up_teaches_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: ok({"status": "RECEIVED"}))
    line = line_to(agent, monkeypatch)
    await cut_short(line, agent)
    assert line.spoken(P01) == {}


async def test_a_match_that_is_given_up_leaves_no_request_behind(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: ok({"status": "RECEIVED"}), seconds=30.0)
    line = line_to(agent, monkeypatch)
    await cut_short(line, agent)
    assert agent.ended == ["cancelled"]


async def test_a_callback_to_the_test_call_closes_the_breaker(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    down: list[Answer] = [NotReached("no connection", connected=False)] * 5
    agent = Agent(clock, lambda _: down.pop() if down else ok({"status": "RECEIVED"}))
    line = line_to(agent, monkeypatch)
    for _ in range(5):
        await ask(line, INVITATION)
    assert (await ask(line, INVITATION)).problem == "not called: 5 failures in a row"
    await clock.sleep(LeagueSettings().breaker_reset_s)
    agent.called.clear()
    await cut_short(line, agent, CALLED_BACK)
    heard = await ask(line, CALL)
    assert (heard.http_status, len(agent.heard)) == (200, 7)


async def test_game_over_is_worth_a_search_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: UNKNOWN)
    line = line_to(agent, monkeypatch)
    _ask, tell = line.for_match(LeagueSettings())
    await tell(P01, OVER, limit_s=5.0)
    assert len(agent.heard) > 5
    agent.heard.clear()
    heard = await tell(P01, OVER, limit_s=5.0)
    assert (agent.heard, heard.error_code) == (["notify_match_result"], "E002")


async def test_other_messages_are_said_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(clock, lambda _: UNKNOWN)
    _ask, tell = line_to(agent, monkeypatch).for_match(LeagueSettings())
    await tell(P01, {"message_type": "GAME_ERROR"}, limit_s=5.0)
    assert agent.heard == ["notify_game_error"]


async def test_one_that_registered_anew_in_other_words_is_met_anew(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(clock, lambda _: ok({"accept": True}))
    line = line_to(agent, monkeypatch)
    await ask(line, INVITATION)
    call, _tell = line.for_match(LeagueSettings(), "parity_choice")
    await call(seat("P01", "PLAYER_A", dialect="handle_message"), INVITATION, limit_s=5.0)
    assert agent.heard == ["handle_game_invitation", "handle_message"]
