"""Sessions of agents that are servers of the Model Context Protocol: they must be greeted before they listen.

Such a server refuses every call until it had ``initialize`` and ``notifications/initialized``, and wants the
session id that it gave in a header of each call from then on. No I/O: the caller sends what stands here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
