"""Calls of referees in any order: every match counts once, and the table is the sum of the results that counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from agents_registry.registering import registration
from league_sdk.ledger.standings import Result, Scoring, table
from matches.league import lifecycle, losses, opening, play, progress, reporting, results
from matches.models import Match, Round
from matches.view import sight
from tests import factories as make
from tests.matches.machine import RolledBack

READY, IN_PLAY, HELD, DONE = "ready", "in play", "held", "done"
WINNERS = st.sampled_from(["A", "B", "draw", "cancelled", "A by technical loss"])
ATTEMPTS = st.integers(0, 4)
PICKS = st.integers(0, 100)


@dataclass
class Model:
    """The expected state of one match.

    Attributes:
        lost: its lost attempts.
        holders: the referee that was given each attempt.
        result: its status and winner.
        finished_as: which of the finished matches it is, counted from 1.
    """

    players: tuple[str, str]
    round_number: int
    phase: str = READY
    attempt: int = 0
    lost: int = 0
    holders: dict[int, Any] = field(default_factory=dict)
    result: tuple[str, str | None] | None = None
    finished_as: int = 0


class LeagueMachine(RolledBack):
    """Four players, three rounds, two referees, six matches."""

    @initialize()
    def begin(self) -> None:
        self.made = make.league(players=4, referees=2)
        self.matches: dict[str, Model] = {}
        self.finished = 0
        opening.close_registration(league_id="fall")
        self.next_round()

    # What the league does --------------------------------------------------------------------------

    def next_round(self) -> None:
        for referee in self.made.referees:
            registration.heard_from_referee(agent_id=referee.agent.pk)
        started = lifecycle.start_round(league_id="fall")
        for match in started.matches.select_related("player_a", "player_b"):
            self.matches[match.match_id] = Model((match.player_a.code, match.player_b.code), started.number)
        make.open_round("fall")

    def open_ids(self) -> list[str]:
        return [match_id for match_id, one in self.matches.items() if one.phase != DONE]

    @precondition(lambda self: not self.open_ids() and len(self.matches) < 6)
    @rule()
    def start_round(self) -> None:
        self.next_round()

    @rule()
    def look(self) -> None:
        for referee in self.made.referees:
            registration.heard_from_referee(agent_id=referee.agent.pk)
        started = {(start.match_pk, start.attempt) for start in make.look().starts}
        expected = set()
        for match_id, model in self.matches.items():
            if model.phase == READY:
                match = self.made.match(match_id)
                model.phase, model.attempt = IN_PLAY, model.attempt + 1
                model.holders[model.attempt] = match.referee
                expected.add((match.pk, model.attempt))
        assert started == expected

    # What referees do ------------------------------------------------------------------------------

    def pick(self, number: int) -> tuple[str, Model]:
        match_id = sorted(self.matches)[number % len(self.matches)]
        return match_id, self.matches[match_id]

    @rule(number=PICKS, attempt=ATTEMPTS, state=st.sampled_from(["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES"]))
    def progress(self, number: int, attempt: int, state: str) -> None:
        match_id, model = self.pick(number)
        judge = model.holders.get(attempt)
        if judge is None:
            return
        item = make.progress_of(self.made.match(match_id), attempt=attempt, state=state)
        (answer,) = progress.progress(referee=judge, items=[item])
        alive = model.phase == IN_PLAY and attempt == model.attempt
        assert answer["status"] == ("ok" if alive else "lost")

    @rule(number=PICKS, attempt=ATTEMPTS, outcome=WINNERS, again=st.booleans(), named=st.booleans())
    def report(self, number: int, attempt: int, outcome: str, again: bool, named: bool) -> None:
        match_id, model = self.pick(number)
        judge = model.holders.get(attempt)
        if judge is None:
            return
        for _ in range(1 + again):
            self.report_once(match_id, model, attempt, judge, outcome, named or judge != model.holders[model.attempt])

    def report_once(self, match_id: str, model: Model, attempt: int, judge: Any, outcome: str, named: bool) -> None:
        """Report a result; without an attempt it counts as a report of the referee's present attempt."""
        a, b = model.players
        winner = {"A": a, "B": b, "A by technical loss": a}.get(outcome)
        status = {"draw": "DRAW", "cancelled": "CANCELLED", "A by technical loss": "TECHNICAL_LOSS"}.get(outcome, "WIN")
        claimed = attempt if named else model.attempt
        answer = reporting.report(
            referee=judge,
            league_id="fall",
            match_id=match_id,
            attempt=attempt if named else None,
            params={"status": status, "result": {"winner": winner, "score": {}, "details": {}}},
            transcript=[make.entry(0, body=outcome)],
        )
        if model.phase == IN_PLAY and claimed == model.attempt:
            self.done(model, status, winner)
            assert answer == {"status": "ACCEPTED", "reason": None}
        elif model.phase == DONE and judge == model.holders[model.attempt]:
            assert (answer["status"], answer["duplicate"]) == ("ACCEPTED", True)
        else:
            assert answer["status"] == "IGNORED"

    def done(self, model: Model, status: str, winner: str | None) -> None:
        self.finished += 1
        model.phase, model.result, model.finished_as = DONE, (status, winner), self.finished

    @rule(number=PICKS, attempt=ATTEMPTS)
    def undeliverable(self, number: int, attempt: int) -> None:
        match_id, model = self.pick(number)
        match = self.made.match(match_id)
        losses.undeliverable(losses.UntakenStart(match.pk, attempt, match.lease_until, "no connection"))
        if model.phase == IN_PLAY and attempt == model.attempt:
            model.phase = READY

    @rule(number=PICKS)
    def hand_back(self, number: int) -> None:
        """The referee leaves: it gives no reason, and the attempt does not count as lost."""
        match_id, model = self.pick(number)
        if model.phase == IN_PLAY:
            item = make.progress_of(self.made.match(match_id), state="HANDED_BACK")
            progress.progress(referee=model.holders[model.attempt], items=[item])
            model.phase = READY

    @rule(number=PICKS)
    def lose(self, number: int) -> None:
        """The lease runs out."""
        match_id, model = self.pick(number)
        Match.objects.filter(match_id=match_id).exclude(lease_until=None).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )
        losses.expire_leases(now=timezone.now())
        if model.phase == IN_PLAY:
            model.lost += 1
            model.phase = HELD if model.lost == play.MAX_LOST_ATTEMPTS else READY

    # What the instructor does ----------------------------------------------------------------------

    @precondition(lambda self: any(one.phase == HELD for one in self.matches.values()))
    @rule()
    def release(self) -> None:
        match_id, model = next((key, one) for key, one in self.matches.items() if one.phase == HELD)
        play.release(league_id="fall", match_id=match_id)
        model.phase, model.lost = READY, 0

    @rule(number=PICKS)
    def cancel(self, number: int) -> None:
        match_id, model = self.pick(number)
        if model.phase != DONE:
            results.cancel(league_id="fall", match_id=match_id, why="test")
            self.done(model, "CANCELLED", None)

    # What always holds -----------------------------------------------------------------------------

    @invariant()
    def every_match_is_where_it_should_be(self) -> None:
        phases = {"READY": READY, "HELD": HELD, "FINISHED": DONE}
        actual = {
            one.match_id: (phases.get(one.state, IN_PLAY), one.attempt, one.lost_attempts)
            for one in Match.objects.exclude(state="PENDING")
        }
        assert actual == {key: (one.phase, one.attempt, one.lost) for key, one in self.matches.items()}

    @invariant()
    def every_result_counted_once(self) -> None:
        assert self.made.events().count("match_finished") == self.finished
        assert len(self.matches) - len(self.open_ids()) == self.finished

    @invariant()
    def the_table_is_the_fold_of_the_results(self) -> None:
        counted = sorted((one for one in self.matches.values() if one.result), key=lambda one: one.finished_as)
        fold = [Result(one.round_number, *one.players, *one.result) for one in counted if one.result]
        names = {f"P0{number}": f"Player {number}" for number in range(1, 5)}
        assert sight.everything(self.made.league).standings == table(names, fold, Scoring())

    @invariant()
    def rounds_end_with_their_last_match(self) -> None:
        for number in {one.round_number for one in self.matches.values()}:
            over = all(one.phase == DONE for one in self.matches.values() if one.round_number == number)
            assert Round.objects.get(number=number).state == ("COMPLETED" if over else "RUNNING")
        over = self.finished == 6
        assert self.made.league.state == ("COMPLETED" if over else "RUNNING")
