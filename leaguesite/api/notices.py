"""The API of what the instructor says to the room: saying it, and reading it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Schema

from leaguesite.api.base import Refused, router
from matches.audience.pages import notices as pages
from matches.league import lifecycle


class Said(Schema):
    """One notice."""

    id: int
    text: str
    at: datetime
    player_id: str | None = None


# As the metrics call this address.
@router.get("/leagues/{league_id}/notices", tags=["public"], response={200: list[Said], 404: Refused}, url_name="say")
def show_notices(request: HttpRequest, league_id: str) -> list[dict[str, Any]]:
    """What the instructor has said to the room, the latest first; nothing that was said to one student."""
    return pages.public(lifecycle.get_league(league_id))
