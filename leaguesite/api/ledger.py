"""A league's public ledger, which anyone can verify: ``GET /api/leagues/{id}/ledger`` (ruling, section 12)."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, cast

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Schema
from typing_extensions import TypedDict

from league_sdk.ledger import chain
from league_sdk.ledger.canonical import canonical
from league_sdk.ledger.documents import LEDGER_FORMAT
from league_sdk.ledger.kinds import public_part
from league_sdk.protocol.schemas.parts import says
from leaguesite.api.base import answer, refusals, router
from matches.league.leagues import get_league
from matches.models import Event, League
from matches.view import queries, sight
from matches.view.rows import FrozenAfter, StandingsRow, time_in

MAX_LIMIT = 1000
MAX_BYTES = 1024 * 1024
"""The size of the events in one answer; an answer has at least one event, however large."""


class Public(TypedDict):
    """The public part of an event; its digest covers all of it."""

    league_id: Annotated[str, says("The league.")]
    seq: Annotated[int, says("The number of the event in its league.")]
    kind: Annotated[str, says("Its kind, such as `match_finished`.")]
    at: Annotated[str, time_in("When, in UTC, with microseconds.")]
    data: Annotated[dict[str, Any], says("The facts that everybody may know; which there are depends on the kind.")]


class Link(TypedDict):
    """One event as a link of the chain."""

    public: Annotated[Public, says("The part that anyone may read.")]
    private_sha256: Annotated[str, says("The SHA-256 of the private part and its salt, in hex.")]
    digest: Annotated[str, says("The SHA-256 over both parts and the digest of the event before, in hex.")]


class Points(TypedDict):
    """The points of a league."""

    win: Annotated[int, says("For a match won.")]
    draw: Annotated[int, says("For a match that ended in a draw.")]
    loss: Annotated[int, says("For a match lost.")]
    technical_loss: Annotated[int, says("For a match lost without a valid answer.")]


class LedgerPart(TypedDict):
    """A part of a league's ledger."""

    format: Annotated[str, says(f"The form of this document: {LEDGER_FORMAT}.")]
    league_id: Annotated[str, says("The league.")]
    display_name: Annotated[str, says("Its name.")]
    game_type: Annotated[str, says("Its game.")]
    head: Annotated[str, says("The digest of the last event, in hex; empty before the first.")]
    last_seq: Annotated[int, says("The number of the last event.")]
    events: Annotated[list[Link], says("The events, in order.")]
    next: Annotated[int | None, says("Send it as `after` to go on; null: this is the end.")]
    frozen_after_round: NotRequired[FrozenAfter]
    scoring: NotRequired[Annotated[Points, says("The points of the league; in the first part only.")]]
    table: NotRequired[Annotated[list[StandingsRow], says("The table after these events; in the first part only.")]]


class Wanted(Schema):
    """Which part of the ledger."""

    after: int = Field(0, ge=0, le=2**53, description="`next` of the previous answer; 0 for the beginning.")
    upto: int | None = Field(None, ge=1, le=2**53, description="`last_seq` of the first answer: later events stay out.")
    limit: int = Field(500, ge=1, le=MAX_LIMIT, description="How many events at most.")


@router.get("/leagues/{league_id}/ledger", tags=["public"], response={200: LedgerPart} | refusals(404, 422))
def show_ledger(request: HttpRequest, league_id: str, query: Query[Wanted]) -> HttpResponse:
    """Public parts and digests of a league's events, for `python -m league_sdk verify`. While the board is frozen,
    the last event is the one that froze it. The first answer also has the points and the table; `next` goes on, null is
    the end."""
    league = get_league(league_id)
    view = sight.public(league)
    if query.upto is not None:
        view = sight.past(league, query.upto)
    events, following = _events(league, query.after, view.moment.seq, query.limit)
    part: LedgerPart = {
        "format": LEDGER_FORMAT,
        "league_id": league.pk,
        "display_name": league.display_name,
        "game_type": league.game_type,
        "head": view.head,
        "last_seq": view.moment.seq,
        "events": events,
        "next": following,
    }
    if view.moment.frozen_after is not None:
        part["frozen_after_round"] = view.moment.frozen_after
    if query.after == 0:
        # Places that are unveiled already are left out: they do not follow from the events shown.
        rows = view.table()
        part["scoring"] = cast(Points, view.scoring._asdict())
        part["table"] = [queries.wire_row(row) for row in rows]
    return answer(part)


def _events(league: League, after: int, upto: int, limit: int) -> tuple[list[Link], int | None]:
    rows = Event.objects.filter(league_id=league.pk, seq__gt=after, seq__lte=upto).order_by("seq")[: limit + 1]
    events: list[Link] = []
    size = 0
    for event in rows.iterator(chunk_size=100):
        link = _link(event)
        size += len(canonical(link))
        if len(events) == limit or (events and size > MAX_BYTES):
            return events, int(events[-1]["public"]["seq"])
        events.append(link)
    return events, None


def _link(event: Event) -> Link:
    public = cast(Public, public_part(event.league_id, event.seq, event.kind, event.at, event.data))
    try:
        private = chain.hash_private(event.salt, event.kind, event.data)
    except ValueError:
        # Somebody has changed the salt. No digest fits this hash, so verifying names the event.
        private = chain.BEGINNING
    return {"public": public, "private_sha256": private, "digest": event.digest or chain.BEGINNING}
