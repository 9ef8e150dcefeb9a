"""A ledger from a file or from a site, page by page; bounded, for whoever serves it may be hostile."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode, urlsplit, urlunsplit

from league_sdk.ledger.chain import short
from league_sdk.ledger.export import DOCUMENT
from league_sdk.ledger.verify import NotALedger

MAX_BYTES = 256 * 1024 * 1024
"""Of a file, and of all pages of a site together."""
MAX_PAGES = 10_000
PAGE_EVENTS = 1000
TIMEOUT_S = 30
"""For each read of the connection."""
MAX_SECONDS = 600
"""For all pages together."""
_PIECE = 65_536
_ZIP = b"PK\x03\x04"
_LEAGUE = re.compile(r"^(?P<before>.*?)(?:/api)?/leagues/(?P<id>[A-Za-z0-9][A-Za-z0-9_-]*)(?:/.*)?$")


def read(source: str, *, fetch: Callable[[str, int], bytes] | None = None) -> Any:
    """The whole ledger, decoded; or the whole league, as the desk exports it.

    Args:
        source: a file (JSON, or the export's archive), or an address: the league's board or its ledger.
        fetch: gets an address's body, of at most so many bytes; None asks over the network.

    Raises:
        NotALedger: it cannot be read, is too large, or its pages do not fit together.
    """
    if urlsplit(source).scheme in ("http", "https"):
        return _read_site(source, fetch or _Fetch(time.monotonic).get)
    return _decoded(_read_file(Path(source)), source)


def address_of(url: str) -> str:
    """The address of a league's ledger, from any address below the league.

    Raises:
        NotALedger: no league is in it.
    """
    parts = urlsplit(url)
    found = _LEAGUE.fullmatch(parts.path)
    if found is None:
        raise NotALedger(f"{short(url)} names no league. An address is like https://site/leagues/league_2025_even_odd/")
    path = f"{found['before']}/api/leagues/{found['id']}/ledger"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            begins = file.read(len(_ZIP))
            file.seek(0)
            data = file.read(MAX_BYTES + 1) if begins != _ZIP else _unpacked(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise NotALedger(f"{short(path)} cannot be read: {why}.") from None
    if len(data) > MAX_BYTES:
        raise NotALedger(f"{short(path)} is larger than {MAX_BYTES // 2**20} MB.")
    return data


def _unpacked(file: BinaryIO) -> bytes:
    """The league's document in an archive; of a larger one, one byte more than is taken."""
    try:
        with zipfile.ZipFile(file) as archive, archive.open(DOCUMENT) as packed:
            # What the archive says of the size is not believed.
            return packed.read(MAX_BYTES + 1)
    except KeyError:
        raise ValueError(f"the archive has no {DOCUMENT} in it") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise ValueError(f"the archive cannot be unpacked ({short(error)})") from None


def _read_site(source: str, fetch: Callable[[str, int], bytes]) -> Any:
    url = address_of(source)
    left, after = MAX_BYTES, 0
    asked: dict[str, int] = {"limit": PAGE_EVENTS}
    whole: dict[str, Any] = {}
    for _number in range(MAX_PAGES):
        body = fetch(f"{url}?{urlencode(asked)}", left)
        left -= len(body)
        page = _decoded(body, url)
        if not isinstance(page, dict) or not isinstance(page.get("events"), list):
            raise NotALedger(f"{url} answered with something that is no ledger: {short(page)}.")
        if not whole:
            whole = page
        else:
            whole["events"].extend(page["events"])
        following = page.get("next")
        if following is None:
            whole["next"] = None
            return whole
        if not isinstance(following, int) or isinstance(following, bool) or following <= after:
            raise NotALedger(f"{url} sends its pages in a circle: next is {short(following)} after {after}.")
        after = following
        # The league may go on being played: what the first page ended with is the end.
        asked = {"limit": PAGE_EVENTS, "after": after, "upto": _end(whole, url)}
    raise NotALedger(f"{url} has more than {MAX_PAGES} pages.")


def _end(whole: dict[str, Any], url: str) -> int:
    last = whole.get("last_seq")
    if not isinstance(last, int) or isinstance(last, bool):
        raise NotALedger(f"{url} does not say where its ledger ends: last_seq is {short(last)}.")
    return last


class _Fetch:
    """Bodies over the network, all of them within :data:`MAX_SECONDS`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = clock() + MAX_SECONDS

    def get(self, url: str, most: int) -> bytes:
        request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - http(s) only
        found = bytearray()
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - http(s) only
                while piece := answer.read1(_PIECE):
                    found += piece
                    if len(found) > most:
                        raise NotALedger(f"{url} sends more than {MAX_BYTES // 2**20} MB.")
                    if self._clock() > self._until:
                        raise NotALedger(f"{url} took longer than {MAX_SECONDS} s.")
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(500).decode("utf-8", "replace")
            raise NotALedger(f"{url} answered {error.code}: {short(said)}.") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotALedger(f"{url} cannot be read: {short(error)}.") from None
        return bytes(found)


def _decoded(body: bytes, where: str) -> Any:
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_unique)
    except RecursionError:
        raise NotALedger(f"{short(where)} is nested too deeply.") from None
    except ValueError as error:
        raise NotALedger(f"{short(where)} is not JSON in UTF-8: {short(error)}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names differ: of two alike, other readers might take the one that we do not check."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _value in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{short(twice)!r} stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
