"""The live socket of a page: join, snapshot, forward. It reads nothing but acknowledgements."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, parse_cookie
from django.utils import timezone

from matches.audience.pages import PageKey
from matches.live.hub import Listener, hub
from matches.observing import metrics
from matches.view import roles

HEARTBEAT_S = 3.0
UNACKNOWLEDGED = 2
"""Frames on the way to one browser; further changes wait and arrive as one."""
PATIENCE_S = 20.0
"""A browser that acknowledges nothing for so long is dropped; it comes back for a snapshot."""
SNAPSHOT_AGAIN_S = 2.0
"""Whoever asks for a snapshot sooner than this after the last one asked for waits so long."""
CLOSING_S = 1.0
"""For saying goodbye to a browser that takes nothing."""
MOST_SOCKETS = 2000
MOST_FROM_ADDRESS, MOST_FROM_ADDRESS_ON_PAGE = 1000, 500
"""Of one process. A school has one address, and a class looks at one page; nobody takes all there is."""
MOST_PAGES, MOST_PAGES_FROM_ADDRESS = 1200, 600
"""Different ones, each of which is drawn again and again. Two hundred students have their own, a match and one more."""
ALLOWED_AGAIN_S = 10.0
"""Whoever sees what a frozen board hides is asked so often whether they still may: people log out, roles are taken."""
NO_SUCH_PAGE, NOT_ALLOWED, TRY_LATER = 4404, 4403, 1013


class LivePage:
    """ASGI application of the socket of one kind of page, such as ``/ws/leagues/{id}/matches/{item}/``.

    Args:
        kind: a name of ``matches.audience.pages.KINDS``, ``index`` or ``check``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one socket until it is closed.

        ``scope["caller"]`` is the address it comes from; empty or missing where that cannot be told.
        """
        if (await receive())["type"] != "websocket.connect":
            return
        arguments = scope["url_route"]["kwargs"]
        item = arguments.get("item")
        league_id = arguments.get("league_id")
        staff = _asked(scope, "as") == "staff" and league_id is not None
        key = PageKey(self._kind, league_id, str(item) if item is not None else None, staff)
        with _seats.taken(scope.get("caller", ""), key, _language(scope)) as seated:
            if not seated:
                metrics.SOCKETS_REFUSED.inc()
                await send({"type": "websocket.close", "code": TRY_LATER})
                return
            await self._serve(key, scope, receive, send)

    async def _serve(self, key: PageKey, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if key.staff and not await hub.run(_may_watch, scope, str(key.league_id)):
            await send({"type": "websocket.close", "code": NOT_ALLOWED})
            return
        listener = await hub.join(key, _language(scope), packed=_asked(scope, "packed") == "gzip")
        if listener is None:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": NO_SUCH_PAGE})
            return
        await send({"type": "websocket.accept"})
        socket = _Socket(listener, send)
        sender = asyncio.create_task(socket.keep_sending())
        reader = asyncio.create_task(socket.keep_reading(receive))
        tasks = {sender, reader}
        if key.staff:
            tasks.add(asyncio.create_task(_keep_asking(scope, str(key.league_id), send)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            hub.leave(listener)
            await asyncio.gather(*tasks, return_exceptions=True)

    @classmethod
    def as_asgi(cls, kind: str) -> LivePage:
        """The application, as Channels' routing names it."""
        return cls(kind)


class _Seats:
    """How many sockets are open from where, and on how many pages."""

    def __init__(self) -> None:
        self._taken: Counter[object] = Counter()
        self._pages: defaultdict[str, Counter[object]] = defaultdict(Counter)

    @contextmanager
    def taken(self, caller: str, key: PageKey, language: str) -> Iterator[bool]:
        """One seat for as long as the context lasts; whether there was one."""
        page = (key, language)
        wanted: dict[object, int] = {"all": MOST_SOCKETS}
        pages = {"": MOST_PAGES}
        if caller:
            wanted |= {(caller,): MOST_FROM_ADDRESS, (caller, key): MOST_FROM_ADDRESS_ON_PAGE}
            pages[caller] = MOST_PAGES_FROM_ADDRESS
        full = any(self._taken[place] >= most for place, most in wanted.items())
        if full or any(self._one_too_many(place, page, most) for place, most in pages.items()):
            yield False
            return
        self._taken.update(wanted.keys())
        for place in pages:
            self._pages[place][page] += 1
        try:
            yield True
        finally:
            self._taken.subtract(wanted.keys())
            for one in [one for one in wanted if not self._taken[one]]:
                del self._taken[one]
            for place in pages:
                self._leave(place, page)

    def _one_too_many(self, place: str, page: object, most: int) -> bool:
        found = self._pages.get(place, ())
        return page not in found and len(found) >= most

    def _leave(self, place: str, page: object) -> None:
        found = self._pages[place]
        found[page] -= 1
        if not found[page]:
            del found[page]
        if not found:
            del self._pages[place]


_seats = _Seats()


class _Socket:
    def __init__(self, listener: Listener, send: Any) -> None:
        self._listener = listener
        self._send = send
        self._unacknowledged: deque[int] = deque()
        self._heard_at = time.monotonic()
        self._acknowledged = asyncio.Event()
        self._snapshot_at = -SNAPSHOT_AGAIN_S
        self._snapshot_due: asyncio.TimerHandle | None = None

    async def keep_sending(self) -> None:
        """Frames while fewer than two are unacknowledged, heartbeats in between; drops a browser that takes nothing."""
        try:
            await self._keep_sending()
        except TimeoutError:
            metrics.SOCKETS_DROPPED.inc()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_S):
                    await self._send({"type": "websocket.close", "code": TRY_LATER})

    async def _keep_sending(self) -> None:
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._listener.news.wait()
            except TimeoutError:
                if self._unacknowledged and time.monotonic() - self._heard_at > PATIENCE_S:
                    raise
                # With our clock: ages on the page are right where the browser's clock is not.
                now = timezone.now().isoformat()
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
            async with asyncio.timeout(PATIENCE_S):
                while len(self._unacknowledged) >= UNACKNOWLEDGED:
                    self._acknowledged.clear()
                    await self._acknowledged.wait()

    async def _put(self, content: dict[str, str | bytes]) -> None:
        # A server with back-pressure keeps us waiting here while the browser reads nothing.
        async with asyncio.timeout(PATIENCE_S):
            await self._send({"type": "websocket.send", **content})

    async def keep_reading(self, receive: Any) -> None:
        """Acknowledgements, and wishes for a snapshot; everything else is ignored."""
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
                wish = json.loads(text)
            except ValueError:
                continue
            kind = wish.get("type") if isinstance(wish, dict) else None
            if kind == "ack":
                self._acknowledge(wish)
            elif kind == "resync":
                self._ask_for_snapshot()

    def _acknowledge(self, wish: dict[str, Any]) -> None:
        """Take a frame, and those before it, for arrived, if it was sent; without a number it is the oldest."""
        if not self._unacknowledged:
            return
        seq = wish.get("seq", self._unacknowledged[0])
        if seq not in self._unacknowledged:
            return
        while self._unacknowledged.popleft() != seq:
            continue
        self._heard_at = time.monotonic()
        self._acknowledged.set()

    def _ask_for_snapshot(self) -> None:
        """Send one as soon as it may be: every one is a whole page."""
        if self._snapshot_due is None:
            wait_s = self._snapshot_at + SNAPSHOT_AGAIN_S - time.monotonic()
            self._snapshot_due = asyncio.get_running_loop().call_later(max(0.0, wait_s), self._start_over)

    def _start_over(self) -> None:
        self._snapshot_due = None
        self._snapshot_at = time.monotonic()
        self._listener.seen = 0
        self._listener.news.set()


def _asked(scope: dict[str, Any], name: str) -> str:
    return parse_qs(scope.get("query_string", b"").decode("latin1")).get(name, [""])[0]


def _language(scope: dict[str, Any]) -> str:
    asked = _asked(scope, "language")
    return asked if asked in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


async def _keep_asking(scope: dict[str, Any], league_id: str, send: Any) -> None:
    """Until the person behind a staff's socket may no longer watch; then it is closed."""
    while True:
        await asyncio.sleep(ALLOWED_AGAIN_S)
        if not await hub.run(_may_watch, scope, league_id):
            await send({"type": "websocket.close", "code": NOT_ALLOWED})
            return


def _may_watch(scope: dict[str, Any], league_id: str) -> bool:
    """Whether the session this socket came with belongs to someone who may see what a frozen board hides."""
    request = HttpRequest()
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
    key = parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
    request.session = SessionStore(key)
    return roles.may(get_user(request), roles.Action.WATCH, league_id)
