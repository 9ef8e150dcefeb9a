"""What the environment says of addresses that may be called; read once, when the settings are (docs/operations.md)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

SERVICES = {
    "DATABASE_URL": (("postgres", "postgresql"), 5432),
    "REDIS_URL": (("redis", "rediss"), 6379),
}
"""Variables whose ports no agent can have, with their schemes and the port that is meant where none is named."""
HIGHEST_PORT = 65535


def read(environ: Mapping[str, str]) -> dict[str, Any]:
    """The policy of this site, as far as it is configured: as ``start_match`` carries it.

    Args:
        environ: the environment's variables.

    Raises:
        ValueError: one of them cannot be read; the text names it and shows what is expected.
    """
    networks = _networks(environ, "LEAGUE_ENDPOINT_NETWORKS")
    ports = _ports(environ, "LEAGUE_ENDPOINT_PORTS")
    return {
        "networks": networks or None,
        "refused_networks": _networks(environ, "LEAGUE_ENDPOINT_REFUSED_NETWORKS"),
        "ports": ports or None,
        "schemes": _schemes(environ, "LEAGUE_ENDPOINT_SCHEMES") or None,
        "closed_ports": sorted({port for name in SERVICES if (port := _port_of(environ.get(name, ""), name))}),
        "own_hosts": _hosts(environ, "LEAGUE_OWN_HOSTS"),
    }


def _hosts(environ: Mapping[str, str], variable: str) -> list[str]:
    found = [item.lower() for item in _items(environ, variable)]
    # Names and addresses are compared with, networks are read.
    networks = iter(_read_networks([item for item in found if "/" in item], variable))
    return [next(networks) if "/" in item else item for item in found]


def _items(environ: Mapping[str, str], variable: str) -> list[str]:
    return [item.strip() for item in environ.get(variable, "").split(",") if item.strip()]


def _networks(environ: Mapping[str, str], variable: str) -> list[str]:
    return _read_networks(_items(environ, variable), variable)


def _read_networks(items: list[str], variable: str) -> list[str]:
    found = []
    for item in items:
        try:
            found.append(str(ipaddress.ip_network(item)))
        except ValueError as error:
            raise ValueError(f"{variable}: {error}; expected networks such as 10.0.0.0/8,127.0.0.0/8,::1") from None
    return found


def _ports(environ: Mapping[str, str], variable: str) -> list[list[int]]:
    found = []
    for item in _items(environ, variable):
        first, _dash, last = item.partition("-")
        numbers = [int(one) for one in (first, last or first) if one.isascii() and one.isdigit() and len(one) <= 5]
        if len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= HIGHEST_PORT:
            raise ValueError(f"{variable}: {item!r} is no port and no range; expected such as 443,8000-8999")
        found.append(numbers)
    return found


def _schemes(environ: Mapping[str, str], variable: str) -> list[str]:
    found = [item.lower() for item in _items(environ, variable)]
    for item in found:
        if item not in ("http", "https"):
            raise ValueError(f"{variable}: {item!r} is not called; expected http, https or both")
    return found


def _port_of(url: str, variable: str) -> int | None:
    """The port of a service of the site; None when it has none."""
    schemes, usual = SERVICES[variable]
    try:
        parts = urlsplit(url)
        return (parts.port or usual) if parts.scheme in schemes else None
    except ValueError:
        raise ValueError(f"{variable}: its port cannot be read") from None
