"""How a referee calls a player that dials out: what the player causes is never taken for a failure of the league."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from league_sdk.judging.calls.inbox_caller import PlayerInboxCaller
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import OUTCOME_HEADER, Outcome
from league_sdk.transport.client import Broken, Client, NotReached, Reply
from tests.league_sdk.judging.called_agent import CALL, P01
from tests.league_sdk.judging.scripted import Clock

SEAT = replace(P01, endpoint="inbox://7", inbox_key="1.1.7.sig")
REFUSAL = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "The body is too large.", "data": None}, "id": None}


class League:
    """Replaces the league manager: gives every delivery the same answer."""

    def __init__(self, reply: Reply) -> None:
        self.reply, self.delivered = reply, 0

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Any = None) -> Reply:
        self.delivered += 1
        return self.reply


async def outcome_of(reply: Reply) -> tuple[Exception, int]:
    """The error that a referee raises for the league's answer to a delivery, and how often it delivered."""
    league = League(reply)
    caller = PlayerInboxCaller("http://league:8000/mcp", cast("Client", league), Clock(), lambda: "tok")
    directly = partial(cast("Client", league).post, SEAT.endpoint, CALL)
    with pytest.raises((Broken, NotReached)) as caught:
        await caller.post(SEAT, CALL, limit_s=5.0, directly=directly, headers={})
    return caught.value, league.delivered


async def test_an_answer_that_is_too_large_is_the_players_failure() -> None:
    outcome_header = {OUTCOME_HEADER.lower(): Outcome.TOO_LARGE.value}
    error, delivered = await outcome_of(Reply(504, {}, "", 0.1, outcome_header))
    assert isinstance(error, Broken)
    assert (error.cause, delivered) == (Cause.CONNECT, 1)
    assert "larger than 65536 bytes" in str(error)


@pytest.mark.parametrize("status", [400, 413])
async def test_a_message_that_an_agents_own_tools_make_too_large_is_the_players_failure(status: int) -> None:
    error, delivered = await outcome_of(Reply(status, REFUSAL, "", 0.1))
    assert isinstance(error, Broken)
    assert (error.cause, delivered) == (Cause.CONNECT, 1)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(502, None, "", 0.1),
        Reply(503, {"error": "stands still"}, "", 0.1),
        Reply(429, REFUSAL, "", 0.1),
        Reply(413, None, "", 0.1),
    ],
)
async def test_a_league_that_is_away_is_asked_until_the_time_is_over(reply: Reply) -> None:
    error, delivered = await outcome_of(reply)
    assert isinstance(error, NotReached)
    assert error.cause is Cause.LEAGUE
    assert delivered > 1


@pytest.mark.parametrize(
    ("cause", "waits"), [(Cause.REFEREE, False), (Cause.CONNECT, True)], ids=["no-socket-here", "refused-there"]
)
async def test_a_machine_that_can_call_nobody_does_not_wait_for_the_league(cause: Cause, waits: bool) -> None:
    """Its match is to be handed back at once; a player that refuses a call may be dialling a league that restarts."""
    league, clock = League(Reply(502, None, "", 0.1)), Clock()
    caller = PlayerInboxCaller("http://league:8000/mcp", cast("Client", league), clock, lambda: "tok")

    async def directly(*, limit_s: float) -> Reply:
        raise NotReached("not called", connected=False, cause=cause)

    seat = replace(P01, inbox_key="1.1.7.sig")
    began = clock.monotonic()
    with pytest.raises(NotReached, match="not called"):
        await caller.post(seat, CALL, limit_s=5.0, directly=directly, headers={})
    assert (clock.monotonic() - began >= 4.0) is waits
    assert (league.delivered > 1) is waits
