"""Which addresses and names are this machine's own. Sends no packet and looks no name up."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from pathlib import Path

from league_sdk.transport.targets import IP

_NOT_OWN_ERRORS = {
    getattr(errno, name, None) for name in ("EADDRNOTAVAIL", "WSAEADDRNOTAVAIL", "EAFNOSUPPORT", "WSAEAFNOSUPPORT")
}
"""What binding a socket to an address fails with if the address is not this machine's."""
_FAR_AWAY = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation: nobody has them, so the route to them is the default route."""


def is_own(address: IP) -> bool:
    """Whether an address is this machine's own: a socket can be bound to no other. True if that is unknown."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        return error.errno not in _NOT_OWN_ERRORS
    return True


def is_own_name(name: str) -> bool:
    """Whether a host name means this machine, as far as that can be told without looking it up."""
    name = name.lower().removesuffix(".")
    own = socket.gethostname().lower()
    known = ("localhost", "localhost.localdomain", own, f"{own.partition('.')[0]}.local")
    return name in known or name.endswith(".localhost")


def outward_addresses() -> list[str]:
    """The addresses by which others see this machine: of IPv4 and of IPv6, as far as it has them."""
    addresses = [_outward_address(family) for family in _FAR_AWAY]
    return [str(ip) for ip in addresses if not isinstance(ip, OSError) and not ip.is_unspecified and not ip.is_loopback]


def network_problem() -> str:
    """Why this machine can call nobody at the moment, as far as it can tell by itself; empty when it can.

    It only asks the machine's own routing table, so no agent can influence the answer.
    """
    problems = [problem for family in _FAR_AWAY if isinstance(problem := _outward_address(family), OSError)]
    if len(problems) < len(_FAR_AWAY):
        return ""
    number = problems[0].errno
    return f"this machine has no network: {os.strerror(number) if number else 'no reason given'}"


def _outward_address(family: socket.AddressFamily) -> IP | OSError:
    """The address from which this machine would call somebody far away, or why it cannot."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Connecting a datagram socket only asks the routing table.
            probe.connect((_FAR_AWAY[family], 9))
            return ipaddress.ip_address(str(probe.getsockname()[0]).partition("%")[0])
    except OSError as error:
        return error


_ROUTES = Path("/proc/net/route")
_ROUTE_FIELDS = 8
_HOST_BITS = 0b11
"""The first and the last address of any network end in two equal bits; other addresses need no further check."""


def is_network_or_broadcast(address: IP) -> bool:
    """Whether an address is that of a whole network this machine is in: its broadcast or its network address."""
    if address.version != 4 or int(address) & _HOST_BITS not in (0, _HOST_BITS):
        return False
    if int(address) & _HOST_BITS == 0:
        return any(address == network.network_address for network in _networks())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing; for a broadcast address the system wants a permission.
            probe.connect((str(address), 9))
        except OSError as error:
            return error.errno == errno.EACCES
    return any(address == network.broadcast_address for network in _networks())


def _networks() -> list[ipaddress.IPv4Network]:
    """The IPv4 networks that this machine is in, by its routing table; if that cannot be read, only the loopback's."""
    networks = [ipaddress.IPv4Network("127.0.0.0/8")]
    try:
        lines = _ROUTES.read_text().splitlines()[1:]
    except OSError:
        return networks
    for line in lines:
        fields = line.split()
        if len(fields) < _ROUTE_FIELDS or int(fields[2], 16):
            continue
        # The kernel writes the bytes of an address as a number of its own byte order.
        first, mask = (int(field, 16).to_bytes(4, sys.byteorder) for field in (fields[1], fields[7]))
        network = ipaddress.IPv4Network((int.from_bytes(first), str(ipaddress.IPv4Address(mask))), strict=False)
        if 0 < network.prefixlen < 31:
            networks.append(network)
    return networks
