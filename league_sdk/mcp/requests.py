"""HTTP requests to an MCP server, their JSON-RPC messages, and replies of bytes or of a stream."""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from league_sdk.mcp.context import Emit
from league_sdk.mcp.errors import BadRequest, McpError
from league_sdk.mcp.kept import encoded
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import NOT_DECODED, Reply

KEEP_ALIVE_S = 15.0
"""A stream that is silent for this long gets a comment, which proxies count as traffic."""
MAX_WAITING_MESSAGES = 256
"""A function that sends more before the client has read them waits."""
MAX_ID_CHARS = 200
"""The limit for a request's id: a stream repeats its request's id with every message."""
_STREAM_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_KEEP_ALIVE = b": still here\n\n"

RequestId = str | int | float
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request at the path of an MCP server.

    Attributes:
        method: the HTTP method.
        headers: by their names in lower case.
        body: as received.
        principal: who calls, as far as the mounting server knows; empty for anybody.
        caller: from where, for limits.
        scope: what the mounting server's functions find in their context.
        at_once: whether it is answered in one piece: nothing is told before the answer. A server that answers so
            without an event loop may call only functions that wait for nothing.
        decoded: the decoded body, if a server that speaks more than MCP has decoded it.
    """

    method: str
    headers: Mapping[str, str]
    body: bytes = b""
    principal: str = ""
    caller: str = ""
    scope: Any = field(default=None)
    at_once: bool = False
    decoded: Any = NOT_DECODED

    def accepts(self, kind: str) -> bool:
        """Whether the header ``Accept`` names this type; JSON is sent also to a client without that header."""
        accepted = self.headers.get("accept", "").lower()
        return kind in accepted

    @property
    def wants_stream_only(self) -> bool:
        """Whether the client can read a stream and nothing else."""
        return self.accepts("text/event-stream") and not (self.accepts("application/json") or self.accepts("*/*"))


@dataclass(frozen=True, slots=True)
class Message:
    """A JSON-RPC message of a client.

    Attributes:
        method: empty for the response to a request of ours.
        params: the parameters of a request or notification.
        id: None for a notification.
        response: the whole response, with its ``result`` or ``error``; None for a request or notification.
    """

    method: str
    params: Mapping[str, Any]
    id: RequestId | None
    response: Mapping[str, Any] | None = None


def read_message(body: Any) -> Message:
    """Read a message from a decoded body.

    Raises:
        BadRequest: the body is not such a request.
    """
    if isinstance(body, list):
        raise BadRequest("Send one message a body: batches are not supported.")
    # Clients that students wrote from the course's text leave "jsonrpc" out.
    if not isinstance(body, dict) or body.get("jsonrpc", "2.0") != "2.0":
        raise BadRequest('The body must be a JSON-RPC message with "jsonrpc": "2.0".')
    message_id = body.get("id")
    if "id" in body and (isinstance(message_id, bool) or not isinstance(message_id, str | int | float)):
        raise BadRequest("The id must be a string or a number.")
    if len(str(message_id)) > MAX_ID_CHARS:
        raise BadRequest(f"The id has more than {MAX_ID_CHARS} characters.")
    if "method" not in body and ("result" in body or "error" in body):
        if message_id is None:
            raise BadRequest("A response has the id of its request.")
        return Message("", {}, message_id, body)
    method, params = body.get("method"), body.get("params")
    if not isinstance(method, str) or not method:
        raise BadRequest("The method must be a string.")
    if params is not None and not isinstance(params, dict):
        raise BadRequest("params must be an object.")
    return Message(method, params or {}, message_id)


def is_answered_at_once(body: Any) -> bool:
    """Whether a request may be answered ``at_once``: it asks for something, and for no stream.

    Args:
        body: its decoded body.
    """
    if not isinstance(body, Mapping) or "id" not in body:
        return False
    return body.get("method") not in (None, "subscriptions/listen")


def error_reply(error: McpError, body: Any, *, status: int | None = None) -> Reply:
    """The reply for an error.

    Args:
        error: what was wrong.
        body: the decoded body, whose id is repeated; None if it could not be decoded.
        status: the HTTP status; the error's own without one.
    """
    wire = {"jsonrpc": "2.0", "id": rpc.request_id(body), "error": error.as_json()}
    return Reply(error.status if status is None else status, rpc.dumps(wire))


def event(message: Mapping[str, Any]) -> bytes:
    """A message as one event of a stream."""
    return b"event: message\ndata: " + encoded(message) + b"\n\n"


async def answered(
    work: Callable[[Emit], Awaitable[tuple[int, dict[str, Any]]]], request: HttpRequest, headers: dict[str, str]
) -> Reply:
    """Answer with JSON, or with a stream if there is anything to say before the answer.

    Args:
        work: makes the status and the response, and may send messages before; it is cancelled when the client has gone.
        request: what is answered.
        headers: the headers of the reply.
    """
    if request.at_once:
        status, response = await work(_dropped)
        if request.wants_stream_only:
            return Reply(200, event(response), headers | _STREAM_HEADERS)
        return Reply(status, encoded(response), headers)
    messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_WAITING_MESSAGES)
    may_stream = request.accepts("text/event-stream")
    task = asyncio.ensure_future(work(messages.put if may_stream else _dropped))
    first = asyncio.ensure_future(messages.get())
    try:
        await asyncio.wait((task, first), return_when=asyncio.FIRST_COMPLETED)
        if not first.done() and not request.wants_stream_only:
            first.cancel()
            status, response = task.result()
            return Reply(status, encoded(response), headers)
    except BaseException:
        task.cancel()
        first.cancel()
        raise

    def stop() -> None:
        task.cancel()
        first.cancel()

    return Reply(200, _ClosableStream(_stream(task, first, messages), stop), headers | _STREAM_HEADERS)


@types.coroutine
def takes_long() -> Generator[None, None, None]:
    """What a function awaits before it does something that short calls should not wait for.

    A server that answers ``at_once`` may do the rest in another thread.
    """
    yield


class Unfinished(Generic[T]):
    """A coroutine that has come to something that takes long.

    Args:
        coroutine: it is suspended in :func:`takes_long`.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def finish(self) -> T:
        """Run the coroutine to its end, as :func:`run_at_once` does; returns its result."""
        return run_at_once(self._coroutine)


def begin_at_once(coroutine: Coroutine[Any, Any, T]) -> T | Unfinished[T]:
    """Run a coroutine that waits for nothing in a thread without an event loop, up to what takes long.

    Raises:
        RuntimeError: it waits.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    if waits_for is None:
        return Unfinished(coroutine)
    coroutine.close()
    raise RuntimeError("a function that waits was called without an event loop")


def run_at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, in a thread without an event loop.

    Raises:
        RuntimeError: it waits.
    """
    begun = begin_at_once(coroutine)
    return begun.finish() if isinstance(begun, Unfinished) else begun


async def _dropped(message: dict[str, Any]) -> None:
    """A client that reads no streams gets no messages before the answer."""


class _ClosableStream(AsyncGenerator[bytes, None]):
    """A stream whose ``ended`` is called even if its client has gone before anything was read.

    A generator by itself does nothing when it is closed before it has begun.

    Args:
        parts: the generator.
        ended: called when the stream is closed, perhaps for a second time: the generator may call it when it ends.
    """

    def __init__(self, parts: AsyncGenerator[bytes, None], ended: Callable[[], object]) -> None:
        self._parts = parts
        self._ended = ended

    async def asend(self, value: None) -> bytes:
        return await self._parts.asend(value)

    async def athrow(self, *error: Any) -> bytes:
        return await self._parts.athrow(*error)

    async def aclose(self) -> None:
        await self._parts.aclose()
        self._ended()


async def _stream(
    task: asyncio.Future[tuple[int, dict[str, Any]]],
    waiting: asyncio.Future[dict[str, Any]],
    messages: asyncio.Queue[dict[str, Any]],
) -> AsyncGenerator[bytes, None]:
    try:
        while True:
            await asyncio.wait((task, waiting), timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield event(waiting.result())
                waiting = asyncio.ensure_future(messages.get())
            elif task.done():
                yield event(task.result()[1])
                return
            else:
                yield _KEEP_ALIVE
    finally:
        task.cancel()
        waiting.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)


class Mailbox:
    """Messages that wait for the reader of a long stream. A message that still waits is not added a second time."""

    def __init__(self) -> None:
        # Encoded, so that an equal message that still waits is found at once, however many others wait.
        self._waiting: dict[bytes, None] = {}
        self._news = asyncio.Event()
        self._ended = False

    def put(self, message: dict[str, Any]) -> None:
        """Send a message, unless the stream has ended.

        A listener is told of a limited number of resources and lists, so a client that does not read costs no more.
        """
        if not self._ended:
            self._waiting[event(message)] = None
            self._news.set()

    def end(self) -> None:
        """End the stream after what was sent."""
        self._ended = True
        self._news.set()

    def stream(self, closed: Callable[[], None]) -> AsyncGenerator[bytes, None]:
        """The stream.

        Args:
            closed: called when it has ended, by whichever side, perhaps more than once.
        """
        return _ClosableStream(self._parts(closed), closed)

    async def _parts(self, closed: Callable[[], None]) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                while self._waiting:
                    part, self._waiting = b"".join(self._waiting), {}
                    yield part
                if self._ended:
                    return
                self._news.clear()
                try:
                    async with asyncio.timeout(KEEP_ALIVE_S):
                        await self._news.wait()
                except TimeoutError:
                    yield _KEEP_ALIVE
        finally:
            closed()


def stream_reply(body: AsyncGenerator[bytes, None], headers: Mapping[str, str]) -> Reply:
    """A reply that is a stream of events."""
    return Reply(200, body, dict(headers) | _STREAM_HEADERS)
