"""Addresses that agents give: read, mended where the machine is obvious, compared. No I/O but one bind.

Whether an address is called is asked in :mod:`agents_registry.endpoints`.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit

from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from league_sdk.transport.machine import is_own as _is_own
from league_sdk.transport.targets import Unreadable, read_target

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - names, not a bind
DEFAULT_PATH = "/mcp"
_WITHOUT_SCHEME = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\]):\d{1,5}(/.*)?", re.ASCII | re.IGNORECASE)
"""A host and a port: not ``javascript:alert(1)``, not a mere word."""

_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Address:
    """An agent's endpoint.

    Attributes:
        url: what we call.
        key: the same in one spelling, for telling two registrations apart.
        notes: what was changed, for the owner.
    """

    url: str
    key: str
    notes: tuple[str, ...]

    @property
    def machine(self) -> str:
        """Host and port of the key."""
        return re.split(r"[/?]", self.key, maxsplit=1)[0]


def read_address(value: object, *, caller: str, field: str) -> Address:
    """Read a contact_endpoint.

    One without a scheme, such as ``127.0.0.1:8101/mcp``, is read as http (our choice). An address on "this
    machine" that comes from another one means that other one: the caller's address takes its place. An
    address without a path gets ``/mcp`` (ruling, section 8).

    Args:
        value: the endpoint as sent.
        caller: the IP address the request came from; empty for one that is taken as it is.
        field: the field's name, for the error.

    Raises:
        InvalidFormat: not an http address that could be called.
    """
    wrong = InvalidFormat(
        f"{field} is not an address that can be called.",
        field=field,
        seen=value,
        expected="a URL such as http://192.168.1.20:8101/mcp",
    )
    value = value.strip(" ") if isinstance(value, str) else value
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ENDPOINT_CHARS:
        raise wrong
    notes: list[str] = []
    if _WITHOUT_SCHEME.fullmatch(value):
        notes.append("address had no http://, http is used")
        value = f"http://{value}"
    try:
        # Read as it is read when it is called: nothing in it can mean one thing here and another there.
        target = read_target(value)
    except Unreadable:
        raise wrong from None
    if target.scheme not in ("http", "https"):
        raise wrong
    host = target.host
    if _is_this_machine(host, caller) and _is_elsewhere(caller):
        notes.append(f"address was {host}, called at {caller}")
        target = replace(target, host=caller)
    elif host in ("0.0.0.0", "::"):  # noqa: S104 - a name to replace
        notes.append(f"address was {host}, called at 127.0.0.1")
        target = replace(target, host="127.0.0.1")
    if target.path in ("", "/"):
        target = replace(target, path=DEFAULT_PATH)
        notes.append(f"address had no path, called at {DEFAULT_PATH}")
    named = "127.0.0.1" if target.host in LOOPBACK_NAMES else target.host
    key = f"{named}|{target.number}{one_path(target.path)}?{target.query}"
    if max(len(target.url), len(key)) > MAX_ENDPOINT_CHARS:
        raise wrong
    return Address(url=target.url, key=key, notes=tuple(notes))


def one_path(path: str) -> str:
    """A path in one spelling: ``//mcp``, ``/./mcp``, ``/x/../mcp``, ``/%6dcp`` and ``/mcp/`` are all ``/mcp``."""
    kept: list[str] = []
    for part in _ESCAPED.sub(_unescaped, path).split("/"):
        if part == "..":
            kept[-1:] = []
        elif part not in ("", "."):
            kept.append(part)
    return "".join(f"/{part}" for part in kept)


def _unescaped(found: re.Match[str]) -> str:
    char = chr(int(found[1], 16))
    return char if char.isascii() and (char.isalnum() or char in "-._~") else found[0].upper()


def is_loopback(url: str) -> bool:
    """Whether an address names the machine of whoever calls it."""
    return _is_this_machine((urlsplit(url).hostname or "").lower(), "")


@lru_cache(maxsize=4096)
def plain_ip(caller: str) -> str:
    """An IPv4 address that came through an IPv6 socket (``::ffff:192.0.2.7``) as itself."""
    try:
        address = ipaddress.ip_address(caller)
    except ValueError:
        return caller
    mapped = address.ipv4_mapped if address.version == 6 else None
    return str(mapped or address)


def _is_this_machine(host: str, caller: str) -> bool:
    """Whether a host means "this machine" to whoever is at ``caller``."""
    if host in LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback and not (caller and ipaddress.ip_address(caller).is_loopback)
    except ValueError:
        return False


def _is_elsewhere(caller: str) -> bool:
    """Whether a caller's address is not "this machine" as an agent on this machine would mean it."""
    try:
        address = ipaddress.ip_address(caller)
    except ValueError:
        return False
    if address.is_loopback:
        # The other loopback addresses stand for machines of their own, so that one machine can be a class.
        return str(address) not in LOOPBACK_NAMES
    return not _is_own(address)


def comes_from(url: str, caller: str) -> bool:
    """Whether a request from ``caller`` comes from the machine that ``url`` names."""
    host = (urlsplit(url).hostname or "").lower()
    if host == caller:
        return True
    return host in LOOPBACK_NAMES and bool(caller) and not _is_elsewhere(caller)
