"""What makes Django fast under ASGI here, and nothing else.

Django's own ASGI handler crosses into a new thread for every middleware, signal and query. Here a
whole request runs synchronously in one job of a persistent thread ("one hop"), each kind of work
on a thread, and so on a database connection, of its own: agents' calls never wait for a page, and those of
our referees for nobody. In front of a thread callers take turns (:mod:`leaguesite.serving.turns`).
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings
from django.core import signals
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import reset_queries
from django.http import HttpResponse, HttpResponseBase, parse_cookie
from django.urls import set_script_prefix

from agents_registry.attempts import network_of
from agents_registry.models import Kind
from league_sdk.protocol.errors import NotARequest, TooLarge, TooOften
from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite.observing import metrics
from leaguesite.serving import devices
from leaguesite.serving.callers import caller_of
from leaguesite.serving.refusals import refusal
from leaguesite.serving.turns import Turns, known_tokens

MEMORY_BYTES = 256 * 1024

agents_thread = ThreadPoolExecutor(1, thread_name_prefix="agents")
referees_thread = ThreadPoolExecutor(1, thread_name_prefix="referees")
"""For calls of referees that have the site's key: a heartbeat that waits for others' queries costs a match."""
queries_thread = ThreadPoolExecutor(1, thread_name_prefix="queries")
"""For agents' queries whose answer has to be made: it grows with a league, and a ping waits for none of them."""
pages_thread = ThreadPoolExecutor(1, thread_name_prefix="pages")
desk_thread = ThreadPoolExecutor(1, thread_name_prefix="desk")
"""For the instructor, who waits for nobody's pages."""
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
REFEREES, QUERIES, DESK = "referees", "queries", "desk"
_THREADS = {
    metrics.AGENTS: agents_thread,
    REFEREES: referees_thread,
    QUERIES: queries_thread,
    metrics.PAGES: pages_thread,
    DESK: desk_thread,
    metrics.PAPERS: papers_thread,
    LOGINS: logins_thread,
    KNOWN_LOGINS: known_logins_thread,
}
MOST_WAITING = {
    metrics.AGENTS: 2000,
    REFEREES: 2000,
    metrics.PAGES: 1000,
    DESK: 500,
    metrics.PAPERS: 20,
    LOGINS: 20,
    KNOWN_LOGINS: 20,
}
"""Requests that have come in whole and wait for their thread; more are told to come again."""
MOST_OF_A_PLAYER, MOST_OF_A_REFEREE = 16, 300
"""Of the agents' line: calls of one agent that has shown its token. A referee may report all its matches at once."""
MOST_OF_AN_ADDRESS = {metrics.AGENTS: 500, metrics.PAGES: 500, DESK: 200}
"""Requests of one address without a token that is known: a whole class may be behind it."""
MOST_UNKNOWN = {metrics.AGENTS: 1500, DESK: 400}
"""Of a line, all requests without a token or a browser that is known: these have room beside any crowd."""
MOST_OF_A_BROWSER = 50
"""Of the desk's line, requests of one browser in which somebody has logged in."""
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
    if is_paper_path(path):
        return metrics.PAPERS
    return DESK if path.startswith("/admin/") else metrics.PAGES


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a request waits.

    Attributes:
        kind: for which thread.
        who: whose turn it uses.
        counts: what it is counted under while it waits and runs, and the most of each.
    """

    kind: str
    who: str
    counts: dict[str, int]


_TOKEN = re.compile(rb'"auth_token"\s*:\s*"([!-~]{1,200}?)"')


def _tokens(scope: HTTPScope, raw: bytes) -> list[str]:
    """What may be the token of a call, found without reading its JSON: in the header, or first in the body."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _space, token = header.partition(b" ")
    found = [token.strip().decode("latin1")] if scheme.lower() == b"bearer" else []
    named = _TOKEN.search(raw)
    return [*found, named[1].decode("latin1")] if named is not None else found


def _agents_line(scope: HTTPScope, raw: bytes) -> _Line:
    """A call's line: our referees', or the agents' in the name of an agent whose token is known, or of an address."""
    owners = (known_tokens.owner(token) for token in _tokens(scope, raw))
    owner = next((one for one in owners if one is not None), None)
    in_all = MOST_WAITING[metrics.AGENTS]
    if owner is None:
        address = network_of(caller_of(cast("dict[str, Any]", scope)))
        who = f"agents at {address}"
        most = MOST_OF_AN_ADDRESS[metrics.AGENTS]
        unknown = MOST_UNKNOWN[metrics.AGENTS]
        return _Line(metrics.AGENTS, who, {who: most, "agents unknown": unknown, metrics.AGENTS: in_all})
    who = f"agent {owner.agent}"
    if owner.ours:
        return _Line(REFEREES, who, {REFEREES: MOST_WAITING[REFEREES]})
    most = MOST_OF_A_REFEREE if owner.kind == Kind.REFEREE else MOST_OF_A_PLAYER
    return _Line(metrics.AGENTS, who, {who: most, metrics.AGENTS: in_all})


def _line(scope: HTTPScope, body: Any) -> _Line:
    """Where a request waits whose body is there."""
    kind = _kind(scope["path"], scope["method"])
    if kind == metrics.AGENTS:
        raw = body.read()
        body.seek(0)
        return _agents_line(scope, raw)
    if kind == LOGINS:
        kind, who = _login_line(scope)
        return _Line(kind, who, {f"{kind} of {who}": MOST_LOGINS_OF_ONE, kind: MOST_WAITING[kind]})
    if kind == DESK:
        return _desk_line(scope)
    who = f"{kind} at {network_of(caller_of(cast('dict[str, Any]', scope)))}"
    counts = {kind: MOST_WAITING[kind]}
    if kind in MOST_OF_AN_ADDRESS:
        counts[who] = MOST_OF_AN_ADDRESS[kind]
    return _Line(kind, who, counts)


def _device(scope: HTTPScope) -> devices.Device | None:
    """The browser that sends a request, if somebody has logged in there."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin1")
    return devices.known(parse_cookie(cookies).get(devices.COOKIE, ""))


def _login_line(scope: HTTPScope) -> tuple[str, str]:
    """Which line a login waits in, and as whose: a known browser's, or that of the address it comes from."""
    device = _device(scope)
    if device is not None:
        return KNOWN_LOGINS, device.key
    return LOGINS, network_of(caller_of(cast("dict[str, Any]", scope)))


def _desk_line(scope: HTTPScope) -> _Line:
    """The instructor's browser waits in its own name: a class that floods the desk may be behind the same address."""
    device = _device(scope)
    if device is not None:
        who = f"desk of {device.key}"
        return _Line(DESK, who, {who: MOST_OF_A_BROWSER, DESK: MOST_WAITING[DESK]})
    who = f"desk at {network_of(caller_of(cast('dict[str, Any]', scope)))}"
    counts = {who: MOST_OF_AN_ADDRESS[DESK], "desk unknown": MOST_UNKNOWN[DESK], DESK: MOST_WAITING[DESK]}
    return _Line(DESK, who, counts)


def too_large(seen: str, most: int = MAX_BODY_BYTES) -> bytes:
    """The JSON-RPC body of a 413."""
    error = TooLarge("The body is too large.", field="body", seen=seen, expected=f"at most {most} bytes")
    return refusal(error)


_TOO_SLOW = NotARequest(
    "The body took too long.", field="body", seen="not all of it", expected=f"all of it in {BODY_LIMIT_S:.0f} s"
)
_UNREADABLE = NotARequest("This request cannot be read.", field="request", expected="a smaller or simpler one")
_BUSY = TooOften("The site has too much to do: try again in a second.", expected="patience", retry_after_s=1)


_Answer = tuple[int, list[tuple[bytes, bytes]], bytes, Any]
"""Status, headers and bytes; a large response besides, which is sent in parts."""


class PutOff(HttpResponse):
    """What a view returns, if the request ``may_be_put_off``, whose answer is made in the thread of queries.

    Args:
        finish: makes the response.
    """

    def __init__(self, finish: Callable[[], HttpResponse]) -> None:
        super().__init__()
        self.finish = finish


@dataclass(frozen=True, slots=True)
class _Unfinished:
    request: Any
    response: PutOff


class OneHopHandler(ASGIHandler):
    """Django as an ASGI application whose requests run whole, synchronously, in one job of a kept thread."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        if not settings.DEBUG:
            # Statements are noted for debugging only.
            signals.request_started.disconnect(reset_queries)
        self._waiting: Counter[str] = Counter()
        self._turns: defaultdict[str, Turns] = defaultdict(Turns)

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Read the body, run the request, send the response."""
        with tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES) as body:
            if not await _read_body(scope, receive, send, body):
                return
            line = _line(scope, body)
            if any(self._waiting[name] >= most for name, most in line.counts.items()):
                metrics.limited(f"waiting-{line.kind}")
                await _send_refusal(send, 429, refusal(_BUSY), (b"retry-after", b"1"))
                return
            self._waiting.update(list(line.counts))
            try:
                with metrics.in_progress(line.kind):
                    status, headers, content, rest = await self._run(scope, body, line)
            finally:
                # Lines that nobody stands in are forgotten.
                self._waiting -= Counter(list(line.counts))
        await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
        if rest is not None:
            await self._send_parts(rest, _THREADS[line.kind], send)
        await send({"type": "http.response.body", "body": content, "more_body": False})

    async def _run(self, scope: HTTPScope, body: Any, line: _Line) -> _Answer:
        """The request in the thread of its line, and what it leaves to be made in the thread of queries."""
        context = contextvars.copy_context()
        found = await self._in_turn(line.kind, line.who, partial(context.run, self._respond, scope, body))
        if not isinstance(found, _Unfinished):
            return found
        finish = partial(context.run, self._finish, scope, found)
        finished = await self._in_turn(QUERIES, line.who, finish)
        if isinstance(finished, _Unfinished):
            raise TypeError("an answer is put off once")
        return finished

    async def _in_turn(self, kind: str, who: str, run: Callable[[], _Answer | _Unfinished]) -> _Answer | _Unfinished:
        return await asyncio.wrap_future(self._turns[kind].submit(_THREADS[kind], who, run))

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

    def _respond(self, scope: HTTPScope, body: Any) -> _Answer | _Unfinished:
        """The whole request in this thread; the response as status, headers and bytes, or itself if it is large."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, error = self.create_request(scope, body)
        if request is not None:
            # Whoever answers may put off what takes long (``PutOff``).
            request.may_be_put_off = True
        response: HttpResponseBase = error if request is None else self.get_response(request)
        if isinstance(response, PutOff):
            # Sends request_finished in this thread: the rest of the request has its own, in the other one.
            response.close()
            return _Unfinished(request, response)
        return _as_answer(request, response)

    def _finish(self, scope: HTTPScope, unfinished: _Unfinished) -> _Answer:
        """The answer that was put off, in this thread."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        response = unfinished.response.finish()
        for name, value in unfinished.response.items():
            # What the middlewares added to it.
            if not response.has_header(name):
                response[name] = value
        return _as_answer(unfinished.request, response)


def _as_answer(request: Any, response: HttpResponseBase) -> _Answer:
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

    Daphne has done so before (``daphne_server``); other servers call the application with the first piece.
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
