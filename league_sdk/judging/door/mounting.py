"""A referee as an MCP server at its door, with MCP sessions and without (``league_sdk.mcp.versions``).

It runs in the door's process, which reads what strangers send; MCP sessions and streams end with that process.
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
    """A referee as an MCP server. It has no web pages, and those of other sites may not call it."""
    return McpServer(
        make_registry(),
        states=States(secrets.token_bytes(32), time.time),
        sessions=Sessions(secrets.token_bytes(32), time.time),
        origins=Origins(),
    )


async def answer(server: McpServer, call: Call, method: str, headers: Mapping[str, str], post: Post) -> Reply:
    """Answer a request of MCP.

    Args:
        server: from :func:`make_server`.
        call: the request as the referee's tools see it, with its caller.
        method: the HTTP method.
        headers: the headers of the request; upper and lower case in their names do not matter.
        post: the request's body, perhaps decoded.
    """
    scheme, _space, token = call.authorization.partition(" ")
    known = call.caller != STRANGER
    return await server.handle(
        HttpRequest(
            method,
            {name.lower(): value for name, value in headers.items()},
            post.body,
            principal=tokens.digest(token.strip()) if scheme.lower() == "bearer" else "",
            # A known caller has sessions and streams of its own; strangers of one network share theirs.
            caller=call.caller if known else network_of(call.address),
            scope=call,
            # Answered in one piece unless the client may get a stream, which alone may outlive the request's budget
            # (budgets.py).
            at_once=post.decoded is not NOT_DECODED and is_answered_at_once(post.decoded),
            decoded=post.decoded,
        )
    )
