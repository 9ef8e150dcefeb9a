"""Mark hosts as gateways: their paths are different programs. Each change is an event that the public does not see."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.addresses import programs
from agents_registry.addresses.shared import is_at
from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.states import LeagueState
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid
from matches.models import League
from matches.push.nudge import nudge
from matches.view import roles

BY_SCRIPT = "api"


def mark(*, host: object, gateway: bool, league_id: str | None = None, by: Any = None) -> str:
    """Mark a host as a gateway, so that its paths are told apart, or remove the mark (ruling, section 8).

    Changes: the list of gateways; an event in this league and in every other one that is not over and has players at
    the host; nothing if the host has this mark already, or had none. The conductor is woken: the mark applies to
    matches that are assigned from now on.

    Args:
        host: a name or an IP address, without port and path.
        gateway: whether the host is a gateway.
        league_id: the league on whose desk this is done; None for a script.
        by: the user; None for a script with the site's API key, which may do it for every league.

    Returns the host as it is stored.

    Raises:
        Invalid: this is not a host.
        ActionRefused: no player of this league is at the host, or a player of a league that the user may not edit.
    """
    try:
        stored_host = programs.read_host(host)
    except InvalidFormat as error:
        raise Invalid(f"{error.message} Expected: {error.context['expected']}", field="host") from None
    with transaction.atomic():
        affected = leagues_at(stored_host)
        if by is not None and not by.is_superuser:
            _refuse_others(stored_host, affected, gateway, league_id, by)
        if programs.mark_gateway(host=stored_host, gateway=gateway):
            user = by.get_username() if by is not None else BY_SCRIPT
            for pk in sorted(affected | ({league_id} if league_id is not None else set())):
                record(pk, EventKind.GATEWAY_CHANGED, host=stored_host, gateway=gateway, user=user)
                changed(pk)
            # Wake the conductor even if only leagues that are over have players at the host: matches may be replayed.
            transaction.on_commit(nudge)
    return stored_host


def leagues_at(host: str) -> set[str]:
    """READ: the leagues that are not over and have players at a host, without the demo.

    Args:
        host: as ``programs.read_host`` returns it.
    """
    open_ = League.objects.filter(demo=False).exclude(state__in=[LeagueState.COMPLETED, LeagueState.STOPPED])
    players = Agent.objects.filter(kind=Kind.PLAYER, league__in=open_).only("league_id", "endpoint", "program")
    return {str(agent.league_id) for agent in players.iterator() if is_at(agent, host)}


def _refuse_others(host: str, affected: set[str], gateway: bool, league_id: str | None, by: Any) -> None:
    if gateway and league_id not in affected:
        raise ActionRefused(_("No player of this league answers at %(host)s: look again.") % {"host": isolated(host)})
    editable = set(roles.leagues(by, roles.Permission.EDIT).values_list("pk", flat=True))
    if not affected <= editable:
        raise ActionRefused(
            _("Players of other leagues answer at %(host)s, too: ask a superuser to decide.") % {"host": isolated(host)}
        )
