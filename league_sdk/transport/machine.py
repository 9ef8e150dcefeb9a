"""Which addresses are this machine's own. No packet is sent, and no name is looked up."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from pathlib import Path

from league_sdk.transport.targets import IP

_ELSEWHERE = {
    getattr(errno, name, None) for name in ("EADDRNOTAVAIL", "WSAEADDRNOTAVAIL", "EAFNOSUPPORT", "WSAEAFNOSUPPORT")
}
_FAR = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of documentation: nobody is there, and the way to them is the way to everywhere."""


def is_own(address: IP) -> bool:
    """Whether an address is one of this machine's: only those can be bound. What cannot be found out is one."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        return error.errno not in _ELSEWHERE
    return True


def is_own_name(name: str) -> bool:
    """Whether a host name means this machine, as far as that can be told without looking it up."""
    name = name.lower().removesuffix(".")
    own = socket.gethostname().lower()
    known = ("localhost", "localhost.localdomain", own, f"{own.partition('.')[0]}.local")
    return name in known or name.endswith(".localhost")


def outward_addresses() -> list[str]:
    """The addresses by which others see this machine: of IPv4 and of IPv6, as far as it has them."""
    found = []
    for family, far in _FAR.items():
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                # Connecting a datagram socket only asks the routing table.
                probe.connect((far, 9))
                own = ipaddress.ip_address(str(probe.getsockname()[0]).partition("%")[0])
        except OSError:
            continue
        if not own.is_unspecified and not own.is_loopback:
            found.append(str(own))
    return found


def network_problem() -> str:
    """Why this machine can call nobody at the moment, as far as it can tell by itself; empty when it can.

    It opens a socket and asks the routing table for a way out. No agent has a part in that.
    """
    problems = []
    for family, far in _FAR.items():
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((far, 9))
        except OSError as error:
            problems.append(os.strerror(error.errno) if error.errno else "no reason given")
        else:
            return ""
    return f"this machine has no network: {problems[0]}"


_ROUTES = Path("/proc/net/route")
_ROUTE_FIELDS = 8
_HOST_BITS = 0b11
"""A network's first and last address end in two equal bits, whatever its size: all others are asked about nothing."""


def is_no_host(address: IP) -> bool:
    """Whether an address is that of a whole network this machine is in: its broadcast or its network address."""
    if address.version != 4 or int(address) & _HOST_BITS not in (0, _HOST_BITS):
        return False
    if int(address) & _HOST_BITS == 0:
        return any(address == network.network_address for network in _networks())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing; to a broadcast address it takes a permission not asked for.
            probe.connect((str(address), 9))
        except OSError as error:
            return error.errno == errno.EACCES
    return any(address == network.broadcast_address for network in _networks())


def _networks() -> list[ipaddress.IPv4Network]:
    """The IPv4 networks that this machine is in, as its routing table has them; the loopback's where it has none."""
    found = [ipaddress.IPv4Network("127.0.0.0/8")]
    try:
        lines = _ROUTES.read_text().splitlines()[1:]
    except OSError:
        return found
    for line in lines:
        fields = line.split()
        if len(fields) < _ROUTE_FIELDS or int(fields[2], 16):
            continue
        # The kernel writes the bytes of an address as a number of its own byte order.
        first, mask = (int(field, 16).to_bytes(4, sys.byteorder) for field in (fields[1], fields[7]))
        network = ipaddress.IPv4Network((int.from_bytes(first), str(ipaddress.IPv4Address(mask))), strict=False)
        if 0 < network.prefixlen < 31:
            found.append(network)
    return found
