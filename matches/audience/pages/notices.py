"""The instructor's notices: to everybody, on the board and the projector; to one student, on "My agent"."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from django.db.models import Q, QuerySet
from typing_extensions import TypedDict

from agents_registry.models import Agent
from league_sdk.protocol.schemas.parts import says
from matches.models import League, Notice
from matches.view.sight import View

MAX_ON_BOARD, MAX_ON_MINE = 3, 10


class NoticeRow(TypedDict):
    """A notice to everybody, or to the owner of one player."""

    id: Annotated[int, says("Its number, by which it is withdrawn.")]
    text: Annotated[str, says("What the instructor says.")]
    at: Annotated[datetime, says("When it was said, in UTC.")]
    player_id: Annotated[str | None, says("The player whose owner it is for; null: everybody.")]


def of_view(view: View) -> QuerySet[Notice]:
    """The latest notices to everybody, for the board; none for a moment of the past.

    A frozen board shows them, too, as they say nothing about the matches.
    """
    return to_room(view.league)[: MAX_ON_BOARD if view.live else 0]


def for_owner(league: League, agent: Agent | None) -> QuerySet[Notice]:
    """Notices to everybody and, with an agent, to its owner; the latest first."""
    notices = (
        _not_withdrawn(league).filter(Q(agent__isnull=True) | Q(agent=agent)) if agent is not None else to_room(league)
    )
    return notices[:MAX_ON_MINE]


def to_room(league: League) -> QuerySet[Notice]:
    """Every notice to everybody that has not been withdrawn, the latest first."""
    return _not_withdrawn(league).filter(agent__isnull=True)


def for_instructor(league: League) -> QuerySet[Notice]:
    """Every notice that has not been withdrawn, those to one owner too, the latest first; for the instructor only."""
    return _not_withdrawn(league).select_related("agent")


def api_row(notice: Notice) -> NoticeRow:
    """A notice as the API shows it; ``player_id`` is None for a notice to everybody."""
    return {
        "id": notice.pk,
        "text": notice.text,
        "at": notice.made_at,
        "player_id": notice.agent.code if notice.agent is not None else None,
    }


def _not_withdrawn(league: League) -> QuerySet[Notice]:
    return Notice.objects.filter(league=league, withdrawn_at__isnull=True).order_by("-made_at", "-pk")
