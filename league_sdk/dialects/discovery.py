"""Find out, once and outside of matches, whether an agent is an MCP server, and which tools it has.

The agent is asked as a server of the stateless version (``server/discover``), then as one of the handshake versions
(``initialize``). It is not an MCP server if it answers neither as MCP says, whatever the HTTP status. What is found
belongs to the agent's registration and is shared by all callers of that agent. No I/O: the caller sends.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from league_sdk.dialects.memory import Memory
from league_sdk.dialects.session import (
    HANDSHAKE_VERSIONS,
    MCP_VERSION,
    STATELESS_VERSION,
    Send,
    Session,
    open_session,
    sender,
    supported,
)
from league_sdk.dialects.tools import LIST_TOOLS, MAX_TOOLS, Tool, read_tools
from league_sdk.protocol import rpc
from league_sdk.protocol.calls import Reply

DISCOVER = "server/discover"
LIMIT_S = 3.0
"""Seconds for finding out what an agent is."""
MAX_PAGES = 3
"""How many pages of an agent's list of tools are read."""
MAX_CURSOR_CHARS = 500


async def discover(
    post: Callable[..., Awaitable[Reply]],
    memory: Memory,
    next_id: Callable[[], int],
    *,
    limit_s: float,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Ask an agent what it is, with at most four requests and :data:`MAX_PAGES` for its tools.

    Changes ``memory``: always ``mcp``; for an MCP server also its tools, which of them is for which message, and its
    session if it gave one. The caller ends that session.

    Args:
        post: sends a body within ``limit_s`` seconds, with ``headers`` in addition to the usual ones; what it raises is
            raised here, and ``mcp`` stays as it was if it was not known by then.
        next_id: returns new JSON-RPC ids.
        limit_s: seconds for all of it.
        now: monotonic seconds.
    """
    send = sender(post, limit_s=limit_s, now=now)
    session = await _agree(send, next_id)
    if session is None:
        memory.mcp = ""
        return
    memory.session = session
    memory.mcp = session.version if session.version in (STATELESS_VERSION, *HANDSHAKE_VERSIONS) else MCP_VERSION
    memory.wants_session = bool(session.id)
    tools = await _tools(send, session, next_id)
    memory.tools, memory.own = tools, {}
    memory.assign_tools()
    memory.spoken |= dict.fromkeys(memory.own, "tools_list")


async def _agree(send: Send, next_id: Callable[[], int]) -> Session | None:
    """The session in which the agent takes calls, with its version; None if the agent is not an MCP server."""
    stateless = Session(version=STATELESS_VERSION)
    reply = await send(rpc.call(DISCOVER, {}, next_id()), stateless)
    named = supported(reply.body)
    # A server that refuses the stateless version and yet names it as supported may take it the next time.
    if STATELESS_VERSION in (*_offered(reply.body), *named):
        return stateless
    named = [one for one in HANDSHAKE_VERSIONS if one in named]
    return await open_session(send, next_id, named[0] if named else MCP_VERSION)


async def _tools(send: Send, session: Session, next_id: Callable[[], int]) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    params: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        reply = await send(rpc.call(LIST_TOOLS, params, next_id()), session)
        more = read_tools(reply.body)
        tools |= dict(list(more.items())[: MAX_TOOLS - len(tools)])
        cursor = _result(reply.body).get("nextCursor")
        if not isinstance(cursor, str) or not 0 < len(cursor) <= MAX_CURSOR_CHARS:
            break
        params = {"cursor": cursor}
    return tools


def _offered(body: Any) -> list[Any]:
    """The versions in an answer to ``server/discover``; empty if it is not such an answer."""
    versions = _result(body).get("supportedVersions")
    return versions if isinstance(versions, list) else []


def _result(body: Any) -> Mapping[str, Any]:
    result = body.get("result") if isinstance(body, Mapping) else None
    return result if isinstance(result, Mapping) else {}
