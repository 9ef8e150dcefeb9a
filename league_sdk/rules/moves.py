"""Refusing illegal moves in all games but Even/Odd: E004, with the code of 002 as ``legacy_code``."""

from __future__ import annotations

from collections.abc import Sequence

from league_sdk.protocol.errors import IllegalMove

INVALID_MOVE, NOT_YOUR_TURN = "G001", "G004"
MOVE_FIELD = "move_data.choice"
"""The path of the move in GAME_MOVE_RESPONSE (ruling, section 7)."""


def illegal(sentence: str, *, seen: object, expected: str) -> IllegalMove:
    """The error for an illegal move; ``expected`` names the legal ones."""
    return IllegalMove(sentence, field=MOVE_FIELD, seen=seen, expected=expected, legacy_code=INVALID_MOVE)


def out_of_turn(player: str, to_move: Sequence[str]) -> IllegalMove:
    """The error for a move of a player whose turn it is not."""
    return IllegalMove(
        f"{player} is not to move now.",
        field="player_id",
        seen=player,
        expected=" or ".join(to_move) or "nobody",
        legacy_code=NOT_YOUR_TURN,
    )


def whole_number(move: object, lowest: int, highest: int, *, what: str) -> int:
    """Read a move that is a whole number: an integer, or (our choice) its digits in a string.

    Language models answer ``"4"`` as often as ``4``. Other forms, such as true, 4.0 and " 4", are refused.

    Args:
        move: the move as received.
        lowest: the smallest valid number.
        highest: the largest valid number.
        what: a move of this game in words, such as ``a cell``.

    Raises:
        IllegalMove: E004 with ``legacy_code`` G001.
    """
    number: int | None = None
    if isinstance(move, int) and not isinstance(move, bool):
        number = move
    elif isinstance(move, str) and move.isascii() and move.isdigit() and len(move) <= len(str(highest)):
        number = int(move)
    if number is None or not lowest <= number <= highest:
        expected = f"an integer from {lowest} to {highest}"
        raise illegal(f"{MOVE_FIELD} must be {what}: {expected}.", seen=move, expected=expected)
    return number
