"""The API of what the instructor says to the room: saying it, and reading it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema, Status
from pydantic import ConfigDict

from league_sdk.protocol.limits import MAX_ID_CHARS
from leaguesite.api.base import Refused, router
from leaguesite.api.keys import KEY
from matches.audience.pages import notices as pages
from matches.league import lifecycle, notices
from matches.models.desk import MAX_NOTICE_CHARS

BY = "api"
"""Whose words they are on record, when a script says them."""


class Words(Schema):
    """What to say, and to whom: without a player to the room."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=4 * MAX_NOTICE_CHARS)
    player_id: str = Field("", max_length=MAX_ID_CHARS)


class Said(Schema):
    """One notice."""

    id: int
    text: str
    at: datetime
    player_id: str | None = None


@router.post(
    "/leagues/{league_id}/notices",
    auth=KEY,
    tags=["instructor"],
    response={201: Said, 400: Refused, 401: Refused, 404: Refused, 409: Refused, 422: Refused, 429: Refused},
)
def say(request: HttpRequest, league_id: str, words: Words) -> Status[dict[str, Any]]:
    """Say something to the room, or to the owner of one player."""
    made = notices.say(league_id=league_id, text=words.text, by=BY, player_id=words.player_id)
    return Status(201, pages.wire(made))


@router.get("/leagues/{league_id}/notices", tags=["public"], response={200: list[Said], 404: Refused})
def show_notices(request: HttpRequest, league_id: str) -> list[dict[str, Any]]:
    """What the instructor has said to the room, the latest first; nothing that was said to one student."""
    return pages.public(lifecycle.get_league(league_id))
