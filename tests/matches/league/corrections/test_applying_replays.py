"""A match that is played again: of the running round, of an earlier one, after the end; and the undoing of that."""

from __future__ import annotations

import pytest

from matches.audience.pages import parts
from matches.league import lifecycle
from matches.models import Broadcast, Match
from matches.view import sight, summaries
from tests import factories as make
from tests.matches.correcting import (
    assert_results_agree,
    assigned,
    everything,
    make_correction,
    play_to_end,
    points,
    rows,
    undo,
)

pytestmark = pytest.mark.django_db


def test_a_match_of_the_running_round_is_played_again(place: make.Setting) -> None:
    make.report(place.match("R2M1"), place.match("R2M1").player_a.code)
    make_correction("replay", match_id="R2M1")
    assert (place.match("R2M1").state, place.match("R2M1").status) == ("READY", "")
    make.report(place.match("R2M2"), place.match("R2M2").player_a.code)
    assert place.events().count("round_completed") == 1
    match = assigned(place, "R2M1")
    assert match.attempt == 2
    make.report(match, match.player_b.code)
    assert place.events().count("round_completed") == 2
    assert_results_agree(place)


def test_a_match_of_an_earlier_round_is_played_again(place: make.Setting) -> None:
    make.finish_round(place)
    make_correction("replay", match_id="R1M1")
    match = assigned(place, "R1M1")
    sent = Broadcast.objects.count()
    make.report(match, "P02")
    assert place.events().count("round_completed") == 2
    assert points(place)["P02"] == 6
    broadcasts = Broadcast.objects.order_by("pk")[sent:]
    assert [one.message_type for one in broadcasts] == ["LEAGUE_STANDINGS_UPDATE"]
    assert place.match("R1M1").lifecycle[-1]["state"] == "FINISHED"


def test_the_league_waits_for_an_earlier_match_before_it_ends(place: make.Setting) -> None:
    make.finish_round(place)
    make.playing_on(place)
    make_correction("replay", match_id="R1M1")
    for match_id in ("R3M1", "R3M2"):
        make.report(place.match(match_id), place.match(match_id).player_a.code)
    assert place.league.state == "RUNNING"
    view = sight.everything(place.league)
    assert "1 match is played again" in parts.league_of(view).headline
    make.report(assigned(place, "R1M1"), "P02")
    assert place.league.state == "COMPLETED"
    assert place.events()[-1] == "league_completed"
    assert place.events().count("round_completed") == 3


def test_after_the_end_of_the_league_a_match_is_played_again(place: make.Setting) -> None:
    play_to_end(place)
    first = rows(place)[0].player_id
    won = Match.objects.filter(league_id="fall", winner__code=first).first()
    assert won is not None
    assert place.players[0].fresh().state == "SHUTDOWN"
    make_correction("replay", match_id=won.match_id)
    player_states = [place.players[int(one.code[1:]) - 1].fresh().state for one in (won.player_a, won.player_b)]
    assert player_states == ["ACTIVE", "ACTIVE"]
    match = assigned(place, won.match_id)
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
    assert_results_agree(place)


def test_a_player_that_has_gone_may_come_back_for_a_match_after_the_end(place: make.Setting) -> None:
    play_to_end(place)
    closed = pytest.raises(AssertionError, match="closed")
    with closed:
        make.join("Player 1", "fall", port=8101)
    make_correction("replay", match_id="R1M1")
    assert make.join("Player 1", "fall", port=8101).agent.code == "P01"
    with pytest.raises(AssertionError, match="closed"):
        make.join("Player 3", "fall", port=8103)


def test_a_league_whose_last_match_ended_during_a_pause_still_plays_a_match_again(place: make.Setting) -> None:
    make.finish_round(place)
    make.playing_on(place)
    lifecycle.pause(league_id="fall")
    for match_id in ("R3M1", "R3M2"):
        make.report(place.match(match_id), place.match(match_id).player_a.code)
    assert (place.league.state, place.league.paused) == ("COMPLETED", False)
    make_correction("replay", match_id="R1M1")
    assigned(place, "R1M1")


def test_undoing_an_unfinished_replay_restores_the_first_result(place: make.Setting) -> None:
    make.finish_round(place)
    was = everything(place)
    make_correction("replay", match_id="R1M1")
    match = assigned(place, "R1M1")
    undo(1)
    assert everything(place)[:2] == was[:2]
    assert make.progress(match) == "lost"
    assert make.report(match, "P02")["duplicate"]
    assert points(place) == {row.player_id: row.points for row in was[0]}
    assert_results_agree(place)


def test_undoing_a_replay_that_is_finished_keeps_the_new_result_on_record(place: make.Setting) -> None:
    make.finish_round(place)
    was = points(place)
    make_correction("replay", match_id="R1M1")
    make.report(assigned(place, "R1M1"), "P02")
    assert points(place) != was
    undone = undo(1)
    assert points(place) == was
    assert undone.after["taken_back"]["R1M1"]["winner_id"] == "P02"
    assert undone.after["taken_back"]["R1M1"]["attempt"] == 2
    outcome = sight.everything(place.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.attempt, outcome.correction, place.match("R1M1").attempt) == (1, None, 2)
    assert_results_agree(place)


def test_a_held_match_is_played_again_and_held_again_by_undoing(place: make.Setting) -> None:
    Match.objects.filter(match_id="R2M1").update(state="HELD", lost_attempts=3)
    make_correction("replay", match_id="R2M1")
    assert (place.match("R2M1").state, place.match("R2M1").lost_attempts) == ("READY", 0)
    undo(1)
    assert place.match("R2M1").state == "HELD"
    assert place.match("R2M1").held_at is not None


def test_setting_the_result_of_the_last_open_match_ends_the_round(place: make.Setting) -> None:
    make.report(place.match("R2M1"), None)
    match = place.match("R2M2")
    make_correction("set_result", match_id="R2M2", status="WIN", winner=match.player_b.code)
    assert place.events()[-1] == "round_completed"
    assert make.report(match, match.player_a.code)["duplicate"]
    undo(1)
    # Its round stays COMPLETED.
    assert place.match("R2M2").state == "READY"
    make.report(assigned(place, "R2M2"), None)
    assert place.events().count("round_completed") == 2
