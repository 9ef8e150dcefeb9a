"""The one dispatcher of JSON-RPC requests: bytes and headers in; status, headers and bytes out (ruling, section 5).

The league manager, a referee's door, the SDK's player and the listeners of a check answer through it. It has no I/O, no
clock and no thread, so a handler may wait as long as it likes::

    exchange = Exchange()
    with exchange.guarded():
        asked = exchange.read(Post(body, content_type))
        exchange.answer(await handle(asked))
    return exchange.reply

:class:`Loopback` is its twin in memory, for tests and rehearsals.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InternalError, LeagueError, TooOften

logger = logging.getLogger(__name__)

NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class Post:
    """A request as HTTP brought it.

    Attributes:
        body: as it came.
        content_type: the header's value; empty when there was none.
        authorization: the header's value; empty when there was none.
    """

    body: bytes
    content_type: str = ""
    authorization: str = ""


@dataclass(slots=True)
class Reply:
    """What HTTP takes back.

    Attributes:
        status: of HTTP.
        body: JSON, or a stream of it; None when nothing is answered.
        headers: besides Content-Type and Content-Length.
    """

    status: int = 200
    body: bytes | AsyncIterator[bytes] | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Asked(Protocol):
    """What a request asks for, read by :meth:`Exchange.understand`."""

    @property
    def id(self) -> Any:
        """Of JSON-RPC."""

    @property
    def name(self) -> str:
        """The method, or the message inside."""

    @property
    def notification(self) -> bool:
        """Whether no answer is expected."""


A = TypeVar("A", bound=Asked)


class Exchange(Generic[A]):
    """One request on its way to its reply. This one speaks plain JSON-RPC; a server overrides what it does otherwise.

    Attributes:
        failure: the sentence for a request in which our own code failed.
        body: the decoded body; None until it could be read.
        asked: what the request asks for; None until it could be read.
        error: what it was refused with, if it was.
        reply: what goes back.
    """

    failure = "The server failed; nothing was changed."

    def __init__(self) -> None:
        self.body: Any = None
        self.asked: A | None = None
        self.error: LeagueError | None = None
        self.reply = Reply()

    def read(self, post: Post) -> A:
        """Climb the ladder: size, content type, JSON, request object, method, params.

        Raises:
            LeagueError: of the first rung that does not hold.
        """
        rpc.check_http(post.content_type, len(post.body))
        self.body = rpc.loads(post.body)
        self.asked = asked = self.understand(self.body, post)
        return asked

    def answer(self, message: Any) -> None:
        """The handler has answered: its message becomes the reply."""
        if self.asked is not None and not self.asked.notification:
            self.reply.body = rpc.dumps(self.dress(self.asked, message))

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn what is raised within into the reply; a failure of our own is logged, a notification gets no answer."""
        try:
            yield
        except LeagueError as error:
            self._refuse(error)
        except Exception:
            logger.exception("a call of %s failed", self.asked.name if self.asked else "no method")
            self._refuse(InternalError(self.failure))
        if self.asked is not None and self.asked.notification:
            # JSON-RPC 2.0, 4.1: not even an error is answered.
            self.reply.body = None
            if self.reply.status != TooOften.http_status:
                self.reply.status = self.status_of_silence(self.asked)

    def _refuse(self, error: LeagueError) -> None:
        self.error = error
        self.reply.status = error.http_status
        if isinstance(error, TooOften):
            self.reply.headers["Retry-After"] = str(error.context["retry_after_s"])
        self.reply.body = rpc.dumps(self.refusal(error, self.body))

    # What a server may do otherwise -----------------------------------------------------------------

    def understand(self, body: Any, post: Post) -> A:
        """What a decoded body asks for.

        Raises:
            LeagueError: nothing that can be understood.
        """
        found: Any = rpc.read_request(body)
        return found  # type: ignore[no-any-return]

    def dress(self, asked: A, message: Any) -> Any:
        """The whole reply around the message of a handler."""
        return rpc.result(asked.id, message)

    def refusal(self, error: LeagueError, body: Any) -> Any:
        """The whole reply for an error.

        Args:
            error: why.
            body: the decoded body; None when it could not be read.
        """
        data = {"error_code": error.error_code, "error_name": error.error_name, "context": error.context}
        return rpc.error(rpc.request_id(body), error.rpc_code, error.message, data)

    def status_of_silence(self, asked: A) -> int:
        """The HTTP status for a notification."""
        return NO_CONTENT


async def dispatch(exchange: Exchange[A], post: Post, handle: Callable[[A], Awaitable[Any]]) -> Reply:
    """Answer one request.

    Args:
        exchange: a new one.
        post: what came.
        handle: gives the message of the answer; it may raise LeagueError.
    """
    with exchange.guarded():
        exchange.answer(await handle(exchange.read(post)))
    return exchange.reply


class Loopback:
    """A server and its client in memory: every request and every reply goes through bytes, and no socket.

    Args:
        serve: answers a request, such as :func:`dispatch` with a handler.
    """

    def __init__(self, serve: Callable[[Post], Awaitable[Reply]]) -> None:
        self._serve = serve

    async def send(self, request: Any) -> tuple[int, Any]:
        """The HTTP status and the decoded reply to a request; None for no reply."""
        reply = await self._serve(Post(rpc.dumps(request), "application/json"))
        return reply.status, rpc.loads(reply.body) if isinstance(reply.body, bytes) else None
