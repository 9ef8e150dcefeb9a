"""Time travel: the board of a league as it stood after any of its events."""

from __future__ import annotations

import hashlib
import json
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
"""Of the board's fragments; its charts tell of all rounds anyway, and would make every step as large as the rest."""
FRAGMENTS = ("replay_event", *SHOWN)
LABELS = 12
"""At most so many rounds are named below the slider; all of them have a mark."""


class Track(NamedTuple):
    """What the slider runs along: the numbers of the first and the last event of a view, and where rounds began."""

    first: int
    last: int
    rounds: dict[int, int]
    """Event numbers by round."""


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The board after event ``key.item``; after the last one this audience may see when that is no number.

    Args:
        view: the league as the audience may see it now; nothing later is ever shown.
    """
    track = _track(view)
    at = _position(key.item, track)
    then = sight.past(view.league, at, staff=key.staff)
    shown = board.context(then, PageKey("board", key.league_id, staff=key.staff))
    return shown | {"socket_path": None, "replay": _replay(view, then, track, key)}


def _track(view: View) -> Track:
    seen = Event.objects.filter(league_id=view.league.pk, seq__lte=view.moment.seq)
    first = seen.aggregate(first=Min("seq"))["first"] or 0
    begun = seen.filter(kind=EventKind.ROUND_STARTED).order_by("seq").values_list("data", "seq")
    return Track(first, view.moment.seq, {int(data["round_id"]): seq for data, seq in begun})


def _position(asked: str | None, track: Track) -> int:
    try:
        wanted = int(asked or "")
    except ValueError:
        return track.last
    return min(max(wanted, track.first), track.last)


def _replay(view: View, then: View, track: Track, key: PageKey) -> dict[str, Any]:
    at, current = then.moment.seq, then.moment.current
    told = Event.objects.filter(league_id=view.league.pk, seq__lte=at, kind__in=PUBLIC)
    event = told.order_by("-seq").first()
    return {
        "at": at,
        "time": then.moment.at,
        "text": events.happened(event.kind, event.data) if event is not None else "",
        "round": current.number if current is not None else None,
        "first": track.first,
        "last": track.last,
        "rounds": list(track.rounds.values()),
        "marks": _marks(track),
        "steps": _steps(track, at, _address(view, key)),
        "address": _address(view, key),
        "staff": key.staff,
        "version": version(view, key),
        "fixed": at < track.last,
    }


def _address(view: View, key: PageKey) -> str:
    return reverse("replay", args=[view.league.pk]) + ("?as=staff&" if key.staff else "?")


def _marks(track: Track) -> list[dict[str, Any]]:
    """Where rounds begin along the slider, in percent from its left end; a few of them have a label."""
    span, count = max(track.last - track.first, 1), len(track.rounds)
    every = -(-count // LABELS)
    # A slider runs from right to left where the language does; a drawing does not turn by itself.
    turned = translation.get_language_bidi()
    places = ((number, 100 * (seq - track.first) / span) for number, seq in track.rounds.items())
    return [
        {"x": f"{100 - place if turned else place:.2f}%", "label": number if (number - 1) % every == 0 else None}
        for number, place in places
    ]


def _steps(track: Track, at: int, address: str) -> list[dict[str, Any]]:
    """Where one can go from here; the browser does the same sum (static/js/past.js)."""
    earlier = [seq for seq in track.rounds.values() if seq < at]
    later = [seq for seq in track.rounds.values() if seq > at]
    steps = [
        ("first", track.first, _("First event")),
        ("round-before", earlier[-1] if earlier else track.first, _("Start of the round, then of the one before")),
        ("before", max(at - 1, track.first), _("Event before")),
        ("next", min(at + 1, track.last), _("Next event")),
        ("next-round", later[0] if later else track.last, _("Next round")),
    ]
    found = [
        {"name": name, "label": label, "url": f"{address}at={seq}" if seq != at else None} for name, seq, label in steps
    ]
    # Without a number: what is the last one is said when the page is asked for.
    return [*found, {"name": "last", "label": _("Last event so far"), "url": address.rstrip("?&") or "?"}]


def version(view: View, key: PageKey) -> str:
    """What else the board of a past moment is made of, as a few letters: with these in its address it never changes."""
    league = view.league
    made_of = [
        league.created_at.isoformat(),
        league.frozen_seq,
        league.unveiled,
        view.rules.model_dump(mode="json"),
        view.names,
        key.staff,
        translation.get_language(),
    ]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
