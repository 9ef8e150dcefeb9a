"""The evening in figures: what a finished league is remembered for. Pure, from results and the stories about them.

Every figure can be seen in the table, on the pages of the matches or in the charts already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from league_sdk.ledger.standings import Row, Scoring, champions
from league_sdk.rules.game import Chances
from matches.events.history import Outcome
from matches.view.luck import chances_of
from matches.view.sight import View
from matches.view.stories import Ahead, Gap, Run, Teller, ahead, in_order, merit_of
from matches.view.telling import tell_all

MIN_LUCK = 0.5
"""A player with fewer points above expectation is not called lucky."""


class Longest(NamedTuple):
    """The game with the most moves."""

    outcome: Outcome
    moves: int


class Lucky(NamedTuple):
    """A player of a game of chance, and how many points it has above what its games were worth."""

    player_id: str
    points: float


class Changes(NamedTuple):
    """How often somebody else took the lead, and who led after the most rounds."""

    changes: int
    leader: str
    rounds: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The evening in figures; None or empty for what did not occur.

    Attributes:
        matches, draws, technical_losses: how many matches count, ended in a draw, or in a technical loss.
        runs: the longest runs of wins, all of one length, in the order of the table.
        ahead: how far the champion is ahead of the next player; None if there is no next player, or only disqualified
            ones, or if the first place is shared or has no points.
    """

    matches: int
    draws: int
    technical_losses: int
    runs: list[Run]
    upset: Gap | None
    longest: Longest | None
    lead: Changes | None
    luckiest: Lucky | None
    ahead: Ahead | None


def figures(view: View) -> Figures:
    """The figures of a league as an audience may know it."""
    teller = tell_all(view)
    outcomes = [outcome for outcome in in_order(view.moment) if outcome.status != "CANCELLED"]
    statuses = Counter(outcome.status for outcome in outcomes)
    return Figures(
        len(outcomes),
        statuses["DRAW"],
        statuses["TECHNICAL_LOSS"],
        _longest_runs(teller, view.standings),
        max(teller.upsets, key=lambda gap: gap.places, default=None),
        longest_game(outcomes),
        _lead(teller),
        luckiest(outcomes, view.scoring, view.standings, partial(chances_of, view.league.game_type)),
        _ahead(view.standings),
    )


def _longest_runs(teller: Teller, rows: Iterable[Row]) -> list[Run]:
    best = max((run.wins for run in teller.best_runs.values()), default=0)
    runs = [teller.best_runs[row.player_id] for row in rows if row.player_id in teller.best_runs]
    return [run for run in runs if run.wins == best and best > 1]


def longest_game(outcomes: Iterable[Outcome]) -> Longest | None:
    """The game with the most moves, and of several such games the last one; None if games have no moves."""
    played = [
        Longest(outcome, len(moves)) for outcome in outcomes if isinstance(moves := outcome.details.get("moves"), list)
    ]
    return max(reversed(played), key=lambda game: game.moves, default=None) if played else None


def _lead(teller: Teller) -> Changes | None:
    leads = [lead.player_id for _number, lead in sorted(teller.leads.items())]
    if not leads:
        return None
    changes = sum(now != before for before, now in pairwise(leads))
    leader, rounds = Counter(leads).most_common(1)[0]
    return Changes(changes, leader, rounds)


def luckiest(
    outcomes: Iterable[Outcome],
    scoring: Scoring,
    rows: Iterable[Row],
    chances: Callable[[Outcome], Chances | None],
) -> Lucky | None:
    """The player with the most points above expectation in a game of chance; None in other games, or if there is none.

    Args:
        rows: the rows of the players who may be named, in the order of the table.
        chances: gives the chances of a match, as :func:`matches.view.luck.chances_of` does.
    """
    luck: dict[str, float] = defaultdict(float)
    for outcome in outcomes:
        if (of_a := chances(outcome)) is None:
            continue
        for player, (win, draw, loss) in zip(outcome.players, (of_a, of_a[::-1]), strict=True):
            won = outcome.winner == player
            points = scoring.draw if outcome.winner is None else scoring.win if won else scoring.loss
            luck[player] += points - (win * scoring.win + draw * scoring.draw + loss * scoring.loss)
    best = max((row.player_id for row in rows), key=lambda player: luck[player], default=None)
    return Lucky(best, luck[best]) if best is not None and luck[best] >= MIN_LUCK else None


def _ahead(rows: list[Row]) -> Ahead | None:
    if len(rows) < 2 or len(champions(rows)) != 1:
        return None
    return ahead(merit_of(rows[0]), merit_of(rows[1]))
