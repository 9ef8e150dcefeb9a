"""What drawings show: every game before, in and after a match; malformed facts of referees; no secret too early."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.rules.registry import games, get_game
from matches.view.drawings import MAX_VIEW_CHARS, Drawing, Line, Seat, drawing_of, lines_through

SEATS = (Seat("P01"), Seat("P02"))


def drawing_from(game_type: str, view: dict[str, Any], **how: Any) -> Drawing:
    return drawing_of(game_type, json.loads(json.dumps(view)), SEATS, **how)


def game_and_state_after(game_type: str, *moves: int) -> tuple[Any, dict[str, Any]]:
    game = get_game(game_type)
    state = game.new_state(("P01", "P02"))
    for turn, move in enumerate(moves):
        state = game.apply(state, ("P01", "P02")[turn % 2], move)
    return game, state


def test_a_board_in_play_has_the_cells_of_both_and_the_last_move() -> None:
    game, state = game_and_state_after("connect_four", 3, 3, 4)
    drawing = drawing_from("connect_four", game.view(state, None))
    assert drawing.grid is not None
    assert (drawing.kind, drawing.to_move, drawing.over) == ("discs", "P02", False)
    assert (drawing.grid.a, drawing.grid.b, drawing.grid.last) == (((3, 5), (4, 5)), ((3, 4),), (4, 5))
    assert (drawing.grid.moves, drawing.grid.lines, drawing.grid.letters) == (3, (), ())
    assert drawing.grid.box == "-2 -10 74 72"


def test_the_winning_line_goes_from_end_to_end() -> None:
    game, state = game_and_state_after("connect_four", 0, 1, 0, 1, 0, 1, 0)
    drawing = drawing_from("connect_four", game.outcome(state).details, over=True)
    assert drawing.grid is not None
    assert (drawing.grid.lines, drawing.to_move) == ((Line(0, 2, 0, 5),), "")


def test_lines_through_winning_cells() -> None:
    cross = [(0, 0), (1, 1), (2, 2), (0, 2), (2, 0)]
    assert set(lines_through(cross)) == {Line(0, 0, 2, 2), Line(0, 2, 2, 0)}
    assert lines_through([(0, 0), (5, 5)]) == (Line(0, 0, 0, 0), Line(5, 5, 5, 5))
    assert lines_through([]) == ()


def test_a_game_in_turns_is_drawn_before_its_first_move() -> None:
    # Only a small board has its cells numbered.
    for game_type, sides, numbered_cells in (("tic_tac_toe", (3, 3), 9), ("connect_four", (6, 7), 0)):
        grid = drawing_from(game_type, {}).grid
        assert grid is not None
        assert ((grid.rows, grid.columns), len(grid.cells), grid.a, grid.moves) == (sides, numbered_cells, (), 0)


def test_marks_other_than_x_and_o_are_letters() -> None:
    view = {"board": [["K", ""], ["q", "#"]], "marks": {"P01": "K", "P02": "q"}}
    drawing = drawing_from("a_game_that_was_removed", view)
    assert drawing.grid is not None
    assert (drawing.kind, drawing.grid.letters) == ("board", ((0, 0, "K", "a"), (0, 1, "q", "b"), (1, 1, "#", "")))
    assert (drawing.grid.a, drawing.grid.b) == ((), ())


# Secret choices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("game_type", [name for name, game in games().items() if game.hidden])
def test_nothing_that_a_referee_reports_of_secret_choices_is_drawn_before_the_end(game_type: str) -> None:
    fields = {"choices": {"P01": "odd", "P02": "even"}, "drawn_number": 7, "number_parity": "odd", "sum": 9, "x": "odd"}
    assert drawing_from(game_type, fields) == drawing_from(game_type, {})
    drawing = drawing_from(game_type, fields)
    assert (drawing.number, drawing.parity, drawing.text, drawing.a.choice, drawing.facts) == ("", "", "{}", "", [])


def test_after_the_end_both_choices_are_shown() -> None:
    details = {"choices": {"P01": "odd", "P02": "odd"}, "drawn_number": 8, "number_parity": "even"}
    drawing = drawing_from("even_odd", details, over=True)
    assert (drawing.kind, drawing.number, drawing.parity) == ("envelopes", "8", "even")
    assert [(seat.choice, seat.right) for seat in (drawing.a, drawing.b)] == [("odd", False), ("odd", False)]
    game, state = game_and_state_after("even_odd_numbers", 2, 5)
    drawing = drawing_from("even_odd_numbers", game.outcome(state | {"number": 4}).details, over=True)
    assert (drawing.number, drawing.total, drawing.parity) == ("4", "11", "odd")
    assert [(seat.choice, seat.right) for seat in (drawing.a, drawing.b)] == [("2", False), ("5", True)]


def test_a_player_that_made_no_choice_was_neither_right_nor_wrong() -> None:
    details = {"choices": {"P01": None, "P02": "even"}, "drawn_number": None, "number_parity": None}
    drawing = drawing_from("even_odd", details, over=True)
    assert [(seat.choice, seat.right) for seat in (drawing.a, drawing.b)] == [("", None), ("even", None)]


# What referees may send ---------------------------------------------------------------------------


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ("board", "marks", "moves", "last_move", "to_move", "winning_cells", "column_names", "choices", "parities")
MORE_FIELDS = ("drawn_number", "number_parity", "sum", "sum_parity", "total")


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys((*FIELDS, *MORE_FIELDS), JUNK)),
    st.sampled_from([*games(), "gone"]),
)
def test_nothing_a_referee_sends_breaks_a_drawing(view: dict[str, Any], game_type: str) -> None:
    for over in (False, True):
        drawing = drawing_of(game_type, view, SEATS, over=over)
        assert hash(drawing) == hash(drawing_of(game_type, view, SEATS, over=over))
        assert len(drawing.text) <= MAX_VIEW_CHARS
        assert all(len(name) <= 40 and len(text) <= 40 for name, text in drawing.facts)


def test_a_board_with_too_many_letters_is_not_drawn() -> None:
    drawing = drawing_from("tic_tac_toe", {"board": [["abc"] * 20] * 20, "deep": "x"})
    assert (drawing.kind, drawing.grid) == ("plain", None)


def test_a_view_that_is_too_large_is_not_kept() -> None:
    drawing = drawing_from("gone", {"total": "x" * MAX_VIEW_CHARS})
    assert (drawing.kind, drawing.text, drawing.facts) == ("plain", "{}", [])
    assert drawing_from("gone", {"total": 7, "moves": [3, 3, 1], "deep": {"a": 1}}).facts == [
        ("moves", "3, 3, 1"),
        ("total", "7"),
    ]
