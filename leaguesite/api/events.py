"""The feed of a league's events: ``GET /api/leagues/{id}/events``. A token in each answer says where to go on."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from agents_registry.isolating import plain
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.envelope import stamp
from leaguesite.api.base import refusals, router
from matches.events import registry
from matches.league.errors import Invalid
from matches.league.leagues import get_league
from matches.models import Event, League
from matches.view import sight
from matches.words.events import happened

MAX_LIMIT = 500


class Happened(Schema):
    """One event."""

    seq: int = Field(description="Its number: later events have higher ones.")
    at: str = Field(description="When, in UTC.")
    kind: str = Field(description="Its kind, such as `match_finished`.")
    text: str = Field(description="The event in a sentence, in the language of the request (Accept-Language).")
    data: dict[str, Any] = Field(description="Its facts, such as `match_id`; which there are depends on the kind.")


class Feed(Schema):
    """A part of a league's events, in order."""

    league_id: str = Field(description="The league.")
    events: list[Happened] = Field(description="The events, in order.")
    next: str = Field(description="Send it as `since` to go on from here, now or later.")
    more: bool = Field(description="Whether later events can be read already.")
    reset: bool = Field(
        description="The league was reset or restored after your token was given: "
        "forget the events that you have, the answer begins again with the first."
    )


class Wanted(Schema):
    """Where to go on, and how many events to send."""

    since: str = Field("", max_length=200, description="`next` of the previous answer; empty for the beginning.")
    limit: int = Field(100, ge=1, le=MAX_LIMIT, description="How many events at most.")


@router.get("/leagues/{league_id}/events", tags=["public"], response={200: Feed} | refusals(404, 422))
def show_events(request: HttpRequest, league_id: str, query: Query[Wanted]) -> Feed:
    """What has happened in a league, from the beginning or after the previous answer. While its board is frozen the
    feed ends with the freeze, and goes on when the freeze is over. No public event is left out, and none comes twice,
    unless `reset` is true."""
    league = get_league(league_id)
    view = sight.public(league)
    shown = Event.objects.filter(league_id=league.pk, seq__lte=view.moment.seq, kind__in=registry.PUBLIC)
    last = _read_token(query.since)
    known = _known(league, last, view.moment.seq)
    after = last[0] if last is not None and known else 0
    rows = list(shown.filter(seq__gt=after).order_by("seq")[: query.limit + 1])
    events = rows[: query.limit]
    return Feed(
        league_id=league.pk,
        events=[_as_sent(event) for event in events],
        next=_token(league, events[-1]) if events else query.since if known and last else _token(league, None),
        more=len(rows) > len(events),
        reset=not known,
    )


def _as_sent(event: Event) -> Happened:
    return Happened(
        seq=event.seq,
        at=stamp(event.at),
        kind=event.kind,
        text=plain(happened(event.kind, event.data)),
        data=registry.feed_data(EventKind(event.kind), event.data),
    )


def _known(league: League, last: tuple[int, str] | None, end: int) -> bool:
    """Whether the event that a token names is still on record, unchanged and not hidden."""
    if last is None:
        return True
    seq, mark = last
    event = Event.objects.filter(league_id=league.pk, seq=seq, seq__lte=end).first()
    return (event is not None or seq == 0) and mark == _mark(league, event)


def _mark(league: League, event: Event | None) -> str:
    """A digest by which an event differs from one of the same number before the league was reset or restored."""
    parts = [league.pk, league.created_at.isoformat()]
    if event is not None:
        # Without the event's kind, which changes when a notice is withdrawn although it stays the same event.
        parts += [str(event.seq), event.at.isoformat()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _token(league: League, event: Event | None) -> str:
    text = f"{event.seq if event is not None else 0}.{_mark(league, event)}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str] | None:
    """Number and mark in a token of :func:`_token`; None for the beginning.

    Raises:
        Invalid: it is not such a token.
    """
    if not token:
        return None
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode("ascii")
        seq, _dot, mark = text.partition(".")
        if len(mark) == 16 and len(seq) < 19 and seq.isdecimal():
            return int(seq), mark
    except (ValueError, binascii.Error):
        pass  # refused below, like every other text that is not a token
    raise Invalid(
        _('since is not a token of this feed: it was "%(seen)s". Send next of the answer before, or leave it out.')
        % {"seen": token[:40]},
        field="since",
    )
