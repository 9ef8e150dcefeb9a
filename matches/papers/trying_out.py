"""A league that has just come in is told and shown once: one that cannot be would break the list of leagues."""

from __future__ import annotations

from django.conf import settings as site
from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import MatchState
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.events.history import Happened, Moment
from matches.events.registry import fold
from matches.models import League
from matches.papers.files import NotALeague
from matches.words import events as words_events
from matches.words import states

TRIED = ("board", "screen", "charts")
"""Pages that must be able to show a league before it is taken."""


def try_out(league: League) -> None:
    """Tell the league's history and show its pages once: one that cannot be shown would break the list of leagues.

    Raises:
        NotALeague: names the event, or the page.
    """
    events = [Happened(*row) for row in league.events.order_by("seq").values_list("seq", "kind", "data", "at")]
    then = Moment()
    for number, event in enumerate(events):
        try:
            then = fold(then, [event])
            _tell(event)
        except Exception as error:
            raise NotALeague(f"events[{number}].data", _why(error)) from error
    _same_results(league, then)
    for key in (PageKey(), *(PageKey(kind, league.pk, staff=staff) for kind in TRIED for staff in (False, True))):
        try:
            pages.fragments(key, site.LANGUAGE_CODE)
        except Exception as error:
            raise NotALeague(_("The page %(page)s") % {"page": key.kind}, _why(error)) from error


def _same_results(league: League, then: Moment) -> None:
    """The results of the matches are those that the events tell: a chain that holds says nothing of anything else.

    Raises:
        NotALeague: names the first match that has another one.
    """
    told = {one.match_id: (str(one.status), one.winner) for one in then.outcomes.values()}
    rows = league.matches.order_by("pk").values_list("match_id", "state", "status", "winner__code")
    for number, (match_id, state, status, winner) in enumerate(rows):
        seen = (status, winner) if state == MatchState.FINISHED else None
        if seen != told.get(match_id):
            raise NotALeague(f"matches[{number}].status", _("the events of the league tell another result"))


def _tell(event: Happened) -> None:
    """Put an event into words, and every fault of a result in it."""
    words_events.happened(event.kind, event.data)
    results = [event.data] if event.kind == EventKind.MATCH_FINISHED else event.data.get("results", {}).values()
    for result in results:
        for fault in result["faults"] if result is not None else ():
            states.fault_sentence(fault)


def _why(error: Exception) -> str:
    return _("it cannot be shown (%(error)s)") % {"error": f"{type(error).__name__}: {error}"[:120]}
