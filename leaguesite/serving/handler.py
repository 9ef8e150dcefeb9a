"""Django as an ASGI application that runs a whole request in one job of a kept thread ("one hop").

Django's own ASGI handler crosses into a new thread for every middleware, signal and query. In front of a thread callers
take turns (:mod:`leaguesite.serving.lines`).
"""

from __future__ import annotations

import asyncio
import contextvars
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings
from django.core import signals
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import reset_queries
from django.http import HttpResponse, HttpResponseBase
from django.urls import set_script_prefix

from league_sdk.protocol.errors import NotARequest, TooOften
from leaguesite.observing import metrics
from leaguesite.serving.lines import Line, line_of
from leaguesite.serving.paths import BODY_LIMIT_S, body_cap
from leaguesite.serving.refusals import refusal, too_large
from leaguesite.serving.threads import QUERIES, THREADS
from leaguesite.serving.turns import Turns

MEMORY_BYTES = 256 * 1024
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
            line = line_of(scope, body)
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
            await self._send_parts(rest, THREADS[line.kind], send)
        await send({"type": "http.response.body", "body": content, "more_body": False})

    async def _run(self, scope: HTTPScope, body: Any, line: Line) -> _Answer:
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
        return await asyncio.wrap_future(self._turns[kind].submit(THREADS[kind], who, run))

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
