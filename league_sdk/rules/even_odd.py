"""Even/Odd: both players choose in secret, then a number from 1 to 10 is drawn (ruling, section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from league_sdk.protocol.errors import IllegalMove
from league_sdk.protocol.messages import MessageType
from league_sdk.rules.game import Chances, Game, Outcome, Random, State

CHOICES = ("even", "odd")
LOWEST, HIGHEST = 1, 10


def init_game_state(players: tuple[str, str]) -> State:
    """The state of a new game of PLAYER_A and PLAYER_B (004 3.7.1)."""
    return {"players": list(players), "choices": dict.fromkeys(players), "number": None}


def validate_choice(choice: object) -> bool:
    """Whether a choice is exactly ``"even"`` or ``"odd"`` (004 3.7.1, 4.12.2)."""
    return isinstance(choice, str) and choice in CHOICES


def draw_number(rng: Random) -> int:
    """Draw a number from 1 to 10, each equally likely (004 3.7.1)."""
    return rng.randint(LOWEST, HIGHEST)


def parity(number: int) -> str:
    """``"even"`` or ``"odd"``."""
    return CHOICES[number % 2]


def determine_winner(choices: Mapping[str, str], number: int) -> str | None:
    """The player who alone guessed right; None if both or neither did (004 3.7.1)."""
    right = [player for player, choice in choices.items() if choice == parity(number)]
    return right[0] if len(right) == 1 else None


class EvenOdd(Game):
    """The course's game as a :class:`~league_sdk.rules.game.Game`."""

    game_type = "even_odd"
    display_name = "Even/Odd"
    move_type = "choose_parity"
    valid_choices: ClassVar[Sequence[str]] = CHOICES
    call_message = MessageType.CHOOSE_PARITY_CALL
    response_message = MessageType.CHOOSE_PARITY_RESPONSE
    choice_field = "parity_choice"
    hidden = True
    max_round_time_sec = 60
    draws = True  # a number
    drawing = "envelopes"  # on the pages

    def new_state(self, players: tuple[str, str]) -> State:
        return init_game_state(players)

    def to_move(self, state: State) -> tuple[str, ...]:
        return tuple(player for player in state["players"] if state["choices"][player] is None)

    def options(self, state: State, player: str) -> list[Any]:
        return list(CHOICES) if player in self.to_move(state) else []

    def view(self, state: State, viewer: str | None) -> dict[str, Any]:
        if state["number"] is None:
            return {}
        return {"choices": dict(state["choices"]), "drawn_number": state["number"]}

    def apply(self, state: State, player: str, move: Any) -> State:
        if player not in self.to_move(state):
            raise IllegalMove(
                f"{player} has no choice to make now.",
                field="player_id",
                seen=player,
                expected=" or ".join(self.to_move(state)) or "nobody",
            )
        if not validate_choice(move):
            raise IllegalMove(
                'parity_choice must be exactly "even" or "odd".',
                field="parity_choice",
                seen=move,
                expected='"even" or "odd"',
            )
        return state | {"choices": state["choices"] | {player: move}}

    def draw(self, state: State, rng: Random) -> State:
        return state | {"number": draw_number(rng)}

    def drawn_from(self, state: State) -> tuple[str, str]:
        """The choices on which the drawn number depends, PLAYER_A's first (ruling, section 12).

        Raises:
            ValueError: a choice is missing.
        """
        first, second = (state["choices"][player] for player in state["players"])
        if first is None or second is None:
            raise ValueError("a number is drawn when both choices are in")
        return str(first), str(second)

    def chances(self, details: Mapping[str, Any]) -> Chances | None:
        """Certain to end in a draw if both said the same, else half of the time for each.

        Unknown choices count as random ones.
        """
        choices = details.get("choices")
        known = list(choices.values()) if isinstance(choices, Mapping) else []
        if len(known) != 2 or not all(map(validate_choice, known)):
            return 0.25, 0.5, 0.25
        return (0.0, 1.0, 0.0) if known[0] == known[1] else (0.5, 0.0, 0.5)

    def outcome(self, state: State) -> Outcome | None:
        number = state["number"]
        if number is None:
            return None
        choices: dict[str, str] = state["choices"]
        winner = determine_winner(choices, number)
        drawn = f"number was {number} ({parity(number)})"
        if winner is not None:
            reason = f"{winner} chose {choices[winner]}, {drawn}"
        else:
            verb = "guessed right" if parity(number) in choices.values() else "guessed wrong"
            reason = f"both {verb}, {drawn}"
        details = {"drawn_number": number, "number_parity": parity(number), "choices": dict(choices)}
        return Outcome(winner=winner, reason=reason, details=details)

    def unfinished(self, state: State) -> dict[str, Any]:
        return {"drawn_number": None, "number_parity": None, "choices": dict(state["choices"])}
