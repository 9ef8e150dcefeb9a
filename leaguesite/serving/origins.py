"""Which pages in a browser are ours: others, also of another port, may open no socket and call no agents' address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import validate_host
from django.utils.http import is_same_domain

from leaguesite.serving.callers import caller_of

_PORTS = {"http": 80, "https": 443}
Origin = tuple[str, str, int]


def is_ours(origin: str, host: str) -> bool:
    """Whether a page with this ``Origin`` is one of the site's.

    It is if its scheme, name and port are those of the public address or of a trusted origin, or if it was loaded from
    the same name and port that it calls and that is a name of this site.

    Args:
        origin: the header, such as ``http://127.0.0.1:8000``.
        host: the request's ``Host``; a browser writes it, no page can choose it.
    """
    page = _read(origin)
    if page is None:
        return False
    if any(_matches(page, one) for one in (settings.LEAGUE_PUBLIC_URL, *settings.CSRF_TRUSTED_ORIGINS)):
        return True
    # Every browser sends a Host. Without one only the name in the Origin can be checked.
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
    """Whether a page is that of an address; ``*.example.org`` in one means that name and every name below it."""
    own = _read(pattern.replace("://*.", "://.", 1))
    return own is not None and (page[0], page[2]) == (own[0], own[2]) and is_same_domain(page[1], own[1])


class OwnPages:
    """ASGI application for sockets of our own pages only: those of other sites' pages are refused.

    The caller's address is put into ``scope["caller"]``; empty where it cannot be told.

    Args:
        inner: the application.
        programs: whether programs, which send no ``Origin``, may open sockets, too.
    """

    def __init__(self, inner: Any, *, programs: bool = False) -> None:
        self._inner = inner
        self._programs = programs

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket, or refuse it."""
        origin, host = (_header(scope["headers"], name) for name in (b"origin", b"host"))
        if (self._programs and not origin) or is_ours(origin, host):
            await self._inner(scope | {"caller": caller_of(scope).ip}, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)


def _header(headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str:
    return next((value.decode("latin1") for name, value in headers if name == header), "")
