"""Read the addresses that agents give, correct them where the machine is obvious, compare them. No I/O but one bind.

:mod:`agents_registry.addresses.endpoints` says whether an address may be called.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit

from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.inbox import SCHEME
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.transport import machine
from league_sdk.transport.targets import Unreadable, read_target

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - names, not a bind
DEFAULT_PATH = "/mcp"
EXPECTED = "a URL such as http://192.168.1.20:8101/mcp"
_WITHOUT_SCHEME = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\]):\d{1,5}(/.*)?", re.ASCII | re.IGNORECASE)
"""Matches a host and a port, perhaps with a path; neither ``javascript:alert(1)`` nor a single word."""

_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Address:
    """An agent's endpoint.

    Attributes:
        url: the address that is called.
        key: the same for all spellings of an address, to tell two registrations apart.
        notes: what was corrected, for the agent's owner.
    """

    url: str
    key: str
    notes: tuple[str, ...]

    @property
    def machine(self) -> str:
        """Host and port of the key."""
        return re.split(r"[/?]", self.key, maxsplit=1)[0]


INBOX_KEY = "inbox|"
"""The beginning of the key of every agent that has no address, but an inbox (ruling, section 13)."""


def inbox_address() -> Address:
    """The address of an agent that dials out and has none; its row adds who it is."""
    return Address(url=f"{SCHEME}://", key=INBOX_KEY, notes=())


def inbox_url(agent: int) -> str:
    """The address of the inbox of the agent with this primary key; only the site's own processes can call it."""
    return f"{SCHEME}://{agent}"


def inbox_key(league_id: str | None, name: str) -> str:
    """The key of an agent without an address: it is known by its league and name (ruling, section 13)."""
    return INBOX_KEY + hashlib.sha256(f"{league_id or ''}\0{name}".encode()).hexdigest()[:32]


_LINE_KEY = f"{INBOX_KEY}agent:"


def line_key(agent: int) -> str:
    """The key of the line of the agent with this primary key: what answers over it is this agent and no other."""
    return f"{_LINE_KEY}{agent}"


def agent_of_line(key: str) -> int | None:
    """The primary key of the agent whose line has this key; None for the key of an address."""
    return int(key.removeprefix(_LINE_KEY)) if key.startswith(_LINE_KEY) else None


def read_address(value: object, *, caller: str, field: str) -> Address:
    """Read a contact_endpoint.

    An address without a scheme, such as ``127.0.0.1:8101/mcp``, is http (our choice). If another machine names "this
    machine" (localhost and the like) it means itself: its own address is put in. An address without a path gets
    ``/mcp`` (ruling, section 8).

    Args:
        caller: the IP address of the caller; if it is empty, the host stays as it is.
        field: the field's name, for the error.

    Raises:
        InvalidFormat: not an http address that could be called.
    """
    wrong = InvalidFormat(f"{field} is not an address that can be called.", field=field, seen=value, expected=EXPECTED)
    value = value.strip(" ") if isinstance(value, str) else value
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ENDPOINT_CHARS:
        raise wrong
    notes: list[Note] = []
    if _WITHOUT_SCHEME.fullmatch(value):
        notes.append(note(Code.HTTP_ADDED))
        value = f"http://{value}"
    try:
        # The same parser reads it when it is called, so it cannot mean something else then.
        target = read_target(value)
    except Unreadable:
        raise wrong from None
    if target.scheme not in ("http", "https"):
        raise wrong
    host = target.host
    if _is_this_machine(host, caller) and _is_elsewhere(caller):
        notes.append(note(Code.CALLED_ELSEWHERE, host=host, caller=caller))
        target = replace(target, host=caller)
    elif host in ("0.0.0.0", "::"):  # noqa: S104 - a name to replace
        notes.append(note(Code.CALLED_ELSEWHERE, host=host, caller="127.0.0.1"))
        target = replace(target, host="127.0.0.1")
    if target.path in ("", "/"):
        target = replace(target, path=DEFAULT_PATH)
        notes.append(note(Code.PATH_ADDED, path=DEFAULT_PATH))
    host = "127.0.0.1" if target.host in LOOPBACK_NAMES else target.host
    key = f"{host}|{target.called_port}{one_path(target.path)}?{target.query}"
    if max(len(target.url), len(key)) > MAX_ENDPOINT_CHARS:
        raise wrong
    return Address(url=target.url, key=key, notes=tuple(map(str, notes)))


def one_path(path: str) -> str:
    """The normal form of a path: ``//mcp``, ``/./mcp``, ``/x/../mcp``, ``/%6dcp`` and ``/mcp/`` are all ``/mcp``."""
    parts: list[str] = []
    for part in _ESCAPED.sub(_unescaped, path).split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "".join(f"/{part}" for part in parts)


def _unescaped(escape: re.Match[str]) -> str:
    char = chr(int(escape[1], 16))
    return char if char.isascii() and (char.isalnum() or char in "-._~") else escape[0].upper()


def is_loopback(url: str) -> bool:
    """Whether an address names the machine of the one that calls it."""
    return _is_this_machine((urlsplit(url).hostname or "").lower(), "")


@lru_cache(maxsize=4096)
def plain_ip(caller: str) -> str:
    """The normal form of an IP address; an IPv4 address inside IPv6 (``::ffff:192.0.2.7``) becomes IPv4."""
    try:
        address = ipaddress.ip_address(caller)
    except ValueError:
        return caller
    return str(getattr(address, "ipv4_mapped", None) or address)


def _is_this_machine(host: str, caller: str) -> bool:
    """Whether a host means "this machine" to a program at ``caller``."""
    if host in LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback and not (caller and ipaddress.ip_address(caller).is_loopback)
    except ValueError:
        return False


def _is_elsewhere(caller: str) -> bool:
    """Whether a caller is on another machine than the site."""
    try:
        address = ipaddress.ip_address(caller)
    except ValueError:
        return False
    if address.is_loopback:
        # Other loopback addresses count as other machines, so that a class can be tried on one machine.
        return str(address) not in LOOPBACK_NAMES
    return not machine.is_own(address)


def comes_from(url: str, caller: str) -> bool:
    """Whether a request from ``caller`` comes from the machine that ``url`` names; False if the caller is unknown."""
    if not caller:
        return False
    host = (urlsplit(url).hostname or "").lower()
    if host == caller:
        return True
    return host in LOOPBACK_NAMES and not _is_elsewhere(caller)
