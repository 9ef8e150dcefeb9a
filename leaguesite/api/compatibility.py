"""Which agent understood which message in which way, for scripts: ``GET /api/compatibility``."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Query, Schema

from leaguesite.api.base import refusals, router
from leaguesite.api.keys import KEY
from matches.models import League
from matches.view import compatibility
from matches.view.compatibility import MESSAGES, How, Ways

MAX_LIMIT = 500


class CompatibilityCell(Schema):
    """How one agent took one message."""

    message_type: str = Field(description="The message.")
    how: How = Field(
        description="`first`: it understood the first way in which it was put; `other`: another spelling; `not`: it "
        "answered, never as if it understood; `silent`: no answer came; `sent`: its answer does not show what it "
        "understood; `never`: it was never sent."
    )
    shape: str = Field(description="The shape that it understood; empty for none.")
    own: str = Field(description="The tool or method of its own by which it is called; empty for none.")


class CompatibilityAgent(Schema):
    """One player: what is known of its last registration."""

    league_id: str = Field(description="Its league.")
    player_id: str = Field(description="Its id, such as P01.")
    display_name: str = Field(description="Its name.")
    registered_in: str = Field(description="The shape in which it registered, which is tried first.")
    messages: list[CompatibilityCell] = Field(description="Each message that players are sent, in order.")


class Compatibility(Schema):
    """A part of the table, the newest league first."""

    agents: list[CompatibilityAgent] = Field(description="The players.")
    next: int | None = Field(description="Send it as `start` for the next part; null at the end.")


class Wanted(Schema):
    """Which part of the table."""

    league_id: str = Field("", max_length=64, description="Only of this league; empty: of all leagues.")
    start: int = Field(0, ge=0, le=1_000_000, description="`next` of the previous answer.")
    limit: int = Field(100, ge=1, le=MAX_LIMIT, description="How many players at most.")


@router.get("/compatibility", auth=KEY, tags=["instructor"], response={200: Compatibility} | refusals(401, 422, 429))
def show_compatibility(request: HttpRequest, query: Query[Wanted]) -> dict[str, Any]:
    """Which agent understood which message in which way, over all leagues."""
    if "\x00" in query.league_id:
        return {"agents": [], "next": None}
    leagues = [query.league_id] if query.league_id else League.objects.all()
    end = query.start + query.limit
    page = list(compatibility.players(leagues)[query.start : end + 1])
    rows = compatibility.ways(page[: query.limit])
    return {"agents": [_row(row) for row in rows], "next": end if len(page) > query.limit else None}


def _row(row: Ways) -> dict[str, Any]:
    return {
        "league_id": row.agent.league_id,
        "player_id": row.agent.code,
        "display_name": row.agent.display_name,
        "registered_in": row.agent.dialect,
        "messages": [
            {"message_type": kind, "how": cell.how, "shape": cell.shape, "own": cell.own}
            for kind, cell in zip(MESSAGES, row.cells, strict=True)
        ],
    }
