"""Boards of turn-based games: the views of all games, and malformed views from referees."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.rules.game import State
from league_sdk.rules.registry import games, get_game
from matches.view.boards import Answer, Board, Cell, Move, read_board, read_steps, time_moves

PLAYERS = ("P01", "P02")


def state_after(game_type: str, *moves: int) -> State:
    game = get_game(game_type)
    state = game.new_state(PLAYERS)
    for turn, move in enumerate(moves):
        state = game.apply(state, PLAYERS[turn % 2], move)
    return state


def view_after(game_type: str, *moves: int) -> dict[str, Any]:
    """The public view of a board, encoded as JSON and read again, as it arrives at the site."""
    view: dict[str, Any] = json.loads(json.dumps(get_game(game_type).view(state_after(game_type, *moves), None)))
    return view


def test_the_board_of_a_running_game_is_read() -> None:
    board = read_board(view_after("tic_tac_toe", 4, 0), PLAYERS)
    assert board is not None
    empty = Cell("")
    assert board.rows == [[Cell("O", "b", last=True), empty, empty], [empty, Cell("X", "a"), empty], [empty] * 3]
    assert (board.to_move, len(board.moves), board.marks) == ("P01", 2, {"P01": "X", "P02": "O"})
    assert board.moves == [Move(1, "P01", "a", "4"), Move(2, "P02", "b", "0")]
    assert board.column_names == []


def test_the_board_of_a_won_game_is_read() -> None:
    board = read_board(view_after("connect_four", 0, 1, 0, 1, 0, 1, 0), PLAYERS)
    assert board is not None
    won = [(y, x) for y, row in enumerate(board.rows) for x, cell in enumerate(row) if cell.won]
    last = [(y, x) for y, row in enumerate(board.rows) for x, cell in enumerate(row) if cell.last]
    assert (won, last, board.to_move) == ([(2, 0), (3, 0), (4, 0), (5, 0)], [(2, 0)], None)
    assert board.column_names == ["0", "1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("name", list(games()))
def test_a_board_is_drawn_for_games_without_hidden_choices_alone(name: str) -> None:
    game = get_game(name)
    state = game.new_state(PLAYERS)
    boards = [read_board(view, PLAYERS) for view in (game.view(state, None), game.unfinished(state))]
    assert [board is not None for board in boards] == [not game.hidden] * 2


SMALL: list[list[str]] = [["X", ""], ["", "O"]]


@pytest.mark.parametrize(
    "board",
    [
        None, "X", [], {}, [[]], [["X"], []], [["X"], ["X", "O"]], [["long mark"]], [[1]], [[None]], ["XO"],
        [["X"] * 21], [["X"]] * 21, [["X", ["O"]]],
    ],
)  # fmt: skip
def test_a_malformed_board_is_not_drawn(board: object) -> None:
    assert read_board({"board": board, "to_move": "P01"}, PLAYERS) is None
    assert read_board({}, PLAYERS) is None


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"marks": ["X", "O"], "moves": "0", "last_move": [0, 0], "to_move": "P99", "winning_cells": 7},
        {"marks": {"P99": "X"}, "moves": {"0": 4}, "last_move": {"row": "0"}, "to_move": ["P01"], "winning_cells": [4]},
        {"moves": None, "column_names": ["a"], "winning_cells": [[0], ["0", "0"]]},
        {"moves": 1, "column_names": [1, 2], "last_move": {}, "to_move": 1},
        {"moves": [1] * 401, "column_names": "ab"},
    ],
)
def test_malformed_fields_beside_a_board_are_ignored(others: dict[str, Any]) -> None:
    assert read_board({"board": SMALL} | others, PLAYERS) == Board([[Cell(mark) for mark in row] for row in SMALL])


def test_long_texts_are_cut() -> None:
    others = {
        "marks": {"P01": "X" * 99},
        "moves": ["y" * 99],
        "column_names": ["z" * 9] * 2,
    }
    board = read_board({"board": SMALL} | others, PLAYERS)
    assert board is not None
    assert (board.marks, board.moves[0].move) == ({"P01": "XXX"}, "y" * 12)
    assert board.column_names == ["zzz", "zzz"]


JUNK: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", "P01", [], [[]], ["P01"], [[0, 0]], [["X"]], {}, {"P01": "X"}, {"P01": {}},
    {"row": 0, "column": 0}, {"row": [], "column": {}}, [{"move": {}}], [[1], None],
]  # fmt: skip


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(view_after("connect_four", 3), st.sampled_from(JUNK))))
def test_nothing_a_referee_sends_breaks_the_reading_of_a_board(view: dict[str, Any]) -> None:
    for board in (read_board(view, PLAYERS), read_board(view | {"board": SMALL}, PLAYERS)):
        assert board is None or isinstance(board.rows[0][0], Cell)


# Replay -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, game in games().items() if not game.hidden])
def test_the_steps_lead_to_the_board(name: str) -> None:
    view = view_after(name, *range(5))
    steps = read_steps(view, PLAYERS, name)
    board = [["" for _ in row] for row in view["board"]]
    for step in steps:
        for y, x, mark in step:
            board[y][x] = mark
    assert (len(steps), board) == (5, view["board"])


@pytest.mark.parametrize(
    "change",
    [
        {"moves": [4, 0]},
        {"moves": [4, 4, 0]},
        {"moves": ["x", {}, None]},
        {"moves": "408"},
        {"moves": None},
        {"moves": [0] * 401},
        {"board": [["X"] * 3] * 3},
        {"board": None},
    ],
)
def test_a_board_that_does_not_follow_from_its_moves_is_not_replayed(change: dict[str, Any]) -> None:
    view = view_after("tic_tac_toe", 4, 0, 8)
    assert len(read_steps(view, PLAYERS, "tic_tac_toe")) == 3
    assert read_steps(view | change, PLAYERS, "tic_tac_toe") == []


def test_nothing_is_replayed_without_the_rules_of_the_game_or_without_a_board() -> None:
    view = view_after("tic_tac_toe", 4, 0, 8)
    assert read_steps(view, PLAYERS, "removed_game") == []
    assert read_steps(view, PLAYERS, "connect_four") == []
    assert read_steps({}, PLAYERS, "even_odd") == []


def test_a_move_is_timed_by_the_last_answer_of_its_turn() -> None:
    board = read_board(view_after("tic_tac_toe", 4, 0, 8), PLAYERS)
    assert board is not None
    answers = [Answer("a", "5 ms", "1-1"), Answer("b", "5 ms", "1-3"), Answer("b", "9 ms", "1-5")]
    timed = time_moves(board.moves, answers)
    assert [(move.took, move.key, move.tries) for move in timed] == [
        ("5 ms", "1-1", 1),
        ("9 ms", "1-5", 2),
        ("", "", 0),
    ]


def test_answers_that_do_not_match_the_moves_time_nothing() -> None:
    board = read_board(view_after("tic_tac_toe", 4, 0), PLAYERS)
    assert board is not None
    assert time_moves(board.moves, [Answer("b", "5 ms", "1-1"), Answer("a", "5 ms", "1-3")]) == board.moves
