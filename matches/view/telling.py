"""READS: the stories of a league's results as one audience may know them, told once and continued with each new result.

Only results of the view are told, so nothing that a freeze hides has a story, and none changes a story that is shown.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from functools import partial
from typing import NamedTuple

from django.db import connection

from matches.events.history import Outcome
from matches.view.recent import Recent
from matches.view.sight import View
from matches.view.stories import Lead, Story, Teller, corrected_points, in_order

MAX_CACHED = 50
"""Leagues, as an audience sees them, whose stories are continued rather than told from the beginning."""
BURST_S = 1.0
"""Results of a round that came in within this time of the newest one are told together, the most interesting first."""

_lock = threading.Lock()
_cached: Recent[Hashable, tuple[Teller, tuple[int, int], int]] = Recent(MAX_CACHED)


class Latest(NamedTuple):
    """The latest stories, and who led after each round.

    Attributes:
        bursts: the stories of results that came in together, the most interesting first; the newest burst first.
        leads: who led after each round, by its number.
    """

    bursts: list[list[Story]]
    leads: Mapping[int, Lead]


def latest(view: View, limit: int) -> Latest:
    """The latest stories of a view."""
    with _lock:
        teller = _teller_of(view)
        # Another thread may have told a newer view of the same audience.
        newest = [story for story in teller.stories[-2 * limit :] if story.seq <= view.moment.seq]
        leads = dict(teller.leads)
    bursts: list[list[Story]] = []
    for story in sorted(newest, key=lambda one: one.seq, reverse=True)[:limit]:
        if bursts and _together(bursts[-1][0], story):
            bursts[-1].append(story)
        else:
            bursts.append([story])
    return Latest([sorted(burst, key=lambda one: one.interest, reverse=True) for burst in bursts], leads)


def _together(first: Story, other: Story) -> bool:
    return first.round_number == other.round_number and abs((first.at - other.at).total_seconds()) <= BURST_S


def whole(view: View) -> Teller:
    """A teller that has told all results of a view, for the caller alone."""
    return _go_on(None, _fresh(view), in_order(view.moment), (0, 0), 0)


def _teller_of(view: View) -> Teller:
    moment = view.moment
    key = _key(view)
    cached = _cached.get(key) if key is not None else None
    if cached is not None:
        newer = [one for one in moment.outcomes.values() if one.seq > cached[2]]
        newer.sort(key=_place)
        # A result of an earlier round has been corrected, or came in late: everything after it is told again.
        if not newer or _place(newer[0]) > cached[1]:
            return _go_on(key, cached[0], newer, cached[1], cached[2])
    return _go_on(key, _fresh(view), in_order(moment), (0, 0), 0)


def _fresh(view: View) -> Teller:
    moment, matches_each = view.moment, max(0, len(view.names) - 1)
    return Teller(view.names, view.scoring, matches_each, dict(moment.out), partial(corrected_points, moment))


def _place(outcome: Outcome) -> tuple[int, int]:
    return outcome.round_number, outcome.seq


def _go_on(key: Hashable, teller: Teller, newer: list[Outcome], place: tuple[int, int], seq: int) -> Teller:
    for outcome in newer:
        teller.tell(outcome)
        place, seq = max(place, _place(outcome)), max(seq, outcome.seq)
    if key is not None:
        _cached[key] = (teller, place, seq)
    return teller


def _key(view: View) -> Hashable:
    """What the stories of a view are continued by; None for a moment of the past, whose stories are not kept.

    A correction changes it, and so does whatever else may change a story that has been told.
    """
    if not view.live or connection.in_atomic_block:
        # What a transaction has seen may be rolled back.
        return None
    moment, league = view.moment, view.league
    undone = tuple(number for number, correction in moment.corrections.items() if correction["undone"])
    changed = (len(moment.corrections), undone, tuple(moment.out.items()), len(view.names), view.scoring)
    return (league.pk, league.created_at, view.now, league.frozen_seq, moment.started_at, changed)


def forget_all() -> None:
    """Empty the cache."""
    with _lock:
        _cached.clear()
