"""READS: finds leagues whose rows have changed, in case a message about the change was lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, OuterRef, Subquery

from agents_registry.models import Agent
from league_sdk.protocol.states import OPEN
from matches.models import Event, League, Match, Message, Notice

# A subquery per match uses the index; a join would read the transcripts of all leagues.
_ENTRY_COUNT = Subquery(
    Message.objects.filter(match=OuterRef("pk")).order_by().values("match").annotate(count=Count("pk")).values("count")
)
# Not compared as columns: events are read one by one, as each names its match.
_EVENT_COLUMNS = ("league_id", "event_seq", "ledger_head")
_LEAGUE_COLUMNS = tuple(
    column.attname for column in League._meta.concrete_fields if column.attname not in _EVENT_COLUMNS
)
# Without heard_at, which changes with every heartbeat of a referee.
_AGENT_COLUMNS = ("code", "display_name", "state", "pinged_at", "problem")
_MATCH_COLUMNS = ("state", "attempt", "referee_id", "joined", "locked_in", "view", "entries")


@dataclass(slots=True)
class _Known:
    """A league as it was read last: its last event, its other columns and rows, and its open matches by id."""

    seq: int
    facts: list[tuple[Any, ...]]
    matches: dict[str, tuple[Any, ...]] = field(default_factory=dict)


class Changes:
    """Compares the rows of leagues with those of the last call; used from one thread.

    It reads what changes while leagues are played: events, reports of progress, the league, its agents and its
    notices. Other rows (the roster, running checks, deliveries) are covered by the regular refresh of each page.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._leagues: list[tuple[Any, ...]] = []

    def since(self, leagues: Collection[str]) -> dict[str, list[str]]:
        """Find the leagues that have changed since the last call.

        Args:
            leagues: the ids to read; other leagues are forgotten.

        Returns the ids of changed leagues, each with the ids of its changed matches. An empty list means that anything
        in the league may have changed, as for a league that was not read by the last call.

        Raises:
            django.db.Error: nothing was remembered; the next call finds the same changes.
        """
        now = _read(leagues)
        changed = {}
        for league_id, rows in now.items():
            before = self._known.get(league_id)
            matches = _changed_matches(league_id, before, rows) if before is not None else set()
            if matches is not None:
                changed[league_id] = sorted(matches)
        self._known = now
        return changed

    def is_list_changed(self) -> bool:
        """Whether the list of all leagues may have changed since the last call."""
        now = list(League.objects.order_by("pk").values_list("league_id", "event_seq", *_LEAGUE_COLUMNS))
        before, self._leagues = self._leagues, now
        return before != now


def _read(leagues: Collection[str]) -> dict[str, _Known]:
    rows = League.objects.filter(pk__in=leagues).values_list("league_id", "event_seq", *_LEAGUE_COLUMNS)
    known = {league_id: _Known(seq, [tuple(rest)]) for league_id, seq, *rest in rows}
    agents = Agent.objects.filter(league_id__in=known).order_by("pk").values_list("league_id", *_AGENT_COLUMNS)
    # A notice to one owner, and the withdrawal of any notice, add no event.
    notices = Notice.objects.filter(league_id__in=known, withdrawn_at=None).order_by("pk")
    for league_id, *rest in [*agents, *notices.values_list("league_id", "pk")]:
        known[str(league_id)].facts.append(tuple(rest))
    # By their rounds, as in ``matches.league.lifecycle.give_up_matches``.
    matches = Match.objects.filter(round__league_id__in=known, state__in=OPEN).annotate(entries=_ENTRY_COUNT)
    for league_id, match_id, *rest in matches.values_list("league_id", "match_id", *_MATCH_COLUMNS):
        known[league_id].matches[match_id] = tuple(rest)
    return known


def _changed_matches(league_id: str, before: _Known, now: _Known) -> set[str] | None:
    """The ids of changed matches; an empty set if anything may have changed, None if nothing has."""
    if before.facts != now.facts:
        return set()
    named = _matches_of_events(league_id, before.seq, now.seq) if before.seq != now.seq else set()
    if not all(named):
        return set()
    return (named | _changed_keys(before.matches, now.matches)) or None


def _matches_of_events(league_id: str, after: int, last: int) -> set[Any]:
    """The match ids of the events; None or "" for an event of the whole league."""
    events = Event.objects.filter(league_id=league_id, seq__gt=after, seq__lte=last)
    return set(events.values_list("data__match_id", flat=True))


def _changed_keys(before: Mapping[str, Any], now: Mapping[str, Any]) -> set[Any]:
    return {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
