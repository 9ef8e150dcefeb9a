"""The board of a game in turns, as pages draw it: every game's view, and whatever else a referee may send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.rules.game import State
from league_sdk.rules.registry import games, get_game
from matches.view.boards import read_board, read_steps, time_moves

PLAYERS = ("P01", "P02")


def after(game_type: str, *moves: int) -> State:
    game = get_game(game_type)
    state = game.new_state(PLAYERS)
    for turn, move in enumerate(moves):
        state = game.apply(state, PLAYERS[turn % 2], move)
    return state


def seen(game_type: str, *moves: int) -> dict[str, Any]:
    """What the public sees, through JSON as it comes to us."""
    found: dict[str, Any] = json.loads(json.dumps(get_game(game_type).view(after(game_type, *moves), None)))
    return found


def test_a_board_in_play() -> None:
    board = read_board(seen("tic_tac_toe", 4, 0), PLAYERS)
    assert board is not None
    empty = {"mark": "", "seat": "", "last": False, "won": False}
    assert board["rows"] == [
        [{"mark": "O", "seat": "b", "last": True, "won": False}, empty, empty],
        [empty, {"mark": "X", "seat": "a", "last": False, "won": False}, empty],
        [empty, empty, empty],
    ]
    assert (board["to_move"], board["next"], board["marks"]) == ("P01", 3, {"P01": "X", "P02": "O"})
    assert board["moves"] == [
        {"number": 1, "player_id": "P01", "seat": "a", "move": "4"},
        {"number": 2, "player_id": "P02", "seat": "b", "move": "0"},
    ]
    assert board["column_names"] == []


def test_a_board_that_is_won() -> None:
    board = read_board(seen("connect_four", 0, 1, 0, 1, 0, 1, 0), PLAYERS)
    assert board is not None
    won = [(y, x) for y, row in enumerate(board["rows"]) for x, cell in enumerate(row) if cell["won"]]
    last = [(y, x) for y, row in enumerate(board["rows"]) for x, cell in enumerate(row) if cell["last"]]
    assert (won, last, board["to_move"]) == ([(2, 0), (3, 0), (4, 0), (5, 0)], [(2, 0)], None)
    assert board["column_names"] == ["0", "1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize("name", list(games()))
def test_a_board_is_drawn_for_games_that_have_one_before_and_after(name: str) -> None:
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
def test_what_is_no_board_is_not_drawn(board: object) -> None:
    assert read_board({"board": board, "to_move": "P01"}, PLAYERS) is None
    assert read_board({}, PLAYERS) is None


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"marks": ["X", "O"], "moves": "0", "last_move": [0, 0], "to_move": "P99", "winning_cells": 7},
        {"marks": {"P99": "X"}, "moves": {"0": 4}, "last_move": {"row": "0"}, "to_move": ["P01"], "winning_cells": [4]},
        {"moves": None, "column_names": ["a"], "winning_cells": [[0], ["0", "0"]]},
        {"moves": 1, "column_names": [1, 2], "last_move": {}, "to_move": 1},
        {"moves": [1] * 401, "column_names": "ab"},
    ],
)
def test_what_stands_beside_a_board_may_be_missing_or_wrong(beside: dict[str, Any]) -> None:
    plain = [{"mark": mark, "seat": "", "last": False, "won": False} for mark in ("X", "", "", "O")]
    assert read_board({"board": SMALL} | beside, PLAYERS) == {
        "rows": [plain[:2], plain[2:]],
        "column_names": [],
        "marks": {},
        "moves": [],
        "to_move": None,
        "next": 1,
    }


def test_long_texts_are_cut() -> None:
    beside = {
        "marks": {"P01": "X" * 99},
        "moves": ["y" * 99],
        "column_names": ["z" * 9] * 2,
    }
    board = read_board({"board": SMALL} | beside, PLAYERS)
    assert board is not None
    assert (board["marks"], board["moves"][0]["move"]) == ({"P01": "XXX"}, "y" * 12)
    assert board["column_names"] == ["zzz", "zzz"]


JUNK: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", "P01", [], [[]], ["P01"], [[0, 0]], [["X"]], {}, {"P01": "X"}, {"P01": {}},
    {"row": 0, "column": 0}, {"row": [], "column": {}}, [{"move": {}}], [[1], None],
]  # fmt: skip


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(seen("connect_four", 3), st.sampled_from(JUNK))))
def test_nothing_a_referee_sends_breaks_a_page(view: dict[str, Any]) -> None:
    for board in (read_board(view, PLAYERS), read_board(view | {"board": SMALL}, PLAYERS)):
        assert board is None or board["rows"][0][0].keys() == {"mark", "seat", "last", "won"}


# Replay -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, game in games().items() if not game.hidden])
def test_the_steps_lead_to_the_board(name: str) -> None:
    view = seen(name, *range(5))
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
def test_what_does_not_follow_from_its_moves_is_not_replayed(change: dict[str, Any]) -> None:
    view = seen("tic_tac_toe", 4, 0, 8)
    assert len(read_steps(view, PLAYERS, "tic_tac_toe")) == 3
    assert read_steps(view | change, PLAYERS, "tic_tac_toe") == []


def test_only_a_game_that_is_known_and_open_is_replayed() -> None:
    view = seen("tic_tac_toe", 4, 0, 8)
    assert read_steps(view, PLAYERS, "removed_game") == []
    assert read_steps(view, PLAYERS, "connect_four") == []
    assert read_steps({}, PLAYERS, "even_odd") == []


def answer(seat: str, key: str, took: str = "5 ms") -> dict[str, str]:
    return {"seat": seat, "key": key, "took": took}


def test_a_move_is_timed_by_the_last_answer_of_its_turn() -> None:
    board = read_board(seen("tic_tac_toe", 4, 0, 8), PLAYERS)
    assert board is not None
    time_moves(board["moves"], [answer("a", "1-1"), answer("b", "1-3"), answer("b", "1-5", "9 ms")])
    assert [(move.get("took"), move.get("key"), move.get("tries")) for move in board["moves"]] == [
        ("5 ms", "1-1", 1),
        ("9 ms", "1-5", 2),
        (None, None, None),
    ]


def test_answers_that_are_not_those_of_the_moves_time_nothing() -> None:
    board = read_board(seen("tic_tac_toe", 4, 0), PLAYERS)
    assert board is not None
    time_moves(board["moves"], [answer("b", "1-1"), answer("a", "1-3")])
    assert [move.get("took") for move in board["moves"]] == [None, None]
