"""What every format promises."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.formats.format import Format, Over, Wait
from league_sdk.formats.groups import Groups
from league_sdk.formats.knockout import Knockout
from league_sdk.formats.round_robin import RoundRobin
from tests.league_sdk.formats.playing import LOT, ORDER, entered, to_the_end

FORMATS: list[Format] = [
    RoundRobin(),
    RoundRobin(cycles=2),
    Groups(3),
    Knockout(),
    Knockout(3, third_place=True),
]
FORMS = st.sampled_from(FORMATS)
CHANCES = st.integers(0, 10**6).map(random.Random)


@given(FORMS, st.integers(2, 24), CHANCES, st.sampled_from([0.0, 0.1]))
def test_it_ends_and_nobody_plays_twice_in_a_round(
    form: Format, count: int, chance: random.Random, leaving: float
) -> None:
    past = to_the_end(form, entered(count), chance, leaving=leaving)
    for one in past.rounds:
        busy = [player_id for game in one.games for player_id in (game.a, game.b)] + list(one.byes)
        assert len(busy) == len(set(busy))
        assert len({game.match_id for game in one.games}) == len(one.games)
    size = form.size(entered(count))
    if size.rounds is not None and size.matches is not None:
        assert len(past.rounds) <= size.rounds
        assert sum(len(one.games) for one in past.rounds) <= size.matches


@given(FORMS, st.integers(2, 24), CHANCES, st.sampled_from([0.0, 0.1]))
def test_everybody_has_one_place(form: Format, count: int, chance: random.Random, leaving: float) -> None:
    past = to_the_end(form, entered(count), chance, leaving=leaving)
    for rounds in range(len(past.rounds) + 1):
        then = past.before(rounds)
        assert sorted(player_id for group in form.places(then, ORDER) for player_id in group) == sorted(past.ids)


@given(FORMS, st.integers(2, 16), CHANCES)
def test_the_same_past_has_the_same_pairings(form: Format, count: int, chance: random.Random) -> None:
    past = to_the_end(form, entered(count), chance)
    for number, one in enumerate(past.rounds):
        again = form.pair(past.before(number), ORDER, LOT)
        assert again is not None
        assert [(game.match_id, game.a, game.b, game.pairing_id) for game in again.games] == [
            (game.match_id, game.a, game.b, game.pairing_id) for game in one.games
        ]
        assert again.byes == one.byes


@given(FORMS, st.integers(2, 12), CHANCES)
def test_what_is_certain_comes_true(form: Format, count: int, chance: random.Random) -> None:
    told = form.preview(entered(count), ORDER, LOT)
    past = to_the_end(form, entered(count), chance)
    pairs = [[(game.a, game.b) for game in one.games] for one in past.rounds]
    assert [[(game.a, game.b) for game in one.games] for one in told] == pairs[: len(told)]
    assert told or form.reveals


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_round_without_results_is_waited_for(form: Format) -> None:
    past = entered(6)
    first = form.pair(past, ORDER, LOT)
    assert first is not None
    assert form.next(replace(past, rounds=(first,)), ORDER, LOT) == Wait(1)


@given(st.integers(2, 24), st.integers(1, 3), CHANCES)
def test_everybody_meets_everybody_as_often_in_a_round_robin(count: int, cycles: int, chance: random.Random) -> None:
    past = to_the_end(RoundRobin(cycles), entered(count), chance)
    met = Counter(game.players for _, game in past.each_game())
    assert met == Counter({frozenset(pair): cycles for pair in combinations(past.ids, 2)})
    for player_id in past.ids:
        balance = sum(1 if game.a == player_id else -1 for game in past.games_of[player_id])
        # Two cycles exchange the roles; in one, four players sit as in 004 table 9.
        assert abs(balance) <= (0 if cycles % 2 == 0 else 3 if count == 4 else 1)


@given(st.integers(2, 33), st.sampled_from([1, 2, 3]), st.booleans(), CHANCES)
def test_a_knockout_has_one_winner_who_lost_nothing(count: int, games: int, third: bool, chance: random.Random) -> None:
    form = Knockout(games, third_place=third)
    past = to_the_end(form, entered(count), chance)
    levels = form.levels(past)
    assert len(levels) == (count - 1).bit_length()
    assert all(level.decided for level in levels)
    winner = levels[-1].contests[0].winner
    best = form.places(past, ORDER)[0]
    if winner is not None:
        assert best == [winner]
        for level in levels:
            assert winner in {contest.winner for contest in level.contests}
    assert form.invalidated(past, ORDER, LOT) == []


def test_who_leaves_after_its_last_game_keeps_what_it_won_and_before_it_loses() -> None:
    past = entered(4)
    while (found := Knockout().pair(past, ORDER, LOT)) is not None:
        games = tuple(game._replace(status="WIN", winner=min(game.players)) for game in found.games)
        past = replace(past, rounds=(*past.rounds, found._replace(games=games)))
    champion, *others = past.entrants
    left = replace(past, entrants=(champion._replace(out="withdrawn", out_after=len(past.rounds)), *others))
    assert Knockout().places(left, ORDER)[0] == ["P01"]
    semi = past.before(1)
    left = replace(semi, entrants=(champion._replace(out="withdrawn", out_after=1), *others))
    assert Knockout().pair(left, ORDER, LOT) is None
    assert Knockout().places(left, ORDER)[:2] == [["P02"], ["P01"]]


@given(st.integers(3, 17), CHANCES, st.data())
def test_a_correction_undoes_only_what_comes_from_it(count: int, chance: random.Random, data: st.DataObject) -> None:
    form = Knockout()
    past = to_the_end(form, entered(count), chance)
    number = data.draw(st.integers(0, len(past.rounds) - 1))
    one = past.rounds[number]
    game = data.draw(st.sampled_from(one.games))
    other = game.a if game.winner != game.a else game.b
    changed = tuple(each._replace(status="WIN", winner=other) if each is game else each for each in one.games)
    after = replace(past, rounds=(*past.rounds[:number], one._replace(games=changed), *past.rounds[number + 1 :]))
    undone = form.invalidated(after, ORDER, LOT)
    by_id = {each.match_id: (round_.number, each) for round_, each in past.each_game()}
    assert all(by_id[match_id][0] > one.number for match_id in undone)
    went_on = [
        each for _, each in by_id.values() if game.winner in each.players and by_id[each.match_id][0] > one.number
    ]
    assert {each.pairing_id for each in went_on} <= set(undone)
    # Without them it is played to its end again, and the others stand.
    kept = tuple(
        round_._replace(games=tuple(each for each in round_.games if each.pairing_id not in undone))
        for round_ in after.rounds
    )
    again = replace(after, rounds=tuple(round_ for round_ in kept if round_.games))
    assert isinstance(form.next(to_the_end(form, again, chance), ORDER, LOT), Over)
