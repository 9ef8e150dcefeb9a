"""Give and take roles in a league. Each change is an event, which the public does not see."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from league_sdk.ledger.kinds import EventKind
from matches.league import opening
from matches.league.effects import record
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.league.leagues import get_league
from matches.models import League, Role, RoleName


@transaction.atomic
def open_league(*, by: Any, **fields: Any) -> League:
    """Create a league, and make the user its instructor; a superuser needs no role.

    Args:
        by: the user; None for a script with the API key.
        fields: as ``opening.create_league`` takes them.

    Raises:
        Invalid: an id, game or setting that is not usable.
        ActionRefused: the id is taken.
    """
    league = opening.create_league(**fields)
    if by is not None and not by.is_superuser:
        give_role(league_id=league.pk, username=by.get_username(), name=RoleName.INSTRUCTOR)
    return league


def give_role(*, league_id: str, username: str, name: str) -> Role:
    """Make a staff user instructor or assistant of a league; an earlier role in the league is replaced.

    Raises:
        NotFound: no such league.
        Invalid: no such role or user, or the user cannot log in at the desk.
        ActionRefused: the user is a superuser, who may do everything anyway.
    """
    if name not in RoleName.values:
        raise Invalid(_("There is no role %(role)s.") % {"role": isolated(name[:40])}, field="name")
    with transaction.atomic():
        league = get_league(league_id)
        storable_name = username.replace("\x00", "\ufffd").strip()
        user = get_user_model().objects.filter(username=storable_name, is_active=True).first()
        if user is None:
            sentence = _("There is no user %(user)s: a superuser makes users, under “Users”.")
            raise Invalid(sentence % {"user": isolated(storable_name[:150])}, field="username")
        if user.is_superuser:
            raise ActionRefused(
                _("%(user)s is a superuser and may do everything already.") % {"user": isolated(user.get_username())}
            )
        if not user.is_staff:
            sentence = _("%(user)s cannot log in here: a superuser ticks “staff status” under “Users” first.")
            raise Invalid(sentence % {"user": isolated(user.get_username())}, field="username")
        role, made = Role.objects.get_or_create(league=league, user=user, defaults={"name": name})
        if made or Role.objects.filter(pk=role.pk).exclude(name=name).update(name=name):
            role.name = name
            record(league.pk, EventKind.ROLE_GIVEN, user=user.get_username(), role=name)
        return role


@transaction.atomic
def take_role(*, league_id: str, role_id: int, by: Any) -> str:
    """Take a role in a league away from its user. Returns the user name.

    Args:
        by: the user who does it; None for a script with the API key. Nobody can take their own role: the league might
            be left without an instructor.

    Raises:
        NotFound: there is no such role in this league.
        ActionRefused: it is the user's own role.
    """
    role = Role.objects.select_related("user").filter(league_id=league_id, pk=role_id).first()
    if role is None:
        raise NotFound(_("This role is gone already: look again."))
    if by is not None and role.user_id == by.pk:
        raise ActionRefused(_("This is your own role: ask another instructor of the league, or a superuser."))
    username = str(role.user.get_username())
    Role.objects.filter(pk=role.pk).delete()
    record(league_id, EventKind.ROLE_TAKEN, user=username, role=role.name)
    return username
