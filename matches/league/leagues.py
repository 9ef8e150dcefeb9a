"""Find a league or a match by its id, move a league's state, and refuse what its state forbids."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from league_sdk.protocol.states import LeagueState
from matches.league.errors import ActionRefused, NotFound
from matches.models import League, Match
from matches.view import queries
from storage.prepared import Prepared

_SELDOM = ("frozen", "starts_at", "started_at", "completed_at")
LEAGUE = Prepared(lambda *, pk: League.objects.filter(pk=pk).defer(*_SELDOM), pk=str)
"""Find the league of an agent's call; the rarely needed columns are loaded when they are read."""


def get_league(league_id: str) -> League:
    """A league by its id.

    Raises:
        NotFound: there is no such league.
    """
    # No id contains NUL, and PostgreSQL refuses a parameter that does.
    league = League.objects.filter(pk=league_id.replace("\x00", "\ufffd")).first()
    if league is None:
        raise NotFound(_("There is no league %(id)s.") % {"id": league_id})
    return league


def refuse_taken(league_id: str) -> None:
    """Refuse the id of a league that is here, or whose rows are still being deleted.

    Raises:
        ActionRefused: with what to do.
    """
    taken = League.with_hidden.filter(pk=league_id).first()
    if taken is None:
        return
    sentence = _("A league with the id %(id)s exists already: choose another id.")
    if taken.remove_at is not None:
        sentence = _("The league %(id)s is being deleted or imported: wait until that is done, or choose another id.")
    raise ActionRefused(sentence % {"id": isolated(league_id)})


def find_match(league_id: str, match_id: str) -> Match:
    """A match of a league.

    Raises:
        NotFound: there is no such league, or no such match in it.
    """
    league = get_league(league_id)
    # No id contains NUL, and PostgreSQL refuses a parameter that does.
    storable_id = match_id.replace("\x00", "\ufffd")
    match = queries.matches_of(league).select_related("league").filter(match_id=storable_id).first()
    if match is None:
        raise NotFound(
            _("%(league)s has no match %(match)s.") % {"league": isolated(league.pk), "match": isolated(match_id)}
        )
    return match


def named(league: League) -> dict[str, str]:
    """The arguments of a sentence that names a league."""
    return {"league": isolated(league.display_name)}


def move(league: League, old: LeagueState, new: LeagueState) -> None:
    """Compare-and-swap of the league's state.

    Raises:
        ActionRefused: someone else moved it first.
    """
    if not League.objects.filter(pk=league.pk, state=old).update(state=new):
        raise ActionRefused(_("%(league)s has just changed: look again.") % named(league))
    league.state = new


def refuse_over(league: League) -> None:
    """Refuse an action that needs a league that has not ended.

    Raises:
        ActionRefused: it is COMPLETED or STOPPED.
    """
    if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        raise ActionRefused(_("%(league)s is over: create a new league to play again.") % named(league))


def refuse_paused(league: League) -> None:
    """Refuse an action that a pause forbids.

    Raises:
        ActionRefused: it is paused.
    """
    if league.paused:
        raise ActionRefused(_("%(league)s is paused: resume it first.") % named(league))


def refuse_demo(league: League) -> None:
    """Refuse an action that only a league of people allows.

    Raises:
        ActionRefused: it is the demo.
    """
    if league.demo or league.pk == settings.LEAGUE_DEMO_ID:
        raise ActionRefused(_("The demo league has players of its own: choose another league."))
