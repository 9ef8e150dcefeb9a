"""READS: what has changed in leagues, by their rows: finds what no message has told (``live``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, OuterRef, Subquery

from agents_registry.models import Agent
from league_sdk.protocol.states import MatchState
from matches.models import Event, League, Match, Message, Notice

# One by one by the index: the transcripts of all leagues are many.
_ENTRIES = Subquery(
    Message.objects.filter(match=OuterRef("pk")).order_by().values("match").annotate(found=Count("pk")).values("found")
)
# An event names its match; the head of the ledger, which changes with each, would say only "anything".
_OF_EVENTS = ("league_id", "event_seq", "ledger_head")
_OF_LEAGUE = tuple(one.attname for one in League._meta.concrete_fields if one.attname not in _OF_EVENTS)
# Not when it was heard last: referees are heard of all the time.
_OF_AGENT = ("code", "display_name", "state", "checked_at", "problem")
_OF_MATCH = ("state", "attempt", "referee_id", "joined", "locked_in", "view", "entries")


@dataclass(slots=True)
class _Known:
    """A league as it was read: its last event, what is no event, and by id the matches that are going on."""

    seq: int
    facts: list[tuple[Any, ...]]
    matches: dict[str, tuple[Any, ...]] = field(default_factory=dict)


class Changes:
    """What is different from when it was last asked for. One thread asks.

    It reads what changes while leagues are played: events, what referees tell of their matches, the league itself, who
    is in it, what is announced to the room. The rest (a roster, a check that is on, whether an agent has been told what
    others have) is for the regular look at the page.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._leagues: list[tuple[Any, ...]] = []

    def since(self, leagues: Collection[str]) -> dict[str, list[str]]:
        """Read leagues again; those that were not asked for are forgotten.

        Args:
            leagues: their ids.

        Returns those that have changed, each with the ids of matches; with none, anything in it may be different. So it
        is with one that was not asked for the last time.

        Raises:
            django.db.Error: what has changed will be found the next time.
        """
        now = _read(leagues)
        found = {}
        for league_id, one in now.items():
            before = self._known.get(league_id)
            matches = _different(league_id, before, one) if before is not None else set()
            if matches is not None:
                found[league_id] = sorted(matches)
        self._known = now
        return found

    def in_list(self) -> bool:
        """Whether the list of all leagues may show something else than when this was asked last."""
        now = list(League.objects.order_by("pk").values_list("league_id", "event_seq", *_OF_LEAGUE))
        before, self._leagues = self._leagues, now
        return before != now


def _read(leagues: Collection[str]) -> dict[str, _Known]:
    rows = League.objects.filter(pk__in=leagues).values_list("league_id", "event_seq", *_OF_LEAGUE)
    found = {league_id: _Known(seq, [tuple(rest)]) for league_id, seq, *rest in rows}
    agents = Agent.objects.filter(league_id__in=found).order_by("pk").values_list("league_id", *_OF_AGENT)
    # Taking one back is no event of its own.
    said = Notice.objects.filter(league_id__in=found, withdrawn_at=None).order_by("pk").values_list("league_id", "pk")
    for league_id, *rest in [*agents, *said]:
        found[str(league_id)].facts.append(tuple(rest))
    going_on = Match.objects.filter(league_id__in=found).exclude(state__in=[MatchState.PENDING, MatchState.FINISHED])
    told = going_on.annotate(entries=_ENTRIES).values_list("league_id", "match_id", *_OF_MATCH)
    for league_id, match_id, *rest in told:
        found[league_id].matches[match_id] = tuple(rest)
    return found


def _different(league_id: str, before: _Known, now: _Known) -> set[str] | None:
    """The matches in which something is different; empty: anything may be; None: nothing is."""
    if before.facts != now.facts:
        return set()
    named = _of_events(league_id, before.seq, now.seq) if before.seq != now.seq else set()
    if not all(named):
        return set()
    return (named | _unlike(before.matches, now.matches)) or None


def _of_events(league_id: str, after: int, last: int) -> set[Any]:
    """The match of each event; None or empty for one of the whole league."""
    events = Event.objects.filter(league_id=league_id, seq__gt=after, seq__lte=last)
    return set(events.values_list("data__match_id", flat=True))


def _unlike(before: Mapping[str, Any], now: Mapping[str, Any]) -> set[Any]:
    return {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
