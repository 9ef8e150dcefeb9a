"""The history of a league, and what an audience sees of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from league_sdk.ledger.kinds import EventKind
from matches.events.history import Happened, Moment
from matches.events.registry import fold
from matches.league import lifecycle
from matches.league.effects import record
from matches.models import League, Match
from matches.view import sight
from tests import factories as make

START = datetime(2026, 1, 1, 18, 0, tzinfo=UTC)


def happened(*kinds: tuple[str, dict[str, Any]]) -> list[Happened]:
    """Events of these kinds, with their data, a minute apart."""
    return [
        Happened(number, kind, data, START + timedelta(minutes=number)) for number, (kind, data) in enumerate(kinds, 1)
    ]


def match_data(match_id: str, winner: str | None = "P01", **changes: Any) -> dict[str, Any]:
    """The data of the event ``match_finished``; without a winner the match is a draw."""
    return {
        "match_id": match_id,
        "round_id": 1,
        "players": ["P01", "P02"],
        "status": "WIN" if winner else "DRAW",
        "winner_id": winner,
        "reason": "",
        "details": {},
        "faults": [],
        "attempt": 1,
        "referee_id": "REF01",
    } | changes


ONE_ROUND = [  # a whole league with one round of one match
    ("league_created", {}),
    ("schedule_made", {"players": 2, "rounds": 1}),
    ("round_started", {"round_id": 1}),
    ("round_opened", {"round_id": 1}),
    ("match_finished", match_data("R1M1")),
    ("round_completed", {"round_id": 1}),
    ("league_completed", {"champion": None}),
]


def test_the_state_of_a_league_after_each_of_its_events() -> None:
    events = happened(*ONE_ROUND)
    states = [fold(Moment(), events[:number]) for number in range(len(events) + 1)]
    assert [str(one.state) for one in states] == [
        "REGISTRATION",
        "REGISTRATION",
        "SCHEDULED",
        *["RUNNING"] * 4,
        "COMPLETED",
    ]
    assert [str(one.current.state) if one.current else None for one in states] == [
        None,
        None,
        None,
        "ANNOUNCING",
        "RUNNING",
        "RUNNING",
        "COMPLETED",
        "COMPLETED",
    ]
    assert [len(one.outcomes) for one in states] == [0, 0, 0, 0, 0, 1, 1, 1]
    assert (states[-1].started_at, states[-1].completed_at) == (events[2].at, events[6].at)


def test_folding_events_does_not_change_the_moment() -> None:
    events = happened(*ONE_ROUND)
    half = fold(Moment(), events[:4])
    assert fold(half, events[4:]) == fold(Moment(), events)
    assert half == fold(Moment(), events[:4])


def test_a_correction_changes_the_moment_and_its_undoing_restores_it() -> None:
    corrected = {
        "number": 1,
        "kind": "void",
        "reason": "wrong game",
        "results": {"R1M1": match_data("R1M1", None, status="CANCELLED", correction=1)},
        "points": {"P02": 2},
        "out": {"P01": "withdrawn"},
    }
    undone = {
        "number": 1,
        "reason": "a mistake",
        "results": {"R1M1": match_data("R1M1")},
        "points": {"P02": -2},
        "out": {"P01": None},
    }
    events = happened(*ONE_ROUND, ("corrected", corrected), ("correction_undone", undone))
    before, during, after = (fold(Moment(), events[:number]) for number in (7, 8, 9))
    assert (during.outcomes["R1M1"].status, during.outcomes["R1M1"].correction) == ("CANCELLED", 1)
    assert (during.corrected_points, during.out) == ({"P02": 2}, {"P01": "withdrawn"})
    assert (during.corrections[1]["reason"], during.corrections[1]["undone"]) == ("wrong game", False)
    assert (after.corrected_points, after.out, after.outcomes["R1M1"].result) == (
        {"P02": 0},
        {},
        before.outcomes["R1M1"].result,
    )
    assert (after.corrections[1]["undone"], after.corrections[1]["undone_reason"]) == (True, "a mistake")


def test_a_match_that_is_to_be_played_again_has_no_result() -> None:
    again = {"number": 1, "kind": "replay", "reason": "x", "results": {"R1M1": None}}
    moment = fold(Moment(), happened(*ONE_ROUND, ("corrected", again)))
    assert moment.outcomes == {}
    assert (
        fold(moment, [Happened(99, "match_finished", match_data("R1M1", "P02", attempt=2), START)]).results[0].winner
        == "P02"
    )


def test_a_stopped_league_has_no_running_round() -> None:
    moment = fold(Moment(), happened(*ONE_ROUND[:4], ("league_stopped", {})))
    assert (str(moment.state), moment.rounds) == ("STOPPED", {})


def test_a_restart_of_the_demo_clears_its_state() -> None:
    moment = fold(Moment(), happened(*ONE_ROUND, ("demo_afresh", {})))
    assert (moment.outcomes, moment.rounds, str(moment.state), moment.seq) == ({}, {}, "REGISTRATION", 8)


# What an audience sees ---------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_history_leads_to_the_same_present_as_the_rows() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    make.next_round(made)
    make.report(made.match("R2M1"), None)
    league = made.league
    moment = sight.moment(league)
    assert str(moment.state) == league.state
    assert {number: str(one.state) for number, one in moment.rounds.items()} == {1: "COMPLETED", 2: "RUNNING"}
    rows = Match.objects.filter(state="FINISHED").values_list("match_id", "status", "winner__code", "attempt")
    assert sorted(rows) == sorted(
        (one.match_id, one.status, one.winner, one.attempt) for one in moment.outcomes.values()
    )


@pytest.mark.django_db(transaction=True)
def test_known_events_are_not_read_again_and_events_of_a_rollback_are_forgotten() -> None:
    made = make.running_league(players=2)
    league = made.league
    known = sight.moment(league)
    with CaptureQueriesContext(connection) as captured:
        assert sight.moment(league) == known
    assert [query["sql"].count(f'"seq" > {known.seq}') for query in captured] == [1]
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record("fall", EventKind.PAUSED)
        assert sight.moment(league).paused
        raise ZeroDivisionError
    assert not sight.moment(league).paused
    lifecycle.pause(league_id="fall")
    assert sight.moment(league).paused


@pytest.mark.django_db
def test_a_past_view_is_not_changed_by_later_results() -> None:
    made = make.running_league(players=4)
    before = sight.everything(made.league)
    table = before.standings
    make.finish_round(made)
    league = League.objects.get(pk="fall")
    assert sight.past(league, before.moment.seq).standings == table
    assert sight.past(league, 10**9).standings == sight.everything(league).standings
    assert not sight.past(league, before.moment.seq).is_present
