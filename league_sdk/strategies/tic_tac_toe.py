"""Perfect: Tic-Tac-Toe to its end (004 3.7.2, 3.8.3).

The idea (minimax): a position is worth to the player who moves what the best move makes of it, and a move is worth the
opposite of what the position after it is worth to the other. So every game that can follow is played out in thought,
once for each of the 5,478 positions, and what was found is remembered. It uses only the rules of league_sdk/rules.

What it can gain: everything there is. It never loses, and it wins as soon as the other lets it.

What it cannot gain: a win against another player without mistakes. Tic-Tac-Toe is a draw then, always. And the same
idea does not work for Connect Four, which has more than four million million positions (see connect_four.py). In games
of chance it is no better than random choices.
"""

from __future__ import annotations

from typing import Any

from league_sdk.rules.board import EMPTY
from league_sdk.rules.game import Game, State
from league_sdk.rules.tic_tac_toe import TicTacToe
from league_sdk.strategies.careful import Careful
from league_sdk.strategies.positions import position

Board = tuple[tuple[str, ...], ...]
_known: dict[Board, int] = {}
"""What positions are worth, as :func:`worth` has found out; for all players of this process."""


class Perfect(Careful):
    """The best move in Tic-Tac-Toe, any of them if there are several; other games as :class:`Careful`."""

    quick = False  # Its first move takes about a second.

    def move(self, options: list[Any], state: dict[str, Any], context: dict[str, Any]) -> Any:
        found = position(context.get("game_type"), state)
        if found is None or not isinstance(found[0], TicTacToe):
            return super().move(options, state, context)
        game, game_state = found
        (us,) = game.to_move(game_state)
        values = {option: -worth(game, game.apply(game_state, us, option)) for option in options}
        best = max(values.values())
        return self.rng.choice([option for option in options if values[option] == best])


def worth(game: Game, game_state: State) -> int:
    """What a position is worth to the player whose turn it is, if both play as well as they can.

    Above 0 it is won, below 0 lost, and 0 is a draw. A win is worth more the more cells are still empty at the end, so
    that it is not put off, and a defeat is.
    """
    board: Board = tuple(tuple(row) for row in game.view(game_state, None)["board"])
    if board not in _known:
        outcome = game.outcome(game_state)
        if outcome is None:
            (mover,) = game.to_move(game_state)
            _known[board] = max(
                -worth(game, game.apply(game_state, mover, move)) for move in game.options(game_state, mover)
            )
        elif outcome.winner is None:
            _known[board] = 0
        else:
            # Only the other one, who has just moved, can have won.
            _known[board] = -1 - sum(row.count(EMPTY) for row in board)
    return _known[board]
