"""Corrections of the instructor: every kind and its undoing, what is refused, two at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from matches.league import lifecycle
from matches.league.corrections import applying, plans, queries
from matches.league.corrections.plans import Wish
from matches.league.errors import ActionRefused, HasChanged, Invalid, NotFound
from matches.models import Correction
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import (
    UNDO_REASON,
    WHY,
    assert_results_agree,
    everything,
    make_correction,
    play_to_end,
    points,
    rows,
    undo,
)
from tests.matches.races import call_before
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "void": ("void", {"match_id": "R1M1"}),
    "set to the other": ("set_result", {"match_id": "R1M1", "status": "WIN", "winner": "P02"}),
    "set to a draw": ("set_result", {"match_id": "R1M1", "status": "DRAW"}),
    "set to a technical loss": ("set_result", {"match_id": "R1M1", "status": "TECHNICAL_LOSS", "winner": "P02"}),
    "set to both absent": ("set_result", {"match_id": "R1M1", "status": "TECHNICAL_LOSS"}),
    "replay": ("replay", {"match_id": "R1M1"}),
    "points": ("points", {"player_id": "P02", "points": 5}),
    "points taken": ("points", {"player_id": "P02", "points": -1000}),
} | {
    f"{kind}, {become}": (kind, {"player_id": "P01", "matches_become": become})
    for kind in ("withdraw", "disqualify")
    for become in plans.MATCHES_BECOME
}
SAMPLED = ("void", "set to a technical loss", "replay", "points taken", "withdraw, void", "disqualify, lose")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        pytest.param(*case, marks=() if name in SAMPLED else pytest.mark.exhaustive, id=name)
        for name, case in KINDS.items()
    ],
)
@pytest.mark.parametrize(
    "ended", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["running", "completed"]
)
def test_every_kind_does_what_its_preview_showed_and_undoing_restores_table_and_results(
    made: make.MadeLeague, kind: str, changes: dict[str, Any], ended: bool
) -> None:
    if ended:
        play_to_end(made)
    was = everything(made)
    plan = queries.plan_for(made.league, Wish(kind, WHY, **changes))
    shown = queries.preview(made.league, plan)
    assert everything(made) == was
    applying.make(league_id="fall", wish=Wish(kind, WHY, **changes), by="ada", fingerprint=plan.fingerprint)
    assert [line.row for line in shown.after] == rows(made)
    assert [line.row for line in shown.before] == was[0]
    assert_results_agree(made)
    json.dumps(list(made.league.events.values_list("data", flat=True)))
    undo_preview = queries.preview(made.league, queries.plan_to_undo(made.league, 1, UNDO_REASON))
    undo(1)
    assert [line.row for line in undo_preview.after] == rows(made)
    now = everything(made)
    if made.match("R2M1").state == "FINISHED" or "matches_become" not in changes:
        assert now == was
    else:
        # The match of the running round was decided, and is READY again.
        assert now[:2] == was[:2]
        assert (made.match("R2M1").state, made.match("R2M1").attempt) == ("READY", 1)
    assert_results_agree(made)
    assert made.events().count("corrected") == made.events().count("correction_undone") == 1


def test_the_effect_of_each_kind_on_the_table(made: make.MadeLeague) -> None:
    assert (made.match("R1M1").player_a.code, made.match("R1M1").player_b.code) == ("P01", "P02")
    assert points(made) == {"P01": 3, "P02": 0, "P03": 3, "P04": 0}
    for kind, changes, expected in [
        ("void", {"match_id": "R1M1"}, {"P01": 0}),
        ("set_result", {"match_id": "R1M1", "status": "WIN", "winner": "P02"}, {"P01": 0, "P02": 3}),
        ("set_result", {"match_id": "R1M1", "status": "DRAW"}, {"P01": 1, "P02": 1}),
        ("set_result", {"match_id": "R1M1", "status": "TECHNICAL_LOSS"}, {"P01": 0}),
        ("replay", {"match_id": "R1M1"}, {"P01": 0}),
        ("points", {"player_id": "P01", "points": -2}, {"P01": 1}),
        # R2M1 of P01 against P03 is in play, and is decided, too.
        ("withdraw", {"player_id": "P01", "matches_become": "keep"}, {"P03": 6}),
        ("withdraw", {"player_id": "P01", "matches_become": "void"}, {"P01": 0}),
        ("disqualify", {"player_id": "P01", "matches_become": "lose"}, {"P01": 0, "P02": 3, "P03": 6}),
    ]:
        correction = make_correction(kind, **changes)
        assert points(made) == {"P01": 3, "P02": 0, "P03": 3, "P04": 0} | expected, kind
        undo(correction.number)
    assert [one.number for one in Correction.objects.order_by("pk")] == list(range(1, 10))


def test_a_correction_keeps_the_earlier_result(made: make.MadeLeague) -> None:
    old = made.match("R1M1")
    correction = make_correction("set_result", match_id="R1M1", status="WIN", winner="P02")
    new = made.match("R1M1")
    assert (new.status, new.winner and new.winner.code, new.reason) == ("WIN", "P02", WHY)
    assert (new.details, new.finished_at, new.attempt) == (old.details, old.finished_at, 1)
    assert correction.before["matches"]["R1M1"]["outcome"]["winner_id"] == "P01"
    assert correction.after["matches"]["R1M1"]["winner_id"] == "P02"
    assert (correction.made_by, correction.kind, correction.reason) == ("ada", "set_result", WHY)
    undone = undo(1)
    assert (undone.undone_by, undone.undone_reason, undone.reason) == ("bob", UNDO_REASON, WHY)
    assert undone.after["taken_back"]["R1M1"]["winner_id"] == "P02"
    outcome = sight.everything(made.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.correction, outcome.winner) == (None, "P01")


def test_undoing_the_second_correction_restores_the_first(made: make.MadeLeague) -> None:
    make_correction("set_result", match_id="R1M1", status="DRAW")
    make_correction("void", match_id="R1M1")
    with pytest.raises(ActionRefused, match="undo #2 first"):
        undo(1)
    undo(2)
    outcome = sight.everything(made.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.status, outcome.correction) == ("DRAW", 1)
    undo(1)
    with pytest.raises(ActionRefused, match="undone already"):
        undo(1)
    with pytest.raises(NotFound):
        undo(7)


# Refused -----------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such kind": ("delete", {}, "no correction delete"),
    "no such match": ("void", {"match_id": "R9M9"}, "no match R9M9"),
    "a match with a NUL": ("void", {"match_id": "R\x00"}, "no match"),
    "an open match": ("void", {"match_id": "R2M1"}, "cancelled at the desk"),
    "a match to come": ("set_result", {"match_id": "R3M1", "status": "DRAW"}, "has not begun"),
    "an open match again": ("replay", {"match_id": "R2M1"}, "not over"),
    "the same result": ("set_result", {"match_id": "R1M1", "status": "WIN", "winner": "P01"}, "already"),
    "a strange winner": ("set_result", {"match_id": "R1M1", "status": "WIN", "winner": "P03"}, "does not fit"),
    "a draw with a winner": ("set_result", {"match_id": "R1M1", "status": "DRAW", "winner": "P01"}, "does not fit"),
    "a win without a winner": ("set_result", {"match_id": "R1M1", "status": "WIN"}, "does not fit"),
    "a strange status": ("set_result", {"match_id": "R1M1", "status": "CANCELLED"}, "WIN, DRAW or"),
    "no such player": ("withdraw", {"player_id": "P09", "matches_become": "keep"}, "no player P09"),
    "nothing said of its matches": ("withdraw", {"player_id": "P01"}, "keep, void or lose"),
    "no points": ("points", {"player_id": "P01", "points": 0}, "1 to 1000"),
    "too many points": ("points", {"player_id": "P01", "points": 1001}, "1 to 1000"),
}


@pytest.mark.parametrize(("kind", "changes", "sentence"), sampled(REFUSED.values()), ids=REFUSED)
def test_a_correction_that_is_refused_changes_nothing(
    made: make.MadeLeague, kind: str, changes: dict[str, Any], sentence: str
) -> None:
    was = everything(made)
    with pytest.raises(ActionRefused, match=sentence):
        make_correction(kind, **changes)
    assert everything(made) == was
    assert not Correction.objects.exists()


@pytest.mark.parametrize(
    "reason", sampled(["no", "", "  ", "x" * 301, "nul \x00 here", None, "half \ud800 pair"], every=3)
)
def test_a_reason_that_cannot_be_used_is_refused(made: make.MadeLeague, reason: Any) -> None:
    with pytest.raises(Invalid) as caught:
        make_correction("void", match_id="R1M1", reason=reason)
    assert caught.value.field == "reason"


def test_a_stopped_league_is_corrected_but_plays_nothing_again(made: make.MadeLeague) -> None:
    lifecycle.stop(league_id="fall")
    with pytest.raises(ActionRefused, match="stopped for good"):
        make_correction("replay", match_id="R1M1")
    make_correction("void", match_id="R1M1")
    undo(1)
    assert_results_agree(made)


def test_before_the_schedule_there_is_nothing_to_correct() -> None:
    make.league(players=2)
    with pytest.raises(ActionRefused, match="no schedule yet"):
        make_correction("points", player_id="P01", points=1)
    with pytest.raises(NotFound):
        make_correction("void", league_id="nowhere", match_id="R1M1", reason=WHY)


# Two at once -------------------------------------------------------------------------------------


def test_of_two_corrections_at_once_one_is_refused(monkeypatch: pytest.MonkeyPatch, made: make.MadeLeague) -> None:
    call_before(monkeypatch, applying, "_before", lambda: make_correction("points", player_id="P01", points=3))
    with pytest.raises(HasChanged):
        make_correction("points", player_id="P01", points=3)
    # In this test the other correction is made in the same transaction, which is rolled back.
    assert not Correction.objects.exists()


def test_a_match_that_changes_meanwhile_is_not_corrected(
    monkeypatch: pytest.MonkeyPatch, made: make.MadeLeague
) -> None:
    match = made.match("R2M1")
    call_before(monkeypatch, applying, "_write", lambda: make.report(match, match.player_a.code))
    with pytest.raises(HasChanged):
        make_correction("set_result", match_id="R2M1", status="DRAW")
    assert not Correction.objects.exists()


def test_a_correction_does_what_its_preview_showed_or_nothing(made: make.MadeLeague) -> None:
    wish = Wish("set_result", WHY, match_id="R2M1", status="DRAW")
    shown = queries.plan_for(made.league, wish).fingerprint
    match = made.match("R2M1")
    make.progress(match, state="COLLECTING_CHOICES")
    make.report(made.match("R2M2"), None)
    # Progress of the match, and results of others, do not change the effect of the correction.
    assert queries.plan_for(made.league, wish).fingerprint == shown
    make.report(made.match("R2M1"), match.player_a.code)
    with pytest.raises(HasChanged):
        applying.make(league_id="fall", wish=wish, by="ada", fingerprint=shown)
    # A second click does not give the points twice.
    wish = Wish("points", WHY, player_id="P01", points=3)
    shown = queries.plan_for(made.league, wish).fingerprint
    applying.make(league_id="fall", wish=wish, by="ada", fingerprint=shown)
    with pytest.raises(HasChanged):
        applying.make(league_id="fall", wish=wish, by="ada", fingerprint=shown)
