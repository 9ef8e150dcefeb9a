"""What the games share in refusing a move: E004, with the code 002 gives it as ``legacy_code``."""

from __future__ import annotations

from collections.abc import Sequence

from league_sdk.protocol.errors import IllegalMove

INVALID_MOVE, NOT_YOUR_TURN = "G001", "G004"
MOVE_FIELD = "move_data.choice"
"""Where GAME_MOVE_RESPONSE holds the move (ruling, section 7)."""


def illegal(sentence: str, *, seen: object, expected: str) -> IllegalMove:
    """A move the game does not allow; ``expected`` says which ones it does."""
    return IllegalMove(sentence, field=MOVE_FIELD, seen=seen, expected=expected, legacy_code=INVALID_MOVE)


def out_of_turn(player: str, to_move: Sequence[str]) -> IllegalMove:
    """A move of someone who is not to move now."""
    return IllegalMove(
        f"{player} is not to move now.",
        field="player_id",
        seen=player,
        expected=" or ".join(to_move) or "nobody",
        legacy_code=NOT_YOUR_TURN,
    )


def whole_number(move: object, lowest: int, highest: int, *, what: str) -> int:
    """A move that is a number, as JSON carries it: an integer, or (our choice) its digits in a string.

    Language models answer ``"4"`` as often as ``4``; true, 4.0 and " 4" stay wrong, because nobody
    who writes them means a move.

    Args:
        move: what came.
        lowest: the smallest number the game knows.
        highest: the largest.
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
