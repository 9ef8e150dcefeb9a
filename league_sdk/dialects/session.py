"""Sessions with agents that are servers of the Model Context Protocol (MCP).

A server of the handshake versions refuses every call before ``initialize`` and ``notifications/initialized``, and wants
the session id that it gave in a header of each later call. A server of the stateless version knows no ``initialize``:
each call carries the version in ``params._meta`` and in headers. No I/O: the caller sends.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from league_sdk.dialects.mirrored import as_header
from league_sdk.protocol import PROTOCOL_VERSION, rpc
from league_sdk.protocol.calls import Reply
from league_sdk.protocol.errors import NotJson

if TYPE_CHECKING:
    from league_sdk.dialects.memory import Memory

MCP_VERSION = "2025-06-18"
"""The MCP version that we offer; a server may answer with another."""
HANDSHAKE_VERSIONS = ("2025-11-25", MCP_VERSION, "2025-03-26", "2024-11-05")
STATELESS_VERSION = "2026-07-28"
UNSUPPORTED_VERSION, WRONG_HEADER = -32022, -32020
METHOD_HEADER, NAME_HEADER = "mcp-method", "mcp-name"
_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "league", "version": PROTOCOL_VERSION}
ID_HEADER, VERSION_HEADER = "mcp-session-id", "mcp-protocol-version"
_ID = re.compile(r"[\x21-\x7e]{1,256}", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z.-]{1,32}", re.ASCII)
_LOST = re.compile(
    r"\b_meta\b|session|not (been )?initialized|initializ\w+ (was|is) (not )?(complete|required)|initialize first"
)


Mirror = Callable[[str, Mapping[str, Any]], Mapping[str, str]]
"""Returns, for a tool's name and its arguments, the headers that repeat some of the arguments."""


@dataclass(frozen=True, slots=True)
class Session:
    """What was agreed with one server.

    Attributes:
        id: the id of the session; may be empty.
        version: the MCP version, as the server speaks it.
        way: the :class:`league_sdk.protocol.inbox.Way` by which the server gave it; empty if at its address.
    """

    id: str = ""
    version: str = MCP_VERSION
    way: str = field(default="", compare=False)

    @property
    def is_stateless(self) -> bool:
        """Whether each call carries everything by itself, without a session id."""
        return self.version == STATELESS_VERSION

    def headers(self) -> dict[str, str]:
        """The headers of every later call."""
        return ({ID_HEADER: self.id} if self.id else {}) | {VERSION_HEADER: self.version}

    def prepared(self, body: Any, mirror: Mirror | None = None) -> tuple[Any, dict[str, str]]:
        """A body as this server takes it, and the headers in addition to the usual ones, with those of ``mirror``."""
        if not self.is_stateless:
            return body, self.headers()
        try:
            request = rpc.loads(body) if isinstance(body, bytes) else body
        except NotJson:
            # A check sends such a body on purpose.
            return body, self.headers()
        params = request.get("params", {}) if isinstance(request, Mapping) else None
        if not isinstance(params, Mapping) or not isinstance(request, Mapping) or "method" not in request:
            return body, self.headers()
        meta = {"protocolVersion": self.version, "clientCapabilities": {}, "clientInfo": _CLIENT}
        whole = {**params, "_meta": {f"{_META}{name}": value for name, value in meta.items()}}
        names = {METHOD_HEADER: request["method"]} | ({NAME_HEADER: params["name"]} if "name" in params else {})
        headers = {name: as_header(str(value)) for name, value in names.items()}
        values = params.get("arguments")
        if mirror is not None and "name" in params and isinstance(values, Mapping):
            headers |= mirror(str(params["name"]), values)
        return {**request, "params": whole}, self.headers() | headers


MAX_USELESS_SESSIONS = 3
"""After this many sessions in a row that did not help, no more are opened."""
Send = Callable[[Any, Session | None], Awaitable[Reply]]
"""Sends a body, prepared for a session if there is one."""


def sender(
    post: Callable[..., Awaitable[Reply]], *, limit_s: float, now: Callable[[], float], mirror: Mirror | None = None
) -> Send:
    """What sends bodies one after the other, all of them within one limit.

    Args:
        post: sends a body within ``limit_s`` seconds, with ``headers`` in addition to the usual ones.
        limit_s: seconds for all of them, from now on.
        now: monotonic seconds.
        mirror: gives the headers that repeat arguments of a call.
    """
    end = now() + limit_s

    async def send(content: Any, session: Session | None) -> Reply:
        prepared, headers = (content, None) if session is None else session.prepared(content, mirror)
        return await post(prepared, limit_s=max(0.001, end - now()), headers=headers)

    return send


async def through(
    post: Callable[..., Awaitable[Reply]],
    body: Any,
    holder: Memory,
    next_id: Callable[[], int],
    *,
    limit_s: float,
    now: Callable[[], float] = time.monotonic,
) -> Reply:
    """Send a body; if the server wants a session first, open one and send the body, again if it was sent before.

    Args:
        post: sends a body within ``limit_s`` seconds, with ``headers`` in addition to the usual ones.
        holder: holds the server's session.
        next_id: returns the JSON-RPC id of ``initialize``.
        limit_s: seconds for all of it.
        now: monotonic seconds.
    """
    send = sender(post, limit_s=limit_s, now=now, mirror=holder.mirrored)
    reply: Reply | None = None
    if holder.session is not None or not holder.wants_session:
        reply = await send(body, holder.session)
        if not is_wanted(reply.status, reply.body):
            return reply
    if holder.sessions >= MAX_USELESS_SESSIONS:
        return reply if reply is not None else await send(body, None)
    holder.sessions += 1
    session = await open_session(send, next_id)
    if session is None:
        holder.wants_session = False
        return reply if reply is not None else await send(body, None)
    holder.session = session
    again = await send(body, session)
    if not is_wanted(again.status, again.body):
        holder.sessions = 0
    return again


async def open_session(send: Send, next_id: Callable[[], int], version: str = MCP_VERSION) -> Session | None:
    """Agree on a version with a server by ``initialize``, at most twice, and confirm it.

    Args:
        send: sends a body, prepared for a session.
        version: the one to ask for first.

    Returns what was agreed, with an empty id if the server gave none; None if it is not an MCP server.
    """
    hello = await send(opening(next_id(), version), None)
    offered = supported(hello.body)
    if STATELESS_VERSION in offered:
        return Session(version=STATELESS_VERSION)
    if known := [one for one in HANDSHAKE_VERSIONS if one in offered]:
        hello = await send(opening(next_id(), known[0]), None)
    session = opened(hello.body, hello.headers)
    if session is None:
        return None
    session = replace(session, way=hello.way)
    await send(confirmation(), session)
    return session


def is_wanted(status: int, body: Any) -> bool:
    """Whether a refusal (HTTP status and decoded JSON) says that a session is missing or over, or the version wrong.

    MCP libraries say so in different words (``Missing session ID``, ``Server not initialized``, ``Session not
    found``), with different codes (-32600, -32000, -32001, -32602) and HTTP statuses.
    """
    if not isinstance(body, Mapping) or status not in (200, 400, 401, 403, 404, 409, 412, 425, 503):
        return False
    error = body.get("error")
    if isinstance(error, Mapping) and error.get("code") in (UNSUPPORTED_VERSION, WRONG_HEADER):
        return True
    text = error.get("message") if isinstance(error, Mapping) else error
    if text is None:
        text = body.get("detail") or body.get("message")
    return isinstance(text, str) and _LOST.search(text[:300].lower()) is not None


def supported(body: Any) -> list[Any]:
    """The versions that a server names when it refuses the one it was asked in; empty if it did not."""
    error = body.get("error") if isinstance(body, Mapping) else None
    data = error.get("data") if isinstance(error, Mapping) and error.get("code") == UNSUPPORTED_VERSION else None
    versions = data.get("supported") if isinstance(data, Mapping) else None
    return versions if isinstance(versions, list) else []


def opening(rpc_id: int, version: str = MCP_VERSION) -> dict[str, Any]:
    """``initialize``: the first request of a session."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
    return rpc.call("initialize", params, rpc_id)


def opened(body: Any, headers: Mapping[str, str]) -> Session | None:
    """Read the reply to :func:`opening` (its headers with names in lower case).

    Returns None if it is not such an answer: many programs answer everything, so its shape decides, not its status.
    """
    result = body.get("result") if isinstance(body, Mapping) else None
    version = result.get("protocolVersion") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not isinstance(version, str):
        return None
    if not isinstance(result.get("capabilities"), Mapping):
        return None
    session_id = headers.get(ID_HEADER, "")
    return Session(
        id=session_id if _ID.fullmatch(session_id) else "",
        version=version if _VERSION.fullmatch(version) else MCP_VERSION,
    )


def confirmation() -> dict[str, Any]:
    """``notifications/initialized``: sent with the session's headers, its reply does not matter."""
    return {"jsonrpc": "2.0", "method": "notifications/initialized"}
