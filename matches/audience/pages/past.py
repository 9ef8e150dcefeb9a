"""The replay: the board of a league as it stood after any of its events."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Min
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from matches.audience.pages import board
from matches.audience.pages.keys import PageKey
from matches.events.registry import PUBLIC
from matches.models import Event
from matches.view import sight
from matches.view.sight import View
from matches.words import events

SHOWN = ("header", "standings", "current", "results", "feed")
"""Fragments of the board in the replay; not the charts, which show all rounds anyway and are as large as the rest."""
FRAGMENTS = ("replay_event", *SHOWN)
MAX_LABELS = 12
"""How many rounds have a label below the slider; every round has a mark."""


class Track(NamedTuple):
    """The range of the slider: the numbers of a view's first and last event, and where rounds began."""

    first: int
    last: int
    rounds: dict[int, int]
    """For each round, the number of the event that started it."""


class Mark(NamedTuple):
    """The mark of a round's start on the slider; some marks have a label."""

    x: str
    label: int | None


class Step(NamedTuple):
    """A link to another moment; without an address if it leads to the shown moment (the last link always has one)."""

    name: str
    label: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The shown moment, and the controls around it.

    Attributes:
        at: the number of the event after which the board is shown.
        address: the address of the page; the query for an event is appended to it.
        version: from :func:`version`.
    """

    at: int
    time: datetime | None
    text: str
    round: int | None
    track: Track
    marks: list[Mark]
    steps: list[Step]
    address: str
    staff: bool
    version: str

    @property
    def fixed(self) -> bool:
        return self.at < self.track.last


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The board after event ``key.item``; if that is not a number, after the last event this audience may see.

    Args:
        view: the league as the audience may see it now; nothing later is shown.
    """
    track = _track(view)
    at = _position(key.item, track)
    past_view = sight.past(view.league, at, staff=key.staff)
    # Browsers may cache a past board, but the figures about luck may still change.
    shown = board.context(past_view, PageKey("board", key.league_id, staff=key.staff), with_luck=False)
    return shown | {"socket_path": None, "replay": _replay(view, past_view, track, key)}


def _track(view: View) -> Track:
    seen = Event.objects.filter(league_id=view.league.pk, seq__lte=view.moment.seq)
    first = seen.aggregate(first=Min("seq"))["first"] or 0
    begun = seen.filter(kind=EventKind.ROUND_STARTED).order_by("seq").values_list("data", "seq")
    return Track(first, view.moment.seq, {int(data["round_id"]): seq for data, seq in begun})


def _position(text: str | None, track: Track) -> int:
    try:
        seq = int(text or "")
    except ValueError:
        return track.last
    return min(max(seq, track.first), track.last)


def _replay(view: View, past_view: View, track: Track, key: PageKey) -> Replay:
    at, current = past_view.moment.seq, past_view.moment.current
    public_events = Event.objects.filter(league_id=view.league.pk, seq__lte=at, kind__in=PUBLIC)
    event = public_events.order_by("-seq").first()
    address = reverse("replay", args=[view.league.pk]) + ("?as=staff&" if key.staff else "?")
    return Replay(
        at,
        past_view.moment.at,
        events.happened(event.kind, event.data) if event is not None else "",
        current.number if current is not None else None,
        track,
        _marks(track),
        _steps(track, at, address),
        address,
        key.staff,
        version(view, key),
    )


def _marks(track: Track) -> list[Mark]:
    span, count = max(track.last - track.first, 1), len(track.rounds)
    every = -(-count // MAX_LABELS)
    # In right-to-left languages the browser mirrors the slider but not the drawing of the marks.
    mirrored = translation.get_language_bidi()
    percents = ((number, 100 * (seq - track.first) / span) for number, seq in track.rounds.items())
    return [
        Mark(f"{100 - percent if mirrored else percent:.2f}%", number if (number - 1) % every == 0 else None)
        for number, percent in percents
    ]


def _steps(track: Track, at: int, address: str) -> list[Step]:
    """The links from the shown moment to others; static/js/past.js computes the same links."""
    earlier = [seq for seq in track.rounds.values() if seq < at]
    later = [seq for seq in track.rounds.values() if seq > at]
    targets = [
        ("first", track.first, _("First event")),
        ("round-before", earlier[-1] if earlier else track.first, _("Start of the round, then of the one before")),
        ("before", max(at - 1, track.first), _("Event before")),
        ("next", min(at + 1, track.last), _("Next event")),
        ("next-round", later[0] if later else track.last, _("Next round")),
    ]
    steps = [Step(name, label, f"{address}at={seq}" if seq != at else None) for name, seq, label in targets]
    # The last link has no number: it leads to the event that is the last one when somebody follows the link.
    return [*steps, Step("last", _("Last event so far"), address.rstrip("?&") or "?")]


def version(view: View, key: PageKey) -> str:
    """A hash of what a past board depends on besides the events; the answer for an address with it may be cached."""
    league = view.league
    made_of = [
        league.created_at.isoformat(),
        league.display_name,
        league.frozen_seq,
        league.unveiled,
        view.rules.model_dump(mode="json"),
        view.names,
        key.staff,
        translation.get_language(),
    ]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
