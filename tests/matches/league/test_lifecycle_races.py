"""Two changes at once: the second, based on what was read before the first, changes nothing (compare-and-swap)."""

from __future__ import annotations

import pytest

from matches.league import lifecycle, losses, opening, progress, reporting
from matches.league.errors import ActionRefused
from matches.models import League, Match, Round
from matches.view import sight
from tests import factories as make
from tests.matches.races import call_before

pytestmark = pytest.mark.django_db


def test_of_two_results_at_once_the_first_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    call_before(monkeypatch, reporting, "read_verdict", lambda: make.report(match, "P02"))
    assert make.report(match, "P01") == {"status": "IGNORED", "reason": "attempt 1 is over"}
    assert [(row.player_id, row.points) for row in sight.everything(made.league).standings] == [("P02", 3), ("P01", 0)]
    assert made.events().count("match_finished") == 1


def test_a_result_whose_attempt_is_lost_meanwhile_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")

    def lose_attempt_and_look() -> None:
        losses.lose_attempt(matches=Match.objects.filter(pk=match.pk), why="test")
        make.look()

    call_before(monkeypatch, reporting, "read_verdict", lose_attempt_and_look)
    assert make.report(match, "P01") == {"status": "IGNORED", "reason": "attempt 1 is over"}
    assert (made.match("R1M1").state, made.match("R1M1").attempt) == ("ASSIGNED", 2)


def test_late_progress_does_not_move_a_match_to_an_earlier_state(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    call_before(monkeypatch, progress, "lease_s_of", lambda: make.progress(match, state="DRAWING_NUMBER"))
    make.progress(match, state="COLLECTING_CHOICES")
    assert made.match("R1M1").state == "DRAWING_NUMBER"


def test_progress_that_was_not_stored_is_answered_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the referee would take the move for recorded, and ask the next player."""
    made = make.running_league(players=2)
    match = made.match("R1M1")
    call_before(monkeypatch, progress, "lease_s_of", lambda: Match.objects.update(state="READY"))
    assert make.progress(match, state="COLLECTING_CHOICES", transcript=[make.entry(0)]) == "lost"
    assert (made.match("R1M1").state, made.match("R1M1").messages.count()) == ("READY", 0)


def test_recorded_moves_are_never_removed() -> None:
    made = make.running_league(players=2)
    League.objects.update(game_type="tic_tac_toe")
    first, second = ["P01", 4], ["P02", 0]
    match = made.match("R1M1")
    for moves in ([first], [first, second], [first], None, []):
        assert make.progress(match, state="COLLECTING_CHOICES", moves=moves) == "ok"
    assert made.match("R1M1").moves == [first, second]


def test_two_clicks_start_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.league(players=4)
    opening.close_registration(league_id="fall")
    # The other click comes after this one has read which round is next.
    call_before(
        monkeypatch,
        lifecycle.freeze,
        "begin_before",
        lambda: Round.objects.filter(number=1).update(state="ANNOUNCING"),
    )
    with pytest.raises(ActionRefused, match=r"Round 1 has just been started\."):
        lifecycle.start_round(league_id="fall")
    assert made.events().count("round_started") == 0


def test_two_clicks_close_registration_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make.league(players=4)
    call_before(monkeypatch, opening, "move", lambda: League.objects.update(state="SCHEDULED"))
    with pytest.raises(ActionRefused) as caught:
        opening.close_registration(league_id="fall")
    assert (str(caught.value), Match.objects.count()) == ("Fall has just changed: look again.", 0)
