"""Referees that students wrote: how they are started, what they are told, when their results count (ruling, 9, 10)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from django.test import Client
from django.utils import timezone

from agents_registry import credentials, registration
from agents_registry.models import Agent
from league_sdk.dialects import starts
from league_sdk.protocol.errors import RefereeNotRegistered
from league_sdk.transport.client import TimedOut
from matches.conducting import due, outgoing, sending
from matches.league import lifecycle, outbox, reporting
from matches.models import Match, Round
from tests import factories as make
from tests import wire
from tests.e2e.site import free_port
from tests.matches.agent_server import OK, Agents
from tests.matches.conftest import conducting

pytestmark = pytest.mark.django_db(transaction=True)

UNKNOWN = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": 1}
Answer = Callable[[dict[str, Any]], Any]


def knows(*names: str, otherwise: Any = UNKNOWN) -> Answer:
    """A referee that understands these methods, and answers all others with one spelling of "not understood"."""
    return lambda body: OK if body.get("method") in names else otherwise


def place(agents: Agents, *, players: int = 2, ours: int = 0, **settings: Any) -> make.Setting:
    """A league with a student's referee REF01, ticked, and perhaps some of ours; call in a thread."""
    student = make.hire("Student", port=1, trusted=False, progress=False, room=1, endpoint=agents.url("REF01"))
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    judges = [make.hire(f"Referee {n}", port=n, endpoint=agents.url(f"REF0{n}")) for n in range(2, ours + 2)]
    make.open_league("fall", **settings)
    members = [make.join(f"Player {n}", "fall", endpoint=agents.url(f"P0{n}")) for n in range(1, players + 1)]
    return make.Setting("fall", members, [student, *judges])


async def start_round(agents: Agents) -> None:
    await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))


def asked(agents: Agents, name: str = "REF01") -> list[str]:
    """The methods a referee was called with, in order."""
    return [body.get("method", "") for body in agents.received[name]]


def spoken(who: make.Member) -> dict[str, str]:
    return who.fresh().spoken


def report_without_attempt(match: Match, who: make.Member, winner: str | None, **changes: Any) -> dict[str, Any]:
    """What a student's referee reports; the fields of the answer."""
    fields = make.result_fields(match, winner, **changes)
    del fields["attempt"]
    return reporting.report(
        referee=who.fresh(),
        league_id=match.league_id,
        match_id=match.match_id,
        attempt=None,
        params=fields,
        transcript=[],
    )


# Starting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", starts.METHODS)
async def test_every_spelling_of_the_start_is_tried_and_remembered(agents: Agents, method: str) -> None:
    agents.answers["REF01"] = knows("notify_round", method)
    league = await agents.in_db(lambda: place(agents, players=4, auto_advance=True))
    async with conducting():
        await start_round(agents)
        way = f"canonical:{method}"
        await agents.until_in_db(lambda: spoken(league.referees[0]).get("START_MATCH") == way)
        tried = list(starts.METHODS[: starts.METHODS.index(method) + 1])
        assert asked(agents) == ["notify_round", *tried]
        # It plays one match at a time: the second one is started when the first one is over.
        await agents.in_db(lambda: report_without_attempt(league.match("R1M1"), league.referees[0], "P01"))
        await agents.until(lambda: len(asked(agents)) == len(tried) + 2)
    assert asked(agents) == ["notify_round", *tried, method]
    states = await agents.in_db(league.states)
    assert (states["R1M1"], states["R1M2"]) == ("FINISHED", "ASSIGNED")


@pytest.mark.parametrize(
    "otherwise",
    [
        UNKNOWN,
        {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params"}, "id": 1},
        {"error": "Unknown method"},
        {"jsonrpc": "2.0", "result": {"status": "unknown_message_type"}, "id": 1},
        {"jsonrpc": "2.0", "result": {"success": False}, "id": 1},
        {"jsonrpc": "2.0", "error": {"code": -32000, "message": "Method not found: start_match"}, "id": 1},
        404,
        500,
    ],
    ids=str,
)
async def test_the_spellings_of_not_understood(agents: Agents, otherwise: Any) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body.get("method") in ("notify_round", "run_match"):
            return OK
        return web.Response(status=otherwise, text="oh") if isinstance(otherwise, int) else otherwise

    agents.answers["REF01"] = answer
    league = await agents.in_db(lambda: place(agents))
    async with conducting():
        await start_round(agents)
        await agents.until_in_db(lambda: "START_MATCH" in spoken(league.referees[0]))
    assert asked(agents) == ["notify_round", *starts.METHODS]
    row = await agents.in_db(league.referees[0].fresh)
    assert (row.state, row.spoken) == (
        "ACTIVE",
        {"ROUND_ANNOUNCEMENT": "canonical", "START_MATCH": "canonical:run_match"},
    )


async def test_the_clothes_it_registered_in_come_after_the_plain_ones(agents: Agents) -> None:
    def answer(body: dict[str, Any]) -> Any:
        inner = body["params"].get("message", {})
        understood = body["method"] == "handle_message" and inner.get("message_type") == "RUN_MATCH"
        return OK if understood else UNKNOWN

    agents.answers["REF01"] = answer
    league = await agents.in_db(lambda: place(agents))
    await agents.in_db(lambda: Agent.objects.filter(code="REF01").update(dialect="handle_message"))
    async with conducting():
        await start_round(agents)
        await agents.until_in_db(lambda: "START_MATCH" in spoken(league.referees[0]))
    assert (await agents.in_db(lambda: spoken(league.referees[0]))) == {"START_MATCH": "handle_message:run_match"}
    assert asked(agents)[-7:] == [*starts.METHODS, "handle_message", "handle_message", "handle_message"]


async def test_what_it_is_told_holds_no_token_of_a_player(agents: Agents) -> None:
    league = await agents.in_db(lambda: place(agents, move_timeout_s=7, win_points=5))
    async with conducting():
        await start_round(agents)
        await agents.until(lambda: "start_match" in asked(agents))
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


async def test_one_that_only_takes_the_announcement_has_begun_by_it(agents: Agents) -> None:
    agents.answers["REF01"] = knows("notify_round")
    league = await agents.in_db(lambda: place(agents, players=3, auto_advance=True))
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
        before = asked(agents)
        assert before == ["notify_round", *starts.METHODS]
        first = await agents.in_db(lambda: league.match(match.match_id))
        answer = await agents.in_db(lambda: report_without_attempt(first, judge, first.player_a.code))
        assert answer == {"status": "ACCEPTED", "reason": None}
        await agents.until_in_db(lambda: Match.objects.filter(round__number=2, state="ASSIGNED").exists())
    # The second round is announced, and nothing else is asked of it.
    assert asked(agents) == [*before, "notify_round"]


async def test_a_match_that_was_announced_to_another_is_announced_to_it_alone(agents: Agents) -> None:
    agents.answers["REF01"] = knows("notify_round")
    league = await agents.in_db(lambda: place(agents, players=4, ours=1))
    known = {"ROUND_ANNOUNCEMENT": "canonical", "START_MATCH": "announcement"}
    await agents.in_db(lambda: Agent.objects.filter(code="REF01").update(spoken=known, max_concurrent=4))
    agents.answers["REF02"] = lambda body: UNKNOWN if body["method"] == "start_match" else OK
    async with conducting():
        await start_round(agents)
        await agents.until(lambda: len(asked(agents)) == 2)
        await agents.until_in_db(lambda: set(league.states().values()) == {"ASSIGNED", "PENDING"})
    assert asked(agents) == ["notify_round", "notify_round"]
    alone = agents.received["REF01"][1]["params"]
    lost = await agents.in_db(lambda: Match.objects.get(attempt=2))
    assert (alone["message_type"], alone["round_id"], alone["conversation_id"]) == (
        "ROUND_ANNOUNCEMENT",
        1,
        lost.conversation_id,
    )
    assert [(one["match_id"], one["referee_endpoint"]) for one in alone["matches"]] == [
        (lost.match_id, agents.url("REF01"))
    ]


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (knows(), 1),
        (lambda body: {"jsonrpc": "2.0", "error": {"code": -32001, "message": "no room"}, "id": 1}, 1),
        (lambda body: {"jsonrpc": "2.0", "result": {"accepted": False, "reason": "busy"}, "id": 1}, 0),
        ("no port", 0),
    ],
    ids=["understands nothing", "an error of its own", "not now", "not there"],
)
async def test_one_that_cannot_be_started_loses_the_match_to_another(agents: Agents, answer: Any, counted: int) -> None:
    league = await agents.in_db(lambda: place(agents, ours=1))
    if answer == "no port":
        nowhere = f"http://127.0.0.1:{free_port()}/mcp"
        await agents.in_db(lambda: Agent.objects.filter(code="REF01").update(endpoint=nowhere))
    else:
        agents.answers["REF01"] = answer
    async with conducting():
        await start_round(agents)
        await agents.until(lambda: "start_match" in asked(agents, "REF02"))
        await agents.until_in_db(lambda: league.match("R1M1").attempt == 2)
    match = await agents.in_db(lambda: league.match("R1M1"))
    row = await agents.in_db(league.referees[0].fresh)
    assert (match.state, match.lost_attempts, match.referee_id) == ("ASSIGNED", counted, league.referees[1].agent.pk)
    assert (row.state, row.problem == "", "START_MATCH" in row.spoken) == ("SUSPENDED", False, False)


async def test_one_that_answers_when_the_match_is_over_keeps_it() -> None:
    """It is asked once: what it understands is not known yet, and it may be playing."""
    asked_with: list[bytes] = []

    class Slow:
        async def post(self, url: str, message: bytes, *, limit_s: float) -> Any:
            asked_with.append(message)
            raise TimedOut(f"no answer within {limit_s:g} s", connected=True)

    tries = tuple(outgoing.Try(f"canonical:{method}", method.encode(), 1) for method in starts.METHODS)
    start = outgoing.Start(1, 1, 1, "http://127.0.0.1:1/mcp", tries, 10, 60, foreign=True)
    assert await sending.offer(Slow(), start, limit_s=10) == sending.Offered()
    assert asked_with == [b"start_match"]


def test_its_lease_is_the_longest_match() -> None:
    league = announced()
    open_and_told()
    make.look()
    match = league.match("R1M1")
    lease = (match.lease_until - timezone.now()).total_seconds()
    longest = match.league.rules.longest_match_s()
    assert longest - 60 < lease <= longest


# Results ------------------------------------------------------------------------------------------


def announced(**settings: Any) -> make.Setting:
    """Round 1 of a league is ANNOUNCING, R1M1 belongs to a student's referee; nothing was sent yet."""
    student = make.hire("Student", port=9001, trusted=False, progress=False)
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    make.open_league("fall", **settings)
    members = [make.join(f"Player {n}", "fall", port=8100 + n) for n in (1, 2)]
    lifecycle.start_league(league_id="fall")
    return make.Setting("fall", members, [student])


def open_and_told() -> None:
    """The round is open, and everybody has been told of it."""
    plan = make.look()
    outbox.settle([(parcel.delivery_pk, "") for parcels in plan.parcels.values() for parcel in parcels])
    plan = make.look()
    outbox.settle([(parcel.delivery_pk, "") for parcels in plan.parcels.values() for parcel in parcels])
    make.open_current("fall")


def test_it_is_told_of_a_round_when_its_players_have_been() -> None:
    league = announced()
    student, players = league.referees[0].agent.pk, [one.agent.pk for one in league.players]
    plan = make.look()
    assert sorted(plan.parcels) == sorted(players)
    outbox.settle([(plan.parcels[players[0]][0].delivery_pk, "")])
    assert sorted(due.look(busy_agents=players, draining=False).parcels) == []
    outbox.settle([(plan.parcels[players[1]][0].delivery_pk, "no connection")])
    assert (sorted(make.look().parcels), league.league.rounds.get().state) == ([student], "ANNOUNCING")


def test_a_round_that_had_to_open_before_waits_with_its_matches_until_it_is_told() -> None:
    league = announced()
    make.open_current("fall")
    plan = make.look()
    assert (plan.starts, len(plan.parcels)) == ([], 3)
    outbox.settle([(plan.parcels[league.referees[0].agent.pk][0].delivery_pk, "")])
    assert [start.attempt for start in make.look().starts] == [1]


@pytest.mark.parametrize("open_first", [False, True])
def test_a_result_may_come_before_we_have_started_the_match(open_first: bool) -> None:
    league = announced()
    if open_first:
        make.open_current("fall")
    match, judge = league.match("R1M1"), league.referees[0]
    assert (match.state, Round.objects.get().state) == ("READY", "RUNNING" if open_first else "ANNOUNCING")
    assert report_without_attempt(match, judge, "P02") == {"status": "ACCEPTED", "reason": None}
    assert report_without_attempt(match, judge, "P01") == {
        "status": "ACCEPTED",
        "duplicate": True,
        "reason": "a result is on record; the first one stands",
    }
    match = league.match("R1M1")
    assert (match.state, match.attempt, match.winner.code) == ("FINISHED", 1, "P02")
    assert [step["state"] for step in match.lifecycle] == ["ASSIGNED", "FINISHED"]
    if not open_first:
        make.open_current("fall")
    assert (make.look().starts, league.league.state) == ([], "COMPLETED")
    assert league.events().count("match_finished") == 1


def test_a_result_that_comes_while_the_match_is_being_started_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    league = announced()
    open_and_told()
    assign = reporting.assign

    def late(**how: Any) -> Match | None:
        make.look()
        return assign(**how)

    monkeypatch.setattr(reporting, "assign", late)
    answer = report_without_attempt(league.match("R1M1"), league.referees[0], "P01")
    assert answer == {"status": "ACCEPTED", "reason": None}
    match = league.match("R1M1")
    assert (match.state, match.attempt, league.events().count("match_finished")) == ("FINISHED", 1, 1)


def test_nobody_else_may_be_early() -> None:
    league = announced()
    match, judge = league.match("R1M1"), league.referees[0]
    other = make.hire("Another", port=9002, trusted=True, progress=False)
    with pytest.raises(RefereeNotRegistered):
        report_without_attempt(match, other, "P01")
    registration.trust(agent_ids=[judge.agent.pk], trusted=False)
    assert report_without_attempt(match, judge, "P01")["status"] == "IGNORED"
    Agent.objects.filter(pk=judge.agent.pk).update(trusted=True, sends_progress=True)
    assert report_without_attempt(match, judge, "P01")["status"] == "IGNORED"
    assert league.states() == {"R1M1": "READY"}


def test_a_lost_attempt_of_its_own_is_not_taken_up_again() -> None:
    league = announced()
    open_and_told()
    make.look()
    Match.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    make.look()
    assert league.states() == {"R1M1": "READY"}
    answer = report_without_attempt(league.match("R1M1"), league.referees[0], "P01")
    assert answer == {"status": "IGNORED", "reason": "attempt 1 is over"}
    assert league.states() == {"R1M1": "READY"}


def test_a_draw_by_name_and_the_names_of_game_over() -> None:
    league = announced()
    changes = {"game_result": {"winner_player_id": "DRAW", "drawn_number": 4, "choices": {"P01": "odd", "P02": "odd"}}}
    report_without_attempt(league.match("R1M1"), league.referees[0], None, result=None, **changes)
    match = league.match("R1M1")
    assert (match.status, match.winner, match.details) == (
        "DRAW",
        None,
        {"drawn_number": 4, "choices": {"P01": "odd", "P02": "odd"}},
    )


def test_how_players_speak_is_learned_from_a_report() -> None:
    league = announced()
    ways = {"P01": {"GAME_INVITATION": "handle_message"}, "P02": {"GAME_INVITATION": "sung"}, "P09": {}}
    report_without_attempt(league.match("R1M1"), league.referees[0], "P01", spoken=ways)
    assert [one.fresh().spoken for one in league.players] == [{"GAME_INVITATION": "handle_message"}, {}]


def test_a_report_that_names_no_league_finds_its_match(client: Client) -> None:
    league = announced()
    fields = make.result_fields(league.match("R1M1"), "P02")
    del fields["attempt"], fields["league_id"]
    params = make.signed(league.referees[0], "MATCH_RESULT_REPORT", **fields)
    other = wire.refused(client, "MATCH_RESULT", params | {"match_id": "R9M9"})
    assert (other["error_code"], other["context"]["field"]) == ("E003", "league_id")
    # 002's name for it, as a method.
    answer = wire.ask(client, "MATCH_RESULT", params)
    assert (answer["status"], answer["league_id"], league.match("R1M1").winner.code) == ("ACCEPTED", "fall", "P02")


def test_one_that_judges_the_same_match_of_two_leagues_must_say_which(client: Client) -> None:
    league = announced()
    make.open_league("other")
    for number in (1, 2):
        make.join(f"Other {number}", "other", port=8200 + number)
    lifecycle.start_league(league_id="other")
    fields = make.result_fields(league.match("R1M1"), "P02")
    del fields["league_id"]
    params = make.signed(league.referees[0], "MATCH_RESULT_REPORT", **fields)
    assert wire.refused(client, "report_match_result", params)["error_code"] == "E003"
    assert league.states() == {"R1M1": "READY"}


def test_a_students_referee_that_sends_progress_gets_no_token_that_is_good_in_other_matches() -> None:
    """With a player's league_token it could answer for that player at the referee of any match."""
    place = make.setting(players=2, referees=0)
    student = make.hire("Student", port=9001, trusted=False, progress=True)
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    make.playing_on(place)
    Match.objects.update(state="READY", attempt=0)
    [start] = make.look().starts
    told = json.loads(start.tries[0].body)["params"]
    given = {told[seat]["league_token"] for seat in ("player_A", "player_B")}
    assert len(given) == 2
    assert given.isdisjoint(credentials.league_token(one.fresh()) for one in place.players)
