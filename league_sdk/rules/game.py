"""The interface every game implements (ruling, section 7).

A state is a plain JSON-able dict that only the game reads. Nothing is changed in place:
``apply`` and ``draw`` return a new state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from league_sdk.protocol.messages import MessageType

State = dict[str, Any]


class Random(Protocol):
    """The part of :class:`random.Random` that games use."""

    def randint(self, a: int, b: int, /) -> int: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended.

    Attributes:
        winner: a player id, or None for a draw.
        reason: one sentence, in English, as ``game_result.reason`` carries it.
        details: facts for ``game_result`` and ``result.details``, such as ``drawn_number``.
    """

    winner: str | None
    reason: str
    details: dict[str, Any] = field(default_factory=dict)


class Game(ABC):
    """A two-player game.

    Attributes:
        game_type: its name on the wire.
        display_name: its name for people.
        move_type: what a move is called (ruling, section 7).
        valid_choices: the closed list or ranges shown in the games registry.
        call_message: the message type that asks for a move.
        response_message: the message type that answers it.
        choice_field: where a response holds the move.
        hidden: whether moves are made at the same time and stay secret until all are in.
        max_round_time_sec: the longest a match should take, in seconds (004 9.3.4).
        draws: whether a number is drawn, out of a seed that the league manager commits to (ruling, section 12).
    """

    game_type: ClassVar[str]
    display_name: ClassVar[str]
    move_type: ClassVar[str]
    valid_choices: ClassVar[Sequence[str]]
    call_message: ClassVar[MessageType]
    response_message: ClassVar[MessageType]
    choice_field: ClassVar[str]
    hidden: ClassVar[bool]
    max_round_time_sec: ClassVar[int]
    draws: ClassVar[bool] = False

    @abstractmethod
    def new_state(self, players: tuple[str, str]) -> State:
        """The state before the first move; ``players`` are PLAYER_A and PLAYER_B."""

    @abstractmethod
    def to_move(self, state: State) -> tuple[str, ...]:
        """Who must move now; several move in parallel. Empty when the game waits for a draw or is over."""

    @abstractmethod
    def options(self, state: State, player: str) -> list[Any]:
        """The moves ``player`` may make now."""

    @abstractmethod
    def view(self, state: State, viewer: str | None) -> dict[str, Any]:
        """What ``viewer`` may see; None is the public. Never a hidden choice.

        Any JSON will do. The site draws the board of a game that shows ``board`` (rows of cells, each a mark of at
        most three characters or ``""``), and beside it, as far as they are there: ``marks`` (by player), ``moves``
        (in order, taking turns), ``last_move`` and ``winning_cells`` (``row`` and ``column`` from 0 at the top
        left), ``to_move`` (a player id) and ``column_names``.
        """

    @abstractmethod
    def apply(self, state: State, player: str, move: Any) -> State:
        """Make a move.

        Raises:
            IllegalMove: E004, saying what was seen and what was expected.
        """

    @abstractmethod
    def draw(self, state: State, rng: Random) -> State:
        """The chance step, taken when nobody is to move and there is no outcome yet."""

    def drawn_from(self, state: State) -> tuple[str, str]:
        """The two choices that the draw depends on, as text, PLAYER_A's first (ruling, section 12).

        A game that draws gives its choices normalised, numbers in decimal.

        Raises:
            ValueError: the game draws nothing, or a choice is not there yet.
        """
        raise ValueError(f"nothing is drawn in {self.game_type}")

    @abstractmethod
    def outcome(self, state: State) -> Outcome | None:
        """The end of the game, or None while it goes on."""

    @abstractmethod
    def unfinished(self, state: State) -> dict[str, Any]:
        """The details of a result when the game ended without being played out."""
