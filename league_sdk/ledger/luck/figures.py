"""What is asked about the luck in a table, and what is answered; both as JSON for another process. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from league_sdk.ledger.standings import Result, Scoring
from league_sdk.rules.game import Chances


@dataclass(frozen=True, slots=True)
class Question:
    """A table whose luck is in question.

    Attributes:
        players: the ids of everyone in the table.
        results: the results that count.
        scoring: the league's points.
        chances: for each result, the chances of the match if its game is one of chance and they are known; else None.
        points: for each player, the points that corrections gave or took.
        out: for each player, ``withdrawn`` or ``disqualified``.
        seed: what chance is drawn from: the same question with the same seed has the same answer.
    """

    players: tuple[str, ...]
    results: tuple[Result, ...]
    scoring: Scoring
    chances: tuple[Chances | None, ...] = ()
    points: Mapping[str, int] = field(default_factory=dict)
    out: Mapping[str, str] = field(default_factory=dict)
    seed: str = ""

    def to_json(self) -> str:
        """The question as text."""
        return json.dumps(
            [list(self.players), self.results, self.scoring, self.chances, dict(self.points), dict(self.out), self.seed]
        )

    @staticmethod
    def read(text: str) -> Question:
        """The question from its text."""
        players, results, scoring, chances, points, out, seed = json.loads(text)
        return Question(
            tuple(players),
            tuple(Result(*values) for values in results),
            Scoring(*scoring),
            tuple(tuple(values) if values is not None else None for values in chances),
            points,
            out,
            seed,
        )


@dataclass(frozen=True, slots=True)
class PlayerLuck:
    """How much of one player's place is luck.

    Attributes:
        place, points: what it has in the table that was asked about.
        low, high: from which place to which it would be, in nine of ten leagues that are played again.
        first: the share of all leagues that are played again in which it would be first, alone or with others.
        best: how likely it is the strongest of all; None if it has played no match to its end.
        better: how likely it is stronger than the average; None in a game of chance, in which all are equal.
        could_be_chance: whether its results could be those of an average player, so its place could be chance.
        expected: in a game of chance, the points that it would have on average, with its corrections; else None.
        spread: the standard deviation of these points; else None.
    """

    place: int
    points: int
    low: int
    high: int
    first: float
    best: float | None
    better: float | None
    could_be_chance: bool
    expected: float | None = None
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Luck:
    """How much of a table is luck.

    Attributes:
        players: the figures of each player, by id.
        matches: how many results were played again.
        kept: how many results stayed as they are, as they were decided without play.
        replays: how often these matches were played again.
        is_game_of_chance: whether the game is one of chance, in which nobody can be better than the others.
        table_could_be_chance: whether chance alone could have made this table, so no player is shown to be better than
            another.
    """

    players: Mapping[str, PlayerLuck]
    matches: int
    kept: int
    replays: int
    is_game_of_chance: bool
    table_could_be_chance: bool

    def to_json(self) -> str:
        """The answer as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> Luck:
        """The answer from its text."""
        fields: dict[str, Any] = json.loads(text)
        fields["players"] = {player_id: PlayerLuck(**figures) for player_id, figures in fields["players"].items()}
        return Luck(**fields)
