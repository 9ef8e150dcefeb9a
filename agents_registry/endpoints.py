"""Which addresses agents may have on this site. No I/O: no name is looked up, and no row is read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from django.conf import settings

from agents_registry.addresses import LOOPBACK_NAMES, Address, is_loopback, read_address
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.transport.machine import outward_addresses
from league_sdk.transport.policy import EndpointPolicy, Forbidden
from league_sdk.transport.targets import Target, Unreadable, read_target

_outward = cache(outward_addresses)
"""Asked once; that the machine has moved since is seen where a call is made (``machine.is_own``)."""


def endpoint_policy(more_ports: Iterable[int] = ()) -> EndpointPolicy:
    """Which addresses may be called from here, by the settings and by where the site runs.

    Args:
        more_ports: of this site's machine that are refused beside the site's own, such as those of its referees.
    """
    site = _read(settings.LEAGUE_PUBLIC_URL)
    own_ports = {*settings.LEAGUE_REFUSED_PORTS, *more_ports, *([site.number] if site is not None else [])}
    own_hosts = {*settings.LEAGUE_ENDPOINTS["own_hosts"], *_outward(), *([site.host] if site is not None else [])}
    return EndpointPolicy.from_params(
        settings.LEAGUE_ENDPOINTS
        | {
            "refused_ports": sorted(own_ports),
            "own_hosts": sorted(own_hosts - LOOPBACK_NAMES),
            "loopback_by_name": False,
        }
    )


def _read(url: str) -> Target | None:
    try:
        return read_target(url)
    except Unreadable:
        return None


def ports_of(urls: Iterable[str]) -> set[int]:
    """The ports in addresses; of one that cannot be read (an older site kept it) none."""
    found = (_read(url) for url in urls)
    return {target.number for target in found if target is not None}


def read_endpoint(value: object, *, caller: str, field: str, proxied: bool = False) -> Address:
    """Read an address as :func:`agents_registry.addresses.read_address` does, and ask the policy.

    What a name leads to is looked up and checked when it is called, each time.

    Args:
        value: the endpoint as sent.
        caller: the IP address the request came from; empty for one that is taken as it is.
        field: the field's name, for the error.
        proxied: it came through a proxy that did not tell from where: then nobody knows whose "localhost" is meant.

    Raises:
        InvalidFormat: not an address that is called; the sentence says why.
    """
    address = read_address(value, caller=caller, field=field)
    expected = "a URL such as http://192.168.1.20:8101/mcp"
    if proxied and is_loopback(address.url):
        raise InvalidFormat(
            f"{field} is this site's own machine: give the address of yours.",
            field=field,
            seen=value,
            expected=expected,
        )
    try:
        endpoint_policy().check_url(address.url)
    except Forbidden as error:
        raise InvalidFormat(f"{field} is not called: {error}.", field=field, seen=value, expected=expected) from None
    return address
