"""Django as an ASGI application that runs each request whole, synchronously, in one job of a persistent thread.

Django's own ASGI handler starts a thread for each request, and changes between it and the event loop for signals,
middleware and view. Here callers take turns in front of each thread (:mod:`leaguesite.serving.queues`).
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

from asgiref.typing import ASGISendCallable, HTTPScope
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted, SuspiciousOperation
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.db import reset_queries
from django.http import HttpResponse, HttpResponseBase
from django.urls import set_script_prefix

from league_sdk.protocol.errors import NotARequest, TooOften
from leaguesite.serving.fair_queue import FairQueue
from leaguesite.serving.queues import Queue, queue_of
from leaguesite.serving.refusals import refusal
from leaguesite.serving.threads import QUERIES, THREADS
from matches.desk.shown import ARRIVED
from matches.observing import metrics

MAX_WHOLE_BYTES = 256 * 1024
"""A file that is larger is sent in parts: it is never in memory as a whole."""
_UNREADABLE = NotARequest("This request cannot be read.", field="request", expected="a smaller or simpler one")
_BUSY = TooOften("The site has too much to do: try again in a second.", expected="patience", retry_after_s=1)

T = TypeVar("T")
_Answer = tuple[int, list[tuple[bytes, bytes]], bytes, Any]
"""Status, headers and body; for a large response, also what sends it in parts."""


class DeferredResponse(HttpResponse):
    """What a view returns for an answer that takes long, if the request is a :class:`OneHopRequest`.

    The thread of queries makes the real response, so that no short call waits for it.

    Args:
        request: the request that is answered.
        finish: makes the response.
    """

    def __init__(self, request: Any, finish: Callable[[], HttpResponse]) -> None:
        super().__init__()
        self.request = request
        self.finish = finish


class HeldResponse(HttpResponse):
    """What a view returns for an answer that has to be waited for: it is made on the event loop and occupies no thread.

    Args:
        request: the request that is answered.
        wait: makes the real response, a whole one or a :class:`StreamResponse`; cancelled when the caller breaks off.
    """

    def __init__(self, request: Any, wait: Callable[[], Coroutine[Any, Any, HttpResponse]]) -> None:
        super().__init__()
        self.request = request
        self.wait = wait


class StreamResponse(HttpResponse):
    """What a :class:`HeldResponse` may become instead of a whole response: parts, sent as they are made.

    Args:
        parts: made on the event loop; closed when the caller breaks off.
        arguments: the arguments of the response.
    """

    def __init__(self, parts: AsyncGenerator[bytes, None], **arguments: Any) -> None:
        super().__init__(**arguments)
        self.parts = parts


class OneHopRequest(ASGIRequest):
    """A request to :class:`OneHopHandler`, which takes a :class:`DeferredResponse` for it."""


class OneHopHandler(ASGIHandler):
    """Django as an ASGI application whose requests run whole, synchronously, in one job of a persistent thread."""

    request_class = OneHopRequest

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        if not settings.DEBUG:
            # Statements are noted for debugging only.
            signals.request_started.disconnect(reset_queries)
        self._waiting: Counter[str] = Counter()
        self._queues: defaultdict[str, FairQueue] = defaultdict(FairQueue)

    # Django declares dictionaries and asgiref typed ones: what comes in is read by asgiref's types from here on.
    async def __call__(self, scope: Any, receive: Any, send: ASGISendCallable) -> None:
        """Read the body, run the request, send the response."""
        try:
            # Daphne calls us when the body is in; size and time were limited before (``daphne_server``).
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            queue = queue_of(scope, body)
            if any(self._waiting[counter] >= max_waiting for counter, max_waiting in queue.limits.items()):
                metrics.limited(f"waiting-{queue.thread}")
                await _send_busy(send)
                return
            self._waiting.update(list(queue.limits))
            try:
                with metrics.in_progress(queue.thread):
                    answer = await self._run(scope, body, queue)
            finally:
                # Subtraction drops the counters that have come to zero.
                self._waiting -= Counter(list(queue.limits))
        if isinstance(answer, HeldResponse):
            # One wait around all of it: the server reports only once that the caller has gone.
            await unless_gone(_send_held(answer, send), receive)
            return
        status, headers, content, large = answer
        await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
        if large is not None:
            await self._send_parts(large, THREADS[queue.thread], send)
        await send({"type": "http.response.body", "body": content, "more_body": False})

    async def _run(self, scope: HTTPScope, body: Any, queue: Queue) -> _Answer | HeldResponse:
        """Run the request in its thread, and what it defers in the thread of queries."""
        ARRIVED.set(time.time())
        context = contextvars.copy_context()
        response = await self._in_turn(queue.thread, queue.caller, partial(context.run, self._respond, scope, body))
        if isinstance(response, DeferredResponse):
            return await self._in_turn(QUERIES, queue.caller, partial(context.run, self._finish, scope, response))
        return response

    async def _in_turn(self, thread: str, caller: str, run: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._queues[thread].submit(THREADS[thread], caller, run))

    async def _send_parts(self, response: Any, executor: ThreadPoolExecutor, send: ASGISendCallable) -> None:
        """Send a large file a part at a time; other requests have their turn in between."""
        loop = asyncio.get_running_loop()
        try:
            parts = iter(response.streaming_content)
            while (part := await loop.run_in_executor(executor, next, parts, None)) is not None:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        finally:
            await loop.run_in_executor(executor, response.close)

    def create_request(
        self, scope: Mapping[str, Any], body_file: Any
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """Like Django's method, which fails if the query has too many parameters and another charset is named."""
        try:
            return super().create_request(scope, body_file)
        except SuspiciousOperation:
            return None, HttpResponse(refusal(_UNREADABLE), status=400, content_type="application/json")

    def _respond(self, scope: HTTPScope, body: Any) -> _Answer | DeferredResponse | HeldResponse:
        """Run the whole request in this thread."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        made = self.create_request(scope, body)
        response = made[1] if made[0] is None else self.get_response(made[0])
        if isinstance(response, DeferredResponse | HeldResponse):
            # Sends request_finished in this thread. The answer sends its own: a deferred one in the thread of queries,
            # a held one on the event loop.
            response.close()
            return response
        return _as_answer(made[0], response)

    def _finish(self, scope: HTTPScope, deferred: DeferredResponse) -> _Answer:
        """Make the deferred answer in this thread."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        response = deferred.finish()
        for name, value in deferred.items():
            # Headers that the middlewares have added.
            response.headers.setdefault(name, value)
        return _as_answer(deferred.request, response)


async def _send_held(held: HeldResponse, send: ASGISendCallable) -> None:
    """Wait for a response and send it; the parts of a stream as they are made."""
    response = await held.wait()
    status, headers, content, _large = _as_answer(held.request, response)
    # Let go of the request, which may be large, as a stream lives long.
    del held.wait, held.request
    if isinstance(response, StreamResponse):
        headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
    if isinstance(response, StreamResponse):
        # Daphne sends the head with the first part, and the first event may take long to come.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        async with aclosing(response.parts) as parts:
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": content, "more_body": False})


async def unless_gone(work: Coroutine[Any, Any, T], receive: Callable[[], Awaitable[Any]]) -> T | None:
    """The result of some work for a caller; None, and the work is cancelled, if the caller breaks off before.

    Args:
        work: what the caller waits for.
        receive: ``receive`` of the ASGI request. Its body was read, so the next message is that the caller has gone.
    """
    disconnect = asyncio.ensure_future(receive())
    # Let `receive` report a caller that has gone already: while this process stood still, an agent may have given up
    # and opened a new line, which the work for its earlier request must not take over.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if disconnect.done():
        work.close()
        return None
    working = asyncio.ensure_future(work)
    try:
        await asyncio.wait((working, disconnect), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, disconnect):
            task.cancel()
        await asyncio.gather(working, disconnect, return_exceptions=True)


def _as_answer(request: Any, response: HttpResponseBase) -> _Answer:
    metrics.answered(request, response.status_code)
    headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    cookies = [cookie.output(header="").strip().encode("ascii") for cookie in response.cookies.values()]
    headers += [(b"Set-Cookie", cookie) for cookie in cookies]
    if response.streaming and int(response.get("Content-Length", "0")) > MAX_WHOLE_BYTES:
        return response.status_code, headers, b"", response
    try:
        return response.status_code, headers, response.getvalue(), None
    finally:
        # Sends request_finished, which gives pooled database connections back.
        response.close()


async def _send_busy(send: ASGISendCallable) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 429, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": refusal(_BUSY), "more_body": False})
