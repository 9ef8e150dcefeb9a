"""Which addresses may be called: checked on the URL, on everything a name resolves to, and on each connection made.

Why each rule is as it is: ``docs/decisions/0010-which-addresses-are-called.md``.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any

from aiohttp.abc import AbstractResolver, ResolveResult
from pydantic import BaseModel, BeforeValidator

from league_sdk.transport import machine
from league_sdk.transport.lookups import LOOKUPS, Lookups
from league_sdk.transport.targets import IP, PLAIN_ONLY, Target, Unreadable, read_target

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SCHEMES = ("http", "https")
EVERY_PORT = ((1, 65535),)

NEVER_CALLED = (
    "0.0.0.0/8",  # "this host", which connects to the caller's own machine
    "169.254.0.0/16",  # link-local: metadata of most clouds
    "100.100.100.200/32",  # metadata, Alibaba
    "168.63.129.16/32",  # Azure's service for its virtual machines
    "192.0.0.192/32",  # metadata, Oracle
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
    "fe80::/10",  # link-local
    "fec0::/10",  # site-local, deprecated
    "ff00::/8",  # multicast
    "fd00:ec2::254/128",  # metadata, Amazon
    "fd20:ce::254/128",  # metadata, Google
    "100::/64",  # discard
    # IPv4 inside IPv6: somebody who means an IPv4 address writes an IPv4 address.
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "::ffff:0:0:0/96",
    "2001::/32",
    "2002::/16",
)
"""Networks that are never called, whatever is configured."""
_COMPATIBLE = ipaddress.IPv6Network("::/96")
"""The unspecified address, and IPv4 in the deprecated form ``::192.0.2.7``; it also holds the loopback address."""
_LINK_LOCAL = ipaddress.IPv6Network("fe80::/10")

NEVER_CALLED_PORTS = frozenset(
    {21, 22, 23, 25, 53, 69, 110, 111, 119, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515}
    | {526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995}
)
"""Ports of mail, shells, file and name services: no agent listens there, and browsers refuse nearly all of them."""


class Forbidden(Exception):
    """The policy does not allow a call to this address."""


class NotCalled(OSError):
    """The policy does not allow a connection; an OSError, as aiohttp expects one from resolvers and sockets."""


# Reading a policy: values that cannot be read are left out ----------------------------------------


def _numbers(value: object) -> tuple[int, ...]:
    items = value if isinstance(value, (list, tuple)) else ()
    return tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else ()
    return tuple(item for item in items if isinstance(item, str))


def _networks(value: object) -> tuple[str, ...]:
    networks = []
    for text in _texts(value):
        with suppress(ValueError):
            networks.append(str(_network(text)))
    return tuple(networks)


def _hosts(value: object) -> tuple[str, ...]:
    return tuple(text for text in _texts(value) if "/" not in text or _networks([text]))


def _schemes(value: object) -> tuple[str, ...]:
    return SCHEMES if value is None else tuple(text for text in _texts(value) if text in SCHEMES)


def _port_ranges(value: object) -> tuple[tuple[int, ...], ...]:
    if value is None:
        return EVERY_PORT
    pairs = map(_numbers, value) if isinstance(value, (list, tuple)) else ()
    return tuple(pair for pair in pairs if len(pair) == 2)


def _pins(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if isinstance(value, tuple):
        return value
    items = value.items() if isinstance(value, Mapping) else ()
    return tuple(sorted((name, _texts(addresses)) for name, addresses in items if isinstance(name, str)))


Ports = Annotated[tuple[int, ...], BeforeValidator(_numbers)]
Networks = Annotated[tuple[str, ...], BeforeValidator(_networks)]


class EndpointPolicy(BaseModel, frozen=True):
    """Which addresses agents may have on one site.

    Attributes:
        refused_ports: the site's own ports, refused at the addresses of this machine and of the site.
        own_hosts: names, IP addresses and networks of the site besides those of this machine.
        closed_ports: ports of the site's database and channel layer, refused at every address.
        networks: only addresses in these are called; None for all, () for none.
        refused_networks: networks that are not called, in addition to :data:`NEVER_CALLED`.
        ports: only ports in these ranges (first and last) are called.
        schemes: the allowed schemes, from ``http`` and ``https``.
        loopback_by_name: whether any name may lead to the loopback; False on a site where strangers choose the names.
        pinned: names, each with the only addresses that are called for it; such a name is not looked up.
    """

    refused_ports: Ports = ()
    own_hosts: Annotated[tuple[str, ...], BeforeValidator(_hosts)] = ()
    closed_ports: Ports = ()
    networks: Networks | None = None
    refused_networks: Networks = ()
    ports: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_port_ranges)] = EVERY_PORT
    schemes: Annotated[tuple[str, ...], BeforeValidator(_schemes)] = SCHEMES
    loopback_by_name: Annotated[bool, BeforeValidator(lambda value: value is not False)] = True
    pinned: Annotated[tuple[tuple[str, tuple[str, ...]], ...], BeforeValidator(_pins)] = ()

    @classmethod
    def from_params(cls, value: object) -> EndpointPolicy:
        """Read the policy of a ``start_match``; what is missing has its default, as with an older league manager.

        In a list of allowed values an item that cannot be read is left out; if no item is left, nothing is allowed.
        """
        return cls.model_validate(value if isinstance(value, Mapping) else {})

    def to_params(self) -> dict[str, Any]:
        """The policy in the form of ``start_match``."""
        params = self.model_dump(mode="json", exclude={"pinned"})
        return params | ({"pinned": {name: list(ips) for name, ips in self.pinned}} if self.pinned else {})

    def check_url(self, url: str) -> Target:
        """Check a URL without looking its name up; returns the address to call, in the one spelling that was checked.

        Raises:
            Forbidden: it may not be called.
        """
        try:
            target = read_target(url)
        except Unreadable as error:
            raise Forbidden(str(error)) from None
        if target.scheme not in self.schemes:
            allowed = f"only {', '.join(self.schemes) or 'no'} addresses are called"
            raise Forbidden(PLAIN_ONLY if self.schemes == SCHEMES else allowed)
        if target.ip is not None:
            self.check_ip(target.ip, target.called_port)
        else:
            self._check_port(target.called_port, own=target.host in self.own_hosts or machine.is_own_name(target.host))
        return target

    def check_ip(self, address: str | IP, port: int) -> None:
        """Check an IP address.

        Raises:
            Forbidden: it may not be called.
        """
        ip = _plain(address)
        network = _network_never_called(ip) or _first_network_with(ip, self.refused_networks)
        if network is not None:
            raise Forbidden(f"addresses in {network} are not called")
        if machine.is_network_or_broadcast(ip):
            raise Forbidden(f"{ip} is the address of a whole network, not of one machine")
        if self.networks is not None and _first_network_with(ip, self.networks) is None:
            raise Forbidden(f"only addresses in {', '.join(self.networks) or 'no network'} are called")
        # Asking the system whether an address is this machine's costs a system call: only where it matters.
        own = port in self.refused_ports and (ip.is_loopback or self._is_of_site(ip) or machine.is_own(ip))
        self._check_port(port, own=own)

    def check_found(self, host: str, addresses: Sequence[str], port: int) -> list[str]:
        """Check what a name resolves to; returns the addresses that may be called.

        If one address is forbidden the name is not called: it may have been made to reach that address. Link-local
        IPv6 addresses are ignored instead: the names of machines in a room often have one.

        Raises:
            Forbidden: the name may not be called.
        """
        checked = [address for address in addresses if not _is_link_local(address)]
        for address in checked:
            self.check_ip(address, port)
            if address != host and _plain(address).is_loopback and not self._may_mean_this_machine(host):
                raise Forbidden("a name of the network that leads to this machine's loopback is not called")
        return checked

    def _is_of_site(self, ip: IP) -> bool:
        networks = (host for host in self.own_hosts if "/" in host)
        return str(ip) in self.own_hosts or _first_network_with(ip, networks) is not None

    def _may_mean_this_machine(self, host: str) -> bool:
        """Whether a name may lead to the loopback; names without a dot are local names of this machine or network."""
        name = host.removesuffix(".")
        return self.loopback_by_name or "." not in name or name in self.own_hosts or machine.is_own_name(name)

    def _check_port(self, port: int, *, own: bool) -> None:
        if port in self.closed_ports or (own and port in self.refused_ports):
            raise Forbidden(f"port {port} belongs to the league site itself")
        if port in NEVER_CALLED_PORTS or not any(first <= port <= last for first, last in self.ports):
            raise Forbidden(f"port {port} is not called")


class PolicyResolver(AbstractResolver):
    """Resolves a name once per connection and lets only allowed addresses through, so that the
    address that was checked is the one that is connected to."""

    def __init__(self, policy: EndpointPolicy, lookups: Lookups = LOOKUPS) -> None:
        self._policy, self._lookups = policy, lookups

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        addresses = dict(self._policy.pinned).get(host.removesuffix("."))
        if addresses is None:
            # "localhost" is found also while this machine has no network.
            flags = 0 if machine.is_own_name(host) else socket.AI_ADDRCONFIG
            resolved = await self._lookups.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
            addresses = tuple(str(address[0]) for *_, address in resolved)
        elif not addresses:
            raise OSError("the name was not found when this call was planned")
        try:
            called = self._policy.check_found(host, addresses, port)
        except Forbidden:
            called = []
        if not called:
            raise NotCalled(f"{host} resolves to no address that may be called")
        return [_result(host, address, port) for address in called]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=flags)


def guarded_socket(policy: EndpointPolicy, info: tuple[Any, ...]) -> socket.socket:
    """Check the address of a connection and open its socket; nothing happens between this and connecting.

    Args:
        info: as from ``getaddrinfo``: family, type, protocol, canonical name, address.

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
def _network_never_called(ip: IP) -> str | None:
    """The network because of which an address is never called; None if it may be called."""
    if ip.version == 6 and ip in _COMPATIBLE and not ip.is_loopback:
        return str(_COMPATIBLE)
    return _first_network_with(ip, NEVER_CALLED)


@lru_cache(maxsize=256)
def _network(text: str) -> Network:
    return ipaddress.ip_network(text)


def _first_network_with(ip: IP, networks: Iterable[str]) -> str | None:
    """The first of these networks that an address is in; None if it is in none of them."""
    for text in networks:
        network = _network(text)
        if ip.version == network.version and ip in network:
            return text
    return None


def _is_link_local(address: str) -> bool:
    ip = _plain(address)
    return ip.version == 6 and ip in _LINK_LOCAL
