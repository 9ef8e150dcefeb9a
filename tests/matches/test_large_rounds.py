"""Rounds of hundreds of matches: a look reads a part of what waits, and nobody waits longer for that."""

from __future__ import annotations

from collections import Counter

import pytest

from matches import due, queries, sight
from matches.league import lifecycle
from matches.models import Match
from tests import factories as make

pytestmark = pytest.mark.django_db
PLAYERS = 2 * (due.MOST_READY + 3)


def open_first(*rooms: int) -> make.Setting:
    """A league with more matches in a round than a look reads at first, and referees with so much room."""
    judges = [make.hire(f"Referee {number}", port=8000 + number, room=room) for number, room in enumerate(rooms, 1)]
    make.open_league("fall")
    make.crowd("fall", PLAYERS)
    lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    return make.Setting("fall", [], judges)


def begun() -> Counter[str]:
    return Counter(Match.objects.filter(round__number=1, state="ASSIGNED").values_list("referee__code", flat=True))


def test_referees_with_room_get_matches_from_beyond_what_is_read_first() -> None:
    open_first(64, 64)
    plan = make.look()
    assert len(plan.starts) == PLAYERS // 2
    assert sum(begun().values()) == PLAYERS // 2


def test_the_others_wait_in_their_order_when_nobody_has_room() -> None:
    open_first(3)
    assert len(make.look().starts) == 3
    assert make.look().starts == []
    assert begun() == {"REF01": 3}
    first = Match.objects.filter(round__number=1).order_by("pk")[:3]
    assert {match.state for match in first} == {"ASSIGNED"}


def test_what_a_player_is_told_of_itself_is_its_line_of_the_table() -> None:
    place = make.playing(players=4)
    make.look()
    first = place.match("R1M1")
    make.report(first, first.player_a.code)
    make.report(place.match("R1M2"), None)
    seen = sight.public(place.league)
    lines = {row.player_id: (row.wins, row.losses, row.draws) for row in seen.standings}
    own = queries.own_standings(seen, ["P01", "P03"])
    assert {player: tuple(line[name] for name in ("wins", "losses", "draws")) for player, line in own.items()} == {
        player: lines[player] for player in ("P01", "P03")
    }
