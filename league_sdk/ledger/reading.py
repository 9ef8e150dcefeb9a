"""Read a ledger from a file, or from a site page by page. Everything is bounded, because the source may be hostile."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx

from league_sdk.ledger.chain import short
from league_sdk.ledger.documents import LEAGUE_FILE
from league_sdk.ledger.packed import ZIP, decode, unpack
from league_sdk.ledger.verify import NotALedger
from league_sdk.protocol import SDK_VERSION
from league_sdk.typed_addresses import read_address

MAX_BYTES = 256 * 1024 * 1024
"""The largest file, and the largest sum of all pages of a site."""
MAX_PAGES = 10_000
EVENTS_PER_PAGE = 1000
TIMEOUT_S = 30
"""The longest wait for each read from the connection."""
MAX_TOTAL_S = 600
"""The longest time for all pages of a site."""
MAX_REDIRECTS = 5
_HEADERS = {
    "User-Agent": f"verify/{SDK_VERSION}",
    "Accept": "application/json",
    # Compressed answers are not wanted: only the size of what is sent is limited, and it could unpack to gigabytes.
    "Accept-Encoding": "identity",
}
EXAMPLE = "https://site/leagues/league_2025_even_odd/"
_LEAGUE = re.compile(r"^(?P<before>.*?)(?:/api)?/leagues/(?P<id>[A-Za-z0-9][A-Za-z0-9_-]*)(?:/.*)?$")


def read(source: str, *, fetch: Callable[[str, int], bytes] | None = None) -> Any:
    """Read and decode a whole ledger, or a whole league as the desk exports it.

    Args:
        source: a file (JSON, or the ZIP file of an export), the folder that this was unpacked to, or the URL of the
            league's board or ledger.
        fetch: returns the body of a URL, of at most the given number of bytes; None for HTTP.

    Raises:
        NotALedger: it cannot be read, is too large, or has pages that do not fit together.
    """
    if source.lower().startswith(("http:", "https:")):
        if fetch is not None:
            return _read_site(source, fetch)
        with make_client() as http:
            return _read_site(source, _Fetch(http, time.monotonic).get)
    path = Path(source)
    return _decoded(_read_file(path / LEAGUE_FILE if path.is_dir() else path), source)


def address_of(url: str) -> str:
    """The URL of a league's ledger, from the URL of any page of the league.

    Raises:
        NotALedger: the URL names no league.
    """
    try:
        read_address(url, example=EXAMPLE)
    except ValueError as error:
        raise NotALedger(f"{error}.") from None
    parts = urlsplit(url)
    match = _LEAGUE.fullmatch(parts.path)
    if match is None:
        raise NotALedger(f"{short(url)} names no league. An address is like {EXAMPLE}")
    path = f"{match['before']}/api/leagues/{match['id']}/ledger"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            is_zip = file.read(len(ZIP)) == ZIP
            file.seek(0)
            data = unpack(file, MAX_BYTES) if is_zip else file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise NotALedger(f"{short(path)} cannot be read: {why}.") from None
    if len(data) > MAX_BYTES:
        raise NotALedger(f"{short(path)} is larger than {MAX_BYTES // 2**20} MB.")
    return data


def _read_site(source: str, fetch: Callable[[str, int], bytes]) -> Any:
    url = address_of(source)
    bytes_left, after = MAX_BYTES, 0
    query: dict[str, int] = {"limit": EVENTS_PER_PAGE}
    ledger: dict[str, Any] = {}
    for _number in range(MAX_PAGES):
        body = fetch(f"{url}?{urlencode(query)}", bytes_left)
        bytes_left -= len(body)
        page = _decoded(body, url)
        if not isinstance(page, dict) or not isinstance(page.get("events"), list):
            raise NotALedger(f"{url} answered with something that is not a ledger: {short(page)}.")
        if not ledger:
            ledger = page
        else:
            ledger["events"].extend(page["events"])
        next_page = page.get("next")
        if next_page is None:
            ledger["next"] = None
            return ledger
        if not isinstance(next_page, int) or isinstance(next_page, bool) or next_page <= after:
            raise NotALedger(f"{url} sends its pages in a circle: next is {short(next_page)} after {after}.")
        after = next_page
        # New events may be added meanwhile: stop at the last event that the first page names.
        query = {"limit": EVENTS_PER_PAGE, "after": after, "upto": _last_seq(ledger, url)}
    raise NotALedger(f"{url} has more than {MAX_PAGES} pages.")


def _last_seq(ledger: dict[str, Any], url: str) -> int:
    last = ledger.get("last_seq")
    if not isinstance(last, int) or isinstance(last, bool):
        raise NotALedger(f"{url} does not say where its ledger ends: last_seq is {short(last)}.")
    return last


def make_client() -> httpx.Client:
    """A client that uses the system's certificates, and no proxy or password of the environment."""
    return httpx.Client(headers=_HEADERS, verify=ssl.create_default_context(), trust_env=False, timeout=TIMEOUT_S)


class _Fetch:
    """Fetches bodies over HTTP, all of them within :data:`MAX_TOTAL_S`."""

    def __init__(self, http: httpx.Client, clock: Callable[[], float]) -> None:
        self._http = http
        self._clock = clock
        self._until = clock() + MAX_TOTAL_S

    def get(self, url: str, max_bytes: int) -> bytes:
        body = bytearray()
        try:
            with closing(self._open(url)) as response:
                if not response.is_success:
                    reason = next(response.iter_raw(500), b"").decode("utf-8", "replace")
                    raise NotALedger(f"{url} answered {response.status_code}: {short(reason)}.")
                for part in response.iter_raw():
                    body += part
                    if len(body) > max_bytes:
                        raise NotALedger(f"{url} sends more than {MAX_BYTES // 2**20} MB.")
                    if self._clock() > self._until:
                        raise NotALedger(f"{url} took longer than {MAX_TOTAL_S} s.")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotALedger(f"{url} cannot be read: {short(error)}.") from None
        return bytes(body)

    def _open(self, url: str) -> httpx.Response:
        """Begin to read; redirects are followed here, as httpx would read their bodies whatever their size."""
        response = self._http.send(self._http.build_request("GET", url), stream=True)
        for _number in range(MAX_REDIRECTS):
            if response.next_request is None:
                break
            response.close()
            response = self._http.send(response.next_request, stream=True)
        return response


def _decoded(body: bytes, where: str) -> Any:
    try:
        return decode(body)
    except ValueError as error:
        raise NotALedger(f"{short(where)} is not JSON in UTF-8 that can be read: {short(error)}.") from None
