"""A player that answers 429 because a hunt sent too many requests is excused once per request (ruling, section 12)."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.dialects.hunt import Proposal
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.league_settings import LeagueSettings
from tests.bots.hostile.base import Behaviour, Call, Talk, message, result
from tests.league_sdk.judging.called_agent import INVITATION, P01, P02, UNKNOWN, ask, meet, ok, reply
from tests.league_sdk.judging.hostile_match import A as HOSTILE
from tests.league_sdk.judging.hostile_match import B as BEHAVED
from tests.league_sdk.judging.hostile_match import play
from tests.league_sdk.judging.scripted import JOIN, SILENCE, B, ScriptedMatch, brief, choice

REFUSED = CallResult(
    error_code="E009", problem="x", http_status=429, cause=Cause.HTTP_STATUS, detail="HTTP 429", elapsed_s=1
)
OVER = {"message_type": "GAME_OVER", "match_id": "R1M1"}
NEXT_PROPOSAL = Proposal("message_type", "GAME_INVITATION", "http://localhost:8102/mcp", {}, 1001)


def limited(wait_s: float | None = None) -> CallResult:
    """A refusal with HTTP 429 in a hunt, which asks the referee to wait this many seconds."""
    return replace(REFUSED, limited=NEXT_PROPOSAL, overasked=True, wait_s=wait_s)


def busy(wait_s: float | None = None) -> CallResult:
    """A refusal with HTTP 429 of the player's own accord."""
    return replace(limited(wait_s), overasked=False)


# -- what a refusal costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_the_first_rate_refusal_of_a_request_is_excused(kind: str) -> None:
    scripted = ScriptedMatch(**{kind: {B: [limited(), JOIN if kind == "joins" else choice("odd")]}})
    played = await scripted.play()
    assert (played.faults, scripted.to(B, "GAME_ERROR"), scripted.log.excused) == ((), [], [])


@pytest.mark.parametrize("kind", ["joins", "moves"])
async def test_a_second_rate_refusal_counts(kind: str) -> None:
    scripted = ScriptedMatch(**{kind: {B: [limited()] * 2}}, brief=brief(max_retries=0))
    (fault,) = (await scripted.play()).faults
    assert (fault.player_id, fault.error_code, fault.tries, fault.detail) == (B, "E009", 1, "HTTP 429")


async def test_a_rate_refusal_without_a_hunt_is_not_excused() -> None:
    (fault,) = (await ScriptedMatch(joins={B: [REFUSED]}, brief=brief(max_retries=0)).play()).faults
    assert (fault.player_id, fault.tries) == (B, 1)


async def test_a_second_rate_refusal_counts_also_after_a_silence_in_between() -> None:
    scripted = ScriptedMatch(joins={B: [limited(), SILENCE, limited()]}, brief=brief(max_retries=1))
    (fault,) = (await scripted.play()).faults
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


# -- temporary refusals ---------------------------------------------------------------------------------------


def times_of(scripted: ScriptedMatch, kind: str = "GAME_INVITATION") -> list[float]:
    """The seconds at which the player was asked."""
    return [one.at for one in scripted.to(B, kind)]


async def test_a_player_that_refuses_for_the_moment_is_asked_again_when_it_wants_and_not_bothered_meanwhile() -> None:
    scripted = ScriptedMatch(joins={B: [busy(3), busy(), JOIN]})
    played = await scripted.play()
    # The backoff of the second retry is two seconds.
    assert (played.faults, times_of(scripted)) == ((), [0.0, 4.0, 7.0])
    assert scripted.to(B, "GAME_ERROR") == []


async def test_an_agent_that_always_refuses_for_the_moment_is_silent_after_all_its_tries() -> None:
    scripted = ScriptedMatch(joins={B: [busy()] * 4})
    (fault,) = (await scripted.play()).faults
    assert (fault.error_code, fault.tries, times_of(scripted)) == ("E009", 4, [0.0, 2.0, 5.0, 10.0])


@pytest.mark.parametrize("wait_s", [20.9, 3600])
async def test_a_wait_beyond_the_patience_is_cut_so_that_the_last_try_comes_at_the_end(wait_s: float) -> None:
    """Four tries of 5 s, with 1, 2 and 4 s between them, take a silent player 27 s."""
    scripted = ScriptedMatch(joins={B: [busy(wait_s), JOIN]})
    assert (await scripted.play()).faults == ()
    assert times_of(scripted) == [0.0, min(1 + wait_s, 22.0)]


@pytest.mark.parametrize("rules", [{}, {"request_patience_s": 12}, {"max_retries": 10, "retry_factor": 1}])
async def test_no_refusal_delays_a_match_for_longer_than_silence(rules: dict[str, Any]) -> None:
    match = brief(**rules)
    longest_s = match.settings.longest_request_s(match.settings.join_timeout_s, match.settings.max_retries)
    for refusals in (1, 2, 3):
        for wait_s in (None, 2.0, 7.0, 3600.0):
            sly = ScriptedMatch(joins={B: [*[busy(wait_s)] * refusals, *[SILENCE] * 11]}, brief=match)
            await sly.play()
            last = sly.to(B, "GAME_INVITATION")[-1]
            assert last.at + last.limit_s <= longest_s + 0.001


@pytest.mark.parametrize(("body", "waits"), [({"error": {"code": -32603}}, [1, 1, 1]), (None, [1, 2, 4])])
async def test_an_error_that_is_an_answer_is_waited_for_one_second_at_most(body: Any, waits: list[int]) -> None:
    crashed = CallResult(error_code="E009", problem="HTTP status 500", http_status=500, body=body)
    scripted = ScriptedMatch(joins={B: [crashed] * 4})
    (fault,) = (await scripted.play()).faults
    times = times_of(scripted)
    assert (fault.tries, [round(b - a) for a, b in itertools.pairwise(times)]) == (4, waits)


@pytest.mark.parametrize("status", [200, 500])
async def test_an_internal_error_is_an_error_of_the_players_own_whatever_its_status(status: int) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "KeyError: 'x'"}}
    _agent, caller = meet(lambda body: reply(status, error))
    result = await ask(caller, INVITATION)
    assert (result.error_code, result.limited, result.is_error_in_words) == ("E009", None, True)


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
    assert (result.error_code, result.http_status, len(agent.methods)) == ("E009", 429, 2)
    assert result.limited is not None
    assert (result.wait_s, result.limited.method) == (2.0, agent.methods[-1])
    agent.methods.clear()
    repeated = await ask(caller, INVITATION, first=result.limited)
    assert (agent.methods, repeated.http_status) == ([result.limited.method], 429)


async def test_a_hunt_at_one_player_excuses_no_refusal_of_another() -> None:
    _agent, caller = meet(counting(2, "GAME_INVITATION", {"accept": True}))
    await ask(caller, INVITATION)
    assert not (await ask(caller, INVITATION, seat=P02)).overasked


@pytest.mark.parametrize(
    ("refusals", "limit_s", "requests", "status"), [(1, 5.0, 2, 200), (1, 1.0, 1, 429), (9, 5.0, 2, 429)]
)
async def test_a_game_over_that_is_refused_for_the_moment_is_sent_once_more_when_the_player_wants_it(
    refusals: int, limit_s: float, requests: int, status: int
) -> None:
    left = iter(range(refusals))

    def answer(_: dict[str, Any]) -> Any:
        return (
            ok({"status": "ok"})
            if next(left, None) is None
            else replace(reply(429, None), headers={"retry-after": "2"})
        )

    agent, caller = meet(answer)
    _ask, tell = caller.for_match(LeagueSettings())
    result = await tell(P01, OVER, limit_s=limit_s)
    assert (agent.methods, result.http_status) == (["notify_match_result"] * requests, status)


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


async def test_a_player_that_always_refuses_for_its_rate_loses_after_its_tries() -> None:
    ended = await play(limiter(1, for_ever=True), max_retries=3)
    assert ended.verdict == ("TECHNICAL_LOSS", BEHAVED, [(HOSTILE, "E009", "HTTP_STATUS", 4)])
    # Our method, the player's own, and one request for each try: the excused one is none.
    assert (times_asked_to_choose(ended.hostile.methods), ended.handed_back) == (6, {})


async def test_a_player_that_refuses_the_first_request_for_its_rate_gets_one_request_a_try() -> None:
    ended = await play(limiter(0, for_ever=True), max_retries=3)
    assert ended.verdict == ("TECHNICAL_LOSS", BEHAVED, [(HOSTILE, "E009", "HTTP_STATUS", 4)])
    assert times_asked_to_choose(ended.hostile.methods) == 4


@pytest.mark.parametrize("status", ["503 Service Unavailable", "200 OK", "500 Internal Server Error"])
async def test_a_player_that_is_busy_for_a_moment_plays_without_a_hunt(status: str) -> None:
    """It says so once, whatever its HTTP status, and answers when it is asked again."""
    refusals = Counter[str]()

    async def act(talk: Talk, one: Call) -> None:
        refusals["all"] += 1
        if refusals["all"] == 1:
            await talk.say(b'{"error": {"code": -32000, "message": "rate limited, retry after 1s"}}', status=status)
        else:
            await talk.say(result(one, message(one)))

    ended = await play(Behaviour("is_busy", "It is busy for a moment.", act), retry_base_s=0.01)
    assert (ended.verdict[2], times_asked_to_choose(ended.hostile.methods)) == ([], 2)
    assert "GAME_ERROR" not in {entry["message_type"] for entry in ended.entries}
