"""The address at which the sender of a request reaches the site."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from agents_registry.addresses.callers import sender_of


def is_local(url: str) -> bool:
    """Whether an address refers to the reader's own machine, such as localhost."""
    host = (urlsplit(url).hostname or "").lower()
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost") or host.endswith(".localhost")


def base_url(requested: str, public: str) -> str:
    """The site's address for other machines: that of the request, unless it is a local one.

    Args:
        requested: scheme and host of the request.
        public: ``LEAGUE_PUBLIC_URL``; for its own host its scheme is used, as a proxy may terminate https.
    """
    same = urlsplit(requested).netloc.lower() == urlsplit(public).netloc
    return public.rstrip("/") if same or (is_local(requested) and not is_local(public)) else requested


def site_address_for_page(request: HttpRequest) -> str:
    """Scheme, host and port of the site for a page: readers pass on what stands there."""
    return base_url(_requested(request), settings.LEAGUE_PUBLIC_URL)


def site_address_for_caller(request: HttpRequest) -> str:
    """Scheme, host and port of the site for the program that sends a request, which has just reached it there.

    Behind a proxy the request may name another address: some tunnels write ``localhost`` into ``Host``.
    """
    return site_address_for_page(request) if sender_of(request).proxied else _requested(request)


def _requested(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"
