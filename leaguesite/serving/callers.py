"""Who a page's socket comes from, behind a trusted proxy too; of requests the middleware sees to it (``trust``)."""

from __future__ import annotations

import ipaddress
from typing import Any

from django.conf import settings

from leaguesite.serving.trust import forwarded_for


class Called:
    """ASGI application that puts the caller's address into ``scope["caller"]``; empty where it cannot be told."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket."""
        await self._inner(scope | {"caller": caller_of(scope)}, receive, send)


def caller_of(scope: dict[str, Any]) -> str:
    """The address a connection comes from."""
    client = scope.get("client") or ("", 0)
    claimed = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin1")
    trusted = settings.LEAGUE_TRUSTED_PROXIES
    # The connection is the last hop: what it says of those before is read only where it is a proxy of ours.
    found = forwarded_for(f"{claimed},{client[0]}", trusted)
    return "" if not found or any(ipaddress.ip_address(found) in network for network in trusted) else found
