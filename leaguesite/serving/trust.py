"""Who a request comes from, and what browsers may do with our pages: two middlewares at the top of the list.

A forwarded address is believed only from a proxy that was named (``LEAGUE_TRUSTED_PROXIES``). What is left of such
headers after :class:`KnownCaller` came from somebody who may write anything into them: it shows nothing but that the
caller may not be whom the connection comes from (``matches.audience.views.check.caller_of``).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from agents_registry.addresses import plain_ip
from leaguesite.environment import Network

Answer = Callable[[HttpRequest], HttpResponseBase]

PERMISSIONS = ", ".join(f"{name}=()" for name in ("camera", "geolocation", "microphone", "payment", "usb"))
PAST_PROXY = "leaguesite.past_proxy"
"""In ``request.META``: the connection's own address, where it is a trusted proxy's and no header of a proxy came."""
_OF_PROXIES = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class KnownCaller:
    """Puts the caller's own address into ``REMOTE_ADDR`` where a trusted proxy told it; drops what others claim.

    Behind a trusted proxy that tells nothing, ``REMOTE_ADDR`` is empty: nobody is near, nobody is told apart.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        trusted: Sequence[Network] = settings.LEAGUE_TRUSTED_PROXIES
        if trusted and _is_in(meta.get("REMOTE_ADDR", ""), trusted):
            if not any(name in meta for name in _OF_PROXIES):
                meta[PAST_PROXY] = meta["REMOTE_ADDR"]
            meta["REMOTE_ADDR"] = forwarded_for(meta.pop("HTTP_X_FORWARDED_FOR", ""), trusted)
            meta.pop("HTTP_FORWARDED", None)
            if "HTTP_X_FORWARDED_PROTO" in meta:
                # What the nearest proxy said; whatever stands before that, its caller may have sent.
                meta["HTTP_X_FORWARDED_PROTO"] = meta["HTTP_X_FORWARDED_PROTO"].rpartition(",")[2].strip().lower()
        else:
            meta.pop("HTTP_X_FORWARDED_PROTO", None)
        return self.get_response(request)


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
    try:
        found = ipaddress.ip_address(plain_ip(address))
    except ValueError:
        return False
    return any(found in network for network in networks)


class PageHeaders(CSPMiddleware):
    """Content-Security-Policy and Permissions-Policy of every page."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the headers."""
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return super().process_response(request, response)

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The policy of the settings, with what one part of the site needs beyond it."""
        parts = super().get_policy_parts(request, response, report_only)
        more = settings.LEAGUE_POLICY_BEYOND
        beyond = next((found for prefix, found in more.items() if request.path.startswith(prefix)), None)
        if beyond is not None and parts.update is None:
            parts.update = beyond
        return parts
