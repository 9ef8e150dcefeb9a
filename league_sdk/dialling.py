"""Dial out: fetch messages from the inbox at the league and send the answers there (ruling, section 13).

For agents that nobody can call. :class:`DialledLine` keeps a WebSocket open, and long polls where none can be opened.
Whatever breaks is opened again; the league then offers what is unanswered, and a message that is offered twice gets
the answer that it got before.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
import ssl
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import httpx

from league_sdk.bridge import moved, outward_address
from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import NotJson

logger = logging.getLogger(__name__)

MIN_BACKOFF_S, MAX_BACKOFF_S = 0.2, 5.0
MAX_RETRY_AFTER_S = 60.0
CONNECT_TIMEOUT_S = 10.0
POLL_WAIT_S = 25.0
POLL_MARGIN_S = 15.0
"""A poll that is not answered this long after POLL_WAIT_S is broken off: the network has forgotten it."""
HEARTBEAT_S = 20.0
"""The time between two pings of a socket. A ping that is not answered within half of it ends the socket."""
CLOSE_TIMEOUT_S = 1.0
"""How long to wait for the other end when a socket is closed; it may be gone."""
WATCH_S = 1.0
"""How often the clock and this machine's address are compared with those of the last time."""
SETTLED_AFTER_S = 0.5
"""A socket that is still open after this time counts as in use, though no message has come on it yet."""
STABLE_AFTER_S = 10.0
"""A socket that broke sooner is followed by polls: some proxies open sockets and carry nothing over them."""
BRING_TIMEOUT_S = 30.0
"""Time for sending one answer, with all attempts; by the usual settings of a league nobody waits longer for one."""
MAX_REMEMBERED = 1000
"""Messages whose answers are kept."""
MAX_ANSWERING = 256
"""Messages that are being answered at once; the league has at most 64 for an agent."""
MAX_FRAME_BYTES = 1 << 20
MAX_NEWS_BYTES = 8 << 20
"""The limit for the answer to a poll."""
_TAKEN_OVER, _NOT_ALLOWED = 4409, 4401
_BROKEN = (aiohttp.ClientError, httpx.HTTPError, OSError, TimeoutError, NotJson)

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Returns the JSON-RPC response to a JSON-RPC request."""


class Ended(Exception):
    """The line has ended, and dialling again would not help; the text is a sentence that says why."""


class TakenOver(Ended):
    """Another program fetches this agent's messages."""

    def __init__(self) -> None:
        super().__init__("another program with the same auth_token fetches this agent's messages now: only one may run")


class NotAllowed(Ended):
    """The auth_token is not valid (any more)."""

    def __init__(self) -> None:
        super().__init__("the league does not know this auth_token (any more): start the agent again to register again")


class Moved(OSError):
    """The line's connections are dead, and this end may never be told."""

    def __init__(self) -> None:
        super().__init__("this machine slept, or its network has changed")


class Unusable(OSError):
    """An answer that is not from a league; the text says what it is."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """The addresses and the token with which an agent fetches its messages."""

    poll_url: str
    websocket_url: str
    token: str
    agent_type: str = "player"


def inbox_of(registered: Mapping[str, Any], league: str, agent_type: str = "player") -> Inbox | None:
    """The inbox in the answer to a registration; None if the league has none.

    Args:
        registered: the message with ``inbox`` and ``auth_token``.
        league: the address that the registration was sent to. The inbox is called at its host and port, which are known
            to work from here; a league behind a tunnel or a proxy may name others. So the token goes nowhere else.
        agent_type: ``player`` or ``referee``.
    """
    inbox, token = registered.get("inbox"), registered.get("auth_token")
    if not isinstance(inbox, Mapping) or not isinstance(token, str) or not token:
        return None
    poll, socket = inbox.get("poll_url"), inbox.get("websocket_url")
    if not isinstance(poll, str) or not isinstance(socket, str):
        return None
    league_parts = urlsplit(league)
    socket_scheme = "wss" if league_parts.scheme == "https" else "ws"
    try:
        poll = urlsplit(poll)._replace(scheme=league_parts.scheme, netloc=league_parts.netloc).geturl()
        socket = urlsplit(socket)._replace(scheme=socket_scheme, netloc=league_parts.netloc).geturl()
        httpx.URL(poll), httpx.URL(socket)
    except (ValueError, httpx.InvalidURL):
        return None
    return Inbox(poll, socket, token, agent_type)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The certificates of the system, among which a school may have its own; loaded once, as that takes long."""
    return ssl.create_default_context()


async def until_moved(*, watch_s: float = WATCH_S, address: Callable[[], str] = outward_address) -> None:
    """Return as soon as this machine has slept or has another address.

    Args:
        watch_s: seconds between two readings of clock and address.
        address: the address of this machine towards others.
    """
    sight, has_moved = (time.time(), address()), False
    while not has_moved:
        await asyncio.sleep(watch_s)
        earlier_sight, sight = sight, (time.time(), address())
        has_moved = next(moved(iter((earlier_sight, sight))))


class DialledLine:
    """The line of one agent to its inbox.

    Args:
        inbox: where it is.
        answer: answers one request; it is not called again for a message whose answer is kept.
        ways: ``websocket`` and ``poll``, or one of them, tried in this order.
        say: is told in a few words when the line opens, breaks and opens again.
        first_backoff_s: seconds before the second attempt to open it; they double up to :data:`MAX_BACKOFF_S`.
        max_remembered: how many answers are kept, for messages that are offered again.
        until_moved: returns as soon as this machine has moved, as :func:`until_moved` does.
    """

    def __init__(  # noqa: PLR0913 - every argument but the first two has a default
        self,
        inbox: Inbox,
        answer: Answer,
        *,
        ways: tuple[str, ...] = ("websocket", "poll"),
        say: Callable[[str], None] = logger.info,
        first_backoff_s: float = MIN_BACKOFF_S,
        max_remembered: int = MAX_REMEMBERED,
        until_moved: Callable[[], Coroutine[Any, Any, None]] = until_moved,
    ) -> None:
        self._until_moved = until_moved
        self._max_remembered = max_remembered
        self._inbox = inbox
        self._answer = answer
        self._ways = ways
        self._say = say
        self._first_backoff_s = self._backoff_s = first_backoff_s
        self._min_wait_s = 0.0
        self._answers: OrderedDict[int, asyncio.Task[dict[str, Any]]] = OrderedDict()
        self._room = asyncio.Semaphore(MAX_ANSWERING)
        self._bringing: set[asyncio.Task[None]] = set()
        self._headers = {
            "Authorization": f"Bearer {inbox.token}",
            "User-Agent": f"{inbox.agent_type}/{SDK_VERSION}",
            # The size of what comes is limited as it comes: a small packed text could unpack to gigabytes.
            "Accept-Encoding": "identity",
        }
        self.way = ""
        """``websocket`` or ``poll`` while the line is open, else empty."""

    async def keep(self) -> None:
        """Keep the line open until cancelled.

        Raises:
            TakenOver: another program fetches the messages.
            NotAllowed: the token is not valid.
        """
        try:
            async with contextlib.AsyncExitStack() as stack, self._session() as session:
                http = await stack.enter_async_context(self._http())
                while True:
                    problem = ""
                    for way in self._ways:
                        try:
                            if await self._unless_moved(self._poll(http) if way == "poll" else self._socket(session)):
                                # The socket worked for a while: try another one before any poll.
                                break
                        except Moved as error:
                            problem = str(error)
                            # The old client may go on using connections that are dead.
                            http = await stack.enter_async_context(self._http())
                            break
                        except _BROKEN as error:
                            problem = str(error) or type(error).__name__
                    if self.way:
                        self._say(f"the line to the league is broken ({problem or 'closed'}); dialling again")
                        self.way = ""
                    await self._pause()
        finally:
            for task in (*self._bringing, *self._answers.values()):
                task.cancel()

    async def _unless_moved(self, serving: Coroutine[Any, Any, bool]) -> bool:
        """Serve until the line ends.

        Raises:
            Moved: this machine slept, or has another address.
        """
        line, watch = asyncio.create_task(serving), asyncio.create_task(self._until_moved())
        try:
            await asyncio.wait((line, watch), return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                raise Moved
            return line.result()
        finally:
            for task in (line, watch):
                task.cancel()
            await asyncio.gather(line, watch, return_exceptions=True)

    async def _pause(self) -> None:
        """Wait before the next attempt, for a different time each: a class must not come back all at once."""
        wait_s, self._min_wait_s = max(self._backoff_s, self._min_wait_s), 0.0
        self._backoff_s = min(self._backoff_s * 2, MAX_BACKOFF_S)
        await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret

    def _opened(self, way: str) -> None:
        self._backoff_s = self._first_backoff_s
        if self.way != way:
            self.way = way
            self._say(f"messages are fetched from the league now (by {way})")

    # WebSocket -----------------------------------------------------------------------------------

    def _session(self) -> aiohttp.ClientSession:
        limit = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)
        return aiohttp.ClientSession(timeout=limit, trust_env=False, headers=self._headers)

    async def _socket(self, session: aiohttp.ClientSession) -> bool:
        """Open a socket and serve it until it ends; returns whether it lasted."""
        secure = self._inbox.websocket_url.startswith("wss")
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            line = await session.ws_connect(
                self._inbox.websocket_url,
                heartbeat=HEARTBEAT_S,
                timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT_S),
                max_msg_size=MAX_FRAME_BYTES,
                ssl=_certificates() if secure else True,
            )
        begun = time.monotonic()
        # The league takes a socket before it knows the token, and closes it if that is not valid.
        settled = asyncio.get_running_loop().call_later(SETTLED_AFTER_S, self._opened, "websocket")
        try:
            async for frame in line:
                self._opened("websocket")
                request = _request_in(frame.data) if frame.type is aiohttp.WSMsgType.TEXT else None
                await self._take(request, functools.partial(_bring_by_socket, line))
        finally:
            settled.cancel()
            with contextlib.suppress(*_BROKEN):
                await line.close()
        if line.close_code == _TAKEN_OVER:
            raise TakenOver
        if line.close_code == _NOT_ALLOWED:
            raise NotAllowed
        return time.monotonic() - begun > STABLE_AFTER_S

    # Long poll -----------------------------------------------------------------------------------

    def _http(self) -> httpx.AsyncClient:
        limit = httpx.Timeout(POLL_WAIT_S + POLL_MARGIN_S, connect=CONNECT_TIMEOUT_S)
        return httpx.AsyncClient(headers=self._headers, verify=_certificates(), trust_env=False, timeout=limit)

    async def _poll(self, http: httpx.AsyncClient) -> bool:
        """Poll until it fails; never returns.

        Raises:
            httpx.HTTPError, OSError, TimeoutError, NotJson: it has failed.
        """
        after = ""
        while True:
            begun = time.monotonic()
            async with asyncio.timeout(POLL_WAIT_S + POLL_MARGIN_S):
                news = await self._fetch(http, "GET", params={"wait": f"{POLL_WAIT_S:g}", "after": after})
            messages, cursor = news.get("messages"), news.get("next")
            if not isinstance(messages, list) or not isinstance(cursor, str):
                raise Unusable("the answer to a poll is not from a league")
            after = cursor
            self._opened("poll")
            for message in messages:
                request = message.get("request") if isinstance(message, dict) else None
                await self._take(request, functools.partial(self._bring_by_post, http))
            if not messages and time.monotonic() - begun < POLL_WAIT_S / 2:
                # An early answer without messages says that the site is about to stop.
                await self._pause()

    async def _fetch(self, http: httpx.AsyncClient, method: str, **options: Any) -> dict[str, Any]:
        """One request to the inbox, and its answer."""
        raw = bytearray()
        async with http.stream(method, self._inbox.poll_url, **options) as reply:
            if reply.status_code == 409:
                raise TakenOver
            if reply.status_code == 401:
                raise NotAllowed
            if reply.status_code == 429:
                self._min_wait_s = _retry_after(reply)
            if reply.status_code != 200:
                raise Unusable(f"HTTP {reply.status_code}")
            async for part in reply.aiter_raw():
                raw += part
                if len(raw) > MAX_NEWS_BYTES:
                    raise Unusable(f"an answer of more than {MAX_NEWS_BYTES} bytes")
        news = rpc.loads(bytes(raw))
        if not isinstance(news, dict):
            raise Unusable("the answer is no JSON object")
        return news

    async def _bring_by_post(self, http: httpx.AsyncClient, response: dict[str, Any]) -> None:
        body = rpc.dumps({"responses": [response]})
        wait_s = self._first_backoff_s
        async with asyncio.timeout(BRING_TIMEOUT_S):
            while True:
                try:
                    await self._fetch(http, "POST", content=body, headers={"Content-Type": "application/json"})
                except _BROKEN:
                    # The cursor says that we have this message: it is not offered again while the next poll waits.
                    await asyncio.sleep(wait_s)
                    wait_s = min(wait_s * 2, MAX_BACKOFF_S)
                else:
                    return

    # Answering -----------------------------------------------------------------------------------

    async def _take(self, request: Any, send_answer: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        """Begin to answer a request, beside others, and to send the answer."""
        number = request.get("id") if isinstance(request, dict) else None
        if not isinstance(number, int) or isinstance(number, bool):
            logger.warning("the league sent something that is not a message")
            return
        await self._room.acquire()
        if (answering := self._answers.get(number)) is None:
            answering = self._answers[number] = asyncio.create_task(self._answer_with_id(number, request))
            self._forget()
        task = asyncio.create_task(_send_when_answered(answering, send_answer))
        self._bringing.add(task)
        task.add_done_callback(self._free_room)

    def _free_room(self, task: asyncio.Task[None]) -> None:
        self._bringing.discard(task)
        self._room.release()

    def _forget(self) -> None:
        """Forget the oldest answers, except those that are still being made."""
        for number in list(self._answers)[: max(0, len(self._answers) - self._max_remembered)]:
            if self._answers[number].done():
                del self._answers[number]

    async def _answer_with_id(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {**await self._answer(request), "id": number}
        except Exception:
            logger.exception("a message could not be answered")
            return rpc.error(number, -32603, "The agent failed to answer.", None)


async def _send_when_answered(
    answering: asyncio.Task[dict[str, Any]], send_answer: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    # Even if this line ends, the answer is still made: the same message may be offered on the next line.
    response = await asyncio.shield(answering)
    try:
        await send_answer(response)
    except (*_BROKEN, Ended) as error:
        logger.info("an answer was not sent (%s: %s)", type(error).__name__, error)


async def _bring_by_socket(line: aiohttp.ClientWebSocketResponse, response: dict[str, Any]) -> None:
    await line.send_str(rpc.dumps(response).decode())


def _request_in(text: str) -> Any:
    try:
        return rpc.loads(text.encode())
    except NotJson:
        return None


def _retry_after(reply: httpx.Response) -> float:
    try:
        return min(max(0.0, float(reply.headers.get("Retry-After", "1"))), MAX_RETRY_AFTER_S)
    except ValueError:
        return 1.0
