"""The criteria by which players are ordered. Pure; whole numbers only, as the ledger has no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from league_sdk.ledger.past import PLAYED, Game, Past

Figures = Mapping[str, int]
"""A whole number for each player; the largest is best."""


class Criterion:
    """One criterion.

    Args:
        name: as it stands in a league's settings and in its ledger.
        figures: what each player of a group that is equal so far has; it may depend on who is in the group.
        own: whether that depends on a player's own results only, and not on those of its opponents or the group.
    """

    def __init__(self, name: str, figures: Callable[[Sequence[str], Past], Figures], *, own: bool = False) -> None:
        self.name, self.own = name, own
        self.figures = figures

    def split(self, group: Sequence[str], past: Past) -> list[list[str]]:
        """The group in parts, the best first; those whom this criterion leaves equal are together, in their order."""
        figures = self.figures(group, past)
        ordered = sorted(group, key=lambda player_id: -figures[player_id])
        return [list(part) for _, part in groupby(ordered, lambda player_id: figures[player_id])]


def _of_row(name: str, sign: int = 1) -> Callable[[Sequence[str], Past], Figures]:
    def figures(group: Sequence[str], past: Past) -> Figures:
        return {player_id: sign * getattr(past.rows[player_id], name) for player_id in group}

    return figures


def _among_themselves(group: Sequence[str], past: Past) -> Figures:
    """Points from the games between them, if everyone has met everyone else of them, as often as the others; else 0."""
    # Rest is no game between them.
    among = replace(past.among(group), bye_points=0)
    met = {frozenset((a, b)): 0 for a in group for b in group if a < b}
    for _, game in among.each_game():
        met[game.players] += game.status in (*PLAYED, "TECHNICAL_LOSS")
    if len(set(met.values())) > 1 or 0 in met.values():
        return dict.fromkeys(group, 0)
    return {player_id: among.rows[player_id].points - among.rows[player_id].corrected for player_id in group}


def _is_unplayed(game: Game) -> bool:
    return bool(game.status) and game.status not in PLAYED


def _adjusted(past: Past) -> dict[str, int]:
    """Everyone's points, with a draw for each round without a game that was played (FIDE: a game against oneself)."""
    points = {}
    for player_id in past.ids:
        games = past.games_of.get(player_id, [])
        played = [game for game in games if game.status in PLAYED]
        rested = sum(map(_is_unplayed, games)) + past.byes_of.get(player_id, 0)
        won = sum(game.winner == player_id for game in played)
        drawn = sum(game.status == "DRAW" for game in played)
        lost = len(played) - won - drawn
        scoring = past.scoring
        points[player_id] = won * scoring.win + (drawn + rested) * scoring.draw + lost * scoring.loss
    return points


def _opponents(player_id: str, past: Past, adjusted: Mapping[str, int]) -> list[int]:
    """The points of each opponent; an unplayed round counts as a game against oneself."""
    games = past.games_of.get(player_id, [])
    met = [adjusted.get(game.other(player_id), 0) for game in games if game.status in PLAYED]
    rested = sum(map(_is_unplayed, games)) + past.byes_of.get(player_id, 0)
    return sorted([*met, *[adjusted[player_id]] * rested])


def _buchholz(cut: int) -> Callable[[Sequence[str], Past], Figures]:
    def figures(group: Sequence[str], past: Past) -> Figures:
        adjusted = _adjusted(past)
        return {player_id: sum(_opponents(player_id, past, adjusted)[cut:]) for player_id in group}

    return figures


def _sonneborn_berger(group: Sequence[str], past: Past) -> Figures:
    """Twice the points of those who were beaten, and once those of whom one drew with: halves are no whole numbers."""
    adjusted = _adjusted(past)
    found = {}
    for player_id in group:
        games = past.games_of.get(player_id, [])
        rested = sum(map(_is_unplayed, games)) + past.byes_of.get(player_id, 0)
        found[player_id] = rested * adjusted[player_id] + sum(
            adjusted.get(game.other(player_id), 0) * (2 if game.winner == player_id else game.status == "DRAW")
            for game in games
            if game.status in PLAYED
        )
    return found


def _seed(group: Sequence[str], past: Past) -> Figures:
    return {one.player_id: -one.seed for one in past.entrants if one.player_id in group}


CRITERIA: Mapping[str, Criterion] = {
    one.name: one
    for one in (
        Criterion("points", _of_row("points"), own=True),
        Criterion("wins", _of_row("wins"), own=True),
        Criterion("draws", _of_row("draws"), own=True),
        Criterion("fewest_technical_losses", _of_row("technical_losses", -1), own=True),
        Criterion("head_to_head", _among_themselves),
        Criterion("buchholz", _buchholz(0)),
        Criterion("buchholz_cut_1", _buchholz(1)),
        Criterion("sonneborn_berger", _sonneborn_berger),
        Criterion("seed", _seed),
    )
}
