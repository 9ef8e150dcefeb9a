"""What the moves of a league's state have in common."""

from __future__ import annotations

from django.utils.translation import gettext as _

from league_sdk.protocol.states import LeagueState
from matches.league.errors import ActionRefused
from matches.models import League


def move(league: League, old: LeagueState, new: LeagueState) -> None:
    """Compare-and-swap of the league's state.

    Raises:
        ActionRefused: someone else moved it first.
    """
    if not League.objects.filter(pk=league.pk, state=old).update(state=new):
        raise ActionRefused(_("%(league)s has just changed: look again.") % named(league))
    league.state = new


def named(league: League) -> dict[str, str]:
    """What a sentence about a league needs of it."""
    return {"league": league.display_name}


def refuse_over(league: League) -> None:
    """Refuse what a league that has ended cannot do.

    Raises:
        ActionRefused: it is COMPLETED or STOPPED.
    """
    if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        raise ActionRefused(_("%(league)s is over: create a new league to play again.") % named(league))
