"""Even/Odd with numbers, the variant of 002: both pick 1 to 5 in secret, and a number from 1 to 10 is drawn.

The parity of the sum of the three numbers decides who wins; no match ends in a draw (ruling, section 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.protocol.messages import MessageType
from league_sdk.rules.even_odd import CHOICES, EvenOdd, parity
from league_sdk.rules.game import Chances, Outcome, State
from league_sdk.rules.moves import MOVE_FIELD, out_of_turn, whole_number

LOWEST, HIGHEST = 1, 5


class EvenOddNumbers(EvenOdd):
    """Like Even/Odd, but a move is a number from 1 to 5; PLAYER_A wins on an even sum, PLAYER_B on an odd one."""

    game_type = "even_odd_numbers"
    display_name = "Even/Odd with numbers"
    move_type = "choose_number"
    valid_choices = (f"{LOWEST}-{HIGHEST}",)
    call_message = MessageType.GAME_MOVE_CALL
    response_message = MessageType.GAME_MOVE_RESPONSE
    choice_field = MOVE_FIELD

    def options(self, state: State, player: str) -> list[Any]:
        return list(range(LOWEST, HIGHEST + 1)) if player in self.to_move(state) else []

    def view(self, state: State, viewer: str | None) -> dict[str, Any]:
        """The parity of each player; once the number is drawn also the choices, the number and the sum."""
        seen: dict[str, Any] = {"parities": dict(zip(state["players"], CHOICES, strict=True))}
        if state["number"] is None:
            return seen
        return seen | {"choices": dict(state["choices"]), "drawn_number": state["number"], "sum": self._sum(state)}

    def apply(self, state: State, player: str, move: Any) -> State:
        movers = self.to_move(state)
        if player not in movers:
            raise out_of_turn(player, movers)
        number = whole_number(move, LOWEST, HIGHEST, what="a number")
        return state | {"choices": state["choices"] | {player: number}}

    def chances(self, details: Mapping[str, Any]) -> Chances | None:
        """Each wins half of the time, whatever both choose."""
        return 0.5, 0.0, 0.5

    def outcome(self, state: State) -> Outcome | None:
        number = state["number"]
        if number is None:
            return None
        total = self._sum(state)
        winner = state["players"][CHOICES.index(parity(total))]
        first, second = (state["choices"][player] for player in state["players"])
        reason = f"{first} + {second} + {number} = {total} ({parity(total)}), and {winner} stands for {parity(total)}"
        details = self.unfinished(state) | {
            "drawn_number": number,
            "number_parity": parity(number),
            "sum": total,
            "sum_parity": parity(total),
        }
        return Outcome(winner=winner, reason=reason, details=details)

    def unfinished(self, state: State) -> dict[str, Any]:
        return {
            "drawn_number": None,
            "number_parity": None,
            "sum": None,
            "sum_parity": None,
            "parities": dict(zip(state["players"], CHOICES, strict=True)),
            "choices": dict(state["choices"]),
        }

    @staticmethod
    def _sum(state: State) -> int:
        return int(sum(state["choices"].values()) + state["number"])
