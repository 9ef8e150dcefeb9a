"""Players that fall silent: suspended, shut down, back again (004 2.8, 6.7.3; ruling section 8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents_registry.registering import registration
from matches.league import lifecycle, opening
from matches.models import Match, Round
from matches.view import sight
from tests import factories as make

pytestmark = pytest.mark.django_db


def start_next(made: make.MadeLeague) -> None:
    lifecycle.start_round(league_id=made.league_id)
    make.open_round(made.league_id)
    make.look()


def test_silences_suspend_then_shut_down_and_the_rest_is_decided_without_calls() -> None:
    made = make.running_league(players=8)
    silent_player = made.players[0]
    seen = []
    for number in range(1, 8):
        if number > 1:
            start_next(made)
        for match in Match.objects.select_related("league", "round", "referee", "player_a", "player_b").filter(
            round__number=number, state="ASSIGNED"
        ):
            absent = silent_player.agent.pk in (match.player_a_id, match.player_b_id)
            make.report(match, None, **(make.no_answer_from(match, "P01") if absent else {}))
        row = silent_player.fresh()
        seen.append((row.state, row.silences))
    assert seen == [
        ("ACTIVE", 1),
        ("SUSPENDED", 2),
        ("SUSPENDED", 3),
        ("SUSPENDED", 4),
        ("SHUTDOWN", 5),
        ("SHUTDOWN", 5),
        ("SHUTDOWN", 5),
    ]
    assert made.league.state == "COMPLETED"
    last = sight.everything(made.league).standings[-1]
    assert (last.player_id, last.played, last.technical_losses, last.points) == ("P01", 7, 7, 0)
    decided = Match.objects.filter(round__number=7, status="TECHNICAL_LOSS").get()
    assert (decided.attempt, decided.reason, decided.faults[0]["error_code"]) == (
        0,
        "P01 shut down after too many silences: not called",
        "E005",
    )


def test_an_answer_clears_the_count_and_a_suspended_player_recovers() -> None:
    made = make.running_league(players=4, suspend_after=1)
    match = made.match("R1M1")
    make.report(match, None, **make.no_answer_from(match, "P01"))
    make.report(made.match("R1M2"), None)
    assert (made.players[0].fresh().state, made.players[0].fresh().silences) == ("SUSPENDED", 1)
    start_next(made)
    make.finish_round(made)
    assert (made.players[0].fresh().state, made.players[0].fresh().silences) == ("ACTIVE", 0)


def test_an_illegal_choice_does_not_count_as_silence() -> None:
    made = make.running_league(players=2, suspend_after=1)
    match = made.match("R1M1")
    changes = make.no_answer_from(match, "P01")
    changes["faults"][0]["error_code"] = "E004"
    make.report(match, None, **changes)
    assert made.players[0].fresh().silences == 0


def shut_down_before(made: make.MadeLeague, *codes: str) -> None:
    opening.close_registration(league_id="fall")
    registration.retire(agent_ids=[one.agent.pk for one in made.players if one.agent.code in codes])
    lifecycle.start_round(league_id="fall")


@pytest.mark.parametrize(
    ("gone", "rules", "status", "winner", "reason"),
    [
        (["P01"], {}, "TECHNICAL_LOSS", "P02", "P01 shut down after too many silences: not called"),
        (["P01", "P02"], {}, "TECHNICAL_LOSS", None, "P01 and P02 shut down after too many silences: not called"),
        (["P02"], {"no_show": "cancel"}, "CANCELLED", None, "P02 shut down after too many silences: not called"),
        (
            ["P01", "P02"],
            {"no_show": "cancel"},
            "CANCELLED",
            None,
            "P01 and P02 shut down after too many silences: not called",
        ),
    ],
)
def test_a_match_with_a_player_that_is_shut_down_is_decided_without_calls(
    gone: list[str], rules: dict[str, Any], status: str, winner: str | None, reason: str
) -> None:
    made = make.league(players=4, **rules)
    shut_down_before(made, *gone)
    match = made.match("R1M1")
    ended = (match.state, match.status, match.winner.code if match.winner else None, match.reason)
    assert ended == ("FINISHED", status, winner, reason)
    assert match.details == {"drawn_number": None, "number_parity": None, "choices": {"P01": None, "P02": None}}
    assert made.match("R1M2").state == "READY"


def test_a_round_without_a_match_to_play_closes_by_itself() -> None:
    made = make.league(players=2)
    shut_down_before(made, "P02")
    make.open_round("fall")
    assert (made.league.state, Round.objects.get().state) == ("COMPLETED", "COMPLETED")


def test_a_player_shut_down_between_announcement_and_start_is_not_called() -> None:
    made = make.league(players=4)
    lifecycle.start_league(league_id="fall")
    registration.retire(agent_ids=[made.players[0].agent.pk])
    make.open_round("fall")
    assert len(make.look().starts) == 1
    assert (made.states()["R1M1"], made.states()["R1M2"]) == ("FINISHED", "ASSIGNED")


def test_a_player_that_registers_again_plays_the_next_rounds() -> None:
    made = make.league(players=4)
    shut_down_before(made, "P01")
    make.player("Player 1", "fall", port=8101)
    assert made.players[0].fresh().state == "REGISTERED"
    make.open_round("fall")
    make.finish_round(made)
    start_next(made)
    assert made.players[0].fresh().state == "ACTIVE"
    assert made.states()["R2M1"] == "ASSIGNED"


def test_start_match_says_which_players_are_suspended() -> None:
    """The referee sends such a player one invitation, without retries."""
    made = make.running_league(players=4, suspend_after=1)
    match = made.match("R1M1")
    make.report(match, None, **make.no_answer_from(match, "P01"))
    make.report(made.match("R1M2"), None)
    lifecycle.start_round(league_id="fall")
    make.open_round("fall")
    marks = {}
    for start in make.look().starts:
        params = json.loads(start.message)
        marks |= {params[seat]["id"]: params[seat]["suspended"] for seat in ("player_A", "player_B")}
    assert marks == {"P01": True, "P02": False, "P03": False, "P04": False}


@pytest.mark.parametrize(
    ("no_show", "status", "winner", "row"),
    [("technical_loss", "TECHNICAL_LOSS", "P02", (1, 0)), ("cancel", "CANCELLED", None, (0, 0))],
)
def test_a_silence_counts_whatever_the_setting_no_show_makes_of_the_match(
    no_show: str, status: str, winner: str | None, row: tuple[int, int]
) -> None:
    """A match that is CANCELLED (document 000) counts nowhere in the table, but the player was silent all the same."""
    made = make.running_league(players=2, no_show=no_show, suspend_after=1)
    match = made.match("R1M1")
    assert make.look().starts == []
    changes = make.no_answer_from(match, "P01") | {"status": status}
    changes["result"] = {"winner": winner, "score": {}, "details": {}}
    make.report(match, None, **changes)
    match = made.match("R1M1")
    assert (match.state, match.status, match.winner.code if match.winner else None) == ("FINISHED", status, winner)
    standing = next(one for one in sight.everything(made.league).standings if one.player_id == "P01")
    assert (standing.played, standing.points) == row
    assert made.players[0].fresh().silences == 1


@pytest.mark.parametrize(("cause", "counts"), [("LEAGUE", False), ("REFEREE", False), ("CONNECT", True)])
def test_a_try_too_many_that_failed_on_our_side_is_no_silence_of_the_player(cause: str, counts: bool) -> None:
    made = make.running_league(players=4, suspend_after=1)
    match = made.match("R1M1")
    said = make.no_answer_from(match, "P01")
    said["faults"][0]["cause"] = cause
    make.report(match, None, **said)
    player = made.players[0].fresh()
    assert (player.silences, player.state == "SUSPENDED", bool(player.problem)) == (counts, counts, counts)
