"""Tries out a league that is imported: whether its chain of events holds, and whether it can be shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from django.conf import settings as site
from django.utils.translation import gettext as _

from agents_registry.words import in_other_words
from league_sdk.ledger import chain
from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.verify import NotALedger, verify
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
    """Verify a document as ``league verify`` does; returns sentences for the person who imports it.

    Changes: a document without digests (from a version that had no ledger) gets salts and digests, as the migration
    to the ledger made them.
    """
    league, events = document.league, document["events"]
    if not league.ledger_head and not any(event.digest or event.salt for event in events):
        _chain_anew(document)
        return _("The file is older than the ledger: its events were chained here and prove nothing from before.")
    try:
        found = verify(document.raw)
    except NotALedger as error:
        return _("Its ledger cannot be checked. %(why)s") % {"why": in_other_words(str(error))}
    except chain.Broken as error:
        return _("Its ledger DOES NOT HOLD. %(why)s") % {"why": in_other_words(str(error))}
    sentence = _("Its ledger holds, from the first event to the head %(head)s.") % {"head": league.ledger_head}
    if not found.doubts:
        return sentence
    doubts = _("Not proven by it: %(what)s.") % {"what": in_other_words("; ".join(found.doubts))}
    return f"{sentence} {doubts}"


def _chain_anew(document: LeagueDocument) -> None:
    head, league = "", document.league
    for event in document["events"]:
        event.salt = os.urandom(chain.SALT_BYTES).hex()
        seq, kind, at, data = event.seq, event.kind, event.at, event.data
        link = chain.link(head, event.salt, league_id=league.league_id, seq=seq, kind=kind, at=at, data=data)
        event.digest = head = link.digest
    league.ledger_head = head


# Whether it can be shown ----------------------------------------------------------------------------


def try_events(document: LeagueDocument) -> None:
    """Put every event of a document into words, and compare its matches with them. Nothing is read or written.

    Raises:
        NotALeague: names the event or the match that failed.
    """
    number = 0

    def worded() -> Iterator[Happened]:
        nonlocal number
        for one in document["events"]:
            event = Happened(one.seq, one.kind, one.data, one.at)
            _put_into_words(event)
            yield event
            number += 1

    try:
        moment = fold(Moment(), worded())
    except Exception as error:
        raise NotALeague(f"events[{number}].data", _describe(error)) from error
    _require_same_results(document, moment)


def try_pages(league: League) -> None:
    """Render the pages of a hidden league, as they will be: one that fails would break the list of leagues.

    Raises:
        NotALeague: names the page that failed.
    """
    for key in (PageKey(), *(PageKey(kind, league.pk, staff=staff) for kind in TRIED_PAGES for staff in (False, True))):
        try:
            pages.fragments(key, site.LANGUAGE_CODE, hidden=league)
        except Exception as error:
            raise NotALeague(_("The page %(page)s") % {"page": key.kind}, _describe(error)) from error


def _require_same_results(document: LeagueDocument, moment: Moment) -> None:
    """Require that the results in the matches are those in the events, which alone are protected by the chain.

    Raises:
        NotALeague: names the first match with another result.
    """
    expected = {outcome.match_id: (str(outcome.status), outcome.winner) for outcome in moment.outcomes.values()}
    for number, match in enumerate(document["matches"]):
        result = (match.status, match.winner) if match.state == MatchState.FINISHED else None
        if result != expected.get(match.match_id):
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
