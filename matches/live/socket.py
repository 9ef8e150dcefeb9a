"""The live socket of a page: it joins the hub, sends frames, and reads acknowledgements and requests for a snapshot."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, parse_cookie

from matches.audience.pages import PageKey
from matches.live.hub import Listener, NotRendered, hub
from matches.observing import metrics
from matches.view import roles
from storage import clock

MAX_UNACKNOWLEDGED_FRAMES = 2
"""Frames sent to a browser and not acknowledged; further changes wait until one is, and are sent as one frame."""
NO_SUCH_PAGE, NOT_ALLOWED, TRY_LATER = 4404, 4403, 1013


@dataclass
class Times:
    """Times of a socket, in seconds.

    Attributes:
        heartbeat_s: between two heartbeats while nothing changes.
        patience_s: a browser that acknowledges or takes nothing for this long is disconnected; it will reconnect.
        snapshot_interval_s: between two snapshots that a browser asks for; a request that comes sooner waits.
        closing_s: for sending the close message to a browser that reads nothing.
        allowed_interval_s: between two checks whether a person may still watch as staff; people log out, and roles are
            taken away.
    """

    heartbeat_s: float = 3.0
    patience_s: float = 20.0
    snapshot_interval_s: float = 2.0
    closing_s: float = 1.0
    allowed_interval_s: float = 10.0


@dataclass(frozen=True)
class Limits:
    """How many sockets one process serves. A whole school may share one IP address, and a class looks at one page.

    Attributes:
        sockets: in total.
        from_address: from one IP address.
        from_address_on_page: from one IP address on one page, in all languages together.
        pages: different pages in total; each is rendered again and again.
        pages_from_address: different pages from one IP address; enough for 200 students with three pages each.
    """

    sockets: int = 2000
    from_address: int = 1000
    from_address_on_page: int = 500
    pages: int = 1200
    pages_from_address: int = 600


TIMES = Times()


class LivePage:
    """ASGI application of the socket of one kind of page, such as ``/ws/leagues/{id}/matches/{item}/``.

    Args:
        kind: a name of ``matches.audience.pages.KINDS``, or ``index``, ``check`` or ``practice``.
        sockets: counts and limits the sockets; by default those of the whole process.
        times: the intervals and time limits of its sockets.
    """

    def __init__(self, kind: str, sockets: SocketCounts | None = None, times: Times | None = None) -> None:
        self._kind = kind
        self._sockets = sockets or OPEN_SOCKETS
        self._times = times or TIMES

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket until it is closed.

        ``scope["caller"]`` is the IP address of the caller; empty or missing if it is not known.
        """
        if (await receive())["type"] != "websocket.connect":
            return
        arguments = scope["url_route"]["kwargs"]
        item = arguments.get("item")
        league_id = arguments.get("league_id")
        staff = _query_value(scope, "as") == "staff" and league_id is not None
        key = PageKey(self._kind, league_id, str(item) if item is not None else None, staff)
        with self._sockets.taken(scope.get("caller", ""), key, _language(scope)) as has_room:
            if not has_room:
                metrics.SOCKETS_REFUSED.inc()
                await send({"type": "websocket.close", "code": TRY_LATER})
                return
            await self._serve(key, scope, receive, send)

    async def _serve(self, key: PageKey, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if key.staff and not await hub.run(_may_watch, scope, str(key.league_id)):
            await send({"type": "websocket.close", "code": NOT_ALLOWED})
            return
        try:
            listener = await hub.join(key, _language(scope), packed=_query_value(scope, "packed") == "gzip")
            code = NO_SUCH_PAGE
        except NotRendered:
            listener, code = None, TRY_LATER
        if listener is None:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": code})
            return
        await send({"type": "websocket.accept"})
        socket = _Socket(listener, send, self._times)
        sender = asyncio.create_task(socket.keep_sending())
        reader = asyncio.create_task(socket.keep_reading(receive))
        tasks = {sender, reader}
        if key.staff:
            tasks.add(asyncio.create_task(self._keep_asking(scope, str(key.league_id), send)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            hub.leave(listener)
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_asking(self, scope: dict[str, Any], league_id: str, send: Any) -> None:
        """Check again and again whether the person may still watch as staff; close the socket when they may not."""
        while True:
            await asyncio.sleep(self._times.allowed_interval_s)
            if not await hub.run(_may_watch, scope, league_id):
                await send({"type": "websocket.close", "code": NOT_ALLOWED})
                return


class SocketCounts:
    """Counts open sockets by IP address and page, and refuses those beyond the limits."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self._limits = limits
        # The number of sockets on each page, by IP address; the key "" counts all of them.
        self._open: dict[str, Counter[tuple[PageKey, str]]] = {}

    @contextmanager
    def taken(self, caller: str, key: PageKey, language: str) -> Iterator[bool]:
        """Count one socket while the context lasts; yields False, and counts nothing, if a limit is reached.

        Args:
            caller: the IP address; empty if it is not known.
            key: the key of the page.
            language: the language of the page.
        """
        if not self._has_room(caller, key, language):
            yield False
            return
        page, addresses = (key, language), {"", caller}
        for address in addresses:
            self._open.setdefault(address, Counter())[page] += 1
        try:
            yield True
        finally:
            for address in addresses:
                counts = self._open[address]
                counts[page] -= 1
                if not counts[page]:
                    del counts[page]
                if not counts:
                    del self._open[address]

    def _has_room(self, caller: str, key: PageKey, language: str) -> bool:
        limits, page = self._limits, (key, language)
        bounds = {"": (limits.sockets, limits.pages)}
        if caller:
            bounds[caller] = (limits.from_address, limits.pages_from_address)
            counts = self._open.get(caller, Counter())
            if sum(counts[key, known] for known, _name in settings.LANGUAGES) >= limits.from_address_on_page:
                return False
        for address, (max_sockets, max_pages) in bounds.items():
            counts = self._open.get(address, Counter())
            if counts.total() >= max_sockets or (page not in counts and len(counts) >= max_pages):
                return False
        return True


OPEN_SOCKETS = SocketCounts()
"""The sockets of pages that are open at this process."""


class _Socket:
    def __init__(self, listener: Listener, send: Any, times: Times) -> None:
        self._listener = listener
        self._send = send
        self._times = times
        self._unacknowledged: deque[int] = deque()
        self._heard_at = time.monotonic()
        self._acknowledged = asyncio.Event()
        self._snapshot_at = -times.snapshot_interval_s
        self._snapshot_due: asyncio.TimerHandle | None = None

    async def keep_sending(self) -> None:
        """Send frames and heartbeats; disconnect a browser that acknowledges or takes nothing."""
        try:
            await self._keep_sending()
        except TimeoutError:
            metrics.SOCKETS_DROPPED.inc()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.closing_s):
                    await self._send({"type": "websocket.close", "code": TRY_LATER})

    async def _keep_sending(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._times.heartbeat_s):
                    await self._listener.news.wait()
            except TimeoutError:
                if self._unacknowledged and time.monotonic() - self._heard_at > self._times.patience_s:
                    raise
                # The server's time lets the page show correct ages when the browser's clock is wrong.
                now = clock.now().isoformat()
                beat = {"type": "heartbeat", "seq": self._listener.seen, "now": now}
                await self._put({"text": json.dumps(beat)})
                continue
            self._listener.news.clear()
            frame = self._listener.frame()
            if frame is None:
                continue
            if not self._unacknowledged:
                self._heard_at = time.monotonic()
            self._unacknowledged.append(self._listener.seen)
            await self._put({"text" if isinstance(frame, str) else "bytes": frame})
            metrics.FRAMES.inc()
            if len(self._unacknowledged) >= MAX_UNACKNOWLEDGED_FRAMES:
                await self._until_acknowledged()

    async def _until_acknowledged(self) -> None:
        async with asyncio.timeout(self._times.patience_s):
            while len(self._unacknowledged) >= MAX_UNACKNOWLEDGED_FRAMES:
                self._acknowledged.clear()
                await self._acknowledged.wait()

    async def _put(self, content: dict[str, str | bytes]) -> None:
        # The server applies back-pressure: this waits while the browser reads nothing.
        async with asyncio.timeout(self._times.patience_s):
            await self._send({"type": "websocket.send", **content})

    async def keep_reading(self, receive: Any) -> None:
        """Read acknowledgements and requests for a snapshot; ignore everything else."""
        try:
            await self._keep_reading(receive)
        finally:
            if self._snapshot_due is not None:
                self._snapshot_due.cancel()

    async def _keep_reading(self, receive: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text") or ""
            if len(text) > 200:
                continue
            try:
                request = json.loads(text)
            except ValueError:
                continue
            kind = request.get("type") if isinstance(request, dict) else None
            if kind == "ack":
                self._acknowledge(request)
            elif kind == "resync":
                self._ask_for_snapshot()

    def _acknowledge(self, request: dict[str, Any]) -> None:
        """Note that a frame, and every frame before it, has arrived; a message without a number means the oldest."""
        if not self._unacknowledged:
            return
        seq = request.get("seq", self._unacknowledged[0])
        if seq not in self._unacknowledged:
            return
        while self._unacknowledged.popleft() != seq:
            continue
        self._heard_at = time.monotonic()
        self._acknowledged.set()

    def _ask_for_snapshot(self) -> None:
        """Send a snapshot, but not before the interval is over: each is a whole page."""
        if self._snapshot_due is None:
            wait_s = self._snapshot_at + self._times.snapshot_interval_s - time.monotonic()
            self._snapshot_due = asyncio.get_running_loop().call_later(max(0.0, wait_s), self._start_over)

    def _start_over(self) -> None:
        self._snapshot_due = None
        self._snapshot_at = time.monotonic()
        self._listener.seen = 0
        self._listener.news.set()


def _query_value(scope: dict[str, Any], name: str) -> str:
    query: bytes = scope.get("query_string", b"")
    return parse_qs(query.decode("latin1")).get(name, [""])[0]


def _language(scope: dict[str, Any]) -> str:
    code = _query_value(scope, "language")
    return code if code in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def _may_watch(scope: dict[str, Any], league_id: str) -> bool:
    """Whether the session cookie of the socket belongs to someone who may watch the league as staff."""
    request = HttpRequest()
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
    key = parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
    request.session = SessionStore(key)
    return roles.may(get_user(request), roles.Permission.WATCH, league_id)
