"""Games other than even_odd through the same match: turns, boards, illegal moves (004 3.8; ruling sections 7 and 8)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.protocol.errors import NotJson
from league_sdk.rules.connect_four import ConnectFour
from league_sdk.rules.even_odd_numbers import EvenOddNumbers
from league_sdk.rules.game import Game
from league_sdk.rules.tic_tac_toe import TicTacToe
from tests.league_sdk.judging.scripted import NOT_LISTENING, SILENCE, A, B, ScriptedMatch, brief

E, X, O = "", "X", "O"  # noqa: E741 (the letter is the mark)


@dataclass
class OtherGame(ScriptedMatch):
    """A scripted match of a game that is not Even/Odd."""

    game: Game = field(default_factory=TicTacToe)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.brief = replace(self.brief, game_type=self.game.game_type)

    def messages_sent(self) -> list[tuple[str, str]]:
        """The players and the messages that they were sent, in order, from the first move on."""
        return [(one.player_id, one.type) for one in self.sent if one.type != "GAME_INVITATION"]

    def shown(self) -> list[tuple[str, list[str], Any]]:
        """What the public saw, each state once: the match's state, who has locked in, the board."""
        seen = [
            (one["state"], one["locked_in"], one["view"].get("board")) for one in [*self.published] if one["joined"]
        ]
        return [now for before, now in zip([None, *seen], seen, strict=False) if now != before]


def move(value: Any, elapsed_s: float = 2.0) -> CallResult:
    """A GAME_MOVE_RESPONSE (004 3.8.2)."""
    message = {"message_type": "GAME_MOVE_RESPONSE", "move_data": {"move_type": "place_mark", "choice": value}}
    return CallResult(message=message, body={"result": message}, elapsed_s=elapsed_s)


def moves(*values: Any) -> list[CallResult]:
    return [move(value) for value in values]


CALL, ERROR, OVER = "GAME_MOVE_CALL", "GAME_ERROR", "GAME_OVER"


async def test_only_the_player_to_move_is_asked_and_both_get_game_over() -> None:
    scripted = OtherGame(moves={A: moves(4, 0, 8), B: moves(1, 2)})
    played = await scripted.play()
    assert scripted.messages_sent() == [(A, CALL), (B, CALL), (A, CALL), (B, CALL), (A, CALL), (A, OVER), (B, OVER)]
    # Nobody is asked before the other's move is in.
    assert [one.at for one in scripted.sent if one.type == CALL] == [1, 3, 5, 7, 9]
    assert (played.status, played.winner, played.reason) == ("WIN", A, "P01 has 3 in a row after 5 moves")
    assert played.details["board"] == [[X, O, O], [E, X, E], [E, E, X]]
    assert played.details["choices"] == {A: [4, 0, 8], B: [1, 2]}
    for player in (A, B):
        (last,) = scripted.to(player, OVER)
        result = {"status": "WIN", "winner_player_id": A, **played.details, "reason": played.reason}
        assert last.message["game_result"] == result


async def test_a_player_is_shown_the_state_and_its_legal_moves() -> None:
    scripted = OtherGame(moves={A: moves(4, 0, 8), B: moves(1, 2)})
    await scripted.play()
    game = TicTacToe()
    state = game.new_state((A, B))
    for one, played in zip([one for one in scripted.sent if one.type == CALL], (4, 1, 0, 2, 8), strict=True):
        request = one.message["move_request"]
        assert (one.message["game_type"], request["move_type"]) == ("tic_tac_toe", "place_mark")
        assert request["valid_options"] == game.options(state, one.player_id)
        assert request["context"]["state"] == game.view(state, one.player_id)
        assert request["context"]["state"]["your_mark"] == {A: X, B: O}[one.player_id]
        # Flat as well, for agents that look no deeper (ruling, section 4).
        assert one.message["state"] == request["context"]["state"]
        state = game.apply(state, one.player_id, played)


async def test_the_public_sees_the_board_move_by_move_and_no_draw_of_a_number() -> None:
    scripted = OtherGame(moves={A: moves(4, 0, 8), B: moves(1, 2)})
    await scripted.play()
    boards: list[Any] = [
        [[E, E, E], [E, E, E], [E, E, E]],
        [[E, E, E], [E, X, E], [E, E, E]],
        [[E, O, E], [E, X, E], [E, E, E]],
        [[X, O, E], [E, X, E], [E, E, E]],
        [[X, O, O], [E, X, E], [E, E, E]],
        [[X, O, O], [E, X, E], [E, E, X]],
    ]
    during = [one for one in scripted.shown() if one[0] != "WAITING_FOR_PLAYERS"]
    assert {state for state, _, _ in during} == {"COLLECTING_CHOICES"}
    seen = [board for _, _, board in during]
    assert [now for before, now in zip([None, *seen], seen, strict=False) if now not in (before, None)] == boards
    # A player that has moved is shown as such until the board shows the move.
    assert [locked for _, locked, _ in during if locked] == [[A], [B], [A], [B], [A]]
    assert scripted.drawn_after is None
    assert [step["state"] for step in scripted.log.steps] == ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES"]


async def test_a_move_is_public_before_the_next_player_is_asked() -> None:
    scripted = OtherGame(moves={A: moves(4, 0, 8), B: moves(1, 2)})
    await scripted.play()
    second_call = next(one for one in scripted.sent if (one.player_id, one.type) == (B, CALL))
    before = [entry for one in scripted.published[: second_call.published_before] for entry in one["entries"]]
    assert [entry["message_type"] for entry in before if entry["sender"] == A] == [
        "GAME_JOIN_ACK",
        "GAME_MOVE_RESPONSE",
    ]
    answers = [entry for entry in scripted.entries() if entry["message_type"] == "GAME_MOVE_RESPONSE"]
    assert [(entry["sender"], entry["body"]["result"]["move_data"]["choice"]) for entry in answers] == [
        (A, 4), (B, 1), (A, 0), (B, 2), (A, 8),
    ]  # fmt: skip


# -- illegal moves -----------------------------------------------------------------------------------------


async def test_an_illegal_move_costs_one_retry() -> None:
    scripted = OtherGame(moves={A: moves(4, 0, 8), B: [move(4), *moves(1, 2)]})
    played = await scripted.play()
    assert (played.status, played.winner, played.faults) == ("WIN", A, ())
    assert scripted.messages_sent()[:5] == [(A, CALL), (B, CALL), (B, ERROR), (B, CALL), (A, CALL)]
    (error,) = scripted.to(B, ERROR)
    assert (error.message["error_code"], error.message["retry_count"]) == ("E004", 0)
    context = error.message["context"]
    assert (context["field"], context["seen"]) == ("move_data.choice", "4")
    assert (context["expected"], context["legacy_code"]) == ("an empty cell: 0, 1, 2, 3, 5, 6, 7, 8", "G001")
    # The illegal move did not change the board: the same question is asked again.
    first, again = [one.message for one in scripted.to(B, CALL)][:2]
    assert again["move_request"] == first["move_request"]


@pytest.mark.parametrize("wrong", [0, 9, "x", True, None, [1]])
async def test_a_player_without_a_legal_move_loses_after_the_retries(wrong: Any) -> None:
    """None is an answer without a move: not illegal but incomplete, and not asked again (ruling, section 6)."""
    tries = 1 if wrong is None else 4
    scripted = OtherGame(moves={A: moves(0), B: moves(*[wrong] * 4)})
    played = await scripted.play()
    code = "E003" if wrong is None else "E004"
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", A)
    assert [(one.player_id, one.error_code, one.tries) for one in played.faults] == [(B, code, tries)]
    assert scripted.messages_sent() == [(A, CALL), *[(B, CALL), (B, ERROR)] * tries, (A, OVER), (B, OVER)]
    # The legal moves stay visible.
    assert played.details["board"] == [[X, E, E], [E, E, E], [E, E, E]]
    assert (played.details["choices"], played.details["to_move"]) == ({A: [0], B: None}, None)


async def test_moves_as_text_and_at_the_top_level_are_read() -> None:
    flat = CallResult(message={"choice": "8"}, body={"result": {"choice": "8"}}, elapsed_s=1.0)
    scripted = OtherGame(moves={A: [*moves("4", 0), flat], B: moves(1, 2)})
    played = await scripted.play()
    assert (played.status, played.winner, played.details["choices"][A]) == ("WIN", A, [4, 0, 8])


@pytest.mark.parametrize(("answer", "code"), [(SILENCE, "E001"), (NOT_LISTENING, "E009")])
async def test_a_player_that_stops_answering_loses_and_the_other_is_not_asked(answer: CallResult, code: str) -> None:
    scripted = OtherGame(moves={A: [move(4), *[answer] * 4], B: moves(1)})
    played = await scripted.play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", B)
    assert [(one.player_id, one.error_code, one.tries) for one in played.faults] == [(A, code, 4)]
    assert [player for player, kind in scripted.messages_sent() if kind == CALL] == [A, B, A, A, A, A]
    assert scripted.published[-1]["view"]["board"] == [[E, O, E], [E, X, E], [E, E, E]]


# -- other games ------------------------------------------------------------------------------------------


async def test_a_game_of_connect_four_is_played_until_the_board_is_full() -> None:
    """All 42 moves: each player is asked 21 times, in turn."""
    columns = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2]
    columns += [4, 5, 4, 5, 4, 5, 5, 4, 5, 4, 5, 4, 6, 6, 6, 6, 6, 6]
    scripted = OtherGame(game=ConnectFour(), moves={A: moves(*columns[::2]), B: moves(*columns[1::2])}, brief=brief())
    played = await scripted.play()
    assert (played.status, played.reason) == ("DRAW", "the board is full and nobody has 4 in a row")
    assert [player for player, kind in scripted.messages_sent() if kind == CALL] == [A, B] * 21
    boards = [one["view"].get("board") for one in scripted.published]
    filled = [sum(cell != E for row in board for cell in row) for board in boards if board]
    assert sorted(set(filled)) == list(range(43))
    assert filled == sorted(filled)


async def test_hidden_numbers_are_asked_for_in_parallel_and_hidden_until_the_draw() -> None:
    scripted = OtherGame(game=EvenOddNumbers(), moves={A: [move(3, 10.0)], B: [move(5, 20.0)]}, number=7)
    played = await scripted.play()
    assert (played.status, played.winner) == ("WIN", B)
    assert played.reason == "3 + 5 + 7 = 15 (odd), and P02 stands for odd"
    assert [(one.at, one.player_id) for one in scripted.sent if one.type == CALL] == [(1, A), (1, B)]
    assert scripted.drawn_after is not None
    parities = {"parities": {A: "even", B: "odd"}}
    for one in scripted.published[: scripted.drawn_after]:
        assert one["view"] in ({}, parities)
        assert [entry for entry in one["entries"] if entry["message_type"] == "GAME_MOVE_RESPONSE"] == []
    assert scripted.published[-1]["view"] == parities | {"choices": {A: 3, B: 5}, "drawn_number": 7, "sum": 15}
    assert [step["state"] for step in scripted.log.steps][-1] == "DRAWING_NUMBER"


# -- a game of others that breaks its contract ------------------------------------------------------------


class Boasting(TicTacToe):
    """Shows, and says at the end, what it is made with."""

    def __init__(self, view: Any = None, details: Any = None) -> None:
        self.shown, self.details = view, details

    def view(self, state: Any, viewer: str | None) -> Any:
        return super().view(state, viewer) if self.shown is None else {"board": self.shown}

    def unfinished(self, state: Any) -> Any:
        return super().unfinished(state) if self.details is None else {"choices": self.details}


class Endless(TicTacToe):
    """Nobody is to move, and nothing is decided."""

    def to_move(self, state: Any) -> tuple[str, ...]:
        return ()

    def draw(self, state: Any, rng: Any) -> Any:
        return state


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


UNFIT = [{1, 2}, float("nan"), "x" * 20_000, "\x00", "\ud800", nested(20), nested(100_000)]


@pytest.mark.parametrize("what", UNFIT, ids=["set", "nan", "long", "nul", "surrogate", "deep", "endless"])
async def test_what_a_heartbeat_could_not_carry_ends_the_match_before_a_heartbeat_has_it(what: Any) -> None:
    scripted = OtherGame(game=Boasting(view=what))
    with pytest.raises((TypeError, ValueError, RecursionError, NotJson)):
        await scripted.play()
    assert {str(one["view"]) for one in scripted.published} <= {"{}"}


@pytest.mark.parametrize("what", [{1, 2}, ["x" * 20_000], nested(20)], ids=["set", "long", "deep"])
async def test_nor_does_a_verdict_have_it(what: Any) -> None:
    scripted = OtherGame(game=Boasting(details=what), moves={A: [SILENCE] * 4})
    with pytest.raises((TypeError, ValueError, RecursionError, NotJson)):
        await scripted.play()


async def test_a_match_that_does_not_end_is_given_up_after_as_many_turns_as_are_kept() -> None:
    with pytest.raises(ValueError, match="the game does not end within 500 turns"):
        await OtherGame(game=Endless()).play()
