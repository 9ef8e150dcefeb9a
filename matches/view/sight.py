"""READS: what an audience sees of a league: its history up to now, to the freeze, or to a moment asked for.

Everything that shows a league outside the desk goes through a :class:`View`: pages, sockets, the API, what agents are
told. Nobody has to remember the freeze, as there is no other way to the table.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial

from django.db import connection, transaction

from agents_registry.models import Kind
from league_sdk.ledger.kinds import CORRECTIONS
from league_sdk.ledger.standings import Row, Scoring, table
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import LeagueState
from matches.events.history import Happened, Moment, Outcome
from matches.events.registry import fold
from matches.models import Event, League
from storage.prepared import Prepared

KEPT = 50
"""Leagues whose latest moment is kept in memory."""

EVERY = 250
"""Events between two moments of a league's past that are kept: so far is any moment from the next one before it."""
KEPT_PASTS = 8
"""Leagues whose past moments are kept."""

_lock = threading.Lock()
_latest: OrderedDict[tuple[str, datetime], Moment] = OrderedDict()
_pasts: OrderedDict[tuple[str, datetime], dict[int, Moment]] = OrderedDict()


_SINCE = Prepared(
    lambda *, league_id, seq: Event.objects.filter(league_id=league_id, seq__gt=seq).order_by("seq"),
    league_id=str,
    seq=int,
)


def scoring(league: League) -> Scoring:
    """A league's points, as its settings are now."""
    return _scoring(league.rules)


def _scoring(rules: LeagueSettings) -> Scoring:
    return Scoring(rules.win_points, rules.draw_points, rules.loss_points, rules.technical_loss_points)


def moment(league: League, upto: int | None = None) -> Moment:
    """How a league stood after event number ``upto``; None is now. Costs one query for the events not known yet."""
    key = (league.pk, league.created_at)
    with _lock:
        known = _latest.get(key)
    if known is None or (upto is not None and upto < known.seq):
        known = _before(key, upto)
    if upto is not None:
        events = Event.objects.filter(league_id=league.pk, seq__gt=known.seq, seq__lte=upto).order_by("seq")
        return _fold(key, known, _read(events))
    events = _SINCE.all(league_id=league.pk, seq=known.seq)
    if not events:
        # Nobody changes a moment: one copy of it is enough.
        return known
    found = fold(known, _read(events))
    if found.seq > known.seq:
        keep = partial(_keep, key, found)
        # What is not committed may still be taken back.
        transaction.on_commit(keep) if connection.in_atomic_block else keep()
    return found


def _read(events: Iterable[Event]) -> list[Happened]:
    return [Happened(event.seq, event.kind, event.data, event.at, event.digest) for event in events]


def _before(key: tuple[str, datetime], upto: int | None) -> Moment:
    """The last moment that is kept of a league's past up to an event."""
    with _lock:
        kept = _pasts.get(key, {})
        seq = max((seq for seq in kept if upto is None or seq <= upto), default=None)
        return kept[seq] if seq is not None else Moment()


def _fold(key: tuple[str, datetime], known: Moment, events: list[Happened]) -> Moment:
    """The moment after these events; on a long way there some in between are kept, once they are committed."""
    kept = {}
    for start in range(0, len(events), EVERY):
        known = fold(known, events[start : start + EVERY])
        kept[known.seq] = known
    if len(kept) > 1:
        keep = partial(_keep_past, key, kept)
        transaction.on_commit(keep) if connection.in_atomic_block else keep()
    return known


def _keep_past(key: tuple[str, datetime], kept: dict[int, Moment]) -> None:
    with _lock:
        _pasts[key] = _pasts.get(key, {}) | kept
        _pasts.move_to_end(key)
        while len(_pasts) > KEPT_PASTS:
            _pasts.popitem(last=False)


def _keep(key: tuple[str, datetime], found: Moment) -> None:
    with _lock:
        if key not in _latest or _latest[key].seq < found.seq:
            _latest[key] = found
        _latest.move_to_end(key)
        while len(_latest) > KEPT:
            _latest.popitem(last=False)


def told(league: League) -> Moment:
    """What the owners of agents have been told of their own matches: all but the corrections behind a freeze."""
    if league.frozen_seq is None:
        return moment(league)
    since = Event.objects.filter(league_id=league.pk, seq__gt=league.frozen_seq).order_by("seq")
    return fold(moment(league, league.frozen_seq), _read(since.exclude(kind__in=CORRECTIONS)))


@dataclass(frozen=True)
class View:
    """A league as one audience sees it.

    Attributes:
        moment: its history, as far as this audience may see.
        now: whether that is the present; rows tell how matches in play stand only then.
    """

    league: League
    moment: Moment
    now: bool = True

    @property
    def frozen_after(self) -> int | None:
        """The last round whose results are in this view, when there is more that is kept back."""
        return self.moment.frozen_after if not self.now and self.league.frozen_seq == self.moment.seq else None

    @property
    def curtained(self) -> bool:
        """Whether a freeze ends what this audience may see, at this moment or later: what has changed since is news."""
        return not self.now and self.league.frozen_seq is not None and self.moment.seq <= self.league.frozen_seq

    @cached_property
    def rules(self) -> LeagueSettings:
        """The league's settings, behind a curtain those of the freeze."""
        kept = self.league.frozen.get("settings") if self.curtained else None
        return self.league.rules if kept is None else LeagueSettings.model_validate(kept)

    @property
    def scoring(self) -> Scoring:
        """The league's points in this view."""
        return _scoring(self.rules)

    @cached_property
    def names(self) -> dict[str, str]:
        """Display names of the players by id, without those that the schedule leaves out."""
        if self.frozen_after is not None:
            return dict(self.league.frozen["names"])
        players = self.league.agents.filter(kind=Kind.PLAYER).order_by("pk")
        if not self.now and self.moment.state == LeagueState.REGISTRATION and self.moment.at is not None:
            players = players.filter(registered_at__lte=self.moment.at)
        names = players.values_list("code", "display_name")
        kept = self.league.frozen["names"] if self.curtained else {}
        return {code: kept.get(code, name) for code, name in names if code not in self.league.left_out}

    @cached_property
    def standings(self) -> list[Row]:
        """The table as this audience may see it, places that are unveiled already included."""
        rows = self.table()
        unveiled = self.league.unveiled if self.frozen_after is not None else 0
        if not unveiled:
            return rows
        final = everything(self.league).standings[-unveiled:]
        shown = {row.player_id for row in final}
        above = [row for row in rows if row.player_id not in shown]
        for rank, row in enumerate(above, start=1):
            row.rank = rank
        return [*above, *final]

    def table(self, before_round: int | None = None) -> list[Row]:
        """The table of the results in this view; with ``before_round`` of those of the rounds before it."""
        results = self.moment.results
        if before_round is not None:
            results = [result for result in results if result.round_number < before_round]
        return table(self.names, results, self.scoring, points=self.moment.points, out=self.moment.out)

    @property
    def unveiled(self) -> set[str]:
        """Players whose final place is shown though the board is frozen."""
        if self.frozen_after is None or not self.league.unveiled:
            return set()
        return {row.player_id for row in self.standings[-self.league.unveiled :]}

    @property
    def head(self) -> str:
        """The head of the ledger as this audience may know it; behind a curtain that of the freeze.

        It is kept apart from the events: of a league whose last event was deleted it fits none that is left.
        """
        if self.frozen_after is not None:
            return str(self.league.frozen.get("head") or self.moment.head)
        newest = self.now and self.league.event_seq >= self.moment.seq
        return self.league.ledger_head if newest else self.moment.head

    def outcome(self, match_id: str) -> Outcome | None:
        """The result of a match, if it has one in this view."""
        return self.moment.outcomes.get(match_id)


def everything(league: League) -> View:
    """What the staff sees: all there is."""
    return View(league, moment(league))


def public(league: League) -> View:
    """What everybody sees, agents included: all there is, or what there was when the board was frozen."""
    if league.frozen_seq is not None:
        return View(league, moment(league, league.frozen_seq), now=False)
    return everything(league)


def view(league: League, *, staff: bool = False) -> View:
    """What this audience sees now."""
    return everything(league) if staff else public(league)


def past(league: League, at: int, *, staff: bool = False) -> View:
    """How it stood after event ``at``, for an audience: never more than it may see now."""
    seen = view(league, staff=staff)
    return seen if at >= seen.moment.seq else View(league, moment(league, at), now=False)
