"""Rosters: who may bring agents to a league (our choice; the documents have none).

A person is a name, an e-mail address and a personal code. The code is the person's to keep: an agent that
brings it belongs to that person. One person may bring several agents (004 6.4.2 asks for four copies of one).
Everything here is for the instructor: names and addresses of people go to no page, query or message.
"""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.roster_files import CODE, Line, RosterRefused, read

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Nothing that looks like something else: no i, l, o, 0, 1."""
_CODE_CHARS = 10


@dataclass(frozen=True, slots=True)
class Counts:
    """What an import did: people added, changed, found as they were."""

    added: int
    updated: int
    unchanged: int


def new_code() -> str:
    """A personal code: short enough to type, 49 bits of the system's randomness."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))


def exists(league_id: str) -> bool:
    """Whether a league has a roster: without one, anyone may enter."""
    return RosterEntry.objects.filter(league_id=league_id).exists()


def find_owner(league_id: str | None, codes: Iterable[str]) -> RosterEntry | None:
    """The person on a league's roster whose personal code is among these; capitals do not matter."""
    wanted = [code for code in codes if CODE.fullmatch(code)]
    if league_id is None or not wanted:
        return None
    for code in wanted:
        entry = RosterEntry.objects.alias(low=Lower("code")).filter(league_id=league_id, low=code.lower()).first()
        if entry is not None:
            return entry
    return None


def is_a_code(text: str) -> bool:
    """READ: whether a text is the personal code of anybody, in any league; capitals do not matter.

    Args:
        text: as it came.
    """
    by_code = RosterEntry.objects.alias(low=Lower("code"))
    return CODE.fullmatch(text) is not None and by_code.filter(low=text.lower()).exists()


def people(league_id: str) -> QuerySet[RosterEntry]:
    """READ: everyone on a roster with their agents, for the instructor."""
    entries = RosterEntry.objects.filter(league_id=league_id)
    return entries.annotate(count=Count("agents")).prefetch_related("agents").order_by("name", "pk")


def without_owner(league_id: str) -> QuerySet[Agent]:
    """READ: the players of a league that belong to nobody on its roster."""
    return Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, owner__isnull=True).order_by("pk")


# Import and export ----------------------------------------------------------------------------


def import_csv(*, league_id: str, text: str) -> Counts:
    """Bring a league's roster up to date from a CSV file; people who are not in the file stay.

    The first line names the columns: ``name``, ``email`` and, if there are codes, ``code``, in any order;
    separated by commas, semicolons or tabs. A person is known again by the e-mail address. An empty code keeps
    the one there is, or makes one.

    Changes: roster entries, all or none.

    Args:
        league_id: a league that is there.
        text: the file, decoded; a byte order mark does no harm.

    Raises:
        RosterRefused: the file is not usable; every wrong line is named.
    """
    lines = read(text)
    try:
        with transaction.atomic():
            return _write(league_id, lines)
    except IntegrityError:
        raise RosterRefused([_("The roster was changed at the same moment: import the file again.")]) from None


def export_csv(league_id: str) -> str:
    """A league's roster with the codes, for handing out; spreadsheets open it, and ``import_csv`` takes it back."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["name", "email", "code"])
    for entry in RosterEntry.objects.filter(league_id=league_id).order_by("name", "pk"):
        writer.writerow([_harmless(entry.name), _harmless(entry.email), entry.code])
    return "\ufeff" + out.getvalue()


def remove(*, league_id: str, entry_ids: Iterable[int]) -> int:
    """Take people off a roster; their agents stay in the league, without an owner. How many were there."""
    chosen = RosterEntry.objects.filter(league_id=league_id, pk__in=list(entry_ids))
    count = chosen.count()
    chosen.delete()
    return count


def _harmless(text: str) -> str:
    """A cell that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _free_code(taken: dict[str, str]) -> str:
    while (code := new_code()) in taken:
        continue
    return code


def _refuse_taken_codes(lines: list[Line], taken: dict[str, str]) -> None:
    """A code of the file must not be one that another person of the roster holds now."""
    problems = [
        _("Line %(line)d: the code belongs to %(other)s already; expected another, or none.")
        % {"line": line.number, "other": taken[line.code.lower()]}
        for line in lines
        if line.code and taken.get(line.code.lower(), line.email) != line.email
    ]
    if problems:
        raise RosterRefused(problems)


def _write(league_id: str, lines: list[Line]) -> Counts:
    known = {entry.email: entry for entry in RosterEntry.objects.filter(league_id=league_id)}
    taken = {entry.code.lower(): email for email, entry in known.items()}
    _refuse_taken_codes(lines, taken)
    taken |= {line.code.lower(): line.email for line in lines if line.code}
    added = updated = 0
    moved = []
    for line in lines:
        entry = known.get(line.email)
        if entry is None:
            code = line.code or _free_code(taken)
            taken[code.lower()] = line.email
            RosterEntry.objects.create(league_id=league_id, name=line.name, email=line.email, code=code)
            added += 1
        elif (entry.name, entry.code) != (line.name, line.code or entry.code):
            entry.name = line.name
            entry.code = line.code or entry.code
            moved.append(entry)
            updated += 1
    for entry in moved:
        entry.save(update_fields=["name", "code"])
    return Counts(added=added, updated=updated, unchanged=len(lines) - added - updated)
