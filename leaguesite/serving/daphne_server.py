"""The site's web server: daphne with limits on what it reads; it calls the application only when a whole body is in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from daphne.http_protocol import WebRequest
from daphne.server import Server
from twisted.internet import reactor

from leaguesite.serving.daphne_sockets import CappedSocket
from leaguesite.serving.listening import BACKLOG, end_stalled
from leaguesite.serving.paths import BODY_LIMIT_S, body_cap
from leaguesite.serving.refusals import too_large

LINGER_S = 1.0
MAX_FRAME_BYTES = 4 * 1024 * 1024
"""Of one WebSocket message that we send; what is read is held to less (``daphne_sockets``)."""
GOES_AWAY = 1012
"""The close code for browsers when the process stops: they connect again, to another process."""


class CappedRequest(WebRequest):
    """Refuses a body as soon as it is known to be too large, and one that takes too long."""

    _refused = False
    _received = 0
    _timer: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Forms are Django's to read: twisted would read every body for one first.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        # Made with the request's first line; its head may take as long as a body.
        self.channel.has_asked = True
        self._timer = reactor.callLater(BODY_LIMIT_S, self._too_slow)

    def _cap(self) -> tuple[int, float]:
        # The path is known here only as the raw request line has it.
        raw = getattr(self.channel, "_path", b"")
        return body_cap(raw.partition(b"?")[0].decode("latin1"))

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - twisted's name
        most, limit_s = self._cap()
        if length is not None and length > most:
            self._stop_timer()
            self._refuse(f"{length} bytes", most)
            # Nothing of the body is kept from here on.
            length = 0
        elif self._timer is not None and self._timer.active():
            # From here on it is the body that may take so long.
            self._timer.reset(limit_s)
        super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - twisted's name
        if self._refused:
            return
        self._received += len(data)
        most = self._cap()[0]
        if self._received > most:
            self._refuse(f"more than {self._received} bytes", most)
            return
        super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802 - twisted's name
        self._stop_timer()
        if self._refused:
            self.channel.loseConnection()
        else:
            super().requestReceived(command, path, version)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - twisted's name
        self._stop_timer()
        super().connectionLost(reason)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self._refused = True
        self.channel.transport.abortConnection()

    def _refuse(self, seen: str, most: int) -> None:
        """413 with a JSON-RPC body at once; what still comes is thrown away, for a second at most.

        Closing without reading on would reset the connection before the sender has read the answer.
        """
        self._refused = True
        self._stop_timer()
        content = too_large(seen, most)
        head = (
            b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: " + str(len(content)).encode() + b"\r\n\r\n"
        )
        self.channel.transport.write(head + content)
        self._timer = reactor.callLater(LINGER_S, self.channel.transport.abortConnection)


class CappedServer(Server):
    """Daphne's server with capped requests and sockets.

    Args:
        application: the ASGI application.
        host: the address to listen at, of IPv4 or IPv6.
        port: 1 to 65535.
        begin: called on the event loop as soon as it runs; what else the process does hangs on that loop.
    """

    def __init__(self, application: Any, *, host: str, port: int, begin: Callable[[], None]) -> None:
        # By default twisted lets 50 connections wait to be accepted, fewer than a class.
        interface = host.replace(":", chr(92) + ":")
        super().__init__(
            application,
            endpoints=[f"tcp:port={port}:interface={interface}:backlog={BACKLOG}"],
            ready_callable=self._ready,
            signal_handlers=False,
            server_name="leaguesite",
            websocket_max_message_size=MAX_FRAME_BYTES,
            websocket_max_frame_size=MAX_FRAME_BYTES,
            application_close_timeout=2,
        )
        self._begin = begin

    def run(self) -> None:
        """Serve until stopped."""
        # Daphne makes its factories inside run(); the reactor calls this as soon as it turns.
        reactor.callWhenRunning(self._cap)
        super().run()

    async def drain(self, within_s: float) -> None:
        """Listen no more, close the browsers' sockets, wait ``within_s`` seconds for open requests, then stop."""
        for listener in self.listeners:
            listener.addCallback(lambda port: port.stopListening())
        for protocol in list(self.connections):
            if isinstance(protocol, CappedSocket) and protocol.state == protocol.STATE_OPEN:
                protocol.serverClose(GOES_AWAY)
        under_way = [one["application_instance"] for one in self.connections.values() if "application_instance" in one]
        if under_way:
            await asyncio.wait(under_way, timeout=within_s)
        self.stop()

    def _ready(self) -> None:
        for listener in self.listeners:
            listener.addCallback(_end_stalled)
        asyncio.get_event_loop().call_soon(self._begin)

    def _cap(self) -> None:
        self.ws_factory.protocol = CappedSocket
        # Twisted's own access log is read by nobody; what was asked is in ours.
        self.http_factory.log = lambda request: None
        build = self.http_factory.buildProtocol

        def capped(address: Any) -> Any:
            protocol = build(address)
            protocol.requestFactory = CappedRequest
            reactor.callLater(BODY_LIMIT_S, _drop_if_silent, protocol)
            return protocol

        self.http_factory.buildProtocol = capped

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        """Send what an application says; it waits while a browser takes nothing."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, CappedSocket):
            await protocol.has_room()

    def kill_all_applications(self) -> Any:
        """Cancel what is running; a connection whose request has not come in whole has nothing to cancel."""
        nothing = asyncio.get_event_loop().create_future()
        nothing.set_result(None)
        for details in self.connections.values():
            details.setdefault("application_instance", nothing)
        return super().kill_all_applications()


def _end_stalled(port: Any) -> Any:
    end_stalled(port.socket)
    return port


def _drop_if_silent(protocol: Any) -> None:
    """Whoever has connected and asked for nothing goes; a browser that meant to ask comes again."""
    channel = getattr(protocol, "_channel", protocol)
    if channel.transport is not None and not getattr(channel, "has_asked", False):
        channel.transport.abortConnection()
