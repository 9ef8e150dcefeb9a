"""The common table of a series: how people are matched, which results count, and what a frozen board hides."""

from __future__ import annotations

from typing import Any

import pytest

from agents_registry.models import Agent, RosterEntry
from matches.league import freeze, seasons, series
from matches.models import Series
from matches.view import series as series_view
from matches.view import sight
from tests import factories as make

pytestmark = pytest.mark.django_db


def league_of_series(league_id: str, *, rounds: int = 1, players: int = 2) -> make.MadeLeague:
    """A league of the series in which PLAYER_A has won each match."""
    made = make.league(league_id, players=players)
    for _ in range(rounds):
        make.next_round(made)
        make.finish_round(made)
    series.put(league_id=league_id, series_id="course", series_name="Course")
    return made


def set_owner(made: make.MadeLeague, number: int, email: str) -> None:
    person, _ = RosterEntry.objects.get_or_create(
        league=made.league, email=email, defaults={"name": email, "code": f"code-of-{email}"}
    )
    Agent.objects.filter(pk=made.players[number].agent.pk).update(owner=person)


def rename(made: make.MadeLeague, number: int, name: str) -> None:
    Agent.objects.filter(pk=made.players[number].agent.pk).update(display_name=name)


def table(**options: Any) -> list[tuple[int, str, int, list[int | None]]]:
    rows = series_view.series_row(Series.objects.get(), **options)["standings"]
    return [
        (
            row["rank"],
            row["display_name"],
            row["points"],
            [cell["points"] if cell is not None else None for cell in row["evenings"]],
        )
        for row in rows
    ]


def test_points_are_added_by_name_where_there_is_no_roster() -> None:
    league_of_series("one")
    made = league_of_series("two")
    rename(made, 1, " PLAYER  2 ")
    won = {name: cells for _rank, name, _points, cells in table()}
    assert sorted(won) == [" PLAYER  2 ", "Player 1"]
    assert sorted(won.values()) == [[0, 0], [3, 3]]
    league_of_series("three", players=3)
    assert [cells[:2] for _rank, _name, _points, cells in table()].count([None, None]) == 1


def test_an_e_mail_address_identifies_a_person_whatever_the_agents_are_called() -> None:
    one, two = league_of_series("one"), league_of_series("two")
    for made, number in ((one, 0), (two, 1)):
        set_owner(made, number, "ada@school.example")
    rows = {name: cells for _rank, name, _points, cells in table()}
    # Ada was Player 1 and is Player 2 now; the Player 2 of the first evening and this Player 1 are two others.
    assert len(rows) == len(table()) - 1 == 2
    assert sorted(cells.count(None) for _rank, _name, _points, cells in table()) == [0, 1, 1]


def test_of_several_agents_of_one_person_the_best_one_counts() -> None:
    made = league_of_series("one")
    set_owner(made, 0, "ada@school.example")
    set_owner(made, 1, "ada@school.example")
    assert [row[2:] for row in table()] == [(3, [3])]


def test_people_with_equal_points_and_wins_share_a_place() -> None:
    one, two = league_of_series("one"), league_of_series("two")
    for made, number in ((one, 0), (two, 1)):
        set_owner(made, number, "ada@school.example")
    for made, number in ((one, 1), (two, 0)):
        set_owner(made, number, "ben@school.example")
    # Player 1 wins in both leagues: once it is Ada's, once Ben's.
    assert [(rank, points) for rank, _name, points, _cells in table()] == [(1, 3), (1, 3)]


def test_a_frozen_board_counts_as_far_as_it_shows_and_staff_see_the_rest() -> None:
    made = make.league_before_freeze()
    series.put(league_id=made.league_id, series_id="course")
    before = table()
    make.next_round(made)
    make.finish_round(made)
    assert table() == before
    assert series_view.series_row(Series.objects.get())["evenings"][0]["frozen_after_round"] == 1
    seen = table(see=sight.everything)
    assert sum(row[2] for row in seen) == 2 * sum(row[2] for row in before) == 12
    freeze.lift(league_id=made.league_id)
    assert table() == seen


def test_the_table_makes_as_many_queries_for_many_people() -> None:
    made = league_of_series("one")
    counts: list[int] = []
    with make.counting_queries(counts):
        table()
    make.insert_players(made.league_id, 60, letter="Q")
    with make.counting_queries(counts):
        table()
    assert counts[0] == counts[1]


def test_the_list_leaves_out_series_in_the_archive() -> None:
    made = league_of_series("one")
    assert series_view.lines() == [{"series_id": "course", "display_name": "Course", "leagues": 1}]
    seasons.archive(league_id=made.league_id)
    assert series_view.lines() == []
    assert table() != []


def test_the_public_table_is_cached_until_a_league_joins_the_series() -> None:
    league_of_series("one")
    found = Series.objects.get()
    first = series_view.public_series_row(found)
    assert series_view.public_series_row(found) is first
    league_of_series("two")
    assert [one["league_id"] for one in series_view.public_series_row(found)["evenings"]] == ["one", "two"]
