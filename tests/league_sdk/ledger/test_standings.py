"""The table (004 3.4; ruling, section 7)."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.ledger.standings import FORM_LENGTH, Result, Row, Scoring, for_people, merit, natural, table

ALPHA = {"P01": "Alpha", "P02": "Beta", "P03": "Gamma", "P04": "Delta"}
COUNTS = ("played", "wins", "draws", "losses", "technical_losses", "points")


def won(winner: str, loser: str, number: int = 1) -> Result:
    return Result(number, winner, loser, "WIN", winner)


def drew(a: str, b: str, number: int = 1) -> Result:
    return Result(number, a, b, "DRAW", None)


def absent(a: str, b: str, winner: str | None, number: int = 1) -> Result:
    return Result(number, a, b, "TECHNICAL_LOSS", winner)


def line(row: Row) -> tuple[Any, ...]:
    return (row.player_id, *(getattr(row, name) for name in COUNTS))


def test_the_table_after_round_1_of_chapter_8() -> None:
    rows = table(ALPHA, [won("P01", "P02"), drew("P03", "P04")], Scoring())
    assert [asdict(row) for row in rows] == [
        {
            "player_id": player_id,
            "display_name": ALPHA[player_id],
            "rank": rank,
            "tied_rank": 2 if player_id in ("P03", "P04") else rank,
            "tied": player_id in ("P03", "P04"),
            "played": 1,
            "wins": form.count("W"),
            "draws": form.count("D"),
            "losses": form.count("L"),
            "technical_losses": 0,
            "points": points,
            "form": [form],
            "corrected": 0,
            "out": None,
        }
        for rank, player_id, form, points in (
            (1, "P01", "W", 3), (2, "P03", "D", 1), (3, "P04", "D", 1), (4, "P02", "L", 0),
        )
    ]  # fmt: skip


def test_the_table_before_the_first_match_has_all_players_sorted_by_id() -> None:
    players = {"P10": "a", "P2": "b", "P1": "c", "P03": "d"}
    rows = table(players, [], Scoring())
    assert [(row.rank, row.player_id, row.display_name, row.form) for row in rows] == [
        (1, "P1", "c", []), (2, "P2", "b", []), (3, "P03", "d", []), (4, "P10", "a", []),
    ]  # fmt: skip


def test_natural_compares_digits_in_ids_as_numbers() -> None:
    ids = ["P10", "P9", "P100", "P2", "Q1", "P", "7", "P9b", "P2a10", "P2a9", ""]
    assert sorted(ids, key=natural) == ["", "7", "P", "P2", "P2a9", "P2a10", "P9", "P9b", "P10", "P100", "Q1"]


@given(st.lists(st.text(max_size=8), max_size=6))
def test_natural_can_compare_any_ids(ids: list[str]) -> None:
    assert sorted(sorted(ids, key=natural)) == sorted(ids)


@pytest.mark.parametrize(
    ("results", "order"),
    [
        # points first (P02 and P03: a win and a draw; P01 and P04: nothing)
        ([won("P02", "P01"), drew("P02", "P03"), won("P03", "P04")], ["P02", "P03", "P01", "P04"]),
        # equal points: more wins first (P04: one win; P01 and P02: three draws)
        (
            [won("P04", "P03"), drew("P01", "P02"), drew("P01", "P02"), drew("P01", "P02")],
            ["P04", "P01", "P02", "P03"],
        ),
        # all equal: by id
        ([drew("P04", "P03"), drew("P02", "P01")], ["P01", "P02", "P03", "P04"]),
    ],
)
def test_the_table_is_sorted_by_points_then_wins_then_id(results: list[Result], order: list[str]) -> None:
    assert [row.player_id for row in table(ALPHA, results, Scoring())] == order


def test_more_draws_rank_higher_at_equal_points_and_wins() -> None:
    """Here a draw gives no points: else P02 would have more points than P01."""
    rows = table(ALPHA, [won("P01", "P03"), won("P02", "P04"), drew("P02", "P03")], Scoring(win=3, draw=0))
    assert [line(row) for row in rows] == [
        ("P02", 2, 1, 1, 0, 0, 3),
        ("P01", 1, 1, 0, 0, 0, 3),
        ("P03", 2, 0, 1, 1, 0, 0),
        ("P04", 1, 0, 0, 1, 0, 0),
    ]


@pytest.mark.parametrize(
    ("result", "first", "second"),
    [
        (won("P01", "P02"), ("P01", 1, 1, 0, 0, 0, 5), ("P02", 1, 0, 0, 1, 0, -1)),
        (drew("P01", "P02"), ("P01", 1, 0, 1, 0, 0, 2), ("P02", 1, 0, 1, 0, 0, 2)),
        (absent("P01", "P02", "P01"), ("P01", 1, 1, 0, 0, 0, 5), ("P02", 1, 0, 0, 1, 1, -3)),
        (absent("P01", "P02", "P02"), ("P02", 1, 1, 0, 0, 0, 5), ("P01", 1, 0, 0, 1, 1, -3)),
        (absent("P01", "P02", None), ("P01", 1, 0, 0, 1, 1, 0), ("P02", 1, 0, 0, 1, 1, 0)),
        (Result(1, "P01", "P02", "CANCELLED", None), ("P01", 0, 0, 0, 0, 0, 0), ("P02", 0, 0, 0, 0, 0, 0)),
    ],
)
def test_the_table_uses_the_points_of_the_league(
    result: Result, first: tuple[Any, ...], second: tuple[Any, ...]
) -> None:
    scoring = Scoring(win=5, draw=2, loss=-1, technical_loss=-3)
    assert [line(row) for row in table({"P01": "a", "P02": "b"}, [result], scoring)] == [first, second]


def test_the_form_has_the_last_five_results_with_the_newest_last() -> None:
    results = [won("P01", "P02"), drew("P01", "P03"), won("P02", "P01"), absent("P03", "P01", "P03"),
               Result(1, "P01", "P02", "CANCELLED", None), won("P01", "P04"), won("P01", "P03")]  # fmt: skip
    rows = {row.player_id: row.form for row in table(ALPHA, results, Scoring())}
    assert rows == {"P01": ["D", "L", "T", "W", "W"], "P02": ["L", "W"], "P03": ["D", "W", "L"], "P04": ["L"]}
    assert FORM_LENGTH == 5


def test_the_table_ignores_unknown_players() -> None:
    assert [line(row) for row in table({"P01": "a"}, [won("P01", "P99"), won("P98", "P99")], Scoring())] == [
        ("P01", 1, 1, 0, 0, 0, 3)
    ]


IDS = [f"P{number:02d}" for number in range(1, 13)]


@st.composite
def result(draw: st.DrawFn) -> Result:
    a, b = draw(st.permutations(IDS))[:2]
    status = draw(st.sampled_from(["WIN", "DRAW", "TECHNICAL_LOSS", "CANCELLED"]))
    winners = {"WIN": [a, b], "TECHNICAL_LOSS": [a, b, None]}.get(status, [None])
    return Result(draw(st.integers(1, 9)), a, b, status, draw(st.sampled_from(winners)))


points = st.integers(-5, 5)
scorings = st.builds(Scoring, points, points, points, points)
several = st.lists(result(), max_size=40)


@given(results=several, scoring=scorings, data=st.data())
def test_the_order_of_results_affects_only_the_form(
    results: list[Result], scoring: Scoring, data: st.DataObject
) -> None:
    players = dict.fromkeys(IDS, "x")
    shuffled = table(players, data.draw(st.permutations(results)), scoring)
    assert [(row.rank, *line(row)) for row in shuffled] == [
        (row.rank, *line(row)) for row in table(players, results, scoring)
    ]


@given(results=several, scoring=scorings)
def test_the_sums_over_the_table_follow_from_the_results(results: list[Result], scoring: Scoring) -> None:
    rows = table(dict.fromkeys(IDS, "x"), results, scoring)
    total = {name: sum(getattr(row, name) for row in rows) for name in COUNTS}
    statuses = [one.status for one in results]
    nobody = len([one for one in results if one.status == "TECHNICAL_LOSS" and one.winner is None])
    wins = statuses.count("WIN") + statuses.count("TECHNICAL_LOSS") - nobody
    technical = statuses.count("TECHNICAL_LOSS") + nobody
    assert total == {
        "played": 2 * (len(results) - statuses.count("CANCELLED")),
        "wins": wins,
        "draws": 2 * statuses.count("DRAW"),
        "losses": statuses.count("WIN") + technical,
        "technical_losses": technical,
        "points": scoring.win * wins
        + scoring.draw * 2 * statuses.count("DRAW")
        + scoring.loss * statuses.count("WIN")
        + scoring.technical_loss * (technical - 2 * nobody),
    }
    for row in rows:
        assert row.played == row.wins + row.draws + row.losses
        assert row.technical_losses <= row.losses
        assert len(row.form) == min(row.played, FORM_LENGTH)
    keys = [(row.points, row.wins, row.draws) for row in rows]
    assert keys == sorted(keys, reverse=True)


def places(rows: list[Row]) -> list[tuple[str, str, int]]:
    return [(row.player_id, row.place, row.tied_rank) for row in rows]


def test_players_whom_only_the_id_tells_apart_share_a_place() -> None:
    players = ALPHA | {"P05": "Epsilon"}
    rows = table(players, [won("P01", "P02"), won("P03", "P04")], Scoring())
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5]
    assert places(rows) == [("P01", "=1", 1), ("P03", "=1", 1), ("P02", "=3", 3), ("P04", "=3", 3), ("P05", "=3", 3)]
    after = table(players, [won("P01", "P02"), won("P03", "P04"), won("P05", "P01", 2)], Scoring())
    assert places(after)[:3] == [("P01", "=1", 1), ("P03", "=1", 1), ("P05", "=1", 1)]


def test_nobody_leads_a_table_of_zeros_and_pages_list_technical_losers_last() -> None:
    rows = table(ALPHA, [absent("P01", "P02", None)], Scoring())
    assert [row.player_id for row in rows] == ["P01", "P02", "P03", "P04"]
    assert [row.player_id for row in for_people(rows)] == ["P03", "P04", "P01", "P02"]
    assert {row.place for row in rows} == {"=1"}
    assert not any(row.leads for row in rows)
    assert [row.leads for row in table(ALPHA, [won("P02", "P01")], Scoring())] == [True, False, False, False]


@given(results=several, scoring=scorings)
def test_places_are_shared_by_equals_only(results: list[Result], scoring: Scoring) -> None:
    rows = table(dict.fromkeys(IDS, "x"), results, scoring)
    for row in rows:
        equals = [other for other in rows if merit(other) == merit(row)]
        assert row.tied_rank == min(other.rank for other in equals)
        assert row.tied == (len(equals) > 1)
    assert sorted(row.rank for row in for_people(rows)) == [row.rank for row in rows]
