"""The site's public URL, and free ports on this machine."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from django.core.management import CommandError

from league_sdk.transport import machine

EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound
MAX_PORT = 65535


def lan_address() -> str:
    """This machine's address as others on its network see it; 127.0.0.1 when it has none.

    No packet is sent: connecting a datagram socket only asks the routing table.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


class UnusableUrl(CommandError):
    """The public URL cannot be used; the text says what is wrong and what to do."""


def public_url(host: str, port: int, url: str | None) -> str:
    """The URL under which students reach the site.

    Raises:
        UnusableUrl: the one that is given is not a scheme, a host and perhaps a port.
    """
    if url:
        return _checked(url.strip().rstrip("/"))
    shown = lan_address() if host in EVERYWHERE else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _checked(url: str) -> str:
    parts = urlsplit(url)
    try:
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or url != f"{parts.scheme}://{parts.netloc}" or "@" in url:
        raise UnusableUrl(
            f"The public URL {url} cannot be used: expected http:// or https://, a host, perhaps a port, and nothing "
            "behind it, such as https://league.example.org."
        )
    # As browsers write it: in small letters, and without the default port.
    default_port = {"http": ":80", "https": ":443"}[parts.scheme]
    return url.lower().removesuffix(default_port)


def is_elsewhere(url: str) -> bool:
    """Whether a public URL names another machine than this one, such as that of a tunnel.

    The name in it is looked up. A name that cannot be looked up is taken for another machine's.
    """
    name = urlsplit(url).hostname or ""
    if name in names_of_this_machine() or machine.is_own_name(name):
        return False
    try:
        addresses = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(name, None)}
    except (OSError, UnicodeError):
        return True
    return not any(machine.is_own(ipaddress.ip_address(address)) for address in addresses)


def names_of_this_machine() -> list[str]:
    """The names and addresses by which others may call this machine."""
    name = socket.gethostname().lower()
    names = {name, f"{name.partition('.')[0]}.local", lan_address()}
    # A machine that cannot look up its own name still has its address.
    with suppress(OSError):
        names.update(str(entry[4][0]) for entry in socket.getaddrinfo(name, None, socket.AF_INET))
    return sorted(names)


def host_of(url: str) -> str:
    """The host in a URL, with brackets around an IPv6 address."""
    name = urlsplit(url).hostname or ""
    return f"[{name}]" if ":" in name else name


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen at this address now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            # Another process that has bound the port, too, may have begun to listen meanwhile.
            probe.listen(1)
        except OSError:
            return False
    return True


def next_free(host: str, port: int, used: set[int]) -> int:
    """The first free port from ``port`` on that is not in ``used``.

    Raises:
        OSError: none of these two hundred is free, or of those up to :data:`MAX_PORT`.
    """
    last = min(port + 199, MAX_PORT)
    for candidate in range(port, last + 1):
        if candidate not in used and is_free(host, candidate):
            return candidate
    raise OSError(f"no free port from {port} to {last}")
