"""A player that answers 429 because a hunt sent too many requests is excused once per request (ruling, section 12)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.dialects.hunt import Proposal
from league_sdk.protocol.faults import Cause
from tests.bots.hostile.base import Behaviour, Call, Talk, message, result
from tests.league_sdk.judging.called_agent import INVITATION, P02, UNKNOWN, ask, meet, ok, reply
from tests.league_sdk.judging.hostile_match import A as HOSTILE
from tests.league_sdk.judging.hostile_match import B as BEHAVED
from tests.league_sdk.judging.hostile_match import play
from tests.league_sdk.judging.scripted import JOIN, SILENCE, B, ScriptedMatch, brief, choice

REFUSED = CallResult(
    error_code="E002", problem="x", http_status=429, cause=Cause.HTTP_STATUS, detail="HTTP 429", elapsed_s=1
)
NEXT_PROPOSAL = Proposal("message_type", "GAME_INVITATION", "http://localhost:8102/mcp", {}, 1001)


def limited(wait_s: float | None = None) -> CallResult:
    """A refusal with HTTP 429 in a hunt, which asks the referee to wait this many seconds."""
    return replace(REFUSED, limited=NEXT_PROPOSAL, wait_s=wait_s)


# -- what a refusal costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_the_first_rate_refusal_of_a_request_is_excused(kind: str) -> None:
    scripted = ScriptedMatch(**{kind: {B: [limited(), JOIN if kind == "joins" else choice("odd")]}})
    played = await scripted.play()
    assert (played.faults, scripted.to(B, "GAME_ERROR"), scripted.log.excused) == ((), [], [])


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_a_second_rate_refusal_counts(kind: str) -> None:
    scripted = ScriptedMatch(**{kind: {B: [limited()] * 2}})
    (fault,) = (await scripted.play()).faults
    assert (fault.player_id, fault.error_code, fault.tries, fault.detail) == (B, "E002", 1, "HTTP 429")


async def test_a_rate_refusal_without_a_hunt_is_not_excused() -> None:
    (fault,) = (await ScriptedMatch(joins={B: [REFUSED]}).play()).faults
    assert (fault.player_id, fault.tries) == (B, 1)


async def test_a_second_rate_refusal_counts_also_after_a_silence_in_between() -> None:
    (fault,) = (await ScriptedMatch(joins={B: [limited(), SILENCE, limited()]}).play()).faults
    assert (fault.player_id, fault.tries) == (B, 2)


@pytest.mark.parametrize(("wait_s", "retried_at"), [(None, 2.0), (0, 1.0), (3, 4.0), (4, 5.0), (3600, 5.0)])
async def test_the_wait_after_a_rate_refusal_stays_within_the_try(wait_s: float | None, retried_at: float) -> None:
    """Five seconds for an invitation, one of which the refusal took."""
    scripted = ScriptedMatch(joins={B: [limited(wait_s), JOIN]})
    await scripted.play()
    assert [one.at for one in scripted.to(B, "GAME_INVITATION")] == [0.0, retried_at]


async def test_an_excused_rate_refusal_does_not_extend_the_patience() -> None:
    scripted = ScriptedMatch(
        joins={B: [limited(3600), *[SILENCE] * 9]}, brief=brief(request_patience_s=12, retry_base_s=0)
    )
    (fault,) = (await scripted.play()).faults
    last = scripted.to(B, "GAME_INVITATION")[-1]
    assert (fault.player_id, last.at + last.limit_s) == (B, 12)


# -- how a player is asked -----------------------------------------------------------------------------------


def counting(free: int, known: str, answer: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    """An agent that answers ``free`` requests and then refuses with 429; it knows the method ``known`` only."""
    counts = Counter[str]()

    def answer_or_refuse(body: dict[str, Any]) -> Any:
        counts["all"] += 1
        if counts["all"] > free:
            return replace(reply(429, None), headers={"retry-after": "2"})
        return ok(answer) if body.get("method") == known else UNKNOWN

    return answer_or_refuse


async def test_a_rate_refusal_ends_the_hunt_and_names_the_request() -> None:
    agent, caller = meet(counting(1, "", {}))
    result = await ask(caller, INVITATION)
    assert (result.error_code, result.http_status, len(agent.methods)) == ("E002", 429, 3)
    assert result.limited is not None
    assert (result.wait_s, result.limited.method) == (2.0, agent.methods[-1])
    agent.methods.clear()
    repeated = await ask(caller, INVITATION, only=result.limited)
    assert (agent.methods, repeated.http_status) == ([result.limited.method], 429)


async def test_a_hunt_at_one_player_excuses_no_refusal_of_another() -> None:
    _agent, caller = meet(counting(2, "GAME_INVITATION", {"accept": True}))
    await ask(caller, INVITATION)
    assert (await ask(caller, INVITATION, seat=P02)).limited is None


# -- whole matches, on real sockets --------------------------------------------------------------------------

TOO_MANY = "429 Too Many Requests"


def limiter(burst: int, *, knows: str = "parity_choose", for_ever: bool = False) -> Behaviour:
    """A player that is asked for its choice by another method than ours, and limits the rate of requests.

    Args:
        burst: how many requests in a row it answers before it refuses.
        knows: the method by which it can be asked.
        for_ever: whether it refuses every further request; otherwise it refuses one and counts from 0 again.
    """
    counts = Counter[str]()

    async def act(talk: Talk, one: Call) -> None:
        counts["in a row"] += 1
        if counts["in a row"] > burst:
            if not for_ever:
                counts.clear()
            await talk.say(b'{"detail": "slow down"}', status=TOO_MANY, more="Retry-After: 0\r\n")
        elif one.method.lower() == knows:
            await talk.say(result(one, message(one, message_type="CHOOSE_PARITY_RESPONSE")))
        else:
            error = {"jsonrpc": "2.0", "id": one.id, "error": {"code": -32601, "message": "Method not found"}}
            await talk.say(json.dumps(error).encode())

    return Behaviour("limits_the_rate", "It counts requests.", act)


def times_asked_to_choose(methods: list[str]) -> int:
    """How many requests for a choice an agent was sent."""
    return sum("parity" in method.lower() for method in methods)


async def test_a_player_whose_rate_limit_our_hunt_exceeded_plays_on() -> None:
    ended = await play(limiter(1), max_retries=0)
    status, _, faults = ended.verdict
    assert (status in ("WIN", "DRAW"), faults) == (True, [])
    # Our method, the player's own method, which it refused, and its own method once more.
    assert times_asked_to_choose(ended.hostile.methods) == 3
    assert "GAME_ERROR" not in {entry["message_type"] for entry in ended.entries}


async def test_a_player_that_always_refuses_for_its_rate_loses_after_one_more_try() -> None:
    ended = await play(limiter(1, for_ever=True), max_retries=3)
    assert ended.verdict == ("TECHNICAL_LOSS", BEHAVED, [(HOSTILE, "E002", "HTTP_STATUS", 1)])
    # Our method, the player's own, its own again as its Retry-After says, and the one request of the excused try.
    assert (times_asked_to_choose(ended.hostile.methods), ended.handed_back) == (4, {})


async def test_a_player_that_refuses_the_first_request_for_its_rate_is_asked_once_more_within_its_try() -> None:
    ended = await play(limiter(0, for_ever=True), max_retries=3)
    assert ended.verdict == ("TECHNICAL_LOSS", BEHAVED, [(HOSTILE, "E002", "HTTP_STATUS", 1)])
    assert times_asked_to_choose(ended.hostile.methods) == 2
