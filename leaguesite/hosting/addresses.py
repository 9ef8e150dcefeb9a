"""Where this site is: its public URL, and free ports on this machine."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound


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


def public_url(host: str, port: int, given: str | None) -> str:
    """The URL under which students reach the site."""
    if given:
        return given.rstrip("/")
    shown = lan_address() if host in EVERYWHERE else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def own_names() -> list[str]:
    """The names and addresses by which others may call this machine."""
    name = socket.gethostname().lower()
    found = {name, f"{name.partition('.')[0]}.local", lan_address()}
    try:
        found.update(str(entry[4][0]) for entry in socket.getaddrinfo(name, None, socket.AF_INET))
    except OSError:
        # A machine whose own name is not known to it has its address all the same.
        found.add("localhost")
    return sorted(found)


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
            # Only listening shows a port that another process listens on under another address.
            probe.listen(1)
        except OSError:
            return False
    return True


def next_free(host: str, port: int, taken: set[int]) -> int:
    """The first free port from ``port`` on that is not in ``taken``.

    Raises:
        OSError: none of the next two hundred is free.
    """
    for candidate in range(port, port + 200):
        if candidate not in taken and is_free(host, candidate):
            return candidate
    raise OSError(f"no free port from {port} to {port + 199}")
