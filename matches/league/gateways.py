"""Which hosts are gateways to many programs. Each change is an event, which the public does not see."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry import programs
from agents_registry.models import Agent, Kind
from agents_registry.shared import is_at
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
    """Mark a host as a gateway, so that paths on it count; or take the mark back (ruling, section 8).

    Changes: the list of gateways; an event in the league and in every other one that has players there. The conductor
    is woken: matches that are given out from now on follow the mark.

    Args:
        host: a name or an IP address, without port and path.
        gateway: whether it is one.
        league_id: the league from whose desk it is done; None: by script.
        by: the user who does it; None: whoever has the site's API key, who may do it for every league.

    Returns the host in the one spelling in which it is kept.

    Raises:
        Invalid: this is no host.
        ActionRefused: no player of the league is there, or players of a league that is not this user's are.
    """
    try:
        kept = programs.read_host(host)
    except InvalidFormat as error:
        raise Invalid(f"{error.message} Expected: {error.context['expected']}", field="host") from None
    with transaction.atomic():
        there = leagues_at(kept)
        if by is not None and not by.is_superuser:
            _refuse_others(kept, there, gateway, league_id, by)
        if programs.mark_gateway(host=kept, gateway=gateway):
            user = by.get_username() if by is not None else BY_SCRIPT
            for one in sorted(there | ({league_id} if league_id is not None else set())):
                record(one, EventKind.GATEWAY_CHANGED, host=kept, gateway=gateway, user=user)
                changed(one)
            # Also where no league is concerned that is not over: its matches may be played again.
            transaction.on_commit(nudge)
    return kept


def leagues_at(host: str) -> set[str]:
    """READ: the leagues that are not over and have players at a host; the demo's players are our own.

    Args:
        host: of ``programs.read_host``.
    """
    open_ = League.objects.filter(demo=False).exclude(state__in=[LeagueState.COMPLETED, LeagueState.STOPPED])
    players = Agent.objects.filter(kind=Kind.PLAYER, league__in=open_).only("league_id", "endpoint", "program")
    return {str(agent.league_id) for agent in players.iterator() if is_at(agent, host)}


def _refuse_others(host: str, there: set[str], gateway: bool, league_id: str | None, by: Any) -> None:
    if gateway and league_id not in there:
        raise ActionRefused(_("No player of this league answers at %(host)s: look again.") % {"host": host})
    own = set(roles.leagues(by, roles.Action.EDIT).values_list("pk", flat=True))
    if not there <= own:
        raise ActionRefused(
            _("Players of other leagues answer at %(host)s, too: ask a superuser to decide.") % {"host": host}
        )
