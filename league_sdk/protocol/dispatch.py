"""The dispatcher of JSON-RPC requests: from bytes and headers to status, headers and bytes (ruling, section 5).

The league manager, a referee's door, the SDK's player and the listeners of a check use it. It has no I/O, no clock and
no thread, so a handler may take as long as it needs::

    exchange = Exchange()
    with exchange.guarded():
        asked = exchange.read(Post(body, content_type))
        exchange.answer(await handle(asked))
    return exchange.reply
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InternalError, LeagueError, TooOften

logger = logging.getLogger(__name__)

NO_CONTENT = 204
NOT_DECODED: Any = object()
"""The value of ``Post.decoded`` for a body that is still to be decoded."""


@dataclass(frozen=True, slots=True)
class Post:
    """An HTTP request.

    Attributes:
        body: the body as received.
        content_type: the value of the header; empty without one.
        authorization: the value of the header; empty without one.
        content_encoding: the value of the header; empty without one.
        decoded: the decoded body, if it was decoded and checked before.
    """

    body: bytes
    content_type: str = ""
    authorization: str = ""
    content_encoding: str = ""
    decoded: Any = NOT_DECODED

    def decode(self) -> Any:
        """The body as JSON; its size, content type and content encoding are checked first.

        Raises:
            LeagueError: one of these, or the JSON, is wrong.
        """
        if self.decoded is not NOT_DECODED:
            return self.decoded
        rpc.check_http(self.content_type, len(self.body), self.content_encoding)
        return rpc.loads(self.body)


@dataclass(slots=True)
class Reply:
    """An HTTP response.

    Attributes:
        status: the HTTP status.
        body: JSON, or events of a stream that carry it; None without a body.
        headers: without Content-Length, and with a Content-Type only for events.
    """

    status: int = 200
    body: bytes | AsyncGenerator[bytes, None] | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Request(Protocol):
    """A request as :meth:`Exchange.understand` reads it."""

    @property
    def id(self) -> Any:
        """The JSON-RPC id."""

    @property
    def name(self) -> str:
        """The method, or the type of the message inside."""

    @property
    def notification(self) -> bool:
        """Whether no reply is expected."""


A = TypeVar("A", bound=Request)


class Exchange(Generic[A]):
    """One request and its reply in plain JSON-RPC; a server overrides the steps that it does in another way.

    Attributes:
        failure: the error message if the server's own code fails.
        body: the decoded body; None until it was decoded.
        request: the request that was read from it; None until it was read.
        error: the error with which the request was refused, if it was.
        reply: the response.
    """

    failure = "The server failed; nothing was changed."

    def __init__(self) -> None:
        self.body: Any = None
        self.request: A | None = None
        self.error: LeagueError | None = None
        self.reply = Reply()

    def read(self, post: Post) -> A:
        """Check and read a request; the order of the checks is that of the ruling.

        Raises:
            LeagueError: for the first check that fails.
        """
        self.body = post.decode()
        self.request = request = self.understand(self.body, post)
        return request

    def answer(self, message: Any) -> None:
        """Put the message of the handler into the reply."""
        if self.request is not None and not self.request.notification:
            self.reply.body = rpc.dumps(self.dress(self.request, message))

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn an exception in the block into the reply; log it if it is unexpected. A notification gets no reply."""
        try:
            yield
        except LeagueError as error:
            self._refuse(error)
        except Exception:
            logger.exception("a call of %s failed", self.request.name if self.request else "no method")
            self._refuse(InternalError(self.failure))
        if self.request is not None and self.request.notification:
            # JSON-RPC 2.0, 4.1: a notification gets no reply, not even an error.
            self.reply.body = None
            if self.reply.status != TooOften.http_status:
                self.reply.status = self.status_of_silence(self.request)

    def _refuse(self, error: LeagueError) -> None:
        self.error = error
        self.reply.status = error.http_status
        if "retry_after_s" in error.context:
            self.reply.headers["Retry-After"] = str(error.context["retry_after_s"])
        self.reply.body = rpc.dumps(self.refusal(error, self.body))

    # Steps that a server may override ----------------------------------------------------------------

    def understand(self, body: Any, post: Post) -> A:
        """Read a request from a decoded body.

        Raises:
            LeagueError: the body is no request that this server understands.
        """
        request: Any = rpc.read_request(body)
        return request  # type: ignore[no-any-return]

    def dress(self, request: A, message: Any) -> Any:
        """Build the reply around the message of a handler."""
        return rpc.result(request.id, message)

    def refusal(self, error: LeagueError, body: Any) -> Any:
        """Build the reply for an error.

        Args:
            error: the error.
            body: the decoded body; None if it could not be decoded.
        """
        return rpc.error(rpc.request_id(body), error.rpc_code, error.message, error_data(error))

    def status_of_silence(self, request: A) -> int:
        """The HTTP status of the response to a notification."""
        return NO_CONTENT


def error_data(error: LeagueError) -> dict[str, Any]:
    """The ``data`` of a plain JSON-RPC error."""
    return {"error_code": error.error_code, "error_name": error.error_name, "context": error.context}


async def dispatch(exchange: Exchange[A], post: Post, handle: Callable[[A], Awaitable[Any]]) -> Reply:
    """Answer one request.

    Args:
        exchange: a new exchange.
        post: the HTTP request.
        handle: returns the message of the reply; it may raise LeagueError.
    """
    with exchange.guarded():
        exchange.answer(await handle(exchange.read(post)))
    return exchange.reply
