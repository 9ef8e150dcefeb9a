"""The last call from outside this machine that this process has seen: it shows that the site can be reached."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from agents_registry.addresses.callers import Caller
from league_sdk.transport import machine
from storage import clock


@dataclass(frozen=True, slots=True)
class Sighting:
    """A call from outside.

    Attributes:
        at: when it came.
        address: the caller's; empty if the proxy did not say it.
        proxied: a trusted proxy or tunnel passed it on.
    """

    at: datetime
    address: str
    proxied: bool = False


class Seen:
    """Remembers the last call from outside that this process has seen.

    Attributes:
        latest: the last call from outside; None before the first.
    """

    def __init__(self) -> None:
        self.latest: Sighting | None = None

    def note(self, caller: Caller) -> None:
        """Note a call if it comes from outside; one through a tunnel always does: the tunnel works."""
        if caller.proxied or is_outside(caller.ip):
            self.latest = Sighting(clock.now(), caller.ip, caller.proxied)


@lru_cache(maxsize=4096)
def is_outside(address: str) -> bool:
    """Whether an IP address is that of another machine; False for an empty or invalid address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (ip.is_loopback or machine.is_own(ip))


seen = Seen()
"""The last call from outside that this process has seen."""
