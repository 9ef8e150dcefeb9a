"""Rosters: who may register agents in a league (our choice; the documents have no rosters).

A person has a name, an e-mail address and a secret personal code. An agent that registers with the code belongs to
that person; one person may have several agents (004 6.4.2 asks for four copies of one).
Everything here is for the staff: no public page, query or message shows names and addresses of people.
"""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.rosters.files import CODE, Line, RosterRefused, read
from league_sdk.protocol.states import LeagueState
from league_sdk.protocol.tokens import is_guessable

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""No letters or digits that look like another: no i, l, o, 0, 1."""
_CODE_CHARS = 10


@dataclass(frozen=True)
class Counts:
    """How many people an import added, changed, and found unchanged."""

    added: int
    updated: int
    unchanged: int


def new_code(choose: Callable[[str], str] = secrets.choice) -> str:
    """A personal code: short enough to type, with 49 bits of randomness.

    Args:
        choose: draws one letter of a text.
    """
    while is_guessable(code := "".join(choose(_LETTERS) for _ in range(_CODE_CHARS))):
        # One in 760,000 has only digits, and would count as a short code that somebody chose.
        continue
    return code


def exists(league_id: str) -> bool:
    """Whether a league has a roster: without one, nobody needs a personal code."""
    return RosterEntry.objects.filter(league_id=league_id).exists()


def find_owner(league_id: str | None, codes: Iterable[str]) -> RosterEntry | None:
    """The person on a league's roster whose personal code is among these; capitals do not matter."""
    if league_id is None:
        return None
    owners = (_with_code(code).filter(league_id=league_id).first() for code in codes if CODE.fullmatch(code))
    return next((owner for owner in owners if owner is not None), None)


def agents_of(owner: RosterEntry) -> list[Agent]:
    """The agents of a person, who gets no other one until the transaction ends: they can be counted."""
    RosterEntry.objects.select_for_update(no_key=True).filter(pk=owner.pk).first()
    return list(owner.agents.filter(kind=Kind.PLAYER).order_by("pk"))


def is_a_code(text: str) -> bool:
    """READ: whether a text is the personal code of anybody, in any league that is not over; capitals do not matter."""
    over = (LeagueState.COMPLETED, LeagueState.STOPPED)
    return CODE.fullmatch(text) is not None and _with_code(text).exclude(league__state__in=over).exists()


def _with_code(code: str) -> QuerySet[RosterEntry]:
    return RosterEntry.objects.alias(low=Lower("code")).filter(low=code.lower())


def people(league_id: str) -> QuerySet[RosterEntry]:
    """READ: everyone on a roster with their agents, for the instructor."""
    entries = RosterEntry.objects.filter(league_id=league_id)
    return entries.prefetch_related("agents").order_by("name", "pk")


def without_owner(league_id: str) -> QuerySet[Agent]:
    """READ: the players of a league that belong to nobody on its roster."""
    return Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, owner__isnull=True).order_by("pk")


# Import and export ----------------------------------------------------------------------------


def import_csv(*, league_id: str, text: str) -> Counts:
    """Update a league's roster from a CSV file; people who are not in the file stay on it.

    The first line names the columns: ``name``, ``email`` and perhaps ``code``, in any order, separated by commas,
    semicolons or tabs. A person is identified by the e-mail address. Without a code a person keeps the old one, or
    gets a new one.

    Changes: roster entries, all or none.

    Args:
        text: the file, decoded; a byte order mark does no harm.

    Raises:
        RosterRefused: the file is not usable; every wrong line is named.
    """
    lines = read(text)
    try:
        with transaction.atomic():
            return _write(league_id, lines)
    except IntegrityError:
        raise RosterRefused(_("The roster was changed at the same moment: import the file again.")) from None


def export_csv(league_id: str) -> str:
    """A league's roster with the codes as CSV that spreadsheets open and ``import_csv`` reads."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["name", "email", "code"])
    for entry in RosterEntry.objects.filter(league_id=league_id).order_by("name", "pk"):
        writer.writerow([_without_formula(entry.name), _without_formula(entry.email), entry.code])
    return "\ufeff" + out.getvalue()


def remove(*, league_id: str, entry_ids: Iterable[int]) -> int:
    """Take people off a roster; their agents stay in the league without an owner. How many were removed."""
    entries = RosterEntry.objects.filter(league_id=league_id, pk__in=list(entry_ids))
    count = entries.count()
    entries.delete()
    return count


def _without_formula(text: str) -> str:
    """A cell marked so that a spreadsheet does not take it for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _refuse_taken_codes(lines: list[Line], owners: dict[str, str]) -> None:
    """Refuse codes in the file that another person on the roster has now."""
    problems = [
        _("Line %(line)d: the code belongs to %(other)s already; expected another, or none.")
        % {"line": line.number, "other": owners[line.code.lower()]}
        for line in lines
        if line.code and owners.get(line.code.lower(), line.email) != line.email
    ]
    if problems:
        raise RosterRefused(*problems)


def _write(league_id: str, lines: list[Line]) -> Counts:
    known = {entry.email: entry for entry in RosterEntry.objects.filter(league_id=league_id)}
    owners = {entry.code.lower(): email for email, entry in known.items()}
    _refuse_taken_codes(lines, owners)
    added = updated = 0
    for line in lines:
        entry = known.get(line.email)
        if entry is None:
            code = line.code or new_code()
            RosterEntry.objects.create(league_id=league_id, name=line.name, email=line.email, code=code)
            added += 1
        elif (entry.name, entry.code) != (line.name, line.code or entry.code):
            entry.name, entry.code = line.name, line.code or entry.code
            entry.save(update_fields=["name", "code"])
            updated += 1
    return Counts(added=added, updated=updated, unchanged=len(lines) - added - updated)
