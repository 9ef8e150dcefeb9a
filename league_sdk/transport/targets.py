"""Read an agent's address once, for all checks and for every library that gets it. Pure.

Libraries read addresses differently (tabs are dropped, ``127.1`` and ``2130706433`` are IPv4, full-width digits become
digits), and each difference is a way around a check. So an address is parsed once, by a narrow grammar, and put
together again from its parts, in a spelling that all libraries read alike.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from functools import lru_cache

IP = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_HOST_CHARS = 253
MAX_LABEL_CHARS = 63
UNREADABLE = "the address cannot be read"
PLAIN_ONLY = "only plain http and https addresses are called"
_NOT_IN_A_URL = frozenset(" \\<>\"'`")
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?P<rest>#.*)?",
    re.ASCII | re.IGNORECASE,
)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{0,5}))?", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""If the last label of a name is such a number, a resolver takes the name for an IPv4 address."""


class Unreadable(ValueError):
    """A text that cannot be the address of an agent; the message says why, in words for the agent's owner."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed address; each part is in one spelling.

    Attributes:
        scheme: in lower case; not checked against any list.
        host: a name in lower case without a dot at its end, or an IP address without brackets.
        ip: the host, if it is an IP address; an IPv4 address inside IPv6 (``::ffff:192.0.2.7``) is given as IPv4.
        port: as given, None when none is.
        path: with its slash, empty when there is none.
        query: without its question mark.
    """

    scheme: str
    host: str
    ip: IP | None
    port: int | None
    path: str
    query: str

    @property
    def called_port(self) -> int:
        """The port that a call goes to: the given one, or the usual one of the scheme."""
        return self.port if self.port is not None else 443 if self.scheme == "https" else 80

    @property
    def place(self) -> str:
        """Host and port, as in the ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address put together again."""
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{self.place}{self.path}{query}"


@lru_cache(maxsize=4096)
def read_target(url: str) -> Target:
    """Parse an address in ASCII; a name in another script must be in the form of name servers (``xn--…``).

    Raises:
        Unreadable: the text is not such an address.
    """
    if not url.isascii() or not url.isprintable() or not _NOT_IN_A_URL.isdisjoint(url):
        raise Unreadable(UNREADABLE)
    parts = _URL.fullmatch(url)
    if parts is None or not parts["authority"] or "@" in parts["authority"]:
        raise Unreadable(PLAIN_ONLY)
    place = _AUTHORITY.fullmatch(parts["authority"])
    if place is None or parts["rest"]:
        raise Unreadable(UNREADABLE)
    port = int(place["port"]) if place["port"] else None
    if port is not None and not 0 < port < 65536:
        raise Unreadable(UNREADABLE)
    host, ip = _read_host(place["host"].lower())
    return Target(parts["scheme"].lower(), host, ip, port, parts["path"] or "", parts["query"] or "")


def find_target(url: str) -> Target | None:
    """Parse an address; None if it is not one."""
    try:
        return read_target(url)
    except Unreadable:
        return None


def _read_host(text: str) -> tuple[str, IP | None]:
    if text.startswith("["):
        try:
            wrapped = ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            raise Unreadable(UNREADABLE) from None
        ip: IP = wrapped.ipv4_mapped or wrapped
        return str(ip), ip
    name = text.removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_HOST_CHARS or not all(0 < len(label) <= MAX_LABEL_CHARS for label in labels):
        raise Unreadable(UNREADABLE)
    if not _NUMBER.fullmatch(labels[-1]):
        return name, None
    try:
        ip = ipaddress.IPv4Address(socket.inet_aton(name))
    except OSError:
        raise Unreadable(UNREADABLE) from None
    return str(ip), ip
