"""Corrections and undoings in any order: results equal previews, rows and history agree, undoing restores the table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from league_sdk.ledger.standings import Row, table
from matches.events.history import Moment
from matches.events.registry import fold
from matches.league.corrections import applying, plans, queries
from matches.league.corrections.plans import Wish
from matches.league.corrections.queries import plan_for, plan_to_undo, preview
from matches.league.errors import ActionRefused
from matches.models import Correction
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import assert_results_agree
from tests.matches.machine import RolledBack
from tests.sizes import examples

WHY = "a reason"
MATCHES = st.sampled_from([f"R{one}M{two}" for one in (1, 2, 3) for two in (1, 2)])
PLAYERS = st.sampled_from(["P01", "P02", "P03", "P04"])
WISHES = st.one_of(
    st.builds(Wish, st.sampled_from([plans.VOID, plans.REPLAY]), st.just(WHY), match_id=MATCHES),
    st.builds(
        Wish,
        st.just(plans.SET_RESULT),
        st.just(WHY),
        match_id=MATCHES,
        status=st.sampled_from(["WIN", "DRAW", "TECHNICAL_LOSS"]),
        winner=st.none() | PLAYERS,
    ),
    st.builds(
        Wish,
        st.sampled_from([plans.WITHDRAW, plans.DISQUALIFY]),
        st.just(WHY),
        player_id=PLAYERS,
        matches_become=st.sampled_from(plans.MATCHES_BECOME),
    ),
    st.builds(
        Wish,
        st.just(plans.POINTS),
        st.just(WHY),
        player_id=PLAYERS,
        points=st.integers(-1000, 1000),
    ),
)


class Corrections(RolledBack):
    """Four players, three rounds; play goes on between the corrections, or not."""

    @initialize(rounds=st.integers(0, 3))
    def begin(self, rounds: int) -> None:
        self.made = make.running_league(players=4)
        self.stack: list[tuple[int, Any]] = []
        for number in range(rounds):
            make.finish_round(self.made, winner=(0, 1, None)[number])
            if self.made.league.state == "RUNNING":
                make.next_round(self.made)

    def rows(self) -> list[Row]:
        return sight.everything(self.made.league).standings

    @rule(wish=WISHES)
    def correct(self, wish: Wish) -> None:
        before = self.rows()
        try:
            plan = plan_for(self.made.league, wish)
        except ActionRefused:
            with pytest.raises(ActionRefused):
                applying.make(league_id="fall", wish=wish, by="ada")
            assert self.rows() == before
            return
        shown = preview(self.made.league, plan)
        correction = applying.make(league_id="fall", wish=wish, by="ada", fingerprint=plan.fingerprint)
        assert self.rows() == [line.row for line in shown.after]
        self.stack.append((correction.number, before))

    @precondition(lambda self: self.stack)
    @rule()
    def undo_the_last(self) -> None:
        number, before = self.stack.pop()
        self.undo(number)
        if before is not None:
            assert self.rows() == before

    @precondition(lambda self: self.stack)
    @rule(data=st.data())
    def undo_any(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([number for number, _ in self.stack]))
        try:
            plan_to_undo(self.made.league, number, WHY)
        except ActionRefused as refusal:
            assert "first" in str(refusal)
            return
        self.undo(number)
        # The tables stored for later corrections included this one: they cannot be compared any more.
        index = next(index for index, (one, _) in enumerate(self.stack) if one == number)
        self.stack = self.stack[:index] + [(one, None) for one, _ in self.stack[index + 1 :]]

    def undo(self, number: int) -> None:
        plan = plan_to_undo(self.made.league, number, WHY)
        shown = preview(self.made.league, plan)
        applying.undo(league_id="fall", number=number, reason=WHY, by="ada", fingerprint=plan.fingerprint)
        assert self.rows() == [line.row for line in shown.after]

    @rule(winner=st.sampled_from([0, 1, None]))
    def play_on(self, winner: int | None) -> None:
        """Play the open matches; if no round is active then, start the next one."""
        known = sight.everything(self.made.league).moment.outcomes
        make.finish_round(self.made, winner)
        if self.made.league.state == "RUNNING" and "READY" not in self.made.states().values():
            active = self.made.league.rounds.filter(state__in=["ANNOUNCING", "RUNNING"]).exists()
            if not active and self.made.league.rounds.filter(state="PENDING").exists():
                make.next_round(self.made)
        if sight.everything(self.made.league).moment.outcomes != known:
            self.stack = [(number, None) for number, _ in self.stack]

    @invariant()
    def rows_and_history_agree(self) -> None:
        if not hasattr(self, "made"):
            return
        assert_results_agree(self.made)
        moment = sight.everything(self.made.league).moment
        assert {code: entry["word"] for code, entry in self.made.league.out.items()} == moment.out

    @invariant()
    def the_table_equals_the_folded_events(self) -> None:
        if not hasattr(self, "made"):
            return
        league = self.made.league
        moment = fold(Moment(), sight._read(league.events.order_by("seq")))
        points: dict[str, int] = {}
        for one in Correction.objects.filter(undone_at=None, kind=plans.POINTS).select_related("player"):
            points[one.player.code] = points.get(one.player.code, 0) + one.points
        names = queries.players_of(league)
        assert self.rows() == table(names, moment.results, sight.scoring(league), points=points, out=moment.out)

    @invariant()
    def rounds_and_league_end_once(self) -> None:
        """A league that runs has something left to do; a round is over once."""
        if not hasattr(self, "made"):
            return
        events = self.made.events()
        assert events.count("round_completed") <= 3
        assert events.count("league_completed") <= 1
        if self.made.league.state == "RUNNING":
            done = set(self.made.states().values()) == {"FINISHED"}
            assert not done or self.made.league.rounds.exclude(state="COMPLETED").exists()


@pytest.mark.django_db
@pytest.mark.timeout(600)
@pytest.mark.parametrize("examples", [examples(10), pytest.param(60, marks=pytest.mark.long)])
def test_any_corrections_in_any_order(examples: int) -> None:
    run_state_machine_as_test(
        Corrections,
        settings=settings(
            max_examples=examples,
            stateful_step_count=15,
            suppress_health_check=list(HealthCheck),
        ),
    )
