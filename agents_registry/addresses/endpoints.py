"""Which addresses agents may have on this site. Looks no name up and reads no row."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from django.conf import settings

from agents_registry.addresses.reading import EXPECTED, LOOPBACK_NAMES, Address, is_loopback, read_address
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.transport.machine import outward_addresses
from league_sdk.transport.policy import EndpointPolicy, Forbidden
from league_sdk.transport.targets import find_target

_outward = cache(outward_addresses)
"""Called once. The machine may get other addresses later: ``machine.is_own`` is asked at every call of an agent."""


def endpoint_policy(more_ports: Iterable[int] = ()) -> EndpointPolicy:
    """Which addresses may be called from here, by the settings and by where the site runs.

    Args:
        more_ports: ports of this machine that are refused beside the site's own, such as those of its referees.
    """
    site = find_target(settings.LEAGUE_PUBLIC_URL)
    own_ports = {*settings.LEAGUE_REFUSED_PORTS, *more_ports, *([site.called_port] if site is not None else [])}
    own_hosts = {*settings.LEAGUE_ENDPOINTS["own_hosts"], *_outward(), *([site.host] if site is not None else [])}
    return EndpointPolicy.from_params(
        settings.LEAGUE_ENDPOINTS
        | {
            "refused_ports": sorted(own_ports),
            "own_hosts": sorted(own_hosts - LOOPBACK_NAMES),
            "loopback_by_name": False,
        }
    )


def ports_of(urls: Iterable[str]) -> set[int]:
    """The ports in addresses; an address that cannot be read (stored by an older version) is ignored."""
    targets = (find_target(url) for url in urls)
    return {target.called_port for target in targets if target is not None}


def read_endpoint(value: object, *, caller: str, field: str, proxied: bool = False) -> Address:
    """Read an address as :func:`agents_registry.addresses.reading.read_address` does, and check it by the policy.

    What its name resolves to is checked at every call.

    Args:
        proxied: the request came through a proxy that did not say from where: nobody knows whose "localhost" it names.

    Raises:
        InvalidFormat: not an address that is called; the sentence says why.
    """
    address = read_address(value, caller=caller, field=field)
    problem = ""
    if proxied and is_loopback(address.url):
        problem = f"{field} is this site's own machine: give the address of yours, or none and fetch your messages."
    else:
        try:
            endpoint_policy().check_url(address.url)
        except Forbidden as error:
            problem = f"{field} is not called: {error}."
    if problem:
        raise InvalidFormat(problem, field=field, seen=value, expected=EXPECTED)
    return address
