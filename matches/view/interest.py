"""Which matches of a round the projector shows as drawings, and which of them large. Pure.

A drawing stays where it is until its match has been over for a few seconds; then the most interesting match that is not
shown yet takes its place. So nothing moves while people look at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

MAX_DRAWINGS = 16
"""Drawings on the projector: a class of thirty plays fifteen matches. More could not be read from the back row."""
LINGER = timedelta(seconds=6)
"""How long a drawing stays after its match, so that the room sees how it ended."""
LONG_GAME_MOVES = 40
"""From this number of moves on a game does not become more interesting by its length."""
LEADERS, UPSET, LENGTH = 4.0, 2.0, 1.0
"""How much each reason weighs. An upset in the making weighs more the more matches of the round are over."""


class Candidate(NamedTuple):
    """A match of the round.

    Attributes:
        ranks: the ranks of both players in the table, from 1.
        moves: how many were made; 0 if that is not known.
        begun: whether it has been given to a referee.
        over_at: when it got its result; None while it has none.
    """

    match_id: str
    ranks: tuple[int, int]
    moves: int = 0
    begun: bool = True
    over_at: datetime | None = None


def interest(candidate: Candidate, players: int, share_over: float) -> float:
    """How interesting a match is; larger is more.

    The sum of three parts. Leaders: 4 for the match of the first against the second, less for every rank below. Upset
    in the making: up to 2 for a favourite against one far below who has not won yet, in proportion to the share of the
    round that is over. Length: up to 1 for a long game. The last matches of a round need no part of their own: they
    are what is left to show.
    """
    best, other = sorted(candidate.ranks)
    leaders = LEADERS * (1 / best + 1 / other) / 1.5
    upset = UPSET * share_over * (other - best) / max(1, players - 1)
    length = LENGTH * min(candidate.moves, LONG_GAME_MOVES) / LONG_GAME_MOVES
    return leaders + upset + length


def choose(
    candidates: Sequence[Candidate],
    before: Sequence[str],
    now: datetime,
    *,
    featured: str = "",
    max_drawings: int = MAX_DRAWINGS,
) -> tuple[str, ...]:
    """The drawings to show now, by the ids of their matches; the first is the large one.

    Args:
        candidates: all matches of the round.
        before: the ids of the matches that were shown last, in their places; matches of other rounds are ignored.
        now: the time.
        featured: the match that the instructor features; ignored if it is not in the round.
        max_drawings: places on the screen.
    """
    known = {candidate.match_id: candidate for candidate in candidates}
    if featured not in known:
        featured = ""
    waiting = sorted(_ranked(candidates), key=lambda match_id: match_id != featured)
    shown = [match_id for match_id in before if match_id in known][:max_drawings]
    waiting = [match_id for match_id in waiting if match_id not in shown]
    while waiting and len(shown) < max_drawings:
        shown.append(waiting.pop(0))
    free = [index for index, match_id in enumerate(shown) if match_id != featured and _is_done(known[match_id], now)]
    for index in free:
        if waiting and known[waiting[0]].over_at is None:
            shown[index] = waiting.pop(0)
    if featured in waiting:
        shown[-1] = featured
    return _with_a_large_one(shown, known, featured, now) if shown else ()


def _with_a_large_one(shown: list[str], known: dict[str, Candidate], featured: str, now: datetime) -> tuple[str, ...]:
    """The matches that are shown, with the one that is to be large first: it changes places with the one that was."""
    large = featured
    if not large and _is_done(known[shown[0]], now):
        large = next(iter(_ranked([known[match_id] for match_id in shown])), "")
    if large and known[large].over_at is not None and large != featured:
        # All are over: the match that is large stays large.
        large = ""
    if large:
        index = shown.index(large)
        shown[0], shown[index] = shown[index], shown[0]
    return tuple(shown)


def _is_done(candidate: Candidate, now: datetime) -> bool:
    """Whether a match has been over for so long that its place is free."""
    return candidate.over_at is not None and now - candidate.over_at >= LINGER


def _ranked(candidates: Sequence[Candidate]) -> list[str]:
    """The most interesting first: matches in play, then those that have not begun, then those that are over."""
    players = 2 * len(candidates)
    share_over = sum(candidate.over_at is not None for candidate in candidates) / max(1, len(candidates))

    def key(candidate: Candidate) -> tuple[bool, bool, float]:
        return candidate.over_at is not None, not candidate.begun, -interest(candidate, players, share_over)

    return [candidate.match_id for candidate in sorted(candidates, key=key)]
