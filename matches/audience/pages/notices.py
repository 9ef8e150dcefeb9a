"""What the instructor has said: to the room, on the board and the screen; to one student, on "my agent"."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from agents_registry.models import Agent
from matches.models import League, Notice
from matches.view.sight import View

SHOWN, SHOWN_TO_ONE = 3, 10


def of_view(view: View) -> dict[str, Any]:
    """The latest words to the room, for every page that has the fragment ``notices``; a page of the past has none.

    They are the instructor's own and no news of the game: a frozen board shows them, too.
    """
    present = view.now or view.frozen_after is not None
    return {"notices": _valid(view.league).filter(agent__isnull=True)[:SHOWN] if present else []}


def for_league(league: League, agent: Agent | None) -> Any:
    """Words to the room and, with an agent, to its owner; the latest first."""
    to = Q(agent__isnull=True) | Q(agent=agent) if agent is not None else Q(agent__isnull=True)
    return _valid(league).filter(to)[:SHOWN_TO_ONE]


def wire(notice: Notice) -> dict[str, Any]:
    """A notice for machines; whom one to a single player is for stands in ``player_id``."""
    return {
        "id": notice.pk,
        "text": notice.text,
        "at": notice.made_at,
        "player_id": notice.agent.code if notice.agent is not None else None,
    }


def public(league: League) -> list[dict[str, Any]]:
    """Every word to the room that still holds, for machines, the latest first."""
    return [wire(row) for row in _valid(league).filter(agent__isnull=True)]


def _valid(league: League) -> Any:
    return Notice.objects.filter(league=league, withdrawn_at__isnull=True).order_by("-made_at", "-pk")
