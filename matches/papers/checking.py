"""Tries out a league that is imported: whether its chain of events holds, and whether it can be shown."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings as site
from django.utils.translation import gettext as _

from agents_registry.words import in_other_words
from league_sdk.ledger import chain
from league_sdk.ledger.kinds import EventKind, public_part
from league_sdk.protocol.states import MatchState
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.events.history import Happened, Moment
from matches.events.registry import fold
from matches.models import League
from matches.papers.files import NotALeague
from matches.papers.reading import LeagueDocument
from matches.words import events as words_events
from matches.words import states

TRIED_PAGES = ("board", "screen", "charts")
"""Pages that are rendered once before a league is accepted."""

# The chain of a document ----------------------------------------------------------------------------


def chain_sentence(document: LeagueDocument) -> str:
    """Verify the chain of a document's events; returns a sentence for the person who imports it.

    Changes: a document without digests (from a version that had no ledger) gets salts and digests, as the migration
    to the ledger made them.
    """
    league, events = document.league, document["events"]
    if not league.ledger_head and not any(event.digest or event.salt for event in events):
        _chain_anew(document)
        return _("The file is older than the ledger: its events were chained here and prove nothing from before.")
    try:
        chain.walk(
            [_link(league.league_id, one) for one in events], league_id=league.league_id, head=league.ledger_head
        )
    except chain.Broken as error:
        if not document.people:
            return _("Its ledger cannot be checked: an export without people leaves events out.")
        return _("Its ledger DOES NOT HOLD. %(why)s") % {"why": in_other_words(str(error))}
    return _("Its ledger holds, from the first event to the head %(head)s.") % {"head": league.ledger_head}


def _link(league_id: str, event: Any) -> chain.Link:
    public = public_part(league_id, event.seq, event.kind, event.at, event.data)
    private = chain.hash_private(event.salt, event.kind, event.data) if event.salt else ""
    return chain.Link(public, private, event.digest)


def _chain_anew(document: LeagueDocument) -> None:
    head, league = "", document.league
    for event in document["events"]:
        event.salt = os.urandom(chain.SALT_BYTES).hex()
        seq, kind, at, data = event.seq, event.kind, event.at, event.data
        link = chain.link(head, event.salt, league_id=league.league_id, seq=seq, kind=kind, at=at, data=data)
        event.digest = head = link.digest
    league.ledger_head = head


# The pages of a league ------------------------------------------------------------------------------


def try_out(league: League) -> None:
    """Put every event of a league into words and render its pages: one that fails would break the list of leagues.

    Raises:
        NotALeague: names the event or the page that failed.
    """
    events = [Happened(*row) for row in league.events.order_by("seq").values_list("seq", "kind", "data", "at")]
    moment = Moment()
    for number, event in enumerate(events):
        try:
            moment = fold(moment, [event])
            _put_into_words(event)
        except Exception as error:
            raise NotALeague(f"events[{number}].data", _describe(error)) from error
    _require_same_results(league, moment)
    for key in (PageKey(), *(PageKey(kind, league.pk, staff=staff) for kind in TRIED_PAGES for staff in (False, True))):
        try:
            pages.fragments(key, site.LANGUAGE_CODE)
        except Exception as error:
            raise NotALeague(_("The page %(page)s") % {"page": key.kind}, _describe(error)) from error


def _require_same_results(league: League, moment: Moment) -> None:
    """Require that the results in the matches are those in the events, which alone are protected by the chain.

    Raises:
        NotALeague: names the first match with another result.
    """
    expected = {outcome.match_id: (str(outcome.status), outcome.winner) for outcome in moment.outcomes.values()}
    rows = league.matches.order_by("pk").values_list("match_id", "state", "status", "winner__code")
    for number, (match_id, state, status, winner) in enumerate(rows):
        result = (status, winner) if state == MatchState.FINISHED else None
        if result != expected.get(match_id):
            raise NotALeague(f"matches[{number}].status", _("the events of the league tell another result"))


def _put_into_words(event: Happened) -> None:
    """Put an event and the faults in its results into words."""
    words_events.happened(event.kind, event.data)
    results = [event.data] if event.kind == EventKind.MATCH_FINISHED else event.data.get("results", {}).values()
    for result in results:
        for fault in result["faults"] if result is not None else ():
            states.fault_sentence(fault)


def _describe(error: Exception) -> str:
    return _("it cannot be shown (%(error)s)") % {"error": f"{type(error).__name__}: {error}"[:120]}
