"""Unpacks an untrusted file and parses the JSON in it, within bounds; finds values that no database can store."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import IO, Any

from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from league_sdk.ledger import packed
from league_sdk.ledger.documents import LEAGUE_FILE
from league_sdk.protocol.transcript import is_storable
from matches.league.errors import Invalid

MAX_DEPTH = 40

_END_OF_ZIP = b"PK\x05\x06"
_ZIP64_LOCATOR, _ZIP64_BYTES = b"PK\x06\x07", 56 + 20
"""A zip64 file has a larger end record, and its locator, before the ordinary one; unpackers use the larger one."""


@dataclass(frozen=True)
class Limits:
    """How large an upload may be, in bytes.

    Attributes:
        file: the uploaded file, compressed or not.
        document: the document after it was unpacked.
        index: the central directory (the list of files) of a ZIP file.
    """

    file: int = 64 * 1024 * 1024
    document: int = 128 * 1024 * 1024
    index: int = 8 * 1024 * 1024


LIMITS = Limits()


class NotALeague(Invalid):
    """The file cannot be imported; the text says what is wrong, and where."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(_("%(place)s: %(why)s") % {"place": place, "why": why}, field="file")


def read_document(file: IO[bytes], limits: Limits = LIMITS) -> bytes:
    """Read the bytes of the document, unpacked if the file is a ZIP file.

    Args:
        file: the upload, a seekable file.
        limits: how large it may be.

    Raises:
        NotALeague: the file is too large, or the ZIP file cannot be read.
    """
    size = file.seek(0, 2)
    file.seek(0)
    if size > limits.file:
        raise NotALeague(_("The file"), _too_large(size, limits.file))
    is_zip = file.read(len(packed.ZIP)) == packed.ZIP
    file.seek(0)
    if not is_zip:
        return file.read(limits.file + 1)
    _refuse_large_index(file, size, limits.index)
    try:
        data = packed.unpack(file, limits.document)
    except ValueError as error:
        raise NotALeague(
            _("The file"), _("the ZIP file cannot be read: %(why)s") % {"why": isolated(shorten(error))}
        ) from None
    if len(data) > limits.document:
        raise NotALeague(LEAGUE_FILE, _too_large(None, limits.document))
    return data


def _refuse_large_index(file: IO[bytes], size: int, limit: int) -> None:
    """Refuse a ZIP file with a huge central directory: ``zipfile`` reads all of it into memory."""
    file.seek(max(0, size - 65_557 - _ZIP64_BYTES))
    tail = file.read()
    file.seek(0)
    end = tail.rfind(_END_OF_ZIP)
    if end < 0 or len(tail) < end + 22:
        raise NotALeague(_("The file"), _("the ZIP file cannot be read: %(why)s") % {"why": "no end"})
    (index,) = struct.unpack("<L", tail[end + 12 : end + 16])
    before = tail[max(0, end - _ZIP64_BYTES) : end]
    if len(before) == _ZIP64_BYTES and before[56:60] == _ZIP64_LOCATOR:
        index = max(index, *struct.unpack("<Q", before[40:48]))
    if index > limit:
        raise NotALeague(_("The file"), _too_large(index, limit))


def _too_large(seen: int | None, limit: int) -> str:
    if seen is None:
        return _("it is too large: more than %(max)d MB") % {"max": limit // 2**20}
    return _("it is too large: %(seen)d MB, at most %(max)d MB are taken") % {
        "seen": -(-seen // 2**20),
        "max": limit // 2**20,
    }


def decode(data: bytes) -> Any:
    """Parse JSON in UTF-8.

    Raises:
        NotALeague: it is not JSON, is nested too deeply for the parser, or names a field of an object twice.
    """
    try:
        return packed.decode(data)
    except ValueError as error:
        raise NotALeague(
            _("The file"), _("it is not JSON in UTF-8: %(why)s") % {"why": isolated(shorten(error))}
        ) from None


def find_unstorable(value: Any, max_depth: int) -> tuple[list[Any], str] | None:
    """Find a value that no database can store.

    Returns the path to it and what is wrong with it; None if there is none.
    """
    if isinstance(value, str):
        return None if is_storable(value) else ([], _("a character that cannot be stored"))
    if isinstance(value, float):
        # An agent may write any number into its answers. Those of columns are bounded where they are read.
        return None if isfinite(value) else ([], _("the number is too large"))
    if not isinstance(value, (dict, list)):
        return None
    if max_depth == 0:
        return [], _("it is nested too deeply")
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in items:
        if isinstance(name, str) and not is_storable(name):
            return [], _("a character that cannot be stored")
        problem = find_unstorable(item, max_depth - 1)
        if problem is not None:
            return [name, *problem[0]], problem[1]
    return None


def format_place(path: Sequence[Any]) -> str:
    """A path into the document as text, such as ``events[12].data.round_id``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{shorten(part)}" if text else shorten(part)
    return text or _("The file")


def shorten(value: Any) -> str:
    """A value as text, cut off after 80 characters."""
    text = str(value)
    return text if len(text) <= 80 else text[:80] + "…"
