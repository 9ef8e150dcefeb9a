"""The core of MCP at a referee's door: for requests of MCP, in both eras.

It runs in the process that reads what strangers send, and its sessions and streams live there: they end with it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from league_sdk.judging.door.budgets import STRANGER, network_of
from league_sdk.judging.door.calling import Call
from league_sdk.judging.door.offering import make_registry
from league_sdk.mcp.requests import HttpRequest, is_answered_at_once
from league_sdk.mcp.server import McpServer, Origins
from league_sdk.mcp.sessions import Sessions
from league_sdk.mcp.states import States
from league_sdk.protocol import tokens
from league_sdk.protocol.dispatch import NOT_DECODED, Post, Reply


def make_server() -> McpServer:
    """A referee as an MCP server. It gives out no pages, so that no page but one at its own address may call."""
    return McpServer(
        make_registry(),
        states=States(secrets.token_bytes(32), time.time),
        sessions=Sessions(time.monotonic),
        origins=Origins(),
    )


async def answer(server: McpServer, call: Call, method: str, headers: Mapping[str, str], post: Post) -> Reply:
    """Answer a request of MCP.

    Args:
        server: of :func:`make_server`.
        call: the request; it answers the tools.
        method: of HTTP.
        headers: of the request, in any case.
        post: its body, perhaps decoded.
    """
    scheme, _space, token = call.authorization.partition(" ")
    known = call.caller != STRANGER
    return await server.handle(
        HttpRequest(
            method,
            {name.lower(): value for name, value in headers.items()},
            post.body,
            principal=tokens.digest(token.strip()) if scheme.lower() == "bearer" else "",
            # Whoever is known has its own sessions and streams, whoever else is behind its address.
            caller=call.caller if known else network_of(call.address),
            scope=call,
            # All work is done within the budget of the request; only a stream outlives it.
            at_once=post.decoded is not NOT_DECODED and is_answered_at_once(post.decoded),
            decoded=post.decoded,
        )
    )
