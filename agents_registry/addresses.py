"""Addresses that agents give: read, mended where the machine is obvious, compared. No I/O but one bind."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - names, not a bind
DEFAULT_PATH = "/mcp"
_WITHOUT_SCHEME = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\]):\d{1,5}(/.*)?", re.ASCII | re.IGNORECASE)
"""A host and a port: not ``javascript:alert(1)``, not a mere word."""


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
    address without a path gets ``/mcp`` (004 6.3.1).

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
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ENDPOINT_CHARS or not value.isascii():
        raise wrong
    if not value.isprintable() or any(character == " " or character in "\\<>\"'`" for character in value):
        raise wrong
    notes: list[str] = []
    if _WITHOUT_SCHEME.fullmatch(value):
        notes.append("address had no http://, http is used")
        value = f"http://{value}"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise wrong from None
    host = _plain_host(parts.hostname or "")
    if parts.scheme not in ("http", "https") or not host or parts.username is not None or parts.fragment:
        raise wrong
    if port == 0:
        raise wrong
    if _is_this_machine(host, caller) and _is_elsewhere(caller):
        notes.append(f"address was {host}, called at {caller}")
        host = caller
    elif host in ("0.0.0.0", "::"):  # noqa: S104 - a name to replace
        notes.append(f"address was {host}, called at 127.0.0.1")
        host = "127.0.0.1"
    path = parts.path
    if path in ("", "/"):
        path = DEFAULT_PATH
        notes.append(f"address had no path, called at {DEFAULT_PATH}")
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        netloc += f":{port}"
    url = urlunsplit((parts.scheme, netloc, path, parts.query, ""))
    named = "127.0.0.1" if host in LOOPBACK_NAMES else host
    number = port or (443 if parts.scheme == "https" else 80)
    key = f"{named}|{number}{path.rstrip('/')}?{parts.query}"
    if max(len(url), len(key)) > MAX_ENDPOINT_CHARS:
        raise wrong
    return Address(url=url, key=key, notes=tuple(notes))


def plain_ip(caller: str) -> str:
    """An IPv4 address that came through an IPv6 socket (``::ffff:192.0.2.7``) as itself."""
    try:
        address = ipaddress.ip_address(caller)
    except ValueError:
        return caller
    mapped = address.ipv4_mapped if address.version == 6 else None
    return str(mapped or address)


def _plain_host(name: str) -> str:
    """A host in one spelling: what a resolver would read as an IP address (``127.1``, ``2130706433``) as that one."""
    name = name.lower().removesuffix(".")
    try:
        ipaddress.ip_address(name)
    except ValueError:
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            return name
    return plain_ip(name)


def _is_this_machine(host: str, caller: str) -> bool:
    """Whether a host means "this machine" to whoever is at ``caller``."""
    if host in LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    try:
        loopback = ipaddress.ip_address(host).is_loopback
        return loopback and not ipaddress.ip_address(caller).is_loopback
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


def _is_own(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is one of this machine's: only those can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def comes_from(url: str, caller: str) -> bool:
    """Whether a request from ``caller`` comes from the machine that ``url`` names."""
    host = (urlsplit(url).hostname or "").lower()
    if host == caller:
        return True
    return host in LOOPBACK_NAMES and bool(caller) and not _is_elsewhere(caller)
