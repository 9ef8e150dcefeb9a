"""The live socket of a page: join, snapshot, forward. It reads nothing but acknowledgements."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.utils import timezone

from matches.hub import Listener, hub
from matches.pages import PageKey

HEARTBEAT_S = 3.0
UNACKNOWLEDGED = 2
"""Frames on the way to one browser; further changes wait and arrive as one."""
PATIENCE_S = 20.0
"""A browser that acknowledges nothing for so long is dropped; it comes back for a snapshot."""
MOST_SOCKETS = 2000
NO_SUCH_PAGE, TRY_LATER = 4404, 1013


class LivePage:
    """ASGI application of ``/ws/leagues/``, ``/ws/leagues/{id}/``, ``/ws/leagues/{id}/matches/{match_id}/`` and
    ``/ws/checks/{id}/``."""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket until it is closed."""
        if (await receive())["type"] != "websocket.connect":
            return
        if hub.sockets >= MOST_SOCKETS:
            await send({"type": "websocket.close", "code": TRY_LATER})
            return
        arguments = scope["url_route"]["kwargs"]
        check_id = arguments.get("check_id")
        key = PageKey(arguments.get("league_id"), arguments.get("match_id"), str(check_id) if check_id else None)
        listener = await hub.join(key, _language(scope))
        if listener is None:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": NO_SUCH_PAGE})
            return
        await send({"type": "websocket.accept"})
        socket = _Socket(listener, send)
        sender = asyncio.create_task(socket.keep_sending())
        reader = asyncio.create_task(socket.keep_reading(receive))
        try:
            await asyncio.wait({sender, reader}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sender.cancel()
            reader.cancel()
            hub.leave(listener)
            await asyncio.gather(sender, reader, return_exceptions=True)

    @classmethod
    def as_asgi(cls) -> LivePage:
        """The application, as Channels' routing names it."""
        return cls()


class _Socket:
    def __init__(self, listener: Listener, send: Any) -> None:
        self._listener = listener
        self._send = send
        self._waiting = 0
        self._acknowledged = asyncio.Event()

    async def keep_sending(self) -> None:
        """Frames while fewer than two are unacknowledged, heartbeats in between."""
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._listener.news.wait()
            except TimeoutError:
                # With our clock: ages on the page are right where the browser's clock is not.
                now = timezone.now().isoformat()
                beat = {"type": "heartbeat", "seq": self._listener.seen, "now": now}
                await self._send({"type": "websocket.send", "text": json.dumps(beat)})
                continue
            self._listener.news.clear()
            frame = self._listener.frame()
            if frame is None:
                continue
            self._waiting += 1
            await self._send({"type": "websocket.send", "text": frame})
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while self._waiting >= UNACKNOWLEDGED:
                        self._acknowledged.clear()
                        await self._acknowledged.wait()
            except TimeoutError:
                await self._send({"type": "websocket.close", "code": TRY_LATER})
                return

    async def keep_reading(self, receive: Any) -> None:
        """Acknowledgements, and wishes for a snapshot; everything else is ignored."""
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text") or ""
            if len(text) > 200:
                continue
            try:
                wish = json.loads(text)
            except ValueError:
                continue
            kind = wish.get("type") if isinstance(wish, dict) else None
            if kind == "ack":
                self._waiting = max(0, self._waiting - 1)
                self._acknowledged.set()
            elif kind == "resync":
                self._listener.seen = 0
                self._listener.news.set()


def _language(scope: dict[str, Any]) -> str:
    asked = parse_qs(scope.get("query_string", b"").decode("latin1")).get("language", [""])[0]
    return asked if asked in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
