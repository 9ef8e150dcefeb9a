"""Who is calling: told once for each request and each socket, and carried by it from there on.

A forwarded address is believed only from a proxy that was named (``LEAGUE_TRUSTED_PROXIES``). From anybody else such a
header shows nothing but that the caller may not be whom the connection comes from.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from agents_registry.addresses import comes_from, plain_ip
from agents_registry.callers import Caller
from leaguesite.environment import Network

FORWARDED_FOR, FORWARDED = "x-forwarded-for", "forwarded"
_OF_PROXIES = (FORWARDED_FOR, FORWARDED, "via", "x-real-ip")
_IN_META = {f"HTTP_{name.upper().replace('-', '_')}": name for name in _OF_PROXIES}
THIS_MACHINE = "127.0.0.1"


class KnownCaller:
    """Middleware: puts a :class:`Caller` into ``request.caller``; only a proxy of ours is believed that it is https."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        peer = meta.get("REMOTE_ADDR", "")
        request.caller = _caller(peer, {name: meta[key] for key, name in _IN_META.items() if key in meta})
        if "HTTP_X_FORWARDED_PROTO" in meta:
            # What the nearest proxy said; whatever stands before that, its caller may have sent.
            said = meta.pop("HTTP_X_FORWARDED_PROTO").rpartition(",")[2].strip().lower()
            if _is_in(peer, settings.LEAGUE_TRUSTED_PROXIES):
                meta["HTTP_X_FORWARDED_PROTO"] = said
        return self.get_response(request)


class KnownSocket:
    """ASGI application that puts the caller's address into ``scope["caller"]``; empty where it cannot be told."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket."""
        await self._inner(scope | {"caller": caller_of(scope).ip}, receive, send)


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """Who calls by an ASGI connection: the caller of a request before it is Django's, and of a socket."""
    told: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin1")
        if name in _OF_PROXIES:
            told[name] = f"{told[name]},{value.decode('latin1')}" if name in told else value.decode("latin1")
    return _caller((scope.get("client") or ("", 0))[0], told)


def _caller(peer: str, told: Mapping[str, str]) -> Caller:
    """Who calls.

    Args:
        peer: the IP address of the connection.
        told: what headers of proxies say, by their names.
    """
    trusted = settings.LEAGUE_TRUSTED_PROXIES
    if not _is_in(peer, trusted):
        return Caller(plain_ip(peer), direct=not (told.get(FORWARDED_FOR) or told.get(FORWARDED)))
    past_proxy = not told and comes_from(f"http://{THIS_MACHINE}", peer)
    return Caller(forwarded_for(told.get(FORWARDED_FOR, ""), trusted), past_proxy=past_proxy)


def forwarded_for(header: str, trusted: Sequence[Network]) -> str:
    """The caller in an ``X-Forwarded-For`` that a trusted proxy sent; empty where it cannot be told.

    Read from the right: each proxy adds whom it was called by, so the first that is not a proxy of ours is the caller.
    Everything further left was written by the caller.

    Args:
        header: ``client, proxy, proxy``; a port behind an address does no harm.
        trusted: the networks of our proxies.
    """
    found = ""
    for item in reversed(header.split(",")):
        found = _address(item)
        if not found or not _is_in(found, trusted):
            break
    return found


def _address(item: str) -> str:
    """An address of the header without port and brackets; empty for anything else."""
    text = item.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return plain_ip(str(ipaddress.ip_address(text)))
    except ValueError:
        return ""


def _is_in(address: str, networks: Sequence[Network]) -> bool:
    if not networks:
        return False
    try:
        found = ipaddress.ip_address(plain_ip(address))
    except ValueError:
        return False
    return any(found in network for network in networks)
