"""Which addresses may be called: checked on the URL, on everything a name resolves to, and on each connection made.

Why each rule is as it is: ``docs/decisions/0010-which-addresses-are-called.md``.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from league_sdk.transport import machine
from league_sdk.transport.lookups import LOOKUPS
from league_sdk.transport.targets import IP, PLAIN_ONLY, Target, Unreadable, read_target

if TYPE_CHECKING:
    import asyncio

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SCHEMES = ("http", "https")
EVERY_PORT = ((1, 65535),)

NEVER = (
    "0.0.0.0/8",  # "this host", which connects to the caller's own machine
    "169.254.0.0/16",  # link-local: metadata of most clouds
    "100.100.100.200/32",  # metadata, Alibaba
    "168.63.129.16/32",  # the machine's agent, Azure
    "192.0.0.192/32",  # metadata, Oracle
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
    "fe80::/10",  # link-local
    "fec0::/10",  # site-local, deprecated
    "ff00::/8",  # multicast
    "fd00:ec2::254/128",  # metadata, Amazon
    "fd20:ce::254/128",  # metadata, Google
    "100::/64",  # discard
    # IPv4 in other clothes: whoever means an IPv4 address gives it as one.
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "::ffff:0:0:0/96",
    "2001::/32",
    "2002::/16",
)
"""Never called, whatever is configured."""
_COMPATIBLE = ipaddress.IPv6Network("::/96")
"""IPv4 as the deprecated ``::192.0.2.7``, and the unspecified address; the loopback address is in it, too."""
_LINK_LOCAL = ipaddress.IPv6Network("fe80::/10")

NEVER_PORTS = frozenset(
    {21, 22, 23, 25, 53, 69, 110, 111, 119, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515}
    | {526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995}
)
"""Mail, shells, file and name services: no agent is there, and browsers refuse them, too (Fetch, "bad port")."""


class Forbidden(Exception):
    """The policy does not allow a call to this address."""


class NotCalled(OSError):
    """The same, found out while connecting; an OSError, as a connector expects of what it asks."""


@dataclass(frozen=True, slots=True)
class EndpointPolicy:
    """Which addresses agents may have on one site.

    Attributes:
        refused_ports: the site's own ports, refused wherever this machine or the site is meant.
        own_hosts: names, IP addresses and networks of the site itself, where those are not all this machine's.
        closed_ports: refused at every address: those of the site's database and channel layer.
        networks: only addresses in these are called; None for all, () for none.
        refused_networks: not called, beside :data:`NEVER`.
        ports: only ports in these ranges (first and last) are called.
        schemes: of ``http`` and ``https``, those that are called.
        loopback_by_name: whether any name may lead to the loopback; not where strangers give the names.
        pinned: names, each with the only addresses that are called for it; such a name is not looked up.
    """

    refused_ports: tuple[int, ...] = ()
    own_hosts: tuple[str, ...] = ()
    closed_ports: tuple[int, ...] = ()
    networks: tuple[str, ...] | None = None
    refused_networks: tuple[str, ...] = ()
    ports: tuple[tuple[int, int], ...] = EVERY_PORT
    schemes: tuple[str, ...] = SCHEMES
    loopback_by_name: bool = True
    pinned: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def from_params(cls, value: object) -> EndpointPolicy:
        """Read the policy of a ``start_match``; what is missing has its default, as with an older league manager.

        Of a list of what is allowed only what can be read is allowed: of one in which nothing can, nothing is.
        """
        given = value if isinstance(value, Mapping) else {}
        return cls(
            refused_ports=_numbers(given.get("refused_ports")),
            own_hosts=tuple(one for one in _texts(given.get("own_hosts")) if "/" not in one or _readable([one])),
            closed_ports=_numbers(given.get("closed_ports")),
            networks=None if given.get("networks") is None else _readable(given["networks"]),
            refused_networks=_readable(given.get("refused_networks")),
            ports=EVERY_PORT if given.get("ports") is None else _ranges(given["ports"]),
            schemes=SCHEMES
            if given.get("schemes") is None
            else tuple(one for one in _texts(given["schemes"]) if one in SCHEMES),
            loopback_by_name=given.get("loopback_by_name") is not False,
            pinned=_pins(given.get("pinned")),
        )

    def to_params(self) -> dict[str, Any]:
        """The policy as ``start_match`` carries it."""
        return {
            "refused_ports": list(self.refused_ports),
            "own_hosts": list(self.own_hosts),
            "closed_ports": list(self.closed_ports),
            "networks": None if self.networks is None else list(self.networks),
            "refused_networks": list(self.refused_networks),
            "ports": [list(one) for one in self.ports],
            "schemes": list(self.schemes),
            "loopback_by_name": self.loopback_by_name,
            **({"pinned": {name: list(addresses) for name, addresses in self.pinned}} if self.pinned else {}),
        }

    def check_url(self, url: str) -> Target:
        """Check what can be seen in a URL, without looking a name up.

        Returns the address in the one spelling that is to be called.

        Raises:
            Forbidden: it may not be called.
        """
        try:
            target = read_target(url)
        except Unreadable as error:
            raise Forbidden(str(error)) from None
        if target.scheme not in self.schemes:
            one_only = f"only {', '.join(self.schemes) or 'no'} addresses are called"
            raise Forbidden(PLAIN_ONLY if self.schemes == SCHEMES else one_only)
        if target.ip is not None:
            self.check_ip(target.ip, target.number)
        else:
            self._check_port(target.number, own=target.host in self.own_hosts or machine.is_own_name(target.host))
        return target

    def check_ip(self, address: str | IP, port: int) -> None:
        """Check an IP address.

        Raises:
            Forbidden: it may not be called.
        """
        ip = _plain(address)
        network = _never(ip) or _first(ip, self.refused_networks)
        if network is not None:
            raise Forbidden(f"addresses in {network} are not called")
        if machine.is_no_host(ip):
            raise Forbidden(f"{ip} is the address of a whole network, not of one machine")
        if self.networks is not None and _first(ip, self.networks) is None:
            raise Forbidden(f"only addresses in {', '.join(self.networks) or 'no network'} are called")
        # Whether an address is this machine's costs a look at the system: only where it matters.
        own = port in self.refused_ports and (ip.is_loopback or self._is_sites(ip) or machine.is_own(ip))
        self._check_port(port, own=own)

    def check_found(self, host: str, addresses: Sequence[str], port: int) -> list[str]:
        """Check what a name resolves to.

        One address that may not be called, and the name is not: that is what a name looks like that is to lead
        somewhere else. Link-local IPv6 is left out instead: names of machines in a room often have such a one, too.

        Args:
            host: the name.
            addresses: what was found for it.
            port: that is to be called.

        Returns those of the addresses that are to be called.

        Raises:
            Forbidden: the name may not be called.
        """
        called = [one for one in addresses if not _is_link_local(one)]
        for one in called:
            self.check_ip(one, port)
            if one != host and _plain(one).is_loopback and not self._may_mean_this_machine(host):
                raise Forbidden("a name of the network that leads to this machine's loopback is not called")
        return called

    def _is_sites(self, ip: IP) -> bool:
        networks = (one for one in self.own_hosts if "/" in one)
        return str(ip) in self.own_hosts or _first(ip, networks) is not None

    def _may_mean_this_machine(self, host: str) -> bool:
        """Whether a name may lead to the loopback; one without a dot is of this machine's own list, or the room's."""
        name = host.removesuffix(".")
        return self.loopback_by_name or "." not in name or name in self.own_hosts or machine.is_own_name(name)

    def _check_port(self, port: int, *, own: bool) -> None:
        if port in self.closed_ports or (own and port in self.refused_ports):
            raise Forbidden(f"port {port} belongs to the league site itself")
        if port in NEVER_PORTS or not any(first <= port <= last for first, last in self.ports):
            raise Forbidden(f"port {port} is not called")


class PolicyResolver(AbstractResolver):
    """Resolves a name once per connection and lets only an allowed one through, so that what was
    checked is what is connected to."""

    def __init__(self, policy: EndpointPolicy) -> None:
        self._policy = policy
        # Of an event loop it uses the lookups alone; those of ours have threads that no slow name takes from others.
        self._inner = ThreadedResolver(cast("asyncio.AbstractEventLoop", LOOKUPS))

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        pinned = dict(self._policy.pinned).get(host.removesuffix("."))
        if pinned is None:
            found = await self._inner.resolve(host, port, family)
        elif pinned:
            found = [_result(host, one, port) for one in pinned]
        else:
            raise OSError("the name was not found when this call was planned")
        try:
            called = self._policy.check_found(host, [one["host"] for one in found], port)
        except Forbidden:
            called = []
        if not called:
            raise NotCalled(f"{host} resolves to no address that may be called")
        return [one for one in found if one["host"] in called]

    async def close(self) -> None:
        await self._inner.close()


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=flags)


def guarded_socket(policy: EndpointPolicy, info: tuple[Any, ...]) -> socket.socket:
    """The socket for one connection, once its address is checked: nothing is between this and the connection.

    Args:
        info: as of ``getaddrinfo``: family, type, protocol, canonical name, address.

    Raises:
        NotCalled: the address may not be called.
    """
    family, kind, protocol, _, address = info
    try:
        policy.check_ip(str(address[0]), int(address[1]))
    except Forbidden as error:
        raise NotCalled(str(error)) from None
    return socket.socket(family, kind, protocol)


# Addresses ------------------------------------------------------------------------------------


def _plain(address: str | IP) -> IP:
    if isinstance(address, str):
        address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


@lru_cache(maxsize=4096)
def _never(ip: IP) -> str | None:
    """The network for whose sake an address is never called."""
    if ip.version == 6 and ip in _COMPATIBLE and not ip.is_loopback:
        return str(_COMPATIBLE)
    return _first(ip, NEVER)


@lru_cache(maxsize=256)
def _network(text: str) -> Network:
    return ipaddress.ip_network(text)


def _first(ip: IP, networks: Iterable[str]) -> str | None:
    """The first of these networks that an address is in."""
    for text in networks:
        network = _network(text)
        if ip.version == network.version and ip in network:
            return text
    return None


def _is_link_local(address: str) -> bool:
    ip = _plain(address)
    return ip.version == 6 and ip in _LINK_LOCAL


# Reading --------------------------------------------------------------------------------------


def _numbers(value: object) -> tuple[int, ...]:
    given = value if isinstance(value, (list, tuple)) else ()
    return tuple(one for one in given if isinstance(one, int) and not isinstance(one, bool))


def _texts(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, (list, tuple)) else ()
    return tuple(one for one in given if isinstance(one, str))


def _readable(value: object) -> tuple[str, ...]:
    found = []
    for text in _texts(value):
        try:
            found.append(str(_network(text)))
        except ValueError:
            continue
    return tuple(found)


def _pins(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    given = value if isinstance(value, Mapping) else {}
    return tuple(sorted((name, _texts(addresses)) for name, addresses in given.items() if isinstance(name, str)))


def _ranges(value: object) -> tuple[tuple[int, int], ...]:
    pairs = [_numbers(one) for one in value] if isinstance(value, (list, tuple)) else []
    return tuple((one[0], one[1]) for one in pairs if len(one) == 2)
