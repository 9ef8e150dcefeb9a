"""READS: who may do what in which league.

A superuser may do everything. An instructor runs their own leagues; an assistant watches them and may do what
``Action.RERUN`` says. Everybody else, logged in or not, sees what the public sees.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from matches.models import League, Role, RoleName


class Action(StrEnum):
    """What can be done in a league."""

    WATCH = "watch"
    """See the desk, and what a frozen board hides."""
    RERUN = "rerun"
    """Have agents checked, ask whether they answer, release a held match, have a match played again."""
    RUN = "run"
    """Close registration; start, pause, resume, stop; freeze and unveil; steer the screens; speak to the room."""
    CORRECT = "correct"
    """Change what counts: cancel or void a match, set a result, take a player out, give points, and undo it."""
    EDIT = "edit"
    """Settings, roster, codes, agents, export, who has which role; archive, clone, series, deletion."""


ALLOWED: dict[str, frozenset[Action]] = {
    RoleName.INSTRUCTOR: frozenset(Action),
    RoleName.ASSISTANT: frozenset({Action.WATCH, Action.RERUN}),
}
"""The actions each role allows; without a role none is allowed."""


def allowed(user: Any, league_id: str) -> frozenset[Action]:
    """Everything a person may do in a league.

    Args:
        user: the user of a request or a session; may be anonymous.
    """
    if not (user.is_active and user.is_staff):
        return frozenset()
    if user.is_superuser:
        return frozenset(Action)
    role = Role.objects.filter(league_id=league_id, user_id=user.pk).values_list("name", flat=True).first()
    return ALLOWED.get(role or "", frozenset())


def may(user: Any, action: Action, league_id: str) -> bool:
    """Whether a person may do something in a league.

    Args:
        user: the user of a request or a session; may be anonymous.
    """
    return action in allowed(user, league_id)


def leagues(user: Any, action: Action) -> QuerySet[League]:
    """The leagues in which a person may do something."""
    if not (user.is_active and user.is_staff):
        return League.objects.none()
    if user.is_superuser:
        return League.objects.all()
    names = [name for name, actions in ALLOWED.items() if action in actions]
    return League.objects.filter(pk__in=Role.objects.filter(user_id=user.pk, name__in=names).values("league_id"))
