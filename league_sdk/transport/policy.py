"""Which addresses may be called: checked on the URL, and again on what a name resolves to (pinned by it)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

_IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_NEVER = ("169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8", "0.0.0.0/32", "255.255.255.255/32", "::/128")


@cache
def _networks(texts: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


class Forbidden(Exception):
    """The policy does not allow a call to this address."""


@dataclass(frozen=True, slots=True)
class EndpointPolicy:
    """Which addresses agents may have.

    Attributes:
        refused_networks: never called: link-local (where cloud metadata lives), multicast, the void.
        refused_ports: ports refused on loopback addresses, such as the site's own.
    """

    refused_networks: tuple[str, ...] = _NEVER
    refused_ports: tuple[int, ...] = field(default=())

    @classmethod
    def from_params(cls, value: object) -> EndpointPolicy:
        """Read the policy of a ``start_match``; what is missing has its default."""
        if not isinstance(value, Mapping):
            return cls()
        ports = value.get("refused_ports")
        ports = ports if isinstance(ports, (list, tuple)) else ()
        return cls(refused_ports=tuple(port for port in ports if isinstance(port, int)))

    def to_params(self) -> dict[str, Any]:
        """The policy as ``start_match`` carries it."""
        return {"refused_ports": list(self.refused_ports)}

    def check_ip(self, text: str, port: int) -> None:
        """Check an IP address.

        Raises:
            Forbidden: it may not be called.
        """
        address: _IP = ipaddress.ip_address(text.partition("%")[0])
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        for network in _networks(self.refused_networks):
            if address.version == network.version and address in network:
                raise Forbidden(f"addresses in {network} are not called")
        if address.is_loopback and port in self.refused_ports:
            raise Forbidden(f"port {port} belongs to the league site itself")

    def check_url(self, url: str) -> None:
        """Check what can be seen in a URL: scheme, credentials, a literal address.

        Raises:
            Forbidden: it may not be called.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise Forbidden("the address cannot be read") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise Forbidden("only plain http and https addresses are called")
        try:
            ipaddress.ip_address(parts.hostname)
        except ValueError:
            return
        self.check_ip(parts.hostname, port)


class PolicyResolver(AbstractResolver):
    """Resolves a name once per connection and lets only allowed addresses through, so that what was
    checked is what is connected to."""

    def __init__(self, policy: EndpointPolicy) -> None:
        self._policy = policy
        self._inner = ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        allowed = list(self._allowed(found, port))
        if not allowed:
            raise OSError(f"{host} resolves to no address that may be called")
        return allowed

    def _allowed(self, found: Iterable[ResolveResult], port: int) -> Iterable[ResolveResult]:
        for one in found:
            try:
                self._policy.check_ip(one["host"], port)
            except Forbidden:
                continue
            yield one

    async def close(self) -> None:
        await self._inner.close()
