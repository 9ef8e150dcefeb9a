"""What an agent is: which version of MCP it takes calls in, its session and its tools; and what a hostile one gains."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from league_sdk.dialects import discovery
from league_sdk.dialects.discovery import MAX_PAGES
from league_sdk.dialects.memory import Memory, read_learned
from league_sdk.dialects.session import MCP_VERSION, STATELESS_VERSION, UNSUPPORTED_VERSION, Session
from league_sdk.dialects.tools import MAX_TOOLS
from league_sdk.transport.client import Reply, TimedOut

TOOL = {"name": "chooseParity", "inputSchema": {"type": "object", "properties": {"matchId": {"type": "string"}}}}
Answer = Callable[[dict[str, Any], dict[str, str]], Any]


def result(body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": body.get("id"), "result": fields}


def refused(code: int, message: str = "no", **data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": data}}


def tools(body: dict[str, Any]) -> dict[str, Any]:
    return result(body, tools=[TOOL])


async def discovered(answer: Answer, session_id: str = "", memory: Memory | None = None) -> tuple[Memory, list[str]]:
    """What discovery finds out about an agent with this answer, and the methods that the agent was sent."""
    memory, methods = memory or Memory(), []

    async def post(body: dict[str, Any], *, limit_s: float, headers: dict[str, str] | None = None) -> Reply:
        methods.append(body["method"])
        reply = answer(body, headers or {})
        if isinstance(reply, Exception):
            raise reply
        reply_headers = {"mcp-session-id": session_id} if session_id and body["method"] == "initialize" else {}
        return Reply(200, reply, "", 0.0, reply_headers)

    await discovery.discover(post, memory, partial(next, count(1)), limit_s=3)
    return memory, methods


def stateless_server(body: dict[str, Any], _headers: dict[str, str]) -> Any:
    if body["method"] == "server/discover":
        return result(body, resultType="complete", supportedVersions=[STATELESS_VERSION], capabilities={})
    return tools(body)


async def test_a_server_that_takes_stateless_calls_gets_them() -> None:
    memory, methods = await discovered(stateless_server)
    assert (memory.mcp, memory.session) == (STATELESS_VERSION, Session(version=STATELESS_VERSION))
    assert methods == ["server/discover", "tools/list"]
    assert memory.spoken["CHOOSE_PARITY_CALL"] == "tools_list"
    assert memory.own["CHOOSE_PARITY_CALL"].name == "chooseParity"
    assert memory.shared()["mcp"] == STATELESS_VERSION and "session" not in memory.shared()


def handshake(body: dict[str, Any], headers: dict[str, str]) -> Any:
    if body["method"] == "initialize":
        return result(body, protocolVersion=body["params"]["protocolVersion"], capabilities={"tools": {}})
    return tools(body) if headers.get("mcp-session-id") == "s1" else refused(-32600, "Missing session ID")


async def test_a_server_with_sessions_gets_one() -> None:
    memory, methods = await discovered(handshake, "s1")
    assert (memory.mcp, memory.session, memory.wants_session) == (MCP_VERSION, Session("s1", MCP_VERSION), True)
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert (memory.shared()["mcp"], memory.shared()["session"]) == (MCP_VERSION, True)


@pytest.mark.parametrize(
    ("supported", "mcp", "expected"),
    [
        (["2025-03-26"], "2025-03-26", ["server/discover", "initialize", "notifications/initialized", "tools/list"]),
        ([STATELESS_VERSION], STATELESS_VERSION, ["server/discover", "tools/list"]),
    ],
)
async def test_the_versions_that_a_server_names_are_heeded(supported: list[str], mcp: str, expected: list[str]) -> None:
    def answer(body: dict[str, Any], headers: dict[str, str]) -> Any:
        if body["method"] == "tools/list":
            return tools(body)
        if body["method"] == "initialize" and body["params"]["protocolVersion"] in supported:
            return result(body, protocolVersion=body["params"]["protocolVersion"], capabilities={})
        return refused(UNSUPPORTED_VERSION, supported=supported)

    memory, methods = await discovered(answer)
    assert (memory.mcp, methods) == (mcp, expected)


@pytest.mark.parametrize(
    "answer",
    [
        lambda body, _: refused(-32601, "Method not found"),
        lambda body, _: {"error": "Unknown method"},
        lambda body, _: result(body, status="ok"),
        lambda body, _: result(body, protocolVersion=3, capabilities={}),
        lambda body, _: result(body, protocolVersion="2025-06-18"),
        lambda body, _: None,
        lambda body, _: ["tools"],
        # Each time, it names a version that it then does not take.
        lambda body, _: refused(UNSUPPORTED_VERSION, supported=["2024-11-05"]),
        lambda body, _: refused(UNSUPPORTED_VERSION, supported={"2025-06-18": True}),
    ],
)
async def test_any_other_program_is_soon_recognised_as_not_an_mcp_server(answer: Answer) -> None:
    memory, methods = await discovered(answer)
    assert (memory.mcp, memory.session, memory.own, memory.shared()) == ("", None, {}, {"mcp": ""})
    assert methods in (["server/discover", "initialize"], ["server/discover", "initialize", "initialize"])


@pytest.mark.parametrize(("pages", "read"), [(MAX_PAGES - 1, MAX_PAGES - 1), (1000, MAX_PAGES)])
async def test_a_list_in_pages_is_read_to_its_end_or_to_a_limit_of_pages(pages: int, read: int) -> None:
    def in_pages(body: dict[str, Any], headers: dict[str, str]) -> Any:
        if body["method"] != "tools/list":
            return stateless_server(body, headers)
        page = int(body["params"].get("cursor", 0))
        following = {"nextCursor": str(page + 1)} if page + 1 < pages else {}
        return result(body, tools=[{"name": f"tool{page}"}], **following)

    memory, methods = await discovered(in_pages)
    assert list(memory.tools or {}) == [f"tool{page}" for page in range(read)]
    assert methods.count("tools/list") == read


async def test_the_number_of_tools_that_are_kept_from_many_pages_is_limited() -> None:
    def crowded(body: dict[str, Any], headers: dict[str, str]) -> Any:
        if body["method"] != "tools/list":
            return stateless_server(body, headers)
        page = int(body["params"].get("cursor", 0))
        return result(body, tools=[{"name": f"tool{page}.{n}"} for n in range(40)], nextCursor=str(page + 1))

    memory, _ = await discovered(crowded)
    assert len(memory.tools or {}) == MAX_TOOLS


async def test_a_failure_leaves_open_what_the_agent_is() -> None:
    memory = Memory()
    with pytest.raises(TimedOut):
        await discovered(lambda body, _: TimedOut("no answer", connected=True), memory=memory)
    assert memory.mcp is None


async def test_all_requests_share_one_limit() -> None:
    limits: list[float] = []
    clock = count(0.0, 0.5)

    async def post(body: dict[str, Any], *, limit_s: float, headers: Any = None) -> Reply:
        limits.append(limit_s)
        await asyncio.sleep(0)
        return Reply(200, handshake(body, {"mcp-session-id": "s1"}), "", 0.0)

    await discovery.discover(post, Memory(), partial(next, count(1)), limit_s=3, now=lambda: next(clock))
    assert limits == [2.5, 2.0, 1.5, 1.0]


def test_findings_are_shared_with_the_next_caller() -> None:
    stateless, sessions, plain = ({"mcp": STATELESS_VERSION}, {"mcp": MCP_VERSION, "session": True}, {"mcp": ""})
    assert [read_learned(one) for one in (stateless, sessions, plain)] == [stateless, sessions, plain]
    assert read_learned({"mcp": "1.0", "session": "yes"}) == {}
    memory = Memory()
    memory.learn_from({}, stateless)
    assert memory.session == Session(version=STATELESS_VERSION)
    # The server was replaced: what was told before does not change what is known, but a new finding does.
    memory.session = None
    memory.learn_from({}, stateless)
    assert memory.session is None
    memory.learn_from({}, sessions)
    assert (memory.mcp, memory.wants_session) == (MCP_VERSION, True)
