"""Which addresses of agents may be called, as the environment says it (docs/operations.md)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from leaguesite.environment import listed, network, networks
from storage.databases import split_servers

SERVICES = {
    "DATABASE_URL": (("postgres", "postgresql"), 5432),
    "REDIS_URL": (("redis", "rediss"), 6379),
}
"""Services of the site, whose ports no agent can have: by variable, the schemes and the default port."""
HIGHEST_PORT = 65535


def read(environ: Mapping[str, str]) -> dict[str, Any]:
    """The configured part of the site's policy, in the form in which ``start_match`` carries it to a referee.

    Args:
        environ: the environment's variables.

    Raises:
        ValueError: a variable cannot be read; the text names it and says what is expected.
    """
    return {
        "networks": _networks(environ, "LEAGUE_ENDPOINT_NETWORKS") or None,
        "refused_networks": _networks(environ, "LEAGUE_ENDPOINT_REFUSED_NETWORKS"),
        "ports": _ports(environ, "LEAGUE_ENDPOINT_PORTS") or None,
        "schemes": _schemes(environ, "LEAGUE_ENDPOINT_SCHEMES") or None,
        "closed_ports": sorted({port for name in SERVICES for port in _ports_of(environ.get(name, ""), name)}),
        "own_hosts": _hosts(environ, "LEAGUE_OWN_HOSTS"),
    }


def _hosts(environ: Mapping[str, str], variable: str) -> list[str]:
    return [_host(item, variable) for item in listed(variable, environ)]


def _host(item: str, variable: str) -> str:
    """A name, an address or a network, in the spelling in which it is compared as text."""
    if "/" in item:
        return str(network(item, variable))
    try:
        return str(ipaddress.ip_address(item))
    except ValueError:
        return item.lower()


def _networks(environ: Mapping[str, str], variable: str) -> list[str]:
    return [str(one) for one in networks(variable, environ)]


def _ports(environ: Mapping[str, str], variable: str) -> list[list[int]]:
    ranges = []
    for item in listed(variable, environ):
        first, _dash, last = item.partition("-")
        numbers = [int(text) for text in (first, last or first) if text.isascii() and text.isdigit() and len(text) <= 5]
        if len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= HIGHEST_PORT:
            raise ValueError(f"{variable}: {item!r} is neither a port nor a range; expected such as 443,8000-8999")
        ranges.append(numbers)
    return ranges


def _schemes(environ: Mapping[str, str], variable: str) -> list[str]:
    schemes = [item.lower() for item in listed(variable, environ)]
    for item in schemes:
        if item not in ("http", "https"):
            raise ValueError(f"{variable}: {item!r} is no scheme of agents' addresses; expected http, https or both")
    return schemes


def _ports_of(url: str, variable: str) -> set[int]:
    """The ports of a service of the site, on whichever of its hosts; none without it."""
    schemes, default_port = SERVICES[variable]
    try:
        parts, servers = split_servers(url, default_port)
        return {port for _host, port in servers} if parts.scheme in schemes else set()
    except ValueError:
        raise ValueError(f"{variable}: its port cannot be read") from None
