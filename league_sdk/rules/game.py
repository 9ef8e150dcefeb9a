"""The interface every game implements (ruling, section 7).

A state is a JSON object that only the game reads. It is never changed in place: ``apply`` and ``draw`` return a new
state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from league_sdk.protocol import rpc
from league_sdk.protocol.limits import MAX_GAME_BYTES, MAX_TRANSCRIPT_DEPTH
from league_sdk.protocol.messages import MessageType

State = dict[str, Any]
Chances = tuple[float, float, float]
"""The chances that PLAYER_A wins, that nobody wins, and that PLAYER_B wins; their sum is 1."""


def said_by_game(value: Any) -> Any:
    """What a game says of a match, as the plain JSON that a heartbeat can carry.

    An error here ends one match. In a heartbeat it would end, or hold up, all that its referee plays.

    Raises:
        TypeError, ValueError, RecursionError, NotJson: it is no JSON, too large, or nested too deeply.
    """
    data = rpc.dumps(value)
    plain = rpc.loads(data)
    if len(data) > MAX_GAME_BYTES or not rpc.depth_ok(plain, MAX_TRANSCRIPT_DEPTH):
        raise ValueError("a game says too much at once")
    return plain


class Random(Protocol):
    """The methods of :class:`random.Random` that games use."""

    def randint(self, a: int, b: int, /) -> int: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended.

    Attributes:
        winner: a player id, or None if the game ended in a draw.
        reason: one English sentence for ``game_result.reason``.
        details: fields of ``game_result`` and ``result.details``, such as ``drawn_number``.
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
        valid_choices: the possible moves as a list of words or ranges, for the games registry.
        call_message: the type of the message that asks for a move.
        response_message: the type of the message that answers it.
        choice_field: the path of the move in the response.
        hidden: whether both players move at the same time and moves stay secret until all are made.
        max_round_time_sec: the longest expected duration of a match, in seconds (004 9.3.4).
        draws: whether a number is drawn from a seed that the league manager commits to (ruling, section 12).
        translations: its English sentences in other languages, by language: those of its refusals and outcomes, with
            places such as ``%(player)s`` for single words. Pages show them; agents are told the English.
        drawing: how pages show a match: the name of a folder ``games/NAME`` of templates, ours or beside the game's
            module in ``templates`` (docs/games.md). Empty: as a board if the view has one,
            as envelopes if choices are hidden, else in words.
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
    translations: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    drawing: ClassVar[str] = ""

    @abstractmethod
    def new_state(self, players: tuple[str, str]) -> State:
        """The state before the first move; ``players`` are PLAYER_A and PLAYER_B."""

    @abstractmethod
    def to_move(self, state: State) -> tuple[str, ...]:
        """The players who must move now, in parallel. Empty if a number must be drawn or the game is over."""

    @abstractmethod
    def options(self, state: State, player: str) -> list[Any]:
        """The moves ``player`` may make now."""

    @abstractmethod
    def view(self, state: State, viewer: str | None) -> dict[str, Any]:
        """The facts that ``viewer`` may see, never a hidden choice; None is the public.

        It may be any JSON object. If it has ``board`` (rows of cells, each a mark of at most three characters or
        ``""``), the site shows the board, and beside it these fields if they exist: ``marks`` (by player), ``moves``
        (in order, taking turns), ``last_move`` and ``winning_cells`` (``row`` and ``column`` from 0 at the top
        left), ``to_move`` (a player id) and ``column_names``.
        """

    @abstractmethod
    def apply(self, state: State, player: str, move: Any) -> State:
        """Make a move.

        Raises:
            IllegalMove: E004, with the move that was seen and the moves that were expected.
        """

    @abstractmethod
    def draw(self, state: State, rng: Random) -> State:
        """Draw a number; called when no player must move and there is no outcome yet."""

    def drawn_from(self, state: State) -> tuple[str, str]:
        """The two choices on which the drawn number depends, PLAYER_A's first (ruling, section 12).

        They are normalised texts; numbers are decimal.

        Raises:
            ValueError: the game draws no number, or a choice is missing.
        """
        raise ValueError(f"nothing is drawn in {self.game_type}")

    def chances(self, details: Mapping[str, Any]) -> Chances | None:
        """The chances that a finished match had at one moment: both had chosen, and no number was drawn yet.

        Only a game of chance has them: one in which nobody can play better than another. None: a game of skill.

        Args:
            details: the details of the result, which a student's referee may have sent. If they do not say what was
                chosen, the chances are those of two players who choose at random.
        """
        return None

    @abstractmethod
    def outcome(self, state: State) -> Outcome | None:
        """The outcome, or None while the game goes on."""

    @abstractmethod
    def unfinished(self, state: State) -> dict[str, Any]:
        """The details of the result if the game ends before it was played out."""
