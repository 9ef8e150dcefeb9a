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


def test_a_match_of_the_running_round_is_played_again(made: make.MadeLeague) -> None:
    make.report(made.match("R2M1"), made.match("R2M1").player_a.code)
    make_correction("replay", match_id="R2M1")
    assert (made.match("R2M1").state, made.match("R2M1").status) == ("READY", "")
    make.report(made.match("R2M2"), made.match("R2M2").player_a.code)
    assert made.events().count("round_completed") == 1
    match = assigned(made, "R2M1")
    assert match.attempt == 2
    make.report(match, match.player_b.code)
    assert made.events().count("round_completed") == 2
    assert_results_agree(made)


def test_a_match_of_an_earlier_round_is_played_again(made: make.MadeLeague) -> None:
    make.finish_round(made)
    make_correction("replay", match_id="R1M1")
    match = assigned(made, "R1M1")
    sent = Broadcast.objects.count()
    make.report(match, "P02")
    assert made.events().count("round_completed") == 2
    assert points(made)["P02"] == 6
    broadcasts = Broadcast.objects.order_by("pk")[sent:]
    assert [one.message_type for one in broadcasts] == ["LEAGUE_STANDINGS_UPDATE"]
    assert made.match("R1M1").lifecycle[-1]["state"] == "FINISHED"


def test_the_league_waits_for_an_earlier_match_before_it_ends(made: make.MadeLeague) -> None:
    make.finish_round(made)
    make.next_round(made)
    make_correction("replay", match_id="R1M1")
    for match_id in ("R3M1", "R3M2"):
        make.report(made.match(match_id), made.match(match_id).player_a.code)
    assert made.league.state == "RUNNING"
    view = sight.everything(made.league)
    assert "1 match is played again" in parts.league_of(view).headline
    make.report(assigned(made, "R1M1"), "P02")
    assert made.league.state == "COMPLETED"
    assert made.events()[-1] == "league_completed"
    assert made.events().count("round_completed") == 3


def test_after_the_end_of_the_league_a_match_is_played_again(made: make.MadeLeague) -> None:
    play_to_end(made)
    first = rows(made)[0].player_id
    won = Match.objects.filter(league_id="fall", winner__code=first).first()
    assert won is not None
    assert made.players[0].fresh().state == "SHUTDOWN"
    make_correction("replay", match_id=won.match_id)
    player_states = [made.players[int(one.code[1:]) - 1].fresh().state for one in (won.player_a, won.player_b)]
    assert player_states == ["ACTIVE", "ACTIVE"]
    match = assigned(made, won.match_id)
    loser = next(one.code for one in (match.player_a, match.player_b) if one.code != first)
    make.report(match, loser)
    assert made.league.state == "COMPLETED"
    assert made.events().count("round_completed") == 3
    assert made.events().count("league_completed") == 1
    assert {one.fresh().state for one in made.players} == {"SHUTDOWN"}
    # Somebody else has won now, so LEAGUE_COMPLETED follows the table.
    last, end = Broadcast.objects.order_by("pk")[Broadcast.objects.count() - 2 :]
    assert [last.message_type, end.message_type] == ["LEAGUE_STANDINGS_UPDATE", "LEAGUE_COMPLETED"]
    assert last.payload["standings"][0]["player_id"] == rows(made)[0].player_id
    assert last.deliveries.count() == 4
    [row] = summaries.league_rows([made.league])
    assert row["champion"]["player_id"] == rows(made)[0].player_id
    undo(1)
    [row] = summaries.league_rows([made.league])
    assert row["champion"]["player_id"] == rows(made)[0].player_id == first
    assert_results_agree(made)


def test_a_player_that_has_gone_may_come_back_for_a_match_after_the_end(made: make.MadeLeague) -> None:
    play_to_end(made)
    closed = pytest.raises(AssertionError, match="closed")
    with closed:
        make.player("Player 1", "fall", port=8101)
    make_correction("replay", match_id="R1M1")
    assert make.player("Player 1", "fall", port=8101).agent.code == "P01"
    with pytest.raises(AssertionError, match="closed"):
        make.player("Player 3", "fall", port=8103)


def test_a_league_whose_last_match_ended_during_a_pause_still_plays_a_match_again(made: make.MadeLeague) -> None:
    make.finish_round(made)
    make.next_round(made)
    lifecycle.pause(league_id="fall")
    for match_id in ("R3M1", "R3M2"):
        make.report(made.match(match_id), made.match(match_id).player_a.code)
    assert (made.league.state, made.league.paused) == ("COMPLETED", False)
    make_correction("replay", match_id="R1M1")
    assigned(made, "R1M1")


def test_undoing_an_unfinished_replay_restores_the_first_result(made: make.MadeLeague) -> None:
    make.finish_round(made)
    was = everything(made)
    make_correction("replay", match_id="R1M1")
    match = assigned(made, "R1M1")
    undo(1)
    assert everything(made)[:2] == was[:2]
    assert make.progress(match) == "lost"
    assert make.report(match, "P02")["duplicate"]
    assert points(made) == {row.player_id: row.points for row in was[0]}
    assert_results_agree(made)


def test_undoing_a_replay_that_is_finished_keeps_the_new_result_on_record(made: make.MadeLeague) -> None:
    make.finish_round(made)
    was = points(made)
    make_correction("replay", match_id="R1M1")
    make.report(assigned(made, "R1M1"), "P02")
    assert points(made) != was
    undone = undo(1)
    assert points(made) == was
    assert undone.after["taken_back"]["R1M1"]["winner_id"] == "P02"
    assert undone.after["taken_back"]["R1M1"]["attempt"] == 2
    outcome = sight.everything(made.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.attempt, outcome.correction, made.match("R1M1").attempt) == (1, None, 2)
    assert_results_agree(made)


def test_a_held_match_is_played_again_and_held_again_by_undoing(made: make.MadeLeague) -> None:
    Match.objects.filter(match_id="R2M1").update(state="HELD", lost_attempts=3)
    make_correction("replay", match_id="R2M1")
    assert (made.match("R2M1").state, made.match("R2M1").lost_attempts) == ("READY", 0)
    undo(1)
    assert made.match("R2M1").state == "HELD"
    assert made.match("R2M1").held_at is not None


def test_setting_the_result_of_the_last_open_match_ends_the_round(made: make.MadeLeague) -> None:
    make.report(made.match("R2M1"), None)
    match = made.match("R2M2")
    make_correction("set_result", match_id="R2M2", status="WIN", winner=match.player_b.code)
    assert made.events()[-1] == "round_completed"
    assert make.report(match, match.player_a.code)["duplicate"]
    undo(1)
    # Its round stays COMPLETED.
    assert made.match("R2M2").state == "READY"
    make.report(assigned(made, "R2M2"), None)
    assert made.events().count("round_completed") == 2
