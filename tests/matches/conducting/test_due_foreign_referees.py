"""Referees that students wrote: how they are started, and the messages that they get (ruling, sections 9 and 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from league_sdk.dialects import starts
from league_sdk.transport.client import TimedOut
from matches.conducting import outgoing, sending
from matches.league import lifecycle
from matches.models import Match
from tests import factories as make
from tests import wire
from tests.e2e.site import free_port
from tests.matches.agent_server import OK, Agents
from tests.matches.conftest import conducting
from tests.matches.league.test_reporting import report_without_attempt
from tests.sizes import sampled

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("hunts_without_pauses")]

UNKNOWN = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": 1}
Answer = Callable[[dict[str, Any]], Any]


def understands(*names: str, otherwise: Any = UNKNOWN) -> Answer:
    """A referee that understands these methods, and answers all others with one spelling of "not understood"."""
    return lambda body: OK if body.get("method") in names else otherwise


def make_league(agents: Agents, *, players: int = 2, of_site: int = 0, **settings: Any) -> make.MadeLeague:
    """A league with a student's referee REF01, which may judge, and perhaps some of the site; call it by ``in_db``."""
    student = make.referee("Student", port=1, trusted=False, progress=False, room=1, endpoint=agents.url("REF01"))
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    judges = [make.referee(f"Referee {n}", port=n, endpoint=agents.url(f"REF0{n}")) for n in range(2, of_site + 2)]
    make.open_league("fall", **settings)
    members = [make.player(f"Player {n}", "fall", endpoint=agents.url(f"P0{n}")) for n in range(1, players + 1)]
    return make.MadeLeague("fall", members, [student, *judges])


async def start_round(agents: Agents) -> None:
    await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))


def methods_of(agents: Agents, name: str = "REF01") -> list[str]:
    """The methods a referee was called with, in order."""
    return [body.get("method", "") for body in agents.received[name]]


def spoken(who: make.RegisteredAgent) -> dict[str, str]:
    return who.fresh().spoken


# Starting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", sampled(starts.METHODS, every=3))
async def test_every_spelling_of_the_start_is_tried_and_remembered(agents: Agents, method: str) -> None:
    agents.answers["REF01"] = understands("notify_round", method)
    league = await agents.in_db(lambda: make_league(agents, players=4, auto_advance=True))
    async with conducting():
        await start_round(agents)
        way = f"canonical:{method}"
        await agents.until_in_db(lambda: spoken(league.referees[0]).get("START_MATCH") == way)
        tried = list(starts.METHODS[: starts.METHODS.index(method) + 1])
        assert methods_of(agents) == ["notify_round", *tried]
        # It plays one match at a time: the second one is started when the first one is over.
        await agents.in_db(lambda: report_without_attempt(league.match("R1M1"), league.referees[0], "P01"))
        await agents.until(lambda: len(methods_of(agents)) == len(tried) + 2)
    assert methods_of(agents) == ["notify_round", *tried, method]
    states = await agents.in_db(league.states)
    assert (states["R1M1"], states["R1M2"]) == ("FINISHED", "ASSIGNED")


@pytest.mark.parametrize(
    "otherwise",
    [
        UNKNOWN,
        pytest.param({"error": "Unknown method"}, marks=pytest.mark.exhaustive),
        404,
        *(
            pytest.param(variant, marks=pytest.mark.long)
            for variant in (
                {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params"}, "id": 1},
                {"jsonrpc": "2.0", "result": {"status": "unknown_message_type"}, "id": 1},
                {"jsonrpc": "2.0", "result": {"success": False}, "id": 1},
                {"jsonrpc": "2.0", "error": {"code": -32000, "message": "Method not found: start_match"}, "id": 1},
                500,
            )
        ),
    ],
    ids=str,
)
async def test_the_next_spelling_is_tried_after_any_answer_that_means_not_understood(
    agents: Agents, otherwise: Any
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body.get("method") in ("notify_round", "run_match"):
            return OK
        return web.Response(status=otherwise, text="oh") if isinstance(otherwise, int) else otherwise

    agents.answers["REF01"] = answer
    league = await agents.in_db(lambda: make_league(agents))
    async with conducting():
        await start_round(agents)
        await agents.until_in_db(lambda: "START_MATCH" in spoken(league.referees[0]))
    assert methods_of(agents) == ["notify_round", *starts.METHODS]
    row = await agents.in_db(league.referees[0].fresh)
    assert (row.state, row.spoken) == (
        "ACTIVE",
        {"ROUND_ANNOUNCEMENT": "canonical", "START_MATCH": "canonical:run_match"},
    )


async def test_the_dialect_of_the_registration_is_tried_after_the_plain_one(agents: Agents) -> None:
    def answer(body: dict[str, Any]) -> Any:
        inner = body["params"].get("message", {})
        understood = body["method"] == "handle_message" and inner.get("message_type") == "RUN_MATCH"
        return OK if understood else UNKNOWN

    agents.answers["REF01"] = answer
    league = await agents.in_db(lambda: make_league(agents))
    await agents.in_db(lambda: Agent.objects.filter(code="REF01").update(dialect="handle_message"))
    async with conducting():
        await start_round(agents)
        await agents.until_in_db(lambda: "START_MATCH" in spoken(league.referees[0]))
    assert (await agents.in_db(lambda: spoken(league.referees[0]))) == {"START_MATCH": "handle_message:run_match"}
    assert methods_of(agents)[-7:] == [*starts.METHODS, "handle_message", "handle_message", "handle_message"]


async def test_start_match_for_a_students_referee_contains_no_token_of_a_player(agents: Agents) -> None:
    league = await agents.in_db(lambda: make_league(agents, move_timeout_s=7, win_points=5))
    async with conducting():
        await start_round(agents)
        await agents.until(lambda: "start_match" in methods_of(agents))
    params = next(body["params"] for body in agents.received["REF01"] if body["method"] == "start_match")
    match = await agents.in_db(lambda: league.match("R1M1"))
    nested = params.pop("settings")
    flat = {
        "join_timeout_s": 5,
        "move_timeout_s": 7,
        "game_over_timeout_s": 5,
        "generic_timeout_s": 10,
        "max_retries": 3,
        "retry_base_s": 1,
        "retry_factor": 2,
        "win_points": 5,
        "draw_points": 1,
        "loss_points": 0,
        "technical_loss_points": 0,
    }
    assert (nested | flat == nested, "registration_code" in nested) == (True, False)
    assert wire.plain(params) == flat | {
        "protocol": "league.v2",
        "message_type": "START_MATCH",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "conversation_id": match.conversation_id,
        "auth_token": "<token>",
        "league_id": "fall",
        "round_id": 1,
        "match_id": "R1M1",
        "attempt": 1,
        "game_type": "even_odd",
        "player_A_id": "P01",
        "player_B_id": "P02",
        "player_A_endpoint": agents.url("P01"),
        "player_B_endpoint": agents.url("P02"),
    }
    assert params["auth_token"] == credentials.league_token(league.referees[0].agent)


async def test_a_referee_that_takes_only_the_announcement_is_started_by_it(agents: Agents) -> None:
    agents.answers["REF01"] = understands("notify_round")
    league = await agents.in_db(lambda: make_league(agents, players=3, auto_advance=True))
    judge = league.referees[0]
    async with conducting():
        await start_round(agents)
        await agents.until_in_db(lambda: spoken(judge).get("START_MATCH") == "announcement")
        match = await agents.in_db(lambda: Match.objects.get(round__number=1))
        assert (match.state, match.attempt) == ("ASSIGNED", 1)
        line = next(
            one
            for one in agents.received["REF01"][0]["params"]["matches"]
            if one["referee_endpoint"] == agents.url("REF01")
        )
        pair = {side: (line[f"player_{side}_id"], line[f"player_{side}_endpoint"]) for side in "AB"}
        assert all(agents.url(code) == endpoint for code, endpoint in pair.values())
        before = methods_of(agents)
        assert before == ["notify_round", *starts.METHODS]
        first = await agents.in_db(lambda: league.match(match.match_id))
        answer = await agents.in_db(lambda: report_without_attempt(first, judge, first.player_a.code))
        assert answer == {"status": "ACCEPTED", "reason": None}
        await agents.until_in_db(lambda: Match.objects.filter(round__number=2, state="ASSIGNED").exists())
    # For the second round it gets the announcement only.
    assert methods_of(agents) == [*before, "notify_round"]


async def test_a_match_that_another_referee_did_not_take_is_announced_alone(agents: Agents) -> None:
    agents.answers["REF01"] = understands("notify_round")
    league = await agents.in_db(lambda: make_league(agents, players=4, of_site=1))
    known = {"ROUND_ANNOUNCEMENT": "canonical", "START_MATCH": "announcement"}
    await agents.in_db(lambda: Agent.objects.filter(code="REF01").update(spoken=known, max_concurrent=4))
    agents.answers["REF02"] = lambda body: UNKNOWN if body["method"] == "start_match" else OK
    async with conducting():
        await start_round(agents)
        await agents.until(lambda: len(methods_of(agents)) == 2)
        await agents.until_in_db(lambda: set(league.states().values()) == {"ASSIGNED", "PENDING"})
    assert methods_of(agents) == ["notify_round", "notify_round"]
    announcement = agents.received["REF01"][1]["params"]
    lost_match = await agents.in_db(lambda: Match.objects.get(attempt=2))
    assert (announcement["message_type"], announcement["round_id"], announcement["conversation_id"]) == (
        "ROUND_ANNOUNCEMENT",
        1,
        lost_match.conversation_id,
    )
    assert [(one["match_id"], one["referee_endpoint"]) for one in announcement["matches"]] == [
        (lost_match.match_id, agents.url("REF01"))
    ]


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (understands(), 1),
        pytest.param(
            lambda body: {"jsonrpc": "2.0", "error": {"code": -32001, "message": "no room"}, "id": 1},
            1,
            marks=pytest.mark.exhaustive,
        ),
        (lambda body: {"jsonrpc": "2.0", "result": {"accepted": False, "reason": "busy"}, "id": 1}, 1),
        ("no port", 1),
    ],
    ids=["understands nothing", "an error of its own", "not now", "not there"],
)
async def test_a_match_goes_to_another_referee_if_the_first_cannot_be_started(
    agents: Agents, answer: Any, counted: int
) -> None:
    league = await agents.in_db(lambda: make_league(agents, of_site=1))
    if answer == "no port":
        nowhere = f"http://127.0.0.1:{free_port()}/mcp"
        await agents.in_db(lambda: Agent.objects.filter(code="REF01").update(endpoint=nowhere))
    else:
        agents.answers["REF01"] = answer
    async with conducting():
        await start_round(agents)
        await agents.until(lambda: "start_match" in methods_of(agents, "REF02"))
        await agents.until_in_db(lambda: league.match("R1M1").attempt == 2)
    match = await agents.in_db(lambda: league.match("R1M1"))
    row = await agents.in_db(league.referees[0].fresh)
    assert (match.state, match.lost_attempts, match.referee_id) == ("ASSIGNED", counted, league.referees[1].agent.pk)
    assert (row.state, row.problem == "", "START_MATCH" in row.spoken) == ("SUSPENDED", False, False)


async def test_a_referee_that_answers_only_after_the_match_keeps_the_match() -> None:
    """No other spelling is tried after a timeout: the referee may be playing the match."""
    bodies: list[bytes] = []

    class Slow:
        async def post(self, url: str, message: bytes, *, limit_s: float) -> Any:
            bodies.append(message)
            raise TimedOut(f"no answer within {limit_s:g} s", connected=True)

    tries = tuple(outgoing.Try(f"canonical:{method}", method.encode(), 1) for method in starts.METHODS)
    start = outgoing.Start(1, 1, 1, "http://127.0.0.1:1/mcp", 10, 60, tries=tries, sends_progress=False)
    assert await sending.send_starts(Slow(), [start], limit_s=10) == [sending.StartResult()]
    assert bodies == [b"start_match"]


async def test_a_referee_that_was_not_connected_to_in_time_has_not_taken_the_match() -> None:
    class Unreachable:
        async def post(self, url: str, message: bytes, *, limit_s: float) -> Any:
            raise TimedOut("no connection within 1 s", connected=False)

    start = outgoing.Start(
        1, 1, 1, "http://127.0.0.1:1/mcp", 10, 60, tries=(outgoing.Try("", b"", 1),), sends_progress=False
    )
    [result] = await sending.send_starts(Unreachable(), [start], limit_s=10)
    assert (result.problem, result.counts) == ("no connection within 1 s", True)
