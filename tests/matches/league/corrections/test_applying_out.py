"""A player that is withdrawn or disqualified, and what becomes of its matches."""

from __future__ import annotations

import pytest
from django.db.models import Q

from agents_registry.registering import registration
from matches.league.corrections.planning import result_without_play
from matches.league.errors import ActionRefused
from matches.models import Match
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import (
    assert_results_agree,
    make_correction,
    rows,
    undo,
)
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("become", "status"),
    sampled([("keep", "TECHNICAL_LOSS"), ("lose", "TECHNICAL_LOSS"), ("void", "CANCELLED")], every=2),
)
def test_matches_to_come_are_decided_when_they_are_due(made: make.MadeLeague, become: str, status: str) -> None:
    make_correction("withdraw", player_id="P01", matches_become=become)
    assert made.players[0].fresh().state == "SHUTDOWN"
    assert made.league.out == {"P01": {"word": "withdrawn", "matches": become}}
    make.finish_round(made)
    make.next_round(made)
    theirs = [
        one
        for one in Match.objects.filter(round__number=3).select_related("player_a", "player_b", "winner")
        if "P01" in (one.player_a.code, one.player_b.code)
    ]
    [match] = theirs
    assert (match.state, match.status, match.reason) == ("FINISHED", status, "P01 was withdrawn: not called")
    assert match.faults == []
    assert (match.winner is None) == (become == "void")
    make.finish_round(made)
    assert made.league.state == "COMPLETED"
    assert next(row for row in rows(made) if row.player_id == "P01").out == "withdrawn"
    assert_results_agree(made)


def test_the_disqualified_come_last_and_may_not_come_back(made: make.MadeLeague) -> None:
    make_correction("disqualify", player_id="P01", matches_become="keep")
    assert rows(made)[-1].player_id == "P01"
    with pytest.raises(AssertionError, match="P01 was disqualified from fall by the instructor"):
        make.player("Player 1", "fall", port=8101)
    undo(1)
    assert make.player("Player 1", "fall", port=8101).agent.code == "P01"
    assert made.players[0].fresh().state == "ACTIVE"


def test_a_player_shut_down_before_is_not_brought_back_by_undoing(made: make.MadeLeague) -> None:
    make.finish_round(made)
    registration.retire(agent_ids=[made.players[0].agent.pk])
    make_correction("withdraw", player_id="P01", matches_become="keep")
    undo(1)
    assert made.league.out == {}
    assert made.players[0].fresh().state == "SHUTDOWN"


def test_a_player_shut_down_before_is_brought_back_if_undoing_opens_its_match_again(made: make.MadeLeague) -> None:
    registration.retire(agent_ids=[made.players[0].agent.pk])
    make_correction("withdraw", player_id="P01", matches_become="void")
    undo(1)
    assert made.players[0].fresh().state == "ACTIVE"
    make.report(made.match("R2M2"), None)
    assert made.match("R2M1").state in ("READY", "ASSIGNED")


def test_a_withdrawn_player_can_be_disqualified_and_is_withdrawn_again_by_undoing(made: make.MadeLeague) -> None:
    make_correction("withdraw", player_id="P01", matches_become="keep")
    with pytest.raises(ActionRefused, match="out of the league already"):
        make_correction("withdraw", player_id="P01", matches_become="void")
    make_correction("disqualify", player_id="P01", matches_become="void")
    assert sight.everything(made.league).moment.out == {"P01": "disqualified"}
    undo(2)
    assert sight.everything(made.league).moment.out == {"P01": "withdrawn"}
    assert made.league.out == {"P01": {"word": "withdrawn", "matches": "keep"}}


def test_a_disqualification_is_undone_also_when_a_match_of_the_withdrawn_player_is_open_again(
    made: make.MadeLeague,
) -> None:
    make_correction("set_result", match_id="R2M1", status="DRAW")
    make_correction("withdraw", player_id="P01", matches_become="keep")
    undo(1)
    assert made.match("R2M1").state == "READY"
    make_correction("disqualify", player_id="P01", matches_become="lose")
    undo(3)
    assert made.league.out == {"P01": {"word": "withdrawn", "matches": "keep"}}
    make.look()
    assert (made.match("R2M1").status, made.match("R2M1").attempt) == ("TECHNICAL_LOSS", 1)


def test_a_withdrawn_player_wins_a_played_match_if_its_opponent_is_disqualified(made: make.MadeLeague) -> None:
    played, missed = (_match_of("P01", number) for number in (1, 2))
    make_correction("withdraw", player_id="P01", matches_become="keep")
    for match in (played, missed):
        make_correction("disqualify", player_id=_opponent(match, "P01"), matches_become="lose")
    winners = [_match_of("P01", number).winner for number in (1, 2)]
    assert [winner and winner.code for winner in winners] == ["P01", None]
    assert _match_of("P01", 2).status == "TECHNICAL_LOSS"
    assert_results_agree(made)


def _match_of(code: str, number: int) -> Match:
    """The match of a player in a round."""
    mine = Q(player_a__code=code) | Q(player_b__code=code)
    return Match.objects.select_related("player_a", "player_b", "winner").get(mine, round__number=number)


def _opponent(match: Match, code: str) -> str:
    return next(one.code for one in (match.player_a, match.player_b) if one.code != code)


def test_how_a_match_with_players_that_are_out_ends() -> None:
    keep, void = {"matches": "keep"}, {"matches": "void"}
    assert result_without_play(("A", "B"), {"A": keep}) == ("TECHNICAL_LOSS", "B")
    assert result_without_play(("A", "B"), {"A": keep, "B": keep}) == ("TECHNICAL_LOSS", None)
    assert result_without_play(("A", "B"), {"A": keep, "B": void}) == ("CANCELLED", None)
