"""Rosters: who may bring agents to a league (our choice; the documents have none).

A person is a name, an e-mail address and a personal code. The code is the person's to keep: an agent that
brings it belongs to that person. One person may bring several agents (004 6.4.2 asks for four copies of one).
Everything here is for the instructor: names and addresses of people go to no page, query or message.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from agents_registry.models import MAX_PERSONAL_CODE_CHARS, Agent, Kind, RosterEntry
from agents_registry.requests import clean_name

MAX_CSV_BYTES = 1_000_000
MAX_CSV_CHARS = 500_000
MAX_CSV_LINES = 2_000
COLUMNS = {
    "name": ("name", "fullname", "studentname", "student", "שם", "שםמלא"),
    "email": ("email", "mail", "emailaddress", "דואל", "אימייל"),
    "code": ("code", "personalcode", "registrationcode", "קוד"),
}
"""What the columns of a file may be called; capitals, spaces and marks do not matter."""

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Nothing that looks like something else: no i, l, o, 0, 1."""
_CODE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{3,{MAX_PERSONAL_CODE_CHARS - 1}}}", re.ASCII)
_CODE_CHARS = 10


class RosterRefused(Exception):
    """A file that is not taken; nothing was changed.

    Attributes:
        problems: one sentence for every wrong line: its number, what was seen, what was expected.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Counts:
    """What an import did: people added, changed, found as they were."""

    added: int
    updated: int
    unchanged: int


@dataclass(slots=True)
class _Line:
    number: int
    name: str
    email: str
    code: str


def new_code() -> str:
    """A personal code: short enough to type, 49 bits of the system's randomness."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))


def exists(league_id: str) -> bool:
    """Whether a league has a roster: without one, anyone may enter."""
    return RosterEntry.objects.filter(league_id=league_id).exists()


def find_owner(league_id: str | None, codes: Iterable[str]) -> RosterEntry | None:
    """The person on a league's roster whose personal code is among these; capitals do not matter."""
    wanted = [code for code in codes if _CODE.fullmatch(code)]
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
    return _CODE.fullmatch(text) is not None and by_code.filter(low=text.lower()).exists()


def people(league_id: str) -> QuerySet[RosterEntry]:
    """READ: everyone on a roster with their agents, for the instructor."""
    entries = RosterEntry.objects.filter(league_id=league_id)
    return entries.annotate(count=Count("agents")).prefetch_related("agents").order_by("name", "pk")


def without_owner(league_id: str) -> QuerySet[Agent]:
    """READ: the players of a league that belong to nobody on its roster."""
    return Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, owner__isnull=True).order_by("pk")


# Import and export ----------------------------------------------------------------------------


def decode(data: bytes) -> str:
    """The text of a CSV file: UTF-8, or as spreadsheets save it: UTF-16, or the Hebrew code page of Windows.

    Raises:
        RosterRefused: it is none of these.
    """
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1255"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise RosterRefused([_("The file is not a text file: save it as “CSV UTF-8”.")])


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
    lines = _read(text)
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


def _read(text: str) -> list[_Line]:
    text = text.lstrip("\ufeff")
    if len(text) > MAX_CSV_CHARS:
        raise RosterRefused(
            [
                _("The file has %(seen)d characters; at most %(most)d are taken.")
                % {"seen": len(text), "most": MAX_CSV_CHARS}
            ]
        )
    head = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    rows: list[tuple[int, list[str]]] = []
    start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((start, [cell.strip() for cell in cells]))
            start = reader.line_num + 1
            if len(rows) > MAX_CSV_LINES + 1:
                raise RosterRefused([_("The file has more than %(most)d people.") % {"most": MAX_CSV_LINES}])
    except csv.Error as error:
        raise RosterRefused([_("Line %(line)d: this is not CSV (%(why)s).") % {"line": start, "why": error}]) from None
    if not rows:
        raise RosterRefused([_("The file is empty. Expected a first line with the columns name, email, code.")])
    (number, header), *rest = rows
    return _lines(_columns(header, number), rest)


def _columns(header: list[str], number: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, title in enumerate(header):
        plain = "".join(letter for letter in title.casefold() if letter.isalnum())
        for column, spellings in COLUMNS.items():
            if plain in spellings:
                found.setdefault(column, index)
    missing = [column for column in ("name", "email") if column not in found]
    if missing:
        raise RosterRefused(
            [
                _("Line %(line)d: these columns are missing: %(missing)s. Seen: %(seen)s. Expected: name, email, code.")
                % {"line": number, "missing": ", ".join(missing), "seen": ", ".join(header)[:200]}
            ]
        )
    return found


def _lines(columns: dict[str, int], rows: list[tuple[int, list[str]]]) -> list[_Line]:
    problems: list[str] = []
    lines: list[_Line] = []
    emails: dict[str, int] = {}
    codes: dict[str, int] = {}
    for number, cells in rows:
        cell = {column: cells[index] if index < len(cells) else "" for column, index in columns.items()}
        line = _Line(
            number, clean_name(_unquoted(cell["name"])), _unquoted(cell["email"]).lower(), cell.get("code", "")
        )
        wrong = _problem(line, cell) or _repeated(line, emails, codes)
        if wrong:
            problems.append(_("Line %(line)d: %(what)s") % {"line": number, "what": wrong})
        lines.append(line)
    if problems:
        raise RosterRefused(problems)
    return lines


def _unquoted(text: str) -> str:
    """A cell as the export wrote it, without the mark that keeps a spreadsheet from calculating."""
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def _problem(line: _Line, cell: dict[str, str]) -> str:
    if not line.name:
        return _("the name was “%(seen)s”; expected a name.") % {"seen": cell["name"][:60]}
    try:
        validate_email(line.email)
    except ValidationError:
        return _("the e-mail was “%(seen)s”; expected an address such as dana@example.org.") % {
            "seen": cell["email"][:60]
        }
    if len(line.email) > RosterEntry._meta.get_field("email").max_length or not line.email.isprintable():
        return _("the e-mail is too long; at most 254 characters are kept.")
    if line.code and not _CODE.fullmatch(line.code):
        return _("the code was “%(seen)s”; expected 4 to %(most)d letters, digits, “.”, “-” or “_”.") % {
            "seen": line.code[:60],
            "most": MAX_PERSONAL_CODE_CHARS,
        }
    return ""


def _repeated(line: _Line, emails: dict[str, int], codes: dict[str, int]) -> str:
    earlier = emails.setdefault(line.email, line.number)
    if earlier != line.number:
        return _("the e-mail %(seen)s stands on line %(earlier)d already; expected each once.") % {
            "seen": line.email,
            "earlier": earlier,
        }
    earlier = codes.setdefault(line.code.lower(), line.number) if line.code else line.number
    if earlier != line.number:
        return _("the code stands on line %(earlier)d already; expected one for each person.") % {"earlier": earlier}
    return ""


def _refuse_taken_codes(lines: list[_Line], taken: dict[str, str]) -> None:
    """A code of the file must not be one that another person of the roster holds now."""
    problems = [
        _("Line %(line)d: the code belongs to %(other)s already; expected another, or none.")
        % {"line": line.number, "other": taken[line.code.lower()]}
        for line in lines
        if line.code and taken.get(line.code.lower(), line.email) != line.email
    ]
    if problems:
        raise RosterRefused(problems)


def _write(league_id: str, lines: list[_Line]) -> Counts:
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
