"""READS: the stories of a league's results as one audience may know them, told once and continued with each new result.

Only results of the view are told: a result that a freeze hides has no story, and changes none that is shown.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from functools import partial
from typing import NamedTuple

from django.db import connection

from matches.events.history import Outcome
from matches.view.recent import MAX_RESULTS, Recent
from matches.view.sight import View
from matches.view.stories import Lead, Story, Teller, corrected_points, in_order

BURST_S = 1.0
"""Results of a round that came in within this time of the newest one are told together, the most interesting first."""

_lock = threading.Lock()
_cached: Recent[Hashable, tuple[Teller, tuple[int, int], int]] = Recent(MAX_RESULTS, lambda told: len(told[0].stories))


class Latest(NamedTuple):
    """The latest stories, and who led after each round.

    Attributes:
        bursts: the stories of results that came in together, the most interesting first; the newest burst first.
        leads: who led after each round, by its number.
    """

    bursts: list[list[Story]]
    leads: Mapping[int, Lead]


def latest(view: View, limit: int, *, burst_s: float = BURST_S) -> Latest:
    """The latest stories of a view.

    Args:
        view: what its audience sees.
        limit: how many stories at most.
        burst_s: as :data:`BURST_S`.
    """
    with _lock:
        teller = _teller_of(view)
        # Another thread may have told a newer view of the same audience.
        newest = [story for story in teller.stories[-2 * limit :] if story.seq <= view.moment.seq]
        leads = dict(teller.leads)
    bursts: list[list[Story]] = []
    for story in sorted(newest, key=lambda story: story.seq, reverse=True)[:limit]:
        if bursts and _together(bursts[-1][0], story, burst_s):
            bursts[-1].append(story)
        else:
            bursts.append([story])
    return Latest([sorted(burst, key=lambda story: story.interest, reverse=True) for burst in bursts], leads)


def _together(first: Story, other: Story, burst_s: float) -> bool:
    return first.round_number == other.round_number and abs((first.at - other.at).total_seconds()) <= burst_s


def tell_all(view: View) -> Teller:
    """A teller that has told all results of a view, for the caller alone."""
    return _tell_more(None, _fresh(view), in_order(view.moment), (0, 0), 0)


def _teller_of(view: View) -> Teller:
    moment = view.moment
    key = _key(view)
    cached = _cached.get(key) if key is not None else None
    if cached is not None:
        teller, position, seq = cached
        newer = sorted((outcome for outcome in moment.outcomes.values() if outcome.seq > seq), key=_position)
        # If a result of an earlier round was corrected, or came in late, everything is told again.
        if not newer or _position(newer[0]) > position:
            return _tell_more(key, teller, newer, position, seq)
    return _tell_more(key, _fresh(view), in_order(moment), (0, 0), 0)


def _fresh(view: View) -> Teller:
    moment, matches_each = view.moment, max(0, len(view.names) - 1)
    return Teller(view.names, view.scoring, matches_each, dict(moment.out), partial(corrected_points, moment))


def _position(outcome: Outcome) -> tuple[int, int]:
    return outcome.round_number, outcome.seq


def _tell_more(key: Hashable, teller: Teller, newer: list[Outcome], position: tuple[int, int], seq: int) -> Teller:
    for outcome in newer:
        teller.tell(outcome)
        position, seq = max(position, _position(outcome)), max(seq, outcome.seq)
    if key is not None:
        _cached[key] = (teller, position, seq)
    return teller


def _key(view: View) -> Hashable:
    """The key under which the stories of a view are cached; None if they are not: of a moment of the past, or while a
    transaction is open.

    A correction changes the key, and so does whatever else may change a story that has been told.
    """
    if not view.live or connection.in_atomic_block:
        # Results that were read inside a transaction may still be rolled back.
        return None
    moment, league = view.moment, view.league
    undone = tuple(number for number, correction in moment.corrections.items() if correction["undone"])
    changed = (len(moment.corrections), undone, tuple(moment.out.items()), len(view.names), view.scoring)
    return (league.pk, league.created_at, view.is_present, league.frozen_seq, moment.started_at, changed)
