"""Both eras of MCP: unreadable bodies, HTTP methods, web pages that call, and how the era of a request is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league_sdk.mcp.context import Context
from league_sdk.mcp.registry import Tool, ToolResult
from league_sdk.mcp.versions import Era, era_of, is_mcp
from tests.league_sdk.mcp.talking import Talk, handshake_body, stateless


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"a": NaN}', -32700),
        (b"[" * 50_000, -32700),
        (b"[]", -32600),
        (b"[1]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]}', -32600),
        (b'{"jsonrpc": "2.0", "result": {}}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "' + b"x" * 70_000 + b'"}}', -32600),
    ],
)
async def test_a_body_that_is_not_a_request_is_400_in_either_era(body: bytes, code: int) -> None:
    for headers in ({}, stateless("ping")[1]):
        answer = await Talk().send(body, **headers)
        assert (answer.status, answer.code) == (400, code)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_other_methods_of_http_name_the_one_that_works(method: str) -> None:
    for headers in ({}, {"mcp_protocol_version": "2026-07-28", "mcp_session_id": "x"}):
        answer = await Talk().send(b"", method=method, **headers)
        assert (answer.status, answer.headers) == (405, {"Allow": "POST"})


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://localhost:8000", "localhost:8000", 200),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", 200),
        ("http://[::1]:8000", "[::1]:8000", 200),
        ("http://192.168.1.5:8000", "192.168.1.5:8000", 200),
        ("https://league.example", "league.example", 200),
        ("https://evil.example", "league.example", 403),
        ("http://localhost:3000", "localhost:8000", 403),
        ("http://evil.example", "evil.example", 403),
        ("null", "localhost:8000", 403),
        ("http://[", "[", 403),
    ],
)
async def test_a_page_may_call_only_the_server_that_gave_it_out(origin: str, host: str, status: int) -> None:
    body, headers = stateless("tools/call", name="echo")
    assert (await Talk().send(body, **headers | {"origin": origin, "host": host})).status == status
    assert (await Talk().send(handshake_body("tools/list"), origin=origin, host=host)).status == status


async def test_a_tool_is_not_run_for_a_page_from_elsewhere() -> None:
    called: list[Any] = []

    async def call(context: Context, arguments: dict[str, Any]) -> ToolResult:
        called.append(arguments)
        return ToolResult([])

    talk = Talk()
    talk.server.registry.add(Tool("noted", "Noted", "For tests.", call))
    body, headers = stateless("tools/call", name="noted")
    await talk.send(body, **headers | {"origin": "https://evil.example"})
    assert called == []
    await talk.send(body, **headers | {"origin": "http://localhost"})
    assert called == [{}]


@pytest.mark.parametrize(
    ("body", "headers", "era"),
    [
        ({"method": "register_player"}, {}, None),
        ({"method": "list_tools"}, {}, None),
        ({"method": "LEAGUE_QUERY", "params": {"_meta": {}}}, {}, None),
        ([], {}, None),
        (handshake_body("initialize"), {}, Era.HANDSHAKE),
        (handshake_body("ping"), {}, Era.HANDSHAKE),
        (handshake_body("tools/list"), {}, Era.HANDSHAKE),
        (handshake_body("notifications/initialized"), {}, Era.HANDSHAKE),
        ({"method": "x"}, {"mcp-session-id": "s"}, Era.HANDSHAKE),
        ({"method": "x"}, {"mcp-protocol-version": "2025-06-18"}, Era.HANDSHAKE),
        ({"method": "x"}, {"mcp-protocol-version": "2026-07-28"}, Era.STATELESS),
        ({"method": "x"}, {"mcp-protocol-version": "soon"}, Era.STATELESS),
        (handshake_body("tools/list"), {"mcp-method": "tools/list"}, Era.STATELESS),
        (handshake_body("server/discover"), {}, Era.STATELESS),
        (stateless("tools/list")[0], {}, Era.STATELESS),
        (stateless("tools/list")[0], {"mcp-protocol-version": "2025-06-18"}, Era.STATELESS),
    ],
)
def test_the_era_follows_from_method_params_and_headers(body: Any, headers: dict[str, str], era: Era | None) -> None:
    assert era_of(body, headers) is era


@pytest.mark.parametrize("method", ["tools/call", "ping"])
def test_a_method_that_course_clients_use_too_is_mcp_only_with_a_header_or_meta_of_mcp(method: str) -> None:
    assert not is_mcp(handshake_body(method), {})
    assert is_mcp(handshake_body(method), {"mcp-session-id": "s"})
    assert is_mcp(handshake_body(method), {"mcp-protocol-version": "2025-06-18"})
    assert is_mcp(stateless(method)[0], {})


@pytest.mark.parametrize(
    ("body", "headers", "mcp"),
    [
        (handshake_body("initialize"), {}, True),
        (handshake_body("tools/list"), {}, True),
        (handshake_body("choose_parity"), {}, False),
        (handshake_body("protocol/message"), {}, False),
        (None, {}, False),
        (None, {"mcp-session-id": "s"}, True),
        ([handshake_body("initialize")], {}, False),
    ],
)
def test_other_requests_are_mcp_if_their_method_or_headers_are(body: Any, headers: dict[str, str], mcp: bool) -> None:
    assert is_mcp(body, headers) is mcp


async def test_a_body_that_was_decoded_before_is_not_decoded_again() -> None:
    talk = Talk()
    request = talk.request(b"{", **stateless("tools/call", name="echo")[1])
    body = stateless("tools/call", name="echo")[0]
    assert (await talk.server.handle(replace(request, decoded=body))).status == 200
    assert (await talk.server.handle(request)).status == 400
    foreign = replace(request, decoded=body, headers={**request.headers, "origin": "https://evil.example"})
    assert (await talk.server.handle(foreign)).status == 403
