"""The caller of a request or socket: determined once, and stored in its scope.

What a proxy says is believed only if ``LEAGUE_TRUSTED_PROXIES`` names it. From others such a header shows only that
the connection may not be the caller's own.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect

from agents_registry.addresses.callers import Caller, note_sender
from agents_registry.addresses.reading import comes_from, plain_ip
from agents_registry.addresses.seen import seen
from leaguesite.environment import Network

FORWARDED_FOR, FORWARDED = "x-forwarded-for", "forwarded"
_OF_PROXIES = (
    *(FORWARDED_FOR, FORWARDED, "x-forwarded-proto", "x-forwarded-host", "x-original-host"),
    *("via", "x-real-ip", "cf-connecting-ip"),
)
_IN_META = {f"HTTP_{name.upper().replace('-', '_')}": name for name in _OF_PROXIES}
THIS_MACHINE = "127.0.0.1"


class KnownCaller:
    """Middleware: note who sends a request; believe only our own proxies about https, and send browsers there."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._stay = [re.compile(one) for one in settings.SECURE_REDIRECT_EXEMPT]

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        peer = meta.get("REMOTE_ADDR", "")
        caller = _caller(peer, {name: meta[key] for key, name in _IN_META.items() if key in meta})
        note_sender(request, caller)
        seen.note(caller)
        forwarded_scheme = meta.pop("HTTP_X_FORWARDED_PROTO", "")
        if _is_in(peer, settings.LEAGUE_TRUSTED_PROXIES):
            meta["HTTP_X_FORWARDED_PROTO"] = _scheme(forwarded_scheme, meta.get("HTTP_HOST", ""), caller)
        if self._is_to_use_https(request, caller):
            # Not a permanent redirect, which browsers remember: a tunnel may have another address tomorrow.
            return HttpResponseRedirect(f"{settings.LEAGUE_PUBLIC_URL}{request.get_full_path()}")
        return self.get_response(request)

    def _is_to_use_https(self, request: HttpRequest, caller: Caller) -> bool:
        """Whether a browser came by plain http to a site that has a proxy with https.

        Browsers of the site's own machine may stay: the instructor needs the desk when the tunnel is down.
        """
        if not settings.LEAGUE_TRUSTED_PROXIES or not settings.LEAGUE_PUBLIC_URL.startswith("https://"):
            return False
        stays = caller.past_proxy or any(one.search(request.path.lstrip("/")) for one in self._stay)
        return not (stays or request.is_secure())


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """The caller of an ASGI connection: of a socket, or of a request that Django has not read yet."""
    forwarded: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin1")
        if name in _OF_PROXIES:
            text = value.decode("latin1")
            forwarded[name] = f"{forwarded[name]},{text}" if name in forwarded else text
    return _caller((scope.get("client") or ("", 0))[0], forwarded)


def _caller(peer: str, forwarded: Mapping[str, str]) -> Caller:
    """The caller of a connection.

    Args:
        peer: the IP address of the connection.
        forwarded: the headers that proxies add, by name.
    """
    trusted = settings.LEAGUE_TRUSTED_PROXIES
    if not _is_in(peer, trusted):
        return Caller(plain_ip(peer), direct=not (forwarded.get(FORWARDED_FOR) or forwarded.get(FORWARDED)))
    past_proxy = not forwarded and comes_from(f"http://{THIS_MACHINE}", peer)
    ip = forwarded_for(forwarded.get(FORWARDED_FOR, ""), trusted)
    return Caller(ip, past_proxy=past_proxy, proxied=bool(forwarded))


def _scheme(forwarded: str, host: str, caller: Caller) -> str:
    """The scheme that a caller behind a trusted proxy used.

    Args:
        forwarded: the proxy's ``X-Forwarded-Proto``. The nearest proxy wrote the last value; its caller may have sent
            more.
        host: the request's ``Host``.
        caller: the caller of the connection.

    Returns:
        The proxy's value. Some proxies send none: then the scheme of the public address counts, for callers that
        came through a proxy or called that address.
    """
    scheme = forwarded.rpartition(",")[2].strip().lower()
    public = urlsplit(settings.LEAGUE_PUBLIC_URL)
    passed_on = caller.proxied or host.lower() == public.netloc
    return scheme or (public.scheme if passed_on else "http")


def forwarded_for(header: str, trusted: Sequence[Network]) -> str:
    """The caller in an ``X-Forwarded-For`` that a trusted proxy sent; empty where it cannot be told.

    It is read from the right: each proxy appends the address it was called from, so the first address that is not a
    proxy of ours is the caller's. The caller may have written everything further left.

    Args:
        header: ``client, proxy, proxy``; an address may have a port.
        trusted: the networks of our proxies.
    """
    address = ""
    for item in reversed(header.split(",")):
        address = _address(item)
        if not address or not _is_in(address, trusted):
            break
    return address


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
        ip = ipaddress.ip_address(plain_ip(address))
    except ValueError:
        return False
    return any(ip in network for network in networks)
