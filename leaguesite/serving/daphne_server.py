"""The site's web server: daphne with limits on what it reads. It calls the application when it has the whole body."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from daphne.http_protocol import WebRequest
from daphne.server import Server
from twisted.internet import reactor
from twisted.internet.interfaces import IDelayedCall

from league_sdk.protocol.errors import NotARequest
from leaguesite.serving.daphne_sockets import CappedSocket, end_stalled
from leaguesite.serving.paths import BODY_TIMEOUT_S, body_limits
from leaguesite.serving.refusals import refusal, too_large

BACKLOG = 2048
"""How many may wait to be accepted while the process is busy; others try again after a second. Twisted allows 50."""
LINGER_S = 1.0
"""How long a body that is refused is still read."""
MAX_FRAME_BYTES = 4 * 1024 * 1024
"""The limit for a WebSocket message that we send; those that we read have a smaller limit (``daphne_sockets``)."""
CLOSE_CODE_RESTART = 1012
"""Sent to browsers and agents when the process stops: they connect again, to another process."""
_ABSOLUTE = re.compile(rb"https?://([^/?#@\\\s]+)(?:/|(?=\?)|$)(.*)", re.IGNORECASE)
_NO_TARGET = NotARequest(
    "This request cannot be read.", field="request line", expected="a path such as /mcp, or an address with http://"
)


def _call_later(delay_s: float, call: Callable[..., object], *args: object) -> IDelayedCall:
    """Have twisted call a function after some seconds."""
    # Twisted declares its interfaces without self, so mypy takes the first argument for it.
    return reactor.callLater(delay_s, call, *args)  # type: ignore[arg-type]


class CappedRequest(WebRequest):
    """Refuses a body as soon as it is known to be too large, and one that takes too long; waits for a slow reader.

    As a producer of twisted it is told when more than 64 KiB of its parts wait to be written, and when all is written.
    """

    _refused = False
    _received = 0
    _timer: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Django reads forms; by default twisted would parse every body as one first.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        # Twisted makes a request when its first line is in; the head may then take as long as a body.
        self.channel.has_asked = True
        self._room = asyncio.Event()
        self._room.set()
        self._timer = _call_later(BODY_TIMEOUT_S, self._too_slow)

    def _limits(self) -> tuple[int, float]:
        # Twisted has not parsed the path yet; the channel has it as it stands in the request line.
        raw = getattr(self.channel, "_path", b"")
        return body_limits(raw.partition(b"?")[0].decode("latin1"))

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - twisted's name
        self._read_target()
        max_bytes, timeout_s = self._limits()
        if self._refused:
            length = 0
        elif length is not None and length > max_bytes:
            self._too_large(f"{length} bytes", max_bytes)
            # For a large length twisted would open a temporary file; what comes is discarded (handleContentChunk).
            length = 0
        elif self._timer is not None and self._timer.active():
            # The head is in: from here on the time counts for the body.
            self._timer.reset(timeout_s)
        super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - twisted's name
        if self._refused:
            return
        self._received += len(data)
        max_bytes = self._limits()[0]
        if self._received > max_bytes:
            self._too_large(f"more than {max_bytes} bytes", max_bytes)
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
        self._room.set()
        super().connectionLost(reason)

    def handle_reply(self, message: dict[str, Any]) -> None:
        """See daphne's: write what an application says. A slow reader pauses a response in parts."""
        if not self.finished and self.channel is not None:
            in_parts, is_registered = message.get("more_body", False), self.producer is not None
            if in_parts and not is_registered:
                self.registerProducer(self, True)
            elif is_registered and not in_parts:
                self.unregisterProducer()
        super().handle_reply(message)

    def pauseProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.clear()

    def resumeProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.set()

    def stopProducing(self) -> None:  # noqa: N802 - twisted's name
        self._room.set()

    async def has_room(self) -> None:
        """Wait until the reader of a response in parts has taken what was sent, or the connection has ended."""
        await self._room.wait()

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self._refused = True
        self.channel.transport.abortConnection()

    def _read_target(self) -> None:
        """Put an address in the request line into the usual form, a path (RFC 9112, 3.2.2); refuse what is neither.

        The host in the address counts then, whatever the header says: Django checks it.
        """
        # Twisted declares neither the headers nor the channel's path.
        request: Any = self
        absolute = _ABSOLUTE.fullmatch(request.channel._path)
        if absolute:
            request.requestHeaders.setRawHeaders(b"host", [absolute[1]])
            request.channel._path = b"/" + absolute[2]
        elif not request.channel._path.startswith(b"/"):
            self._refuse(b"400 Bad Request", refusal(_NO_TARGET))

    def _too_large(self, seen: str, max_bytes: int) -> None:
        self._refuse(b"413 Content Too Large", too_large(seen, max_bytes))

    def _refuse(self, status: bytes, content: bytes) -> None:
        """Answer with a JSON-RPC body at once, and discard the rest of the request for a second.

        Closing at once would reset the connection before the sender has read the answer.
        """
        self._refused = True
        self._stop_timer()
        head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        head %= status, len(content)
        self.channel.transport.write(head + content)
        self._timer = _call_later(LINGER_S, self.channel.transport.abortConnection)


class CappedServer(Server):
    """Daphne's server with capped requests and sockets.

    Args:
        application: the ASGI application.
        host: the address to listen at, of IPv4 or IPv6.
        port: 1 to 65535.
        begin: called on the event loop as soon as it runs, to start what else the process does.
    """

    def __init__(self, application: Any, *, host: str, port: int, begin: Callable[[], None]) -> None:
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
        # Daphne makes its factories inside run(); the reactor calls this when it starts.
        reactor.callWhenRunning(self._limit_factories)
        super().run()

    async def drain(self, timeout_s: float) -> None:
        """Stop listening, close the sockets, and wait ``timeout_s`` seconds for open requests."""
        for listener in self.listeners:
            listener.addCallback(_stop_listening)
        for protocol in list(self.connections):
            if isinstance(protocol, CappedSocket) and protocol.state == protocol.STATE_OPEN:
                protocol.serverClose(CLOSE_CODE_RESTART)
        open_requests = [
            details["application_instance"]
            for details in self.connections.values()
            if "application_instance" in details
        ]
        if open_requests:
            await asyncio.wait(open_requests, timeout=timeout_s)

    def _ready(self) -> None:
        for listener in self.listeners:
            listener.addCallback(end_stalled)
        asyncio.get_event_loop().call_soon(self._begin)

    def _limit_factories(self) -> None:
        self.ws_factory.protocol = CappedSocket
        # Twisted's access log is not needed: requests are in our own log.
        self.http_factory.log = lambda request: None
        build = self.http_factory.buildProtocol

        def build_limited(address: Any) -> Any:
            protocol = build(address)
            protocol.requestFactory = CappedRequest
            _call_later(BODY_TIMEOUT_S, _drop_if_silent, protocol)
            return protocol

        self.http_factory.buildProtocol = build_limited

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """See daphne's, which takes where the site is mounted from Daphne-Root-Path, a header that anybody can send."""
        return super().create_application(protocol, scope | {"root_path": self.root_path})

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        """Send what an application says; the application waits while a browser or a stream's reader does not read."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, CappedSocket | CappedRequest):
            await protocol.has_room()

    def kill_all_applications(self) -> Any:
        """Cancel what is running. Daphne expects an application for every connection, even before its request is in."""
        nothing = asyncio.get_event_loop().create_future()
        nothing.set_result(None)
        for details in self.connections.values():
            details.setdefault("application_instance", nothing)
        return super().kill_all_applications()


def _stop_listening(port: Any) -> Any:
    """Have a port of twisted take no more connections."""
    return port.stopListening()


def _drop_if_silent(protocol: Any) -> None:
    """End a connection on which nothing was asked; a browser that needs it connects again."""
    channel = getattr(protocol, "_channel", protocol)
    if channel.transport is not None and not getattr(channel, "has_asked", False):
        channel.transport.abortConnection()
