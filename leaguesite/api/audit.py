"""Who did what, for scripts: ``GET /api/audit``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Field, Query, Schema

from leaguesite.api.base import refusals, router
from leaguesite.api.keys import KEY
from matches.models import AuditEntry

MAX_LIMIT = 500


class Entry(Schema):
    """One action of a person, or of a script with the API key."""

    id: int = Field(description="Its number: later entries have higher ones.")
    at: datetime = Field(description="When, in UTC.")
    account: str = Field(description="The user name; empty for a script.")
    via: str = Field(description="`desk` or `api`.")
    action: str = Field(description="What was done, such as `league.start`.")
    league_id: str = Field(description="The league; empty for what concerns no league, such as a login.")
    target: str = Field(description="What it was done to besides the league: a match, agents, a file.")
    asked: dict[str, Any] = Field(description="The options with which the action was called.")
    changes: dict[str, list[Any]] = Field(description="What changed, by name: before and after.")


class Log(Schema):
    """A part of the log, newest first."""

    entries: list[Entry] = Field(description="The entries, the newest first.")
    next: int | None = Field(description="Send it as `before` for older entries; null at the end.")


class Wanted(Schema):
    """Which entries; an empty filter lets all through."""

    league_id: str = Field("", max_length=64, description="Only of this league.")
    account: str = Field("", max_length=150, description="Only of this user.")
    action: str = Field("", max_length=40, description="Only this action, such as `league.start`.")
    before: int | None = Field(None, ge=1, le=2**63 - 1, description="`next` of the previous answer.")
    limit: int = Field(100, ge=1, le=MAX_LIMIT, description="How many entries at most.")


@router.get("/audit", auth=KEY, tags=["instructor"], response={200: Log} | refusals(401, 422, 429))
def show_audit(request: HttpRequest, query: Query[Wanted]) -> dict[str, Any]:
    """Who did what, when, and what it changed: every action at the desk and by API, logins, exports. Newest first."""
    filters = {name: value for name in ("league_id", "account", "action") if (value := getattr(query, name))}
    if any("\x00" in value for value in filters.values()):
        return {"entries": [], "next": None}
    entries = AuditEntry.objects.filter(**filters).order_by("-id")
    if query.before is not None:
        entries = entries.filter(id__lt=query.before)
    page = list(entries[: query.limit + 1])
    shown = page[: query.limit]
    return {"entries": shown, "next": shown[-1].pk if len(page) > len(shown) else None}
