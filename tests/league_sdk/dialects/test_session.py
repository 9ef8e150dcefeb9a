"""Sessions of MCP servers: when one is wanted, how it is opened, what later calls carry."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import session
from league_sdk.dialects.session import MCP_VERSION, Session


def error(code: int, message: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "server-error", "error": {"code": code, "message": message}}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, error(-32600, "Bad Request: Missing session ID")),
        (400, error(-32000, "Bad Request: Mcp-Session-Id header is required")),
        (400, error(-32000, "Bad Request: Server not initialized")),
        (400, error(-32000, "Bad Request: No valid session ID provided")),
        (404, error(-32001, "Session not found")),
        (200, error(-32602, "Received request before initialization was complete")),
        (200, error(-32002, "Server has not been initialized")),
        (400, {"error": "Call initialize first"}),
        (400, {"detail": "Missing Mcp-Session-Id"}),
    ],
)
def test_a_session_is_wanted(status: int, body: Any) -> None:
    assert session.is_wanted(status, body)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, error(-32601, "Method not found")),
        (200, {"jsonrpc": "2.0", "id": 1, "result": {"accept": True, "message": "in session"}}),
        (500, error(-32603, "session")),
        (400, error(-32600, ["session"])),
        (400, error(-32600, None)),
        (404, None),
        (400, ["session"]),
        (404, {"detail": "Not Found"}),
    ],
)
def test_no_session_is_wanted(status: int, body: Any) -> None:
    assert not session.is_wanted(status, body)


def test_how_a_session_is_opened() -> None:
    hello = session.opening(7)
    assert (hello["jsonrpc"], hello["method"], hello["id"]) == ("2.0", "initialize", 7)
    assert {"protocolVersion", "capabilities", "clientInfo"} == set(hello["params"])
    assert session.confirmation() == {"jsonrpc": "2.0", "method": "notifications/initialized"}


def answer(version: Any = "2025-03-26") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "result": {"protocolVersion": version, "capabilities": {}}}


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (answer(), {"mcp-session-id": "abc"}, Session("abc", "2025-03-26")),
        (answer(), {}, Session("", "2025-03-26")),
        (answer("x\r\ny: z"), {"mcp-session-id": "a\r\nb"}, Session("", MCP_VERSION)),
        (answer(3), {"mcp-session-id": "x" * 300}, Session("", MCP_VERSION)),
    ],
)
def test_what_was_agreed(body: Any, headers: dict[str, str], expected: Session) -> None:
    assert session.opened(200, body, headers) == expected


@pytest.mark.parametrize(("status", "body"), [(200, error(-32601, "no")), (200, None), (404, answer()), (200, [])])
def test_a_server_without_sessions(status: int, body: Any) -> None:
    assert session.opened(status, body, {"mcp-session-id": "abc"}) is None


def test_what_later_calls_carry() -> None:
    assert Session("abc", "v1").headers() == {"mcp-session-id": "abc", "mcp-protocol-version": "v1"}
    assert Session().headers() == {"mcp-protocol-version": MCP_VERSION}
