"""Which pages of a browser are ours: what a page of another site, or of another port, asks for is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import is_same_domain, validate_host

_PORTS = {"http": 80, "https": 443}
Origin = tuple[str, str, int]


def is_ours(origin: str, host: str) -> bool:
    """Whether a page with this ``Origin`` is one of the site's.

    It is where the page has scheme, name and port of the public address or of a trusted origin, or where it came from
    the very name and port that it calls, if that is a name of this site.

    Args:
        origin: the header, such as ``http://127.0.0.1:8000``.
        host: the request's ``Host``; a browser writes it, no page can choose it.
    """
    page = _read(origin)
    if page is None:
        return False
    if any(_matches(page, one) for one in (settings.LEAGUE_PUBLIC_URL, *settings.CSRF_TRUSTED_ORIGINS)):
        return True
    # Every browser sends a Host; for what sends none, the name is all there is to go by.
    called = _read(f"{page[0]}://{host}") if host else page
    return called == page and validate_host(page[1], settings.ALLOWED_HOSTS)


def _read(text: str) -> Origin | None:
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    name = (parts.hostname or "").rstrip(".")
    return (parts.scheme, f"[{name}]" if ":" in name else name, port) if name else None


def _matches(page: Origin, pattern: str) -> bool:
    """Whether a page is that of an address, which may begin with ``*.`` for every name below it."""
    own = _read(pattern.replace("://*.", "://.", 1))
    return own is not None and (page[0], page[2]) == (own[0], own[2]) and is_same_domain(page[1], own[1])


class OwnPages:
    """ASGI application that takes a browser's socket from our own pages only; one without an ``Origin`` is refused."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket, or refuse it."""
        origin, host = (_header(scope["headers"], name) for name in (b"origin", b"host"))
        await (self._inner if is_ours(origin, host) else WebsocketDenier())(scope, receive, send)


def _header(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> str:
    return next((value.decode("latin1") for name, value in headers if name == wanted), "")
