"""READS: what an audience sees of a league: its history up to now, up to the freeze, or up to a requested event.

Everything outside the desk that shows a league goes through a :class:`View`: pages, sockets, the API, messages to
agents. No caller can forget the freeze, as there is no other way to the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial

from django.db import connection, transaction

from agents_registry.models import Kind
from league_sdk.ledger.kinds import CORRECTIONS
from league_sdk.ledger.standings import Row, Scoring, for_people, give_ranks, table
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import LeagueState
from matches.events.history import Happened, Moment, Outcome
from matches.events.registry import fold
from matches.models import Event, League
from matches.view.recent import MAX_RESULTS, Recent
from storage.prepared import Prepared

EVENTS_PER_CACHED_MOMENT = 250
"""Events between two cached moments of a league's past; once they are cached, any moment is reached by folding about so
many at most."""
MAX_CACHED_PASTS = 8
"""Leagues whose past moments are cached."""

_latest: Recent[tuple[str, datetime], Moment] = Recent(MAX_RESULTS, lambda latest: len(latest.outcomes))
_pasts: Recent[tuple[str, datetime], dict[int, Moment]] = Recent(MAX_CACHED_PASTS)


_SINCE = Prepared(
    lambda *, league_id, seq: Event.objects.filter(league_id=league_id, seq__gt=seq).order_by("seq"),
    league_id=str,
    seq=int,
)


def scoring(league: League) -> Scoring:
    """How many points a result earns, by the league's present settings."""
    return _scoring(league.rules)


def _scoring(rules: LeagueSettings) -> Scoring:
    return Scoring(rules.win_points, rules.draw_points, rules.loss_points, rules.technical_loss_points)


def moment(league: League, upto: int | None = None) -> Moment:
    """How a league stood after event number ``upto``; None: now. One query reads the events that are not cached."""
    key = (league.pk, league.created_at)
    start = _latest.get(key)
    if start is None or (upto is not None and upto < start.seq):
        start = _cached_before(key, upto)
    if upto is not None:
        past = Event.objects.filter(league_id=league.pk, seq__gt=start.seq, seq__lte=upto).order_by("seq")
        return _fold_past(key, start, _read(past))
    events = _SINCE.all(league_id=league.pk, seq=start.seq)
    if not events:
        # Moments are never changed, so the cached one can be shared.
        return start
    latest = fold(start, _read(events))
    if latest.seq > start.seq:
        cache = partial(_cache_latest, key, latest)
        # Cache it after the commit only: the transaction may be rolled back.
        transaction.on_commit(cache) if connection.in_atomic_block else cache()
    return latest


def _read(events: Iterable[Event]) -> list[Happened]:
    return [Happened(event.seq, event.kind, event.data, event.at, event.digest) for event in events]


def _cached_before(key: tuple[str, datetime], upto: int | None) -> Moment:
    """The latest cached moment of a league's past that is not after event ``upto``."""
    moments = _pasts.get(key, {})
    seq = max((seq for seq in moments if upto is None or seq <= upto), default=None)
    return moments[seq] if seq is not None else Moment()


def _fold_past(key: tuple[str, datetime], known: Moment, events: list[Happened]) -> Moment:
    """The moment after these events; if there are many, moments in between are cached once they are committed."""
    moments = {}
    for start in range(0, len(events), EVENTS_PER_CACHED_MOMENT):
        known = fold(known, events[start : start + EVENTS_PER_CACHED_MOMENT])
        moments[known.seq] = known
    if len(moments) > 1:
        keep = partial(_cache_past, key, moments)
        transaction.on_commit(keep) if connection.in_atomic_block else keep()
    return known


def _cache_past(key: tuple[str, datetime], moments: dict[int, Moment]) -> None:
    # What another thread caches at the same moment may be lost: it is folded again then, and so below.
    _pasts[key] = _pasts.get(key, {}) | moments


def _cache_latest(key: tuple[str, datetime], latest: Moment) -> None:
    known = _latest.get(key)
    _latest[key] = latest if known is None or known.seq < latest.seq else known


def forget(league: League) -> None:
    """Forget what is cached of a league that was deleted: another one may come from a file with its id and its time."""
    _latest.forget((league.pk, league.created_at))
    _pasts.forget((league.pk, league.created_at))


def known_to_owners(league: League) -> Moment:
    """What agents' owners may know of their own matches: everything except corrections made behind a freeze."""
    if league.frozen_seq is None:
        return moment(league)
    since = Event.objects.filter(league_id=league.pk, seq__gt=league.frozen_seq).order_by("seq")
    return fold(moment(league, league.frozen_seq), _read(since.exclude(kind__in=CORRECTIONS)))


@dataclass(frozen=True)
class View:
    """A league as one audience sees it.

    Attributes:
        moment: its history, as far as this audience may see it.
        is_present: whether that is the present; only then do the database rows say how running matches stand.
    """

    league: League
    moment: Moment
    is_present: bool = True

    @property
    def frozen_after(self) -> int | None:
        """The last round whose results this view shows while later ones are hidden by a freeze; else None."""
        return self.moment.frozen_after if not self.is_present and self.league.frozen_seq == self.moment.seq else None

    @property
    def live(self) -> bool:
        """Whether pages of this view may still change and so need a socket; False for a moment of the past."""
        return self.is_present or self.frozen_after is not None

    @property
    def over(self) -> bool:
        """Whether the league is completed or stopped."""
        return self.moment.state in (LeagueState.COMPLETED, LeagueState.STOPPED)

    @property
    def is_limited_by_freeze(self) -> bool:
        """Whether a freeze limits this view: nothing that changed after it may show, not even names and settings."""
        return not self.is_present and self.league.frozen_seq is not None and self.moment.seq <= self.league.frozen_seq

    @cached_property
    def rules(self) -> LeagueSettings:
        """The league's settings; for an audience behind a freeze, as they were at the freeze."""
        frozen = self.league.frozen.get("settings") if self.is_limited_by_freeze else None
        return self.league.rules if frozen is None else LeagueSettings.model_validate(frozen)

    @property
    def scoring(self) -> Scoring:
        """How many points a result earns in this view."""
        return _scoring(self.rules)

    @cached_property
    def names(self) -> dict[str, str]:
        """Display names by player id, without players that were left out of the schedule."""
        if self.frozen_after is not None:
            return dict(self.league.frozen["names"])
        players = self.league.agents.filter(kind=Kind.PLAYER).order_by("pk")
        if not self.is_present and self.moment.state == LeagueState.REGISTRATION and self.moment.at is not None:
            players = players.filter(registered_at__lte=self.moment.at)
        names = players.values_list("code", "display_name")
        frozen = self.league.frozen["names"] if self.is_limited_by_freeze else {}
        return {code: frozen.get(code, name) for code, name in names if code not in self.league.left_out}

    @cached_property
    def standings(self) -> list[Row]:
        """The table as this audience may see it, with the final places that are already unveiled."""
        rows = self.table()
        unveiled = self.league.unveiled if self.frozen_after is not None else 0
        if not unveiled:
            return rows
        final = everything(self.league).standings[-unveiled:]
        shown = {row.player_id for row in final}
        above = [row for row in rows if row.player_id not in shown]
        give_ranks(above)
        return [*above, *final]

    @property
    def listed(self) -> list[Row]:
        """The table in the order of the pages (:func:`for_people`); unveiled places stay where they are."""
        above = len(self.standings) - len(self.unveiled)
        return [*for_people(self.standings[:above]), *for_people(self.standings[above:])]

    def table(self) -> list[Row]:
        """The table of this view's results, without the final places that are unveiled."""
        return table(
            self.names, self.moment.results, self.scoring, points=self.moment.corrected_points, out=self.moment.out
        )

    @property
    def unveiled(self) -> set[str]:
        """Ids of the players whose final place is already unveiled although the board is frozen."""
        if self.frozen_after is None or not self.league.unveiled:
            return set()
        return {row.player_id for row in self.standings[-self.league.unveiled :]}

    @property
    def head(self) -> str:
        """The hash of the last ledger event this audience may know of; behind a freeze, the one of the freeze.

        The present head is stored in the league's row: if the last event was deleted, no remaining event matches it.
        """
        if self.frozen_after is not None:
            return str(self.league.frozen.get("head") or self.moment.head)
        newest = self.is_present and self.league.event_seq >= self.moment.seq
        return self.league.ledger_head if newest else self.moment.head

    def outcome(self, match_id: str) -> Outcome | None:
        """The result of a match, if it has one in this view."""
        return self.moment.outcomes.get(match_id)


def everything(league: League) -> View:
    """The staff's view: the whole history."""
    return View(league, moment(league))


def public(league: League) -> View:
    """The public's and the agents' view: the whole history, or the history up to the freeze."""
    if league.frozen_seq is None:
        seen = everything(league)
        if seen.moment.frozen_after is None:
            return seen
        # The row is older than the freeze: a request may have waited after reading it.
        league.refresh_from_db(fields=("frozen_seq", "frozen", "unveiled"))
        if league.frozen_seq is None:
            return everything(league)
    return View(league, moment(league, league.frozen_seq), is_present=False)


def view(league: League, *, staff: bool = False) -> View:
    """The present view of the staff or of the public."""
    return everything(league) if staff else public(league)


def past(league: League, at: int, *, staff: bool = False) -> View:
    """The view after event ``at``, never beyond what the audience may see now."""
    seen = view(league, staff=staff)
    return seen if at >= seen.moment.seq else View(league, moment(league, at), is_present=False)
