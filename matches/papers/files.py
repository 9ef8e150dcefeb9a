"""A stranger's file as the JSON in it: unpacked, bounded, and nothing in it that no database takes."""

from __future__ import annotations

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from matches.league.errors import Invalid

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


def document(file: BinaryIO) -> bytes:
    """The bytes of the document, out of its archive if it is in one.

    Raises:
        NotALeague: it is too large, or the archive cannot be read.
    """
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
        raise NotALeague(_("The file"), _("the archive cannot be read: %(why)s") % {"why": cut(error)}) from None
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


def decoded(data: bytes) -> Any:
    """JSON in UTF-8.

    Raises:
        NotALeague: it is none.
    """
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise NotALeague(_("The file"), _("it is nested too deeply")) from None
    except ValueError as error:
        raise NotALeague(_("The file"), _("it is not JSON in UTF-8: %(why)s") % {"why": cut(error)}) from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def unstorable(value: Any, left: int) -> tuple[list[Any], str] | None:
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
        wrong = unstorable(item, left - 1)
        if wrong is not None:
            return [name, *wrong[0]], wrong[1]
    return None


def _storable(text: str) -> bool:
    return "\x00" not in text and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text))


def place_in(parts: Sequence[Any]) -> str:
    """Where something stands in the document, such as ``events[12].data.round_id``."""
    found = ""
    for part in parts:
        found += f"[{part}]" if isinstance(part, int) else f".{cut(part)}" if found else cut(part)
    return found or _("The file")


def cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:80] + "…"
