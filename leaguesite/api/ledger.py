"""A league's public ledger, to be verified by anyone: ``GET /api/leagues/{id}/ledger`` (ruling, section 12)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Query, Schema

from league_sdk.ledger import chain
from league_sdk.ledger.canonical import canonical
from league_sdk.ledger.document import FORMAT
from league_sdk.ledger.parts import public_part
from leaguesite.api.base import Refused, router
from matches.league import lifecycle
from matches.models import Event, League
from matches.view import queries, sight

MOST = 1000
MOST_BYTES = 1024 * 1024
"""Of the public parts in one answer; one event is always in it."""


class Wanted(Schema):
    """Which part."""

    after: int = Field(0, ge=0, le=2**53, description="`next` of the answer before; 0 for the beginning.")
    upto: int | None = Field(None, ge=1, le=2**53, description="`last_seq` of the first answer: later events stay out.")
    limit: int = Field(500, ge=1, le=MOST)


@router.get("/leagues/{league_id}/ledger", tags=["public"], response={200: dict, 404: Refused, 422: Refused})
def show_ledger(request: HttpRequest, league_id: str, wanted: Query[Wanted]) -> dict[str, Any]:
    """Public parts and digests of a league's events, for `python -m league_sdk verify`. While the board is frozen it
    ends with the freeze. The first answer also has the points and the table; `next` goes on, null is the end."""
    league = lifecycle.get_league(league_id)
    view = sight.public(league)
    if wanted.upto is not None:
        view = sight.past(league, wanted.upto)
    events, following = _events(league, wanted.after, view.moment.seq, wanted.limit)
    found: dict[str, Any] = {
        "format": FORMAT,
        "league_id": league.pk,
        "display_name": league.display_name,
        "game_type": league.game_type,
        "head": view.head,
        "last_seq": view.moment.seq,
        "events": events,
        "next": following,
    }
    found |= queries.frozen_mark(view)
    if wanted.after == 0:
        # Without places that are unveiled already: they do not follow from what is shown.
        rows = view.table()
        found |= {"scoring": view.scoring._asdict(), "table": [queries.wire_row(row) for row in rows]}
    return found


def _events(league: League, after: int, upto: int, limit: int) -> tuple[list[dict[str, Any]], int | None]:
    rows = Event.objects.filter(league_id=league.pk, seq__gt=after, seq__lte=upto).order_by("seq")[: limit + 1]
    found: list[dict[str, Any]] = []
    size = 0
    for event in rows.iterator(chunk_size=100):
        told = _told(event)
        size += len(canonical(told))
        if len(found) == limit or (found and size > MOST_BYTES):
            return found, int(found[-1]["public"]["seq"])
        found.append(told)
    return found, None


def _told(event: Event) -> dict[str, Any]:
    public = public_part(event.league_id, event.seq, event.kind, event.at, event.data)
    try:
        private = chain.hash_private(event.salt, event.kind, event.data)
    except ValueError:
        # Somebody has changed the salt: shown as a hash that no digest fits, so that the event is named.
        private = chain.BEGINNING
    return {"public": public, "private_sha256": private, "digest": event.digest or chain.BEGINNING}
