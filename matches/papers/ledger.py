"""Whether the chain of a league's document holds, and a chain for one that was written before there were any."""

from __future__ import annotations

import os

from django.utils.translation import gettext as _

from league_sdk.ledger import chain
from league_sdk.ledger.parts import public_part
from matches.papers.reading import Read


def sentence(found: Read) -> str:
    """What is to be said of the document's chain: it holds, it has none, or which event does not hold first."""
    if not is_chained(found):
        return _("The file is older than the ledger: its events were chained here and prove nothing from before.")
    try:
        chain.walk(_links(found), league_id=found.league.league_id, head=found.league.ledger_head)
    except chain.Broken as error:
        if not found.people:
            return _("Its ledger cannot be checked: an export without people leaves events out.")
        return _("Its ledger DOES NOT HOLD. %(why)s") % {"why": error}
    return _("Its ledger holds, from the first event to the head %(head)s.") % {"head": found.league.ledger_head}


def is_chained(found: Read) -> bool:
    """Whether the document has digests at all."""
    return bool(found.league.ledger_head) or any(event.digest or event.salt for event in found["events"])


def chain_anew(found: Read) -> None:
    """Give the events of a document without digests salts and digests, as the migration does."""
    head, league = "", found.league
    for event in found["events"]:
        event.salt = os.urandom(chain.SALT_BYTES).hex()
        seq, kind, at, data = event.seq, event.kind, event.at, event.data
        link = chain.link(head, event.salt, league_id=league.league_id, seq=seq, kind=kind, at=at, data=data)
        event.digest = head = link.digest
    league.ledger_head = head


def _links(found: Read) -> list[chain.Link]:
    links = []
    for event in found["events"]:
        public = public_part(found.league.league_id, event.seq, event.kind, event.at, event.data)
        private = chain.hash_private(event.salt, event.kind, event.data) if event.salt else ""
        links.append(chain.Link(public, private, event.digest))
    return links
