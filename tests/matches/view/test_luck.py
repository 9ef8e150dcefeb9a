"""How much of a league's table is luck, as each audience may know it (docs/luck.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from league_sdk.ledger.luck.again import play_again
from league_sdk.ledger.luck.figures import Luck, Question
from matches.league import freeze
from matches.view import luck, sight
from matches.view.luck import Keeper
from tests import factories as make
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db


class Work:
    """Questions of a keeper, which are answered when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.questions: list[Question] = []
        self.now = 0.0

    def keeper(self, **how: int) -> Keeper:
        return Keeper(self.answer, self.waiting.append, lambda: self.now, **how)

    def answer(self, question: Question) -> Luck | None:
        self.questions.append(question)
        return play_again(question)

    def run_waiting(self) -> int:
        """Answer the questions that wait; returns their number."""
        done = len(self.waiting)
        while self.waiting:
            self.waiting.pop(0)()
        return done


def played(rounds: int, players: int = 4, league_id: str = "fall") -> make.MadeLeague:
    """A league with this many finished rounds."""
    made = make.running_league(league_id, players=players)
    for number in range(rounds):
        if number:
            make.next_round(made)
        make.finish_round(made, number % 2)
    return made


def test_figures_are_computed_after_a_round_and_only_of_finished_rounds() -> None:
    work = Work()
    keeper = work.keeper()
    made = played(1)
    assert keeper.known(sight.everything(made.league)) is None
    # One match for each player is too few.
    assert work.run_waiting() == 0
    make.next_round(made)
    make.finish_round(made, 1)
    assert keeper.known(sight.everything(made.league)) is None
    assert work.run_waiting() == 1
    known = keeper.known(sight.everything(made.league))
    assert known is not None
    assert (known.after_round, known.fresh, known.luck.matches, known.luck.is_game_of_chance) == (2, True, 4, True)
    assert set(known.luck.players) == {"P01", "P02", "P03", "P04"}
    assert known.of("P99") is None
    make.next_round(made)
    make.look()
    match = next(made.match(match_id) for match_id, state in made.states().items() if state == "ASSIGNED")
    make.report(match, match.player_a.code)
    assert keeper.known(sight.everything(made.league)) == known
    assert work.run_waiting() == 0


def test_a_running_league_is_computed_again_after_a_pause_and_one_that_is_over_at_once() -> None:
    work = Work()
    keeper = work.keeper()
    made = played(2, players=6)
    for number in (3, 4, 5):
        keeper.known(sight.everything(made.league))
        assert work.run_waiting() == (1 if number != 4 else 0)
        make.next_round(made)
        make.finish_round(made, 0)
        if number == 4:
            work.now += luck.MIN_GAP_S
    assert made.league.state == "COMPLETED"
    before = keeper.known(sight.everything(made.league))
    assert before is not None and not before.fresh
    assert work.run_waiting() == 1
    after = keeper.known(sight.everything(made.league))
    assert after is not None and (after.fresh, after.after_round) == (True, 5)


def test_one_league_is_computed_at_a_time() -> None:
    work = Work()
    keeper = work.keeper()
    first, second = played(3), played(3, league_id="spring")
    keeper.known(sight.everything(first.league))
    assert keeper.known(sight.everything(second.league)) is None
    assert keeper.known(sight.everything(first.league)) is None
    assert len(work.waiting) == 1


def test_an_audience_behind_a_freeze_has_figures_of_what_it_sees() -> None:
    work = Work()
    keeper = work.keeper()
    made = played(2)
    freeze.plan(league_id=made.league_id, from_round=3)
    make.next_round(made)
    make.finish_round(made, 0)
    for view in (sight.public(made.league), sight.everything(made.league), sight.public(made.league)):
        keeper.known(view)
        work.run_waiting()
    public, staff = keeper.known(sight.public(made.league)), keeper.known(sight.everything(made.league))
    assert public is not None and staff is not None
    assert (public.after_round, public.luck.matches) == (2, 4)
    assert (staff.after_round, staff.luck.matches) == (3, 6)
    hidden = {one.match_id for one in sight.everything(made.league).moment.outcomes.values() if one.round_number == 3}
    assert hidden
    assert [{one.round_number for one in question.results} for question in work.questions] == [{1, 2}, {1, 2, 3}]
    # A correction behind the freeze changes nothing for the public.
    make_correction("set_result", match_id="R3M1", status="DRAW", winner=None, reason="so it was")
    keeper.known(sight.public(made.league))
    assert work.run_waiting() == 0


def test_a_moment_of_the_past_has_no_figures() -> None:
    work = Work()
    made = played(3)
    view = sight.past(made.league, made.league.event_seq - 1)
    assert work.keeper().known(view) is None
    assert work.run_waiting() == 0


def test_after_a_correction_the_figures_are_computed_again() -> None:
    work = Work()
    keeper = work.keeper()
    made = played(3)
    keeper.known(sight.everything(made.league))
    assert work.run_waiting() == 1
    make_correction("points", player_id="P04", points=50, reason="for the test")
    stale = keeper.known(sight.everything(made.league))
    assert stale is not None and not stale.fresh
    assert work.run_waiting() == 1
    known = keeper.known(sight.everything(made.league))
    assert known is not None and known.fresh and known.luck.players["P04"].low == 1


def test_a_failed_computation_is_not_repeated_and_nothing_false_is_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    keeper = work.keeper()
    made = played(3)
    keeper.known(sight.everything(made.league))
    work.run_waiting()

    def fail(question: Question) -> Luck | None:
        raise OSError("no room for another process")

    keeper.run = fail
    make_correction("points", player_id="P04", points=50, reason="for the test")
    keeper.known(sight.everything(made.league))
    assert work.run_waiting() == 1
    known = keeper.known(sight.everything(made.league))
    assert known is not None and not known.fresh
    assert work.run_waiting() == 0
    assert "could not be computed" in caplog.text


def test_a_process_without_pages_computes_nothing() -> None:
    work = Work()
    made = played(3)
    keeper = Keeper(work.answer)
    assert keeper.known(sight.everything(made.league)) is None
    assert keeper.known(sight.everything(made.league)) is None
    assert (keeper.start, work.questions) == (None, [])


def test_a_game_that_fails_is_taken_for_one_of_skill(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: object, details: object) -> None:
        raise TypeError("not these details")

    monkeypatch.setattr("league_sdk.rules.even_odd.EvenOdd.chances", fail)
    work = Work()
    keeper = work.keeper()
    made = played(3)
    keeper.known(sight.everything(made.league))
    work.run_waiting()
    known = keeper.known(sight.everything(made.league))
    assert known is not None and not known.luck.is_game_of_chance
    assert "cannot say the chances" in caplog.text


def test_the_number_of_kept_leagues_is_limited() -> None:
    work = Work()
    keeper = work.keeper(max_kept=1)
    made = played(3)
    keeper.known(sight.everything(made.league))
    work.run_waiting()
    assert keeper.known(sight.everything(made.league)) is not None
    keeper.known(sight.everything(played(3, league_id="spring").league))
    assert keeper.known(sight.everything(made.league)) is None


def test_another_process_computes_the_same_figures_as_this_one() -> None:
    work = Work()
    made = played(3)
    work.keeper().known(sight.everything(made.league))
    work.run_waiting()
    assert luck.in_a_process(work.questions[0]) == play_again(work.questions[0])
    done = threading.Event()
    luck.in_a_thread(done.set)
    assert done.wait(30)
