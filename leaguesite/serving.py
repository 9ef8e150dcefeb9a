"""What makes Django fast under ASGI here, and nothing else.

Django's own ASGI handler crosses into a new thread for every middleware, signal and query. Here a
whole request runs synchronously in one job of a persistent thread ("one hop"), each kind of work
on a thread, and so on a database connection, of its own: agents' calls never wait for a page.
"""

from __future__ import annotations

import asyncio
import contextvars
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.core import signals
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpResponse, HttpResponseBase, parse_cookie
from django.urls import set_script_prefix

from agents_registry.attempts import network_of
from league_sdk.protocol.errors import NotARequest, TooLarge, TooOften
from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite import devices, metrics
from leaguesite.callers import caller_of
from leaguesite.refusals import refusal

MEMORY_BYTES = 256 * 1024

agents_thread = ThreadPoolExecutor(1, thread_name_prefix="agents")
pages_thread = ThreadPoolExecutor(1, thread_name_prefix="pages")
live_thread = ThreadPoolExecutor(1, thread_name_prefix="live")
"""For what browsers' sockets show: many of them keep no click waiting."""
conductor_thread = ThreadPoolExecutor(1, thread_name_prefix="conductor")
papers_thread = ThreadPoolExecutor(1, thread_name_prefix="papers")
"""For what takes many seconds in a large league, and must keep no page waiting."""
logins_thread = ThreadPoolExecutor(1, thread_name_prefix="logins")
"""To look at a password takes half a second on purpose: guessers wait for each other, not the room for them."""
known_logins_thread = ThreadPoolExecutor(1, thread_name_prefix="known-logins")
"""The same for browsers that have logged in before: they wait for no guesser either."""
LOGINS, KNOWN_LOGINS = "logins", "known-logins"
_THREADS = {
    metrics.AGENTS: agents_thread,
    metrics.PAGES: pages_thread,
    metrics.PAPERS: papers_thread,
    LOGINS: logins_thread,
    KNOWN_LOGINS: known_logins_thread,
}
MOST_WAITING = {metrics.AGENTS: 2000, metrics.PAGES: 500, metrics.PAPERS: 20, LOGINS: 20, KNOWN_LOGINS: 20}
"""Requests that have come in whole and wait for their thread; more are told to come again."""
MOST_LOGINS_OF_ONE = 2
"""Of these, logins of one address, or of one browser that is known: nobody fills the line alone."""
LEAGUES_OF_THE_DESK = "/admin/matches/league/"

BODY_LIMIT_S = 10.0
"""How long a head or a body may take to arrive."""
FORM_BYTES = 2 * 1024 * 1024
"""The largest body of a page's form (a roster in the admin)."""
LEAGUE_BYTES, LEAGUE_LIMIT_S = 65 * 1024 * 1024, 120.0
"""The same for the export of a whole league."""
LARGEST_WISH, MOST_FRAGMENTS = 4096, 16
"""Of what a browser says on its socket: it says nothing but acknowledgements, and has no reason to divide one."""


def is_agent_path(path: str) -> bool:
    """Whether a path is one that agents call: ``/mcp`` and ``/register``, also under ``/leagues/{id}``."""
    path = path.rstrip("/")
    own = path.startswith("/leagues/") and path.endswith(("/mcp", "/register"))
    return own or path in ("/mcp", "/register", "/register_player", "/api/register")


def is_import_path(path: str) -> bool:
    """Whether a path takes the export of a whole league."""
    return path == f"{LEAGUES_OF_THE_DESK}import/"


def is_paper_path(path: str) -> bool:
    """Whether a path reads or writes a whole league at once: exports, evidence sheets, the import."""
    return path.startswith(LEAGUES_OF_THE_DESK) and ("/papers/" in path or is_import_path(path))


def body_cap(path: str) -> tuple[int, float]:
    """The most bytes that a body may have at a path, and the seconds it may take to arrive."""
    if is_import_path(path):
        return LEAGUE_BYTES, LEAGUE_LIMIT_S
    return MAX_BODY_BYTES if is_agent_path(path) else FORM_BYTES, BODY_LIMIT_S


def _kind(path: str, method: str) -> str:
    """Whose thread a request runs in."""
    if is_agent_path(path):
        return metrics.AGENTS
    if path == "/admin/login/" and method == "POST":
        return LOGINS
    return metrics.PAPERS if is_paper_path(path) else metrics.PAGES


def _login_line(scope: HTTPScope) -> tuple[str, str]:
    """Which line a login waits in, and as whose: a known browser's, or that of the address it comes from."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin1")
    device = devices.known(parse_cookie(cookies).get(devices.COOKIE, ""))
    if device is not None:
        return KNOWN_LOGINS, device.key
    return LOGINS, network_of(caller_of(cast("dict[str, Any]", scope)))


def too_large(seen: str, most: int = MAX_BODY_BYTES) -> bytes:
    """The JSON-RPC body of a 413."""
    error = TooLarge("The body is too large.", field="body", seen=seen, expected=f"at most {most} bytes")
    return refusal(error)


_TOO_SLOW = NotARequest(
    "The body took too long.", field="body", seen="not all of it", expected=f"all of it in {BODY_LIMIT_S:.0f} s"
)
_UNREADABLE = NotARequest("This request cannot be read.", field="request", expected="a smaller or simpler one")
_BUSY = TooOften("The site has too much to do: try again in a second.", expected="patience", retry_after_s=1)


class OneHopHandler(ASGIHandler):
    """Django as an ASGI application whose requests run whole, synchronously, in one job of a kept thread."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Read the body, run the request, send the response."""
        kind = _kind(scope["path"], scope["method"])
        lines: dict[str, int] = {}
        if kind == LOGINS:
            kind, who = _login_line(scope)
            lines[f"{kind} of {who}"] = MOST_LOGINS_OF_ONE
        lines[kind] = MOST_WAITING[kind]
        executor = _THREADS[kind]
        with tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES) as body:
            if not await _read_body(scope, receive, send, body):
                return
            if any(self._waiting[line] >= most for line, most in lines.items()):
                metrics.limited(f"waiting-{kind}")
                await _send_refusal(send, 429, refusal(_BUSY), (b"retry-after", b"1"))
                return
            loop = asyncio.get_running_loop()
            self._waiting.update(list(lines))
            try:
                with metrics.in_progress(kind):
                    status, headers, content, rest = await loop.run_in_executor(
                        executor, contextvars.copy_context().run, self._respond, scope, body
                    )
            finally:
                # Lines that nobody stands in are forgotten.
                self._waiting -= Counter(list(lines))
        await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
        if rest is not None:
            await self._send_parts(rest, executor, send)
        await send({"type": "http.response.body", "body": content, "more_body": False})

    async def _send_parts(self, response: Any, executor: ThreadPoolExecutor, send: ASGISendCallable) -> None:
        """A large file, a part at a time: it is never in memory as a whole, and others have their turn in between."""
        loop = asyncio.get_running_loop()
        try:
            parts = iter(response.streaming_content)
            while (part := await loop.run_in_executor(executor, next, parts, None)) is not None:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        finally:
            await loop.run_in_executor(executor, response.close)

    def create_request(self, scope: HTTPScope, body_file: Any) -> tuple[Any, HttpResponseBase | None]:
        """As Django's. Its own fails where the address is read for another charset and has too many parameters."""
        try:
            return super().create_request(scope, body_file)
        except SuspiciousOperation:
            return None, HttpResponse(refusal(_UNREADABLE), status=400, content_type="application/json")

    def _respond(self, scope: HTTPScope, body: Any) -> tuple[int, list[tuple[bytes, bytes]], bytes, Any]:
        """The whole request in this thread; the response as status, headers and bytes, or itself if it is large."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, error = self.create_request(scope, body)
        response: HttpResponseBase = error if request is None else self.get_response(request)
        metrics.answered(request, response.status_code)
        if response.streaming and int(response.get("Content-Length", 0)) > MEMORY_BYTES:
            return response.status_code, _headers(response), b"", response
        try:
            content = b"".join(response.streaming_content) if response.streaming else response.content
            return response.status_code, _headers(response), content, None
        finally:
            # Sends request_finished, which gives pooled database connections back.
            response.close()


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    found = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    found += [(b"Set-Cookie", cookie.output(header="").strip().encode("ascii")) for cookie in response.cookies.values()]
    return found


async def _read_body(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable, body: Any) -> bool:
    """Read a body into a file, no more of it and for no longer than its path may; whether there is a request now.

    Daphne has done so before (``web_server``); other servers call the application with the first piece.
    """
    most, limit_s = body_cap(scope["path"])
    size = 0
    try:
        async with asyncio.timeout(limit_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return False
                part = message.get("body", b"")
                size += len(part)
                if size > most:
                    await _send_refusal(send, 413, too_large(f"more than {size} bytes", most))
                    return False
                body.write(part)
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        await _send_refusal(send, 408, refusal(_TOO_SLOW))
        return False
    body.seek(0)
    return True


async def _send_refusal(send: ASGISendCallable, status: int, content: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": content, "more_body": False})
