"""Takes a league's document out of an untrusted ZIP file and decodes it, for whoever verifies or imports it. Pure.

What two readers could take in different ways is refused: only one of them would see what was verified.
"""

from __future__ import annotations

import json
import lzma
import posixpath
import zipfile
import zlib
from typing import IO, Any

from league_sdk.ledger.chain import short
from league_sdk.ledger.documents import LEAGUE_FILE
from league_sdk.protocol import rpc

ZIP = b"PK\x03\x04"
"""The first bytes of a ZIP file."""
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, NotImplementedError)


def unpack(file: IO[bytes], max_bytes: int) -> bytes:
    """The bytes of the league's document in a ZIP file; if it is too large, one byte more than ``max_bytes``.

    Raises:
        ValueError: it cannot be unpacked, or has no such document or several; the text says why, without a full stop.
    """
    try:
        with zipfile.ZipFile(file) as zip_file:
            # Written to a folder, names like ./LEAGUE.json may replace each other.
            names = [name for name in zip_file.namelist() if posixpath.normpath(name).casefold() == LEAGUE_FILE]
            if names != [LEAGUE_FILE]:
                raise ValueError(f"the ZIP file has {'several files' if names else 'no'} {LEAGUE_FILE} in it")
            with zip_file.open(LEAGUE_FILE) as packed:
                # Do not trust the size that the ZIP file declares: it may be a zip bomb.
                return packed.read(max_bytes + 1)
    except _UNREADABLE as error:
        raise ValueError(f"the ZIP file cannot be unpacked ({short(error)})") from None


def decode(data: bytes) -> Any:
    """Decode JSON in UTF-8.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or names a field of an object twice: another reader might use
            the value that was not checked here. The text says which.
    """
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=rpc.no_constant, object_pairs_hook=rpc.unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
