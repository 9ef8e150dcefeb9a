"""Sessions of MCP servers: when a session is needed, how it is opened, which headers later calls have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from league_sdk.dialects import session
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.session import MCP_VERSION, Session
from league_sdk.protocol import rpc
from league_sdk.transport.client import Reply


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
        (400, error(-32602, "Invalid _meta: io.modelcontextprotocol/protocolVersion is required")),
        (400, error(-32020, "Header mismatch")),
        (400, error(-32022, "Unsupported protocol version")),
    ],
)
def test_is_wanted_recognises_refusals_for_a_missing_session_or_version(status: int, body: Any) -> None:
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
def test_is_wanted_ignores_other_refusals(status: int, body: Any) -> None:
    assert not session.is_wanted(status, body)


def test_opening_and_confirmation_are_the_messages_that_begin_a_session_of_mcp() -> None:
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
        (answer(), {"mcp-session-id": "x" * 300}, Session("", "2025-03-26")),
    ],
)
def test_opened_reads_session_id_and_version(body: Any, headers: dict[str, str], expected: Session) -> None:
    assert session.opened(body, headers) == expected


NOT_MCP = [error(-32601, "no"), None, [], answer(3), {"result": {"status": "ok"}}, {"result": {"protocolVersion": "x"}}]


@pytest.mark.parametrize("body", NOT_MCP)
def test_opened_finds_no_session_in_other_replies(body: Any) -> None:
    assert session.opened(body, {"mcp-session-id": "abc"}) is None


def test_session_headers_carry_id_and_version() -> None:
    assert Session("abc", "v1").headers() == {"mcp-session-id": "abc", "mcp-protocol-version": "v1"}
    assert Session().headers() == {"mcp-protocol-version": MCP_VERSION}


# -- servers of other versions ------------------------------------------------------------------------------


def supports_only(*versions: Any) -> dict[str, Any]:
    refused = error(-32022, "Unsupported protocol version")
    refused["error"]["data"] = {"supported": [*versions], "requested": MCP_VERSION}
    return refused


async def talk(answer: Callable[[Any, dict[str, str]], Reply], body: Any) -> tuple[Reply, list[Any], Memory]:
    """Send one body to a server; returns its last reply, the methods that it was sent, and what is remembered of it."""
    memory, methods = Memory(), []

    async def post(content: Any, *, limit_s: float, headers: dict[str, str] | None = None) -> Reply:
        methods.append(content["method"])
        return answer(content, headers or {})

    return await session.through(post, body, memory, partial(next, count(1)), limit_s=5), methods, memory


def reply(status: int, body: Any) -> Reply:
    return Reply(status, body, "", 0.0, {})


async def test_a_stateless_server_gets_its_version_in_each_call() -> None:
    sent: list[tuple[Any, dict[str, str]]] = []

    def answer(content: Any, headers: dict[str, str]) -> Reply:
        if content["method"] == "initialize":
            return reply(400, supports_only("2026-07-28"))
        sent.append((content, headers))
        if "_meta" not in content["params"]:
            return reply(400, error(-32602, "Invalid _meta"))
        return reply(200, {"jsonrpc": "2.0", "id": 1, "result": {}})

    call = rpc.call("tools/call", {"name": "wähle", "arguments": {}}, 1)
    response, methods, memory = await talk(answer, call)
    assert (response.status, methods) == (200, ["tools/call", "initialize", "tools/call"])
    assert memory.session is not None and memory.session.is_stateless
    content, headers = sent[-1]
    assert content["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert headers == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?d8OkaGxl?=",
    }
    # The conductor sends bytes; they are prepared in the same way.
    assert memory.session.prepared(rpc.dumps(call)) == (content, headers)


async def test_a_server_that_names_another_version_is_asked_in_it() -> None:
    def answer(content: Any, headers: dict[str, str]) -> Reply:
        if content["method"] != "initialize":
            return reply(200 if headers else 400, {} if headers else error(-32600, "Missing session ID"))
        version = content["params"]["protocolVersion"]
        good = {"result": {"protocolVersion": version, "capabilities": {}}}
        return reply(200, good) if version == "2024-11-05" else reply(400, supports_only("2024-11-05", "2023-01-01"))

    response, methods, memory = await talk(answer, rpc.call("tools/list", {}, 1))
    assert (response.status, methods.count("initialize")) == (200, 2)
    assert memory.session == Session(version="2024-11-05")


@pytest.mark.parametrize("versions", [[], ["1999-01-01"], [None, 7, {}], ["2026-07-28" * 1000]])
async def test_a_server_without_a_common_version_gets_no_session(versions: list[Any]) -> None:
    def answer(content: Any, headers: dict[str, str]) -> Reply:
        return reply(400, supports_only(*versions))

    response, methods, memory = await talk(answer, rpc.call("ping", {}, 1))
    assert (response.status, methods, memory.session) == (400, ["ping", "initialize"], None)


@pytest.mark.parametrize("body", [b"[1]", b'{"a": 1', [], "text", {"id": 1}, {"method": "x", "params": [1]}, None])
def test_a_body_that_is_not_a_call_with_named_params_is_sent_unchanged(body: Any) -> None:
    assert Session(version="2026-07-28").prepared(body)[0] == body
