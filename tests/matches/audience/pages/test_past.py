"""Views of the past: table and matches as they were after an event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.standings import Row
from matches.audience.pages import parts
from matches.events.history import Moment, RoundThen
from matches.events.registry import fold
from matches.league import lifecycle, losses, opening, play
from matches.league.effects import record
from matches.models import Event, League, Match
from matches.view import queries, sight
from matches.view.sight import View
from tests import factories as make
from tests.matches.league_machine import LeagueMachine

pytestmark = pytest.mark.django_db
START = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)


def states(view: View) -> dict[str, tuple[str, int]]:
    """State and attempt of every match in a view."""
    rows = (queries.match_row(match, view) for match in queries.matches_of(view.league))
    return {row["match_id"]: (row["state"], row["attempt"]) for row in rows}


class RememberingMachine(LeagueMachine):
    """After any steps, a view of the past shows what was seen when its event was the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, tuple[list[Row], dict[str, tuple[str, int]]]] = {}

    @invariant()
    def remember(self) -> None:
        view = sight.everything(self.made.league)
        self.seen.setdefault(view.moment.seq, (view.standings, states(view)))

    def teardown(self) -> None:
        try:
            if self.seen:
                self.go_back()
        finally:
            super().teardown()

    def go_back(self) -> None:
        league = self.made.league
        last = sight.everything(league)
        assert sight.past(league, last.moment.seq).standings == last.standings
        for seq, (standings, match_states) in self.seen.items():
            view = sight.past(league, seq)
            assert view.moment.seq == seq
            assert view.standings == standings
            if not view.is_present:
                assert states(view) == match_states


@pytest.mark.parametrize("examples", [3, pytest.param(15, marks=pytest.mark.long)])
def test_a_view_of_the_past_equals_what_was_seen_then(examples: int) -> None:
    run_state_machine_as_test(
        RememberingMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            database=None,
        ),
    )


def test_a_past_view_shows_a_running_match_as_it_was_then() -> None:
    made = make.league(players=4)
    opening.close_registration(league_id="fall")
    lifecycle.start_round(league_id="fall")
    states_by_event: dict[int, Any] = {made.league.event_seq: ("READY", 0)}
    assert states(sight.past(made.league, made.league.event_seq - 1))["R1M1"] == ("PENDING", 0)
    make.open_round("fall")

    def expect(expected: tuple[str, int]) -> None:
        record("fall", EventKind.SETTINGS_CHANGED)
        states_by_event[made.league.event_seq] = expected

    make.look()
    expect(("ASSIGNED", 1))
    for state in ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"):
        make.progress(made.match("R1M1"), state=state)
        expect((state, 1))
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why="test")
    expect(("READY", 1))
    make.look()
    expect(("ASSIGNED", 2))
    match = made.match("R1M1")
    make.report(match, match.player_a.code)
    states_by_event[made.league.event_seq] = ("FINISHED", 2)
    lifecycle.pause(league_id="fall")
    assert {seq: states(sight.past(made.league, seq))["R1M1"] for seq in states_by_event} == states_by_event
    assert states(sight.past(made.league, max(states_by_event)))["R2M1"] == ("PENDING", 0)


def state_then(match: Match, *, seconds: int, frozen: bool = False) -> str:
    """The state of a match of a running round, so many seconds after the round's start."""
    league = League(league_id="fall", frozen_seq=1 if frozen else None)
    at = START + timedelta(seconds=seconds)
    moment = Moment(seq=1, at=at, rounds={1: RoundThen(1, "RUNNING", START)})
    return queries.state_of(match, View(league, moment, is_present=False))


def steps(*states: tuple[str, int]) -> list[dict[str, str]]:
    return [play.lifecycle_step(state, START + timedelta(seconds=second)) for state, second in states]


def test_a_slow_referees_clock_does_not_show_later_attempts() -> None:
    match = make.running_league().match("R1M1")
    match.lifecycle = steps(("ASSIGNED", 1), ("READY", 5), ("ASSIGNED", 6), ("COLLECTING_CHOICES", 2), ("FINISHED", 9))
    assert [state_then(match, seconds=second) for second in (0, 1, 4, 5, 6, 9)] == [
        "READY",
        "ASSIGNED",
        "ASSIGNED",
        "READY",
        "COLLECTING_CHOICES",
        # Finished, but without a result in this view: the match is to be played again.
        "READY",
    ]


def test_a_frozen_view_uses_only_times_of_the_league_manager() -> None:
    match = make.running_league().match("R1M1")
    match.lifecycle = steps(("ASSIGNED", 1), ("WAITING_FOR_PLAYERS", 2), ("COLLECTING_CHOICES", 3))
    assert [state_then(match, seconds=second, frozen=True) for second in (0, 2, 4)] == ["READY", "ASSIGNED", "ASSIGNED"]


def test_a_past_view_says_who_joined_only_if_it_is_certain() -> None:
    match = make.running_league().match("R1M1")
    seq_of = {}
    for state in ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"):
        make.progress(match, state=state, joined=["P01"], locked_in=["P01"])
        record("fall", EventKind.SETTINGS_CHANGED)
        seq_of[state] = League.objects.get().event_seq
    record("fall", EventKind.SETTINGS_CHANGED)
    row = queries.matches_of(League.objects.get()).get(match_id="R1M1")
    marks = {}
    for state, seq in seq_of.items():
        player = parts.match_row(row, sight.past(League.objects.get(), seq)).a
        marks[state] = (player.joined, player.locked_in)
    assert marks == {
        "WAITING_FOR_PLAYERS": (False, False),
        "COLLECTING_CHOICES": (True, False),
        "DRAWING_NUMBER": (True, True),
    }


def test_any_past_moment_is_folded_from_few_events(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr(sight, "EVENTS_PER_CACHED_MOMENT", 4)
    made = make.running_league(players=4)
    make.finish_round(made)
    events = [sight.Happened(*row) for row in made.league.events.values_list("seq", "kind", "data", "at", "digest")]
    with django_capture_on_commit_callbacks(execute=True):
        sight.past(made.league, len(events) - 1)
        sight.everything(made.league)
    reads = []
    read = sight._read
    monkeypatch.setattr(sight, "_read", lambda rows: reads.append(len(event_rows := read(rows))) or event_rows)
    for seq in range(1, len(events) + 1):
        assert sight.moment(made.league, seq) == fold(Moment(), events[:seq])
    assert max(reads) <= sight.EVENTS_PER_CACHED_MOMENT


def test_a_restarted_demo_league_has_no_results_of_the_previous_one() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    last = made.league.event_seq
    assert sight.past(made.league, last).moment.outcomes
    Event.objects.all().delete()
    record("fall", EventKind.DEMO_AFRESH)
    assert not sight.past(made.league, last + 1).moment.outcomes
