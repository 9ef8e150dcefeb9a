"""READS: who may do what in which league.

A superuser may do everything. An instructor runs their own leagues; an assistant watches them and may do what
``Permission.RERUN`` says. Everybody else, logged in or not, sees what the public sees.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from matches.models import League, Role, RoleName


class Permission(StrEnum):
    """What a role may allow in a league; most actions of the desk need one of these (``desk.actions``)."""

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


ALLOWED: dict[str, frozenset[Permission]] = {
    RoleName.INSTRUCTOR: frozenset(Permission),
    RoleName.ASSISTANT: frozenset({Permission.WATCH, Permission.RERUN}),
}
"""The permissions that each role has; without a role there are none."""


def allowed(user: Any, league_id: str) -> frozenset[Permission]:
    """The permissions that a user has in a league.

    Args:
        user: the user of a request or a session; may be anonymous.
    """
    if not (user.is_active and user.is_staff):
        return frozenset()
    if user.is_superuser:
        return frozenset(Permission)
    role = Role.objects.filter(league_id=league_id, user_id=user.pk).values_list("name", flat=True).first()
    return ALLOWED.get(role or "", frozenset())


def may(user: Any, permission: Permission, league_id: str) -> bool:
    """Whether a user has a permission in a league.

    Args:
        user: the user of a request or a session; may be anonymous.
    """
    return permission in allowed(user, league_id)


def opens_leagues(user: Any) -> bool:
    """Whether a user may open leagues: an instructor, perhaps without a league so far."""
    return bool(user.is_active and user.is_staff and user.has_perm("matches.add_league"))


def leagues(user: Any, permission: Permission) -> QuerySet[League]:
    """The leagues in which a user has a permission."""
    if not (user.is_active and user.is_staff):
        return League.objects.none()
    if user.is_superuser:
        return League.objects.all()
    names = [name for name, permissions in ALLOWED.items() if permission in permissions]
    return League.objects.filter(pk__in=Role.objects.filter(user_id=user.pk, name__in=names).values("league_id"))
