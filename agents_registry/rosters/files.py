"""Read a roster from a CSV file as spreadsheets save it; all wrong lines are reported at once. No database."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated, plain
from agents_registry.models import MAX_EMAIL_CHARS, MAX_PERSONAL_CODE_CHARS
from agents_registry.requests.reading import clean_name

MAX_CSV_BYTES = 1_000_000
MAX_CSV_CHARS = 500_000
MAX_CSV_LINES = 2_000
COLUMNS = {
    "name": ("name", "fullname", "studentname", "student", "שם", "שםמלא"),
    "email": ("email", "mail", "emailaddress", "דואל", "אימייל"),
    "code": ("code", "personalcode", "registrationcode", "קוד"),
}
"""Possible titles of the columns; case, spaces and punctuation do not matter."""

CODE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{3,{MAX_PERSONAL_CODE_CHARS - 1}}}", re.ASCII)
"""A personal code."""


class RosterRefused(Exception):
    """A file was refused; nothing was changed.

    Attributes:
        problems: a sentence for a page for each wrong line, or one for the whole file.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(plain("\n".join(problems)))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class Line:
    """One person in a file, and the number of its line."""

    number: int
    name: str
    email: str
    code: str


def decode(data: bytes) -> str:
    """Decode a CSV file as spreadsheets save it: UTF-8, UTF-16, or the Hebrew code page of Windows.

    Raises:
        RosterRefused: it is in none of these formats.
    """
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if is_utf16 else ("utf-8-sig", "cp1255"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise RosterRefused(_("The file is not a text file: save it as “CSV UTF-8”."))


def read(text: str) -> list[Line]:
    """The people in a CSV file.

    Raises:
        RosterRefused: with a sentence for every wrong line.
    """
    (number, header), *rows = _rows(text)
    return _lines(_columns(header, number), rows)


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """The number and the cells of each line that is not empty; there is at least one."""
    text = text.lstrip("\ufeff")
    if len(text) > MAX_CSV_CHARS:
        problem = _("The file has %(seen)d characters; at most %(max)d are taken.")
        raise RosterRefused(problem % {"seen": len(text), "max": MAX_CSV_CHARS})
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
                raise RosterRefused(_("The file has more than %(max)d people.") % {"max": MAX_CSV_LINES})
    except csv.Error as error:
        raise RosterRefused(
            _("Line %(line)d: this is not CSV (%(why)s).") % {"line": start, "why": isolated(error)}
        ) from None
    if not rows:
        raise RosterRefused(_("The file is empty. Expected a first line with the columns name, email, code."))
    return rows


def _columns(header: list[str], number: int) -> dict[str, int]:
    columns: dict[str, int] = {}
    for index, title in enumerate(header):
        plain = "".join(letter for letter in title.casefold() if letter.isalnum())
        for column, spellings in COLUMNS.items():
            if plain in spellings:
                columns.setdefault(column, index)
    missing = [column for column in ("name", "email") if column not in columns]
    if missing:
        problem = _(
            "Line %(line)d: these columns are missing: %(missing)s. Seen: %(seen)s. Expected: name, email, code."
        )
        seen = isolated(", ".join(header)[:200])
        raise RosterRefused(problem % {"line": number, "missing": ", ".join(missing), "seen": seen})
    return columns


def _lines(columns: dict[str, int], rows: list[tuple[int, list[str]]]) -> list[Line]:
    problems: list[str] = []
    lines: list[Line] = []
    emails: dict[str, int] = {}
    codes: dict[str, int] = {}
    for number, cells in rows:
        by_column = {column: cells[index] if index < len(cells) else "" for column, index in columns.items()}
        email = _unquoted(by_column["email"]).lower()
        line = Line(number, clean_name(_unquoted(by_column["name"])), email, by_column.get("code", ""))
        problem = _problem(line, by_column) or _repeated(line, emails, codes)
        if problem:
            problems.append(_("Line %(line)d: %(what)s") % {"line": number, "what": problem})
        lines.append(line)
    if problems:
        raise RosterRefused(*problems)
    return lines


def _unquoted(text: str) -> str:
    """A cell without the apostrophe that our own export of a roster puts before text that looks like a formula."""
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def _problem(line: Line, by_column: dict[str, str]) -> str:
    """What is wrong with a line by itself; ``by_column`` has its cells as they are in the file."""
    if not line.name:
        return _("the name was “%(seen)s”; expected a name.") % {"seen": isolated(by_column["name"][:60])}
    try:
        validate_email(line.email)
    except ValidationError:
        return _("the e-mail was “%(seen)s”; expected an address such as dana@example.org.") % {
            "seen": isolated(by_column["email"][:60])
        }
    if len(line.email) > MAX_EMAIL_CHARS or not line.email.isprintable():
        return _("the e-mail has more than 254 characters, or one that cannot be printed.")
    if line.code and not CODE.fullmatch(line.code):
        return _("the code was “%(seen)s”; expected 4 to %(max)d letters, digits, “.”, “-” or “_”.") % {
            "seen": isolated(line.code[:60]),
            "max": MAX_PERSONAL_CODE_CHARS,
        }
    return ""


def _repeated(line: Line, emails: dict[str, int], codes: dict[str, int]) -> str:
    """What a line repeats of an earlier one; ``emails`` and ``codes`` have the first line of each, and grow."""
    earlier = emails.setdefault(line.email, line.number)
    if earlier != line.number:
        return _("the e-mail %(seen)s stands on line %(earlier)d already; expected each once.") % {
            "seen": isolated(line.email),
            "earlier": earlier,
        }
    earlier = codes.setdefault(line.code.lower(), line.number) if line.code else line.number
    if earlier != line.number:
        return _("the code stands on line %(earlier)d already; expected one for each person.") % {"earlier": earlier}
    return ""
