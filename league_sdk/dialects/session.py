"""Sessions of agents that are servers of the Model Context Protocol: they must be greeted before they listen.

Such a server refuses every call until it had ``initialize`` and ``notifications/initialized``, and wants the
session id that it gave in a header of each call from then on. No I/O: what is sent is sent by the caller.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from league_sdk.protocol import PROTOCOL_VERSION, rpc

MCP_VERSION = "2025-06-18"
"""The version of the Model Context Protocol that we offer; a server may answer with another."""
ID_HEADER, VERSION_HEADER = "mcp-session-id", "mcp-protocol-version"
_ID = re.compile(r"[\x21-\x7e]{1,256}", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z.-]{1,32}", re.ASCII)
_LOST = re.compile(r"session|not (been )?initialized|initializ\w+ (was|is) (not )?(complete|required)|initialize first")


@dataclass(frozen=True, slots=True)
class Session:
    """What was agreed with one server.

    Attributes:
        id: of the session; empty when the server keeps none.
        version: of the Model Context Protocol, as the server answered.
    """

    id: str = ""
    version: str = MCP_VERSION

    def headers(self) -> dict[str, str]:
        """What goes into the header of every later call."""
        return ({ID_HEADER: self.id} if self.id else {}) | {VERSION_HEADER: self.version}


class Answered(Protocol):
    """What is needed of an HTTP answer here, and by the driver of a hunt."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> Any: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def problem(self) -> str: ...
    @property
    def text(self) -> str: ...


class Holder(Protocol):
    """Where a session is kept: :class:`league_sdk.dialects.hunt.Memory`."""

    session: Session | None
    sessions: int


R = TypeVar("R", bound=Answered)
MOST_SESSIONS = 3
"""Sessions in a row that bring nothing; then none is opened any more."""


async def through(
    post: Callable[..., Awaitable[R]],
    body: Any,
    holder: Holder,
    next_id: Callable[[], int],
    *,
    limit_s: float,
    now: Callable[[], float] = time.monotonic,
) -> R:
    """Send a body; when the server wants a session first, open one and send the body once more.

    Args:
        post: sends a body, with ``limit_s`` and with these ``headers`` besides the usual ones.
        body: what is to be said.
        holder: where the server's session is kept.
        next_id: gives the JSON-RPC id of ``initialize``.
        limit_s: seconds for all of it.
        now: monotonic seconds.
    """
    end = now() + limit_s

    async def send(more: Any, headers: Mapping[str, str] | None) -> R:
        return await post(more, limit_s=max(0.001, end - now()), headers=headers)

    held = holder.session.headers() if holder.session is not None else None
    reply = await post(body, limit_s=limit_s, headers=held)
    if holder.sessions >= MOST_SESSIONS or not is_wanted(reply.status, reply.body):
        return reply
    holder.sessions += 1
    hello = await send(opening(next_id()), None)
    found = opened(hello.status, hello.body, hello.headers)
    if found is None:
        return reply
    holder.session = found
    await send(confirmation(), found.headers())
    again = await send(body, found.headers())
    if not is_wanted(again.status, again.body):
        holder.sessions = 0
    return again


def is_wanted(status: int, body: Any) -> bool:
    """Whether a refusal says that there must be a session first, or that the one we have is over.

    The libraries say so with an error under 200, 400 or 404 whose words differ (``Missing session ID``, ``Server
    not initialized``, ``Session not found``), the code being -32600, -32000, -32001 or -32602.

    Args:
        status: of the HTTP answer.
        body: the decoded JSON.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    said = error.get("message") if isinstance(error, Mapping) else error
    if isinstance(body, Mapping) and said is None:
        said = body.get("detail") or body.get("message")
    if not isinstance(said, str) or status not in (200, 400, 401, 403, 404, 409, 412, 425, 503):
        return False
    return bool(_LOST.search(said[:300].lower()))


def opening(rpc_id: int) -> dict[str, Any]:
    """``initialize``: the first request of a session.

    Args:
        rpc_id: the JSON-RPC id.
    """
    who = {"name": "league", "version": PROTOCOL_VERSION}
    hello = {"protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": who}
    return rpc.call("initialize", hello, rpc_id)


def opened(status: int, body: Any, headers: Mapping[str, str]) -> Session | None:
    """Read the answer to :func:`opening`; None when the server knows no sessions.

    Args:
        status: of the HTTP answer.
        body: the decoded JSON.
        headers: of the answer, names in lower case.
    """
    result = body.get("result") if isinstance(body, Mapping) else None
    if not 200 <= status < 300 or not isinstance(result, Mapping):
        return None
    given, version = headers.get(ID_HEADER, ""), result.get("protocolVersion")
    return Session(
        id=given if _ID.fullmatch(given) else "",
        version=version if isinstance(version, str) and _VERSION.fullmatch(version) else MCP_VERSION,
    )


def confirmation() -> dict[str, Any]:
    """``notifications/initialized``: sent with the session's headers, its answer does not matter."""
    return {"jsonrpc": "2.0", "method": "notifications/initialized"}
