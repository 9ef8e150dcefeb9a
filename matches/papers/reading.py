"""Reading the document of a league from a stranger's file: bounded, every field checked, every mistake named."""

from __future__ import annotations

import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.league.errors import Invalid
from matches.league.reports import is_moment, read_entries
from matches.papers.shape import FORMAT, PARTS, Document, LeaguePart, OutcomePart

DOCUMENT = "league.json"
"""What the document is called in an archive."""
MAX_FILE_BYTES = 64 * 1024 * 1024
"""Of a file as it comes, packed or not."""
MAX_DOCUMENT_BYTES = 128 * 1024 * 1024
"""Of the document in an archive."""
MAX_INDEX_BYTES = 8 * 1024 * 1024
"""Of an archive's list of files."""
MAX_DEPTH = 40
MAX_INTEGER = 2**63 - 1

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_ZIP = b"PK\x03\x04"
_END_OF_ZIP = b"PK\x05\x06"
_ZIP64_LOCATOR, _ZIP64_BYTES = b"PK\x06\x07", 56 + 20
"""Before the end may stand a larger record of the same, and where it is: who finds that believes it instead."""
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, RuntimeError, NotImplementedError, ValueError),
)


class NotALeague(Invalid):
    """The file is not taken; the sentence says where in it something is wrong."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(_("%(place)s: %(why)s") % {"place": place, "why": why}, field="file")


class Read(dict[str, list[Any]]):
    """The lists of a document by name, each item as the model of its shape.

    Attributes:
        league: the league itself.
        people: whether what is for the instructor alone is in it.
    """

    def __init__(self, league: LeaguePart, people: bool, lists: Mapping[str, list[Any]]) -> None:
        super().__init__(lists)
        self.league = league
        self.people = people


def read(file: BinaryIO) -> Read:
    """The document in a file: JSON, or an archive with ``league.json`` in it.

    Args:
        file: can be read again from its beginning.

    Raises:
        NotALeague: it is too large, cannot be read, or says something that no league of ours says.
    """
    data = _decoded(_document(file))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        seen = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise NotALeague("format", _("expected %(format)s, seen: %(seen)s") % {"format": FORMAT, "seen": _cut(seen)})
    wrong = _unstorable(data, MAX_DEPTH)
    if wrong is not None:
        raise NotALeague(_place(wrong[0]), wrong[1])
    _checked(Document, data, ())
    league = _checked(LeaguePart, data["league"], ("league",))
    lists = {
        name: [_checked(shape, item, (name, number)) for number, item in enumerate(data[name])]
        for name, shape in PARTS.items()
    }
    found = Read(league, data["people"], lists)
    _check_once(found)
    _check_names(found)
    _check_matches(found)
    _check_events(found)
    return found


# The file ---------------------------------------------------------------------------------------


def _document(file: BinaryIO) -> bytes:
    size = file.seek(0, 2)
    file.seek(0)
    if size > MAX_FILE_BYTES:
        raise NotALeague(_("The file"), _too_large(size, MAX_FILE_BYTES))
    begins = file.read(len(_ZIP))
    file.seek(0)
    if begins != _ZIP:
        return file.read(MAX_FILE_BYTES + 1)
    _refuse_large_index(file, size)
    try:
        with zipfile.ZipFile(file) as archive, archive.open(DOCUMENT) as packed:
            # What the archive says of the size is not believed.
            data = packed.read(MAX_DOCUMENT_BYTES + 1)
    except KeyError:
        raise NotALeague(_("The file"), _("the archive has no %(name)s in it") % {"name": DOCUMENT}) from None
    except _UNREADABLE as error:
        raise NotALeague(_("The file"), _("the archive cannot be read: %(why)s") % {"why": _cut(error)}) from None
    if len(data) > MAX_DOCUMENT_BYTES:
        raise NotALeague(DOCUMENT, _too_large(None, MAX_DOCUMENT_BYTES))
    return data


def _refuse_large_index(file: BinaryIO, size: int) -> None:
    """The list of an archive's files is read as a whole: not when it is one of millions."""
    file.seek(max(0, size - 65_557 - _ZIP64_BYTES))
    tail = file.read()
    file.seek(0)
    end = tail.rfind(_END_OF_ZIP)
    if end < 0 or len(tail) < end + 22:
        raise NotALeague(_("The file"), _("the archive cannot be read: %(why)s") % {"why": "no end"})
    (index,) = struct.unpack("<L", tail[end + 12 : end + 16])
    before = tail[max(0, end - _ZIP64_BYTES) : end]
    if len(before) == _ZIP64_BYTES and before[56:60] == _ZIP64_LOCATOR:
        index = max(index, *struct.unpack("<Q", before[40:48]))
    if index > MAX_INDEX_BYTES:
        raise NotALeague(_("The file"), _too_large(index, MAX_INDEX_BYTES))


def _too_large(seen: int | None, most: int) -> str:
    if seen is None:
        return _("it is too large: more than %(most)d MB") % {"most": most // 2**20}
    return _("it is too large: %(seen)d MB, at most %(most)d MB are taken") % {
        "seen": -(-seen // 2**20),
        "most": most // 2**20,
    }


def _decoded(document: bytes) -> Any:
    try:
        return json.loads(document.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise NotALeague(_("The file"), _("it is nested too deeply")) from None
    except ValueError as error:
        raise NotALeague(_("The file"), _("it is not JSON in UTF-8: %(why)s") % {"why": _cut(error)}) from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _unstorable(value: Any, left: int) -> tuple[list[Any], str] | None:
    """Where something stands that no database takes, and what it is; None when all is well."""
    if isinstance(value, str):
        return None if _storable(value) else ([], _("a character that cannot be stored"))
    if isinstance(value, (int, float)):
        # Infinity is larger than anything, and so found here.
        return None if -MAX_INTEGER <= value <= MAX_INTEGER else ([], _("the number is too large"))
    if not isinstance(value, (dict, list)):
        return None
    if left == 0:
        return [], _("it is nested too deeply")
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in items:
        if isinstance(name, str) and not _storable(name):
            return [], _("a character that cannot be stored")
        wrong = _unstorable(item, left - 1)
        if wrong is not None:
            return [name, *wrong[0]], wrong[1]
    return None


def _storable(text: str) -> bool:
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text))


# The fields -------------------------------------------------------------------------------------


def _checked(shape: type[BaseModel], item: Any, place: tuple[Any, ...]) -> Any:
    try:
        return shape.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = _place([*place, *first["loc"]])
        raise NotALeague(where, f"{first['msg']} ({_('seen')}: {_cut(first['input'])})") from None


def _place(parts: Sequence[Any]) -> str:
    """Where something stands in the document, such as ``events[12].data.round_id``."""
    found = ""
    for part in parts:
        found += f"[{part}]" if isinstance(part, int) else f".{_cut(part)}" if found else _cut(part)
    return found or _("The file")


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:80] + "…"


# What must fit together -------------------------------------------------------------------------


def _check_once(found: Read) -> None:
    """Everything that has a name has one of its own."""
    keys = {
        "agents": lambda one: (one.kind, one.code),
        "rounds": lambda one: one.number,
        "events": lambda one: one.seq,
        "corrections": lambda one: one.number,
        "checks": lambda one: one.check_id,
        "matches": lambda one: one.match_id,
    }
    for name, key in keys.items():
        _once(name, [key(one) for one in found[name]])
    _once("roster", [one.email.lower() for one in found["roster"]])
    _once("roster", [one.code.lower() for one in found["roster"]])
    for number, match in enumerate(found["matches"]):
        _once(f"matches[{number}].messages", [(one.attempt, one.n) for one in match.messages])


def _once(name: str, keys: Sequence[Any]) -> None:
    seen = set()
    for number, key in enumerate(keys):
        if key in seen:
            raise NotALeague(f"{name}[{number}]", _("%(id)s stands there twice") % {"id": _cut(key)})
        seen.add(key)


def _check_names(found: Read) -> None:
    """Who and what is named is there."""
    players = {one.code for one in found["agents"] if one.kind == "player"}
    referees = {one.code for one in found["agents"] if one.kind == "referee"}
    rounds = {one.number for one in found["rounds"]}
    people = {one.email for one in found["roster"]}
    for name, number, field, known in (
        *(("agents", n, "owner", people) for n in range(len(found["agents"]))),
        *(("rounds", n, "bye", players) for n in range(len(found["rounds"]))),
        *(("corrections", n, "player", players) for n in range(len(found["corrections"]))),
        *(("notices", n, "player", players) for n in range(len(found["notices"]))),
        *(
            ("matches", n, field, known)
            for n in range(len(found["matches"]))
            for field, known in (
                ("round", rounds),
                ("player_a", players),
                ("player_b", players),
                ("referee", referees),
                ("winner", players),
            )
        ),
    ):
        value = getattr(found[name][number], field)
        if value is not None and value not in known:
            raise NotALeague(f"{name}[{number}].{field}", _("%(id)s is not in the document") % {"id": _cut(value)})
    for number, check in enumerate(found["checks"]):
        if check.agent not in (players if check.kind == "player" else referees):
            raise NotALeague(f"checks[{number}].agent", _("%(id)s is not in the document") % {"id": check.agent})


def _check_matches(found: Read) -> None:
    """What a match says of itself is possible."""
    stopped = found.league.state == LeagueState.STOPPED
    for number, match in enumerate(found["matches"]):
        place = f"matches[{number}]"
        over = match.state == MatchState.FINISHED
        if over != bool(match.status) or over != (match.finished_at is not None):
            raise NotALeague(f"{place}.state", _("a match is finished if, and only if, it has a status and a time"))
        if match.player_a == match.player_b:
            raise NotALeague(f"{place}.player_b", _("nobody plays against himself"))
        if match.winner not in (None, match.player_a, match.player_b):
            raise NotALeague(f"{place}.winner", _("the winner did not play in it"))
        if stopped and not over and match.state != MatchState.PENDING:
            raise NotALeague(f"{place}.state", _("no match is on in a league that was stopped"))
        for n, message in enumerate(match.messages):
            if read_entries([message.entry]) != [message.entry]:
                raise NotALeague(f"{place}.messages[{n}].entry", _("it is no entry of a transcript"))
        for n, step in enumerate(match.lifecycle):
            if step.get("state") not in list(MatchState) or not is_moment(step.get("at")):
                raise NotALeague(f"{place}.lifecycle[{n}]", _("it is no step of a match"))
    active = [one.number for one in found["rounds"] if one.state in (RoundState.ANNOUNCING, RoundState.RUNNING)]
    if len(active) > bool(not stopped):
        raise NotALeague("rounds", _("only one round is on at a time, and none in a league that was stopped"))


def _check_events(found: Read) -> None:
    """Events are in order, none is later than the league says, and results in them are results."""
    last = 0
    league = found.league
    for number, event in enumerate(found["events"]):
        place = f"events[{number}]"
        if event.seq <= last or event.seq > league.event_seq:
            raise NotALeague(f"{place}.seq", _("it is out of order, or later than the last one (league.event_seq)"))
        last = event.seq
        named = event.data.get("match_id")
        if named and (not isinstance(named, str) or not _ID.fullmatch(named)):
            raise NotALeague(f"{place}.data.match_id", _("it is not the id of a match"))
        if event.kind == "match_finished":
            _check_outcome(event.data, (f"{place}.data",))
        results = event.data.get("results")
        if results is not None and not isinstance(results, dict):
            raise NotALeague(f"{place}.data.results", _("expected an object"))
        for match_id, outcome in (results or {}).items():
            if outcome is not None:
                _check_outcome(outcome, (f"{place}.data.results", match_id))
    if league.frozen_seq is not None and league.frozen_seq > league.event_seq:
        raise NotALeague("league.frozen_seq", _("it is later than the last event (league.event_seq)"))


def _check_outcome(data: Any, place: tuple[Any, ...]) -> None:
    outcome = _checked(OutcomePart, data, place)
    if outcome.winner_id not in (None, *outcome.players):
        raise NotALeague(_place([*place, "winner_id"]), _("the winner did not play in it"))
