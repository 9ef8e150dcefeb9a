"""A browser that looks at a live page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.urls import path

from leaguesite.asgi import application
from matches.audience.pages import PageKey
from matches.live.socket import LivePage
from tests.matches.agent_server import PATIENCE_S

BOARD, MATCH = PageKey("board", "fall"), PageKey("match", "fall", "R1M1")


class Browser:
    """One socket, and the page that its frames add up to."""

    def __init__(self, socket: WebsocketCommunicator) -> None:
        self._socket = socket
        self.fragments: dict[str, str] = {}
        self.frames: list[dict[str, Any]] = []

    async def say(self, message: Any) -> None:
        await self._socket.send_to(text_data=message if isinstance(message, str) else json.dumps(message))

    async def frame(self, *, ack: bool = True) -> dict[str, Any]:
        """The next frame that is not a heartbeat."""
        while True:
            frame = await self._socket.receive_json_from(timeout=PATIENCE_S)
            if frame["type"] != "heartbeat":
                break
        self.frames.append(frame)
        self.fragments |= frame["fragments"]
        if ack:
            await self.say({"type": "ack", "seq": frame["seq"]})
        return frame

    async def catch_up(self, expected: dict[str, str]) -> None:
        """Take frames until the page is as expected."""
        while self.fragments != expected:
            await self.frame()

    @property
    def has_read_everything(self) -> bool:
        """Whether no message of the site waits for it."""
        return self._socket.output_queue.empty()


def serving(**how: Any) -> URLRouter:
    """The sockets of boards and matches, with these ``sockets`` or ``times`` in place of those of the site."""
    return URLRouter(
        [
            path("ws/leagues/<slug:league_id>/", LivePage("board", **how)),
            path("ws/leagues/<slug:league_id>/matches/<slug:item>/", LivePage("match", **how)),
        ]
    )


def socket_of(
    key: PageKey, origin: str | None = "http://testserver", query: str = "", session: str | None = None, app: Any = None
) -> WebsocketCommunicator:
    """The socket of a page, as a browser opens it."""
    tail = f"{'matches' if key.kind == 'match' else key.kind}/" if key.kind != "board" else ""
    tail += f"{key.item}/" if key.item else ""
    headers = [(b"origin", origin.encode())] if origin else []
    headers += [(b"cookie", f"sessionid={session}".encode())] if session else []
    return WebsocketCommunicator(app or application, f"/ws/leagues/{key.league_id}/{tail}{query}", headers=headers)


@asynccontextmanager
async def browsing(key: PageKey, query: str = "", app: Any = None) -> AsyncIterator[Browser]:
    socket = socket_of(key, query=query, app=app)
    connected, _ = await socket.connect(timeout=PATIENCE_S)
    assert connected
    try:
        yield Browser(socket)
    finally:
        await socket.disconnect(timeout=PATIENCE_S)
