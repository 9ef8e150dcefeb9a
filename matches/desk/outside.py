"""READS: whether students elsewhere reach the site, by the calls and registrations that came from outside."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.addresses.public import is_local
from agents_registry.addresses.seen import Sighting, is_outside, seen
from league_sdk.protocol.states import LeagueState
from matches.desk.facts import Facts


def reach(facts: Facts) -> dict[str, Any] | None:
    """Whether students elsewhere reach the site, in a sentence or two, and the last call or registration from outside.

    None once the league's registration is closed, and for the demo.
    """
    if facts.league.state != LeagueState.REGISTRATION or facts.league.demo:
        return None
    outsiders = [agent for agent in facts.players if is_outside(agent.registered_from)]
    # A process that has just started has seen no call, but the database has the registrations.
    registered = max(outsiders, key=lambda agent: agent.registered_at, default=None)
    latest = seen.latest or (Sighting(registered.registered_at, registered.registered_from) if registered else None)
    return {"text": _sentence(len(outsiders), latest), "latest": latest}


def _sentence(outsiders: int, latest: Sighting | None) -> str:
    if outsiders:
        sentence = ngettext(
            "%(count)d player has registered from outside this machine.",
            "%(count)d players have registered from outside this machine.",
            outsiders,
        )
        return sentence % {"count": outsiders}
    if latest is None and is_local(settings.LEAGUE_PUBLIC_URL):
        return _(
            "No other machine reaches this site: it was started for this one only. For a room start it with "
            "HOST=0.0.0.0, for students at home with PUBLIC_URL=https://… of a tunnel (docs/deployment.md)."
        )
    values = {"url": f"{settings.LEAGUE_PUBLIC_URL}/"}
    if latest is None:
        return (
            _(
                "Nobody from outside this machine has reached the site yet. Give out %(url)s; if it does not open on a "
                "student's machine, a firewall or the network stands between (docs/operations.md, docs/deployment.md)."
            )
            % values
        )
    return _("Other machines reach this site, and no player has registered from there yet. Give out %(url)s.") % values
