"""Corrections of the instructor: every kind and its undoing, in every state of a league."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents_registry import registration
from matches import correction_queries, sight, summaries
from matches.history import Moment
from matches.league import corrections, curtain, lifecycle, plans
from matches.league.correcting import fate
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.league.plans import Wish
from matches.models import Broadcast, Correction, Delivery, League, Match
from matches.pages import parts
from matches.words import event
from matches.words_corrections import corrections_of
from tests import factories as make
from tests.matches.test_races import before

pytestmark = pytest.mark.django_db
WHY, BACK = "wrong game started", "it was the right one"


@pytest.fixture
def place() -> make.Setting:
    """Four players; round 1 is over (PLAYER_A won), round 2 is being played."""
    found = make.playing(players=4)
    make.finish_round(found)
    make.playing_on(found)
    return found


def over(place: make.Setting) -> make.Setting:
    """Play to the end."""
    make.finish_round(place)
    while place.league.state == "RUNNING":
        make.playing_on(place)
        make.finish_round(place)
    return place


def do(kind: str, **changes: Any) -> Correction:
    """A correction as the desk makes it."""
    return corrections.make(league_id="fall", wish=Wish(kind, WHY, **changes), by="ada")


def undo(number: int) -> Correction:
    return corrections.undo(league_id="fall", number=number, reason=BACK, by="bob")


def rows(place: make.Setting) -> list[Any]:
    return sight.everything(place.league).standings


def points(place: make.Setting) -> dict[str, int]:
    return {row.player_id: row.points for row in sorted(rows(place), key=lambda row: row.player_id)}


def results_in_rows(place: make.Setting) -> dict[str, Any]:
    """What the rows of the matches say of every result."""
    found = Match.objects.filter(league_id=place.league_id, state="FINISHED").select_related("winner")
    return {
        one.match_id: (one.status, one.winner and one.winner.code, one.reason, one.details, one.faults) for one in found
    }


def results_in_history(place: make.Setting) -> dict[str, Any]:
    """What the events say of it, folded from the first."""
    events = sight._read(place.league.events.order_by("seq"))
    return {
        match_id: (one.status, one.winner, one.reason, dict(one.details), list(one.faults))
        for match_id, one in Moment().after(events).outcomes.items()
    }


def agree(place: make.Setting) -> None:
    assert results_in_rows(place) == results_in_history(place)


def everything(place: make.Setting) -> Any:
    """All that a correction could change: rows, history, table."""
    moment = sight.everything(place.league).moment
    outcomes = {
        match_id: (one.result, one.reason, one.attempt, one.referee_id, one.correction, one.faults, one.details)
        for match_id, one in moment.outcomes.items()
    }
    finished = Match.objects.filter(league_id="fall", state="FINISHED").order_by("pk")
    return (
        rows(place),
        outcomes,
        moment.out,
        place.league.out,
        list(finished.values("match_id", "status", "winner", "reason", "details", "faults", "finished_at", "attempt")),
    )


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


@pytest.mark.parametrize(("kind", "changes"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("ended", [False, True], ids=["running", "completed"])
def test_every_kind_does_what_its_preview_showed_and_is_undone_whole(
    place: make.Setting, kind: str, changes: dict[str, Any], ended: bool
) -> None:
    if ended:
        over(place)
    was = everything(place)
    plan = correction_queries.plan_for(place.league, Wish(kind, WHY, **changes))
    shown = correction_queries.preview(place.league, plan)
    assert everything(place) == was
    corrections.make(league_id="fall", wish=Wish(kind, WHY, **changes), by="ada", fingerprint=plan.fingerprint)
    assert [line.row for line in shown.after] == rows(place)
    assert [line.row for line in shown.before] == was[0]
    agree(place)
    json.dumps(list(place.league.events.values_list("data", flat=True)))
    back = correction_queries.preview(place.league, correction_queries.plan_to_undo(place.league, 1, BACK))
    undo(1)
    assert [line.row for line in back.after] == rows(place)
    now = everything(place)
    if place.match("R2M1").state == "FINISHED" or "matches_become" not in changes:
        assert now == was
    else:
        # The match of the round that is on was decided, and begins anew.
        assert now[:2] == was[:2]
        assert (place.match("R2M1").state, place.match("R2M1").attempt) == ("READY", 1)
    agree(place)
    assert place.events().count("corrected") == place.events().count("correction_undone") == 1


def test_what_each_kind_makes_of_the_table(place: make.Setting) -> None:
    assert (place.match("R1M1").player_a.code, place.match("R1M1").player_b.code) == ("P01", "P02")
    assert points(place) == {"P01": 3, "P02": 0, "P03": 3, "P04": 0}
    for kind, changes, expected in [
        ("void", {"match_id": "R1M1"}, {"P01": 0}),
        ("set_result", {"match_id": "R1M1", "status": "WIN", "winner": "P02"}, {"P01": 0, "P02": 3}),
        ("set_result", {"match_id": "R1M1", "status": "DRAW"}, {"P01": 1, "P02": 1}),
        ("set_result", {"match_id": "R1M1", "status": "TECHNICAL_LOSS"}, {"P01": 0}),
        ("replay", {"match_id": "R1M1"}, {"P01": 0}),
        ("points", {"player_id": "P01", "points": -2}, {"P01": 1}),
        # Of a player that is taken out, R2M1 against P03, which is on, is decided, too.
        ("withdraw", {"player_id": "P01", "matches_become": "keep"}, {"P03": 6}),
        ("withdraw", {"player_id": "P01", "matches_become": "void"}, {"P01": 0}),
        ("disqualify", {"player_id": "P01", "matches_become": "lose"}, {"P01": 0, "P02": 3, "P03": 6}),
    ]:
        made = do(kind, **changes)
        assert points(place) == {"P01": 3, "P02": 0, "P03": 3, "P04": 0} | expected, kind
        undo(made.number)
    assert [one.number for one in Correction.objects.order_by("pk")] == list(range(1, 10))


def test_the_record_keeps_what_there_was(place: make.Setting) -> None:
    old = place.match("R1M1")
    made = do("set_result", match_id="R1M1", status="WIN", winner="P02")
    new = place.match("R1M1")
    assert (new.status, new.winner and new.winner.code, new.reason) == ("WIN", "P02", WHY)
    assert (new.details, new.finished_at, new.attempt) == (old.details, old.finished_at, 1)
    assert made.before["matches"]["R1M1"]["columns"]["winner"] == "P01"
    assert made.after["matches"]["R1M1"]["winner_id"] == "P02"
    assert (made.made_by, made.kind, made.reason) == ("ada", "set_result", WHY)
    undone = undo(1)
    assert (undone.undone_by, undone.undone_reason, undone.reason) == ("bob", BACK, WHY)
    assert undone.after["taken_back"]["R1M1"]["winner_id"] == "P02"
    outcome = sight.everything(place.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.correction, outcome.winner) == (None, "P01")


def test_undoing_the_second_brings_back_the_first(place: make.Setting) -> None:
    do("set_result", match_id="R1M1", status="DRAW")
    do("void", match_id="R1M1")
    with pytest.raises(ActionRefused, match="undo #2 first"):
        undo(1)
    undo(2)
    outcome = sight.everything(place.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.status, outcome.correction) == ("DRAW", 1)
    undo(1)
    with pytest.raises(ActionRefused, match="undone already"):
        undo(1)
    with pytest.raises(NotFound):
        undo(7)


# Played again ------------------------------------------------------------------------------------


def assigned(place: make.Setting, match_id: str) -> Match:
    """The match, handed to its referee by the next look."""
    make.look()
    match = place.match(match_id)
    assert match.state == "ASSIGNED"
    return match


def test_a_match_of_the_running_round_is_played_again(place: make.Setting) -> None:
    make.report(place.match("R2M1"), place.match("R2M1").player_a.code)
    do("replay", match_id="R2M1")
    assert (place.match("R2M1").state, place.match("R2M1").status) == ("READY", "")
    make.report(place.match("R2M2"), place.match("R2M2").player_a.code)
    assert place.events().count("round_completed") == 1
    match = assigned(place, "R2M1")
    assert match.attempt == 2
    make.report(match, match.player_b.code)
    assert place.events().count("round_completed") == 2
    agree(place)


def test_a_match_of_an_earlier_round_is_played_again(place: make.Setting) -> None:
    make.finish_round(place)
    do("replay", match_id="R1M1")
    match = assigned(place, "R1M1")
    sent = Broadcast.objects.count()
    make.report(match, "P02")
    assert place.events().count("round_completed") == 2
    assert points(place)["P02"] == 6
    told = Broadcast.objects.order_by("pk")[sent:]
    assert [one.message_type for one in told] == ["LEAGUE_STANDINGS_UPDATE"]
    assert place.match("R1M1").lifecycle[-1]["state"] == "FINISHED"


def test_the_league_waits_for_an_earlier_match_before_it_ends(place: make.Setting) -> None:
    make.finish_round(place)
    make.playing_on(place)
    do("replay", match_id="R1M1")
    for match_id in ("R3M1", "R3M2"):
        make.report(place.match(match_id), place.match(match_id).player_a.code)
    assert place.league.state == "RUNNING"
    view = sight.everything(place.league)
    assert "1 match is played again" in parts.league_of(view)["headline"]
    make.report(assigned(place, "R1M1"), "P02")
    assert place.league.state == "COMPLETED"
    assert place.events()[-1] == "league_completed"
    assert place.events().count("round_completed") == 3


def test_after_the_end_of_the_league_a_match_is_played_again(place: make.Setting) -> None:
    over(place)
    first = rows(place)[0].player_id
    lost = Match.objects.filter(league_id="fall", winner__code=first).first()
    assert lost is not None
    assert place.players[0].fresh().state == "SHUTDOWN"
    do("replay", match_id=lost.match_id)
    both = [place.players[int(one.code[1:]) - 1].fresh().state for one in (lost.player_a, lost.player_b)]
    assert both == ["ACTIVE", "ACTIVE"]
    match = assigned(place, lost.match_id)
    loser = next(one.code for one in (match.player_a, match.player_b) if one.code != first)
    make.report(match, loser)
    assert place.league.state == "COMPLETED"
    assert place.events().count("round_completed") == 3
    assert place.events().count("league_completed") == 1
    assert {one.fresh().state for one in place.players} == {"SHUTDOWN"}
    last = Broadcast.objects.latest("pk")
    assert last.message_type == "LEAGUE_STANDINGS_UPDATE"
    assert last.payload["standings"][0]["player_id"] == rows(place)[0].player_id
    assert last.deliveries.count() == 4
    [line] = summaries.league_lines([place.league])
    assert line["champion"]["player_id"] == rows(place)[0].player_id
    undo(1)
    [line] = summaries.league_lines([place.league])
    assert line["champion"]["player_id"] == rows(place)[0].player_id == first
    agree(place)


def test_a_player_that_has_gone_may_come_back_for_a_match_after_the_end(place: make.Setting) -> None:
    over(place)
    closed = pytest.raises(AssertionError, match="closed")
    with closed:
        make.join("Player 1", "fall", port=8101)
    do("replay", match_id="R1M1")
    assert make.join("Player 1", "fall", port=8101).agent.code == "P01"
    with pytest.raises(AssertionError, match="closed"):
        make.join("Player 3", "fall", port=8103)


def test_a_league_that_was_paused_to_its_end_still_plays_a_match_again(place: make.Setting) -> None:
    make.finish_round(place)
    make.playing_on(place)
    lifecycle.pause(league_id="fall")
    for match_id in ("R3M1", "R3M2"):
        make.report(place.match(match_id), place.match(match_id).player_a.code)
    assert (place.league.state, place.league.paused) == ("COMPLETED", False)
    do("replay", match_id="R1M1")
    assigned(place, "R1M1")


def test_undoing_a_replay_that_is_not_finished_takes_it_back(place: make.Setting) -> None:
    make.finish_round(place)
    was = everything(place)
    do("replay", match_id="R1M1")
    match = assigned(place, "R1M1")
    undo(1)
    assert everything(place)[:2] == was[:2]
    assert make.progress(match) == "lost"
    assert make.report(match, "P02")["duplicate"]
    assert points(place) == {row.player_id: row.points for row in was[0]}
    agree(place)


def test_undoing_a_replay_that_is_finished_keeps_the_new_result_on_record(place: make.Setting) -> None:
    make.finish_round(place)
    was = points(place)
    do("replay", match_id="R1M1")
    make.report(assigned(place, "R1M1"), "P02")
    assert points(place) != was
    undone = undo(1)
    assert points(place) == was
    assert undone.after["taken_back"]["R1M1"]["winner_id"] == "P02"
    assert undone.after["taken_back"]["R1M1"]["attempt"] == 2
    outcome = sight.everything(place.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.attempt, outcome.correction, place.match("R1M1").attempt) == (1, None, 2)
    agree(place)


def test_a_held_match_is_played_again_and_held_again_by_undoing(place: make.Setting) -> None:
    Match.objects.filter(match_id="R2M1").update(state="HELD", lost_attempts=3)
    do("replay", match_id="R2M1")
    assert (place.match("R2M1").state, place.match("R2M1").lost_attempts) == ("READY", 0)
    undo(1)
    assert place.match("R2M1").state == "HELD"
    assert place.match("R2M1").held_at is not None


def test_setting_the_result_of_the_last_open_match_ends_the_round(place: make.Setting) -> None:
    make.report(place.match("R2M1"), None)
    match = place.match("R2M2")
    do("set_result", match_id="R2M2", status="WIN", winner=match.player_b.code)
    assert place.events()[-1] == "round_completed"
    assert make.report(match, match.player_a.code)["duplicate"]
    undo(1)
    # Its round is over, and stays so.
    assert place.match("R2M2").state == "READY"
    make.report(assigned(place, "R2M2"), None)
    assert place.events().count("round_completed") == 2


# Out of the league -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("become", "status"), [("keep", "TECHNICAL_LOSS"), ("lose", "TECHNICAL_LOSS"), ("void", "CANCELLED")]
)
def test_matches_to_come_are_decided_when_they_are_due(place: make.Setting, become: str, status: str) -> None:
    do("withdraw", player_id="P01", matches_become=become)
    assert place.players[0].fresh().state == "SHUTDOWN"
    assert place.league.out == {"P01": {"word": "withdrawn", "matches": become}}
    make.finish_round(place)
    make.playing_on(place)
    theirs = [
        one
        for one in Match.objects.filter(round__number=3).select_related("player_a", "player_b", "winner")
        if "P01" in (one.player_a.code, one.player_b.code)
    ]
    [match] = theirs
    assert (match.state, match.status, match.reason) == ("FINISHED", status, "P01 was withdrawn: not called")
    assert match.faults == []
    assert (match.winner is None) == (become == "void")
    make.finish_round(place)
    assert place.league.state == "COMPLETED"
    assert next(row for row in rows(place) if row.player_id == "P01").out == "withdrawn"
    agree(place)


def test_the_disqualified_come_last_and_may_not_come_back(place: make.Setting) -> None:
    do("disqualify", player_id="P01", matches_become="keep")
    assert rows(place)[-1].player_id == "P01"
    with pytest.raises(AssertionError, match="P01 was disqualified from fall by the instructor"):
        make.join("Player 1", "fall", port=8101)
    undo(1)
    assert make.join("Player 1", "fall", port=8101).agent.code == "P01"
    assert place.players[0].fresh().state == "ACTIVE"


def test_who_had_been_shut_down_before_is_not_brought_back_by_undoing(place: make.Setting) -> None:
    registration.retire(agent_ids=[place.players[0].agent.pk])
    do("withdraw", player_id="P01", matches_become="void")
    undo(1)
    # But for the match that was decided, which is played after all.
    make.report(place.match("R2M2"), None)
    assert place.match("R2M1").state in ("READY", "ASSIGNED")


def test_a_withdrawn_player_can_be_disqualified_and_is_withdrawn_again_by_undoing(place: make.Setting) -> None:
    do("withdraw", player_id="P01", matches_become="keep")
    with pytest.raises(ActionRefused, match="out of the league already"):
        do("withdraw", player_id="P01", matches_become="void")
    do("disqualify", player_id="P01", matches_become="void")
    assert sight.everything(place.league).moment.out == {"P01": "disqualified"}
    undo(2)
    assert sight.everything(place.league).moment.out == {"P01": "withdrawn"}
    assert place.league.out == {"P01": {"word": "withdrawn", "matches": "keep"}}


def test_how_a_match_with_players_that_are_out_ends() -> None:
    keep, void = {"matches": "keep"}, {"matches": "void"}
    assert fate(("A", "B"), {"A": keep}) == ("TECHNICAL_LOSS", "B")
    assert fate(("A", "B"), {"A": keep, "B": keep}) == ("TECHNICAL_LOSS", None)
    assert fate(("A", "B"), {"A": keep, "B": void}) == ("CANCELLED", None)


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
    "a win without one": ("set_result", {"match_id": "R1M1", "status": "WIN"}, "does not fit"),
    "a strange status": ("set_result", {"match_id": "R1M1", "status": "CANCELLED"}, "WIN, DRAW or"),
    "no such player": ("withdraw", {"player_id": "P09", "matches_become": "keep"}, "no player P09"),
    "no say": ("withdraw", {"player_id": "P01"}, "keep, void or lose"),
    "no points": ("points", {"player_id": "P01", "points": 0}, "1 to 1000"),
    "too many": ("points", {"player_id": "P01", "points": 1001}, "1 to 1000"),
}


@pytest.mark.parametrize(("kind", "changes", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    place: make.Setting, kind: str, changes: dict[str, Any], sentence: str
) -> None:
    was = everything(place)
    with pytest.raises(ActionRefused, match=sentence):
        do(kind, **changes)
    assert everything(place) == was
    assert not Correction.objects.exists()


@pytest.mark.parametrize("reason", ["", "  ", "no", "x" * 301, "nul \x00 here", "half \ud800 pair", None])
def test_a_reason_that_cannot_be_used_is_refused(place: make.Setting, reason: Any) -> None:
    with pytest.raises(Invalid) as caught:
        corrections.void(league_id="fall", match_id="R1M1", reason=reason, by="ada")
    assert caught.value.field == "reason"


def test_a_stopped_league_is_corrected_but_plays_nothing_again(place: make.Setting) -> None:
    lifecycle.stop(league_id="fall")
    with pytest.raises(ActionRefused, match="stopped for good"):
        do("replay", match_id="R1M1")
    do("void", match_id="R1M1")
    undo(1)
    agree(place)


def test_before_the_schedule_there_is_nothing_to_correct() -> None:
    make.setting(players=2)
    with pytest.raises(ActionRefused, match="no schedule yet"):
        do("points", player_id="P01", points=1)
    with pytest.raises(NotFound):
        corrections.void(league_id="nowhere", match_id="R1M1", reason=WHY, by="ada")


# Two at once -------------------------------------------------------------------------------------


def test_two_at_once_and_one_is_refused(monkeypatch: pytest.MonkeyPatch, place: make.Setting) -> None:
    before(monkeypatch, corrections, "_before", lambda: do("points", player_id="P01", points=3))
    with pytest.raises(corrections.LookAgain):
        do("points", player_id="P01", points=3)
    # Here the other one is inside of the transaction that is taken back.
    assert not Correction.objects.exists()


def test_a_match_that_changes_meanwhile_is_left_alone(monkeypatch: pytest.MonkeyPatch, place: make.Setting) -> None:
    match = place.match("R2M1")
    before(monkeypatch, corrections, "_write", lambda: make.report(match, match.player_a.code))
    with pytest.raises(corrections.LookAgain):
        do("set_result", match_id="R2M1", status="DRAW")
    assert not Correction.objects.exists()


def test_what_was_shown_is_what_is_done_or_nothing(place: make.Setting) -> None:
    wish = Wish("set_result", WHY, match_id="R2M1", status="DRAW")
    shown = correction_queries.plan_for(place.league, wish).fingerprint
    match = place.match("R2M1")
    make.progress(match, state="COLLECTING_CHOICES")
    make.report(place.match("R2M2"), None)
    # Neither a step of the match nor a result elsewhere makes a difference to what it does.
    assert correction_queries.plan_for(place.league, wish).fingerprint == shown
    make.report(place.match("R2M1"), match.player_a.code)
    with pytest.raises(corrections.LookAgain):
        corrections.make(league_id="fall", wish=wish, by="ada", fingerprint=shown)
    # A second click does not give the points twice.
    wish = Wish("points", WHY, player_id="P01", points=3)
    shown = correction_queries.plan_for(place.league, wish).fingerprint
    corrections.make(league_id="fall", wish=wish, by="ada", fingerprint=shown)
    with pytest.raises(corrections.LookAgain):
        corrections.make(league_id="fall", wish=wish, by="ada", fingerprint=shown)


# Who hears of it ---------------------------------------------------------------------------------


def test_agents_are_told_the_new_table(place: make.Setting) -> None:
    Delivery.objects.all().delete()
    do("disqualify", player_id="P01", matches_become="void")
    told = Broadcast.objects.latest("pk")
    assert (told.message_type, told.round_number) == ("LEAGUE_STANDINGS_UPDATE", 2)
    assert [row["player_id"] for row in told.payload["standings"]][-1] == "P01"
    receivers = told.deliveries.order_by("agent__code").values_list("agent__code", flat=True)
    assert list(receivers) == ["P02", "P03", "P04"]
    undo(1)
    assert Broadcast.objects.latest("pk").payload["standings"][0]["player_id"] == "P01"


def test_after_the_end_all_but_those_who_are_out_are_told(place: make.Setting) -> None:
    over(place)
    do("disqualify", player_id="P01", matches_become="lose")
    told = Broadcast.objects.latest("pk")
    receivers = told.deliveries.order_by("agent__code").values_list("agent__code", flat=True)
    assert (told.message_type, list(receivers)) == ("LEAGUE_STANDINGS_UPDATE", ["P02", "P03", "P04"])
    [line] = summaries.league_lines([place.league])
    assert line["champion"]["player_id"] == rows(place)[0].player_id


def test_a_frozen_board_hides_corrections_from_everybody(client: Any) -> None:
    place = make.playing(players=4)
    curtain.plan(league_id="fall", from_round=2)
    make.finish_round(place)
    make.playing_on(place)
    paths = ("/leagues/fall/", "/leagues/fall/matches/R1M1/", "/api/leagues/fall", "/api/leagues/fall/standings")
    shown = [client.get(path).content for path in paths]
    table, sent = sight.public(place.league).standings, Broadcast.objects.count()
    do("void", match_id="R1M1")
    do("points", player_id="P03", points=9)
    do("withdraw", player_id="P02", matches_become="lose")
    undo(3)
    assert [client.get(path).content for path in paths] == shown
    assert sight.public(place.league).standings == table
    assert corrections_of(sight.public(place.league)) == []
    assert len(corrections_of(sight.everything(place.league))) == 3
    assert Broadcast.objects.count() == sent
    curtain.lift(league_id="fall")
    assert sight.public(place.league).standings == rows(place) != table
    assert [one["number"] for one in corrections_of(sight.public(place.league))] == [3, 2, 1]


def test_a_match_played_again_behind_the_curtain_is_finished_after_it_was_lifted() -> None:
    place = make.playing(players=4)
    curtain.plan(league_id="fall", from_round=2)
    over(place)
    do("replay", match_id="R1M1")
    curtain.lift(league_id="fall")
    # The players of the match that is still to be played are not sent home yet.
    assert sorted(one.fresh().state for one in place.players) == ["ACTIVE", "ACTIVE", "SHUTDOWN", "SHUTDOWN"]
    make.report(assigned(place, "R1M1"), "P02")
    assert {one.fresh().state for one in place.players} == {"SHUTDOWN"}


# In words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "changes", "done", "undone"),
    [
        (
            "void",
            {"match_id": "R1M1"},
            "R1M1 P01–P02 was voided by the instructor: wrong game started.",
            "R1M1 P01–P02 is void no more (P01 won), correction #1 was undone: it was the right one.",
        ),
        (
            "set_result",
            {"match_id": "R1M1", "status": "TECHNICAL_LOSS", "winner": "P02"},
            "The result of R1M1 P01–P02 was set by the instructor (P02 won (technical)): wrong game started.",
            "The result of R1M1 P01–P02 is as it was, correction #1 was undone: it was the right one.",
        ),
        (
            "replay",
            {"match_id": "R1M1"},
            "R1M1 P01–P02 is played again, as the instructor decided: wrong game started.",
            "R1M1 P01–P02 counts as it did before it was played again, correction #1 was undone: it was the right one.",
        ),
        (
            "disqualify",
            {"player_id": "P01", "matches_become": "lose"},
            "P01 was disqualified by the instructor, all its matches are lost: wrong game started.",
            "P01 is in the league again, correction #1 was undone: it was the right one.",
        ),
        (
            "points",
            {"player_id": "P01", "points": -1},
            "P01 had 1 point taken by the instructor: wrong game started.",
            "The points of P01 are as they were, correction #1 was undone: it was the right one.",
        ),
    ],
)
def test_in_words(place: make.Setting, kind: str, changes: dict[str, Any], done: str, undone: str) -> None:
    do(kind, **changes)
    undo(1)
    told = place.league.events.filter(kind__in=("corrected", "correction_undone")).order_by("seq")
    assert [event(one.kind, one.data) for one in told] == [done, undone]
    [line] = corrections_of(sight.everything(place.league))
    assert (line["sentence"], line["undone"], line["undone_reason"]) == (done, True, BACK)


def test_corrections_of_one_match_and_of_one_player(place: make.Setting) -> None:
    do("void", match_id="R1M1")
    do("points", player_id="P02", points=1)
    view = sight.everything(place.league)
    assert [one["number"] for one in corrections_of(view, match_id="R1M1")] == [1]
    assert [one["number"] for one in corrections_of(view, player_id="P01")] == [1]
    assert [one["number"] for one in corrections_of(view, player_id="P02")] == [2, 1]


def test_a_hostile_reason_is_only_a_reason(client: Any, place: make.Setting) -> None:
    reason = "<script>alert(1)</script> %(player)s %s {0}"
    corrections.void(league_id="fall", match_id="R1M1", reason=reason, by="ada")
    page = client.get("/leagues/fall/").content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; %(player)s %s {0}." in page


def test_the_warnings_of_a_preview(place: make.Setting) -> None:
    def warnings(kind: str, **changes: Any) -> str:
        plan = correction_queries.plan_for(place.league, Wish(kind, WHY, **changes))
        return " ".join(correction_queries.preview(place.league, plan).warnings)

    assert "Round 2 is still on" in warnings("void", match_id="R1M1")
    assert "1 match to come is lost without a call" in warnings("withdraw", player_id="P01", matches_become="keep")
    assert "1 match to come is cancelled" in warnings("withdraw", player_id="P01", matches_become="void")
    assert "counts nowhere: R1M1" in warnings("replay", match_id="R1M1")
    over(place)
    last = rows(place)[-1].player_id
    assert f"{last} would be champion instead of" in warnings("points", player_id=last, points=500)


def count_queries(work: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as seen:
        work()
    return len(seen)


def test_a_preview_and_a_correction_cost_the_same_for_many_matches() -> None:
    costs = []
    for players in (4, 10):
        league_id = f"of{players}"
        place = make.setting(league_id, players=players)
        lifecycle.start_league(league_id=league_id)
        make.open_current(league_id)
        make.finish_round(place)
        wish = Wish("withdraw", WHY, player_id="P01", matches_become="lose")

        def shown(league: League = place.league, wish: Wish = wish) -> None:
            correction_queries.preview(league, correction_queries.plan_for(league, wish))

        costs.append(count_queries(shown))
        League.objects.update(state="STOPPED")
    assert costs[0] == costs[1]
