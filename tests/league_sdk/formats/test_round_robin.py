"""The round robin (004 3.5; ids and pairs of 004 table 9)."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.formats.round_robin import Pairing, PlannedRound, planned_round, rounds_of

# All small leagues, and some large ones, odd and even.
every_size = pytest.mark.parametrize("players", [*range(2, 25), 31, 32, 33, 63, 64, 99, 100])


def round_robin(players: int) -> list[PlannedRound]:
    return [planned_round(players, number) for number in range(1, rounds_of(players) + 1)]


@every_size
def test_every_pair_meets_once(players: int) -> None:
    pairs = sorted(tuple(sorted((pairing.a, pairing.b))) for one in round_robin(players) for pairing in one.pairings)
    assert pairs == list(combinations(range(players), 2))


@every_size
def test_everyone_plays_or_rests_once_in_a_round(players: int) -> None:
    for one in round_robin(players):
        seats = [seat for pairing in one.pairings for seat in (pairing.a, pairing.b)]
        rests = [] if one.bye is None else [one.bye]
        assert sorted(seats + rests) == list(range(players))


@every_size
def test_of_an_odd_number_everyone_rests_once_and_of_an_even_number_nobody(players: int) -> None:
    byes = [one.bye for one in round_robin(players)]
    if players % 2:
        assert sorted(bye for bye in byes if bye is not None) == list(range(players))
    assert len(byes) == players - 1 + players % 2
    assert byes.count(None) == (0 if players % 2 else players - 1)


@every_size
def test_rounds_and_ids_count_up_from_one(players: int) -> None:
    rounds = round_robin(players)
    assert [one.number for one in rounds] == list(range(1, len(rounds) + 1))
    for one in rounds:
        ids = [pairing.match_id for pairing in one.pairings]
        assert ids == [f"R{one.number}M{position}" for position in range(1, players // 2 + 1)]


def times_player_a(players: int) -> list[int]:
    """How often each seat is PLAYER_A."""
    counts = Counter(pairing.a for one in round_robin(players) for pairing in one.pairings)
    return [counts[seat] for seat in range(players)]


@given(st.integers(2, 60).filter(lambda players: players != 4))
def test_everyone_is_player_a_as_often_as_everyone_else_or_once_more(players: int) -> None:
    counts = times_player_a(players)
    assert max(counts) - min(counts) == (0 if players % 2 else 1)
    assert sum(counts) == players * (players - 1) // 2


@given(st.integers(5, 60))
def test_the_first_seat_changes_its_role_every_round(players: int) -> None:
    roles = [pairing.a == 0 for one in round_robin(players) for pairing in one.pairings if 0 in (pairing.a, pairing.b)]
    assert roles == [turn % 2 == 0 for turn in range(players - 1)]


def test_the_round_robin_of_four_players_is_that_of_table_9() -> None:
    assert round_robin(4) == [
        PlannedRound(1, (Pairing("R1M1", 0, 1), Pairing("R1M2", 2, 3)), None),
        PlannedRound(2, (Pairing("R2M1", 0, 2), Pairing("R2M2", 1, 3)), None),
        PlannedRound(3, (Pairing("R3M1", 0, 3), Pairing("R3M2", 1, 2)), None),
    ]


def test_the_round_robin_of_two_and_of_three_players() -> None:
    assert round_robin(2) == [PlannedRound(1, (Pairing("R1M1", 0, 1),), None)]
    assert [(one.number, one.pairings, one.bye) for one in round_robin(3)] == [
        (1, (Pairing("R1M1", 0, 1),), 2),
        (2, (Pairing("R2M1", 2, 0),), 1),
        (3, (Pairing("R3M1", 1, 2),), 0),
    ]
