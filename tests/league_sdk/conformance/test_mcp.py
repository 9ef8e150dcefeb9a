"""The check of players that are MCP servers: what MCP allows is no mistake, and what a student has to mend is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from league_sdk.conformance.report import Report, Verdict
from league_sdk.dialects.discovery import MAX_PAGES
from tests.league_sdk.conformance.agents import (
    NAMES,
    SHORT_LIMITS,
    TOKEN,
    Agent,
    Wrong,
    checked,
    clause,
    failed_and_tolerated,
    having,
)
from tests.league_sdk.conformance.servers import SCHEMA, STRING, VERSION, Server, Stateless, WithSessions
from tests.sizes import sampled

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")
CLAUSES = {f"mcp.{name}" for name in ("version", "greeting", "list", "tools", "arguments", "results")}
OF_MCP = CLAUSES | {"mcp.session", "mcp.session_end"}


@pytest.mark.parametrize("kind", [Server, Stateless, WithSessions], ids=lambda kind: kind.__name__)
async def test_nothing_that_mcp_allows_is_a_mistake(kind: type[Server]) -> None:
    agent = kind()
    report = await checked(agent)
    assert report.can_play
    assert failed_and_tolerated(report) == (set(), set()), [
        (one.id, one.why) for one in report.clauses if one.verdict != "conforms"
    ]
    assert having(report, Verdict.CONFORMS) >= CLAUSES
    version = VERSION if kind is Stateless else "2025-06-18"
    assert clause(report, "mcp.version").why == f"It speaks MCP {version}."
    assert '"handle_game_invitation", "choose_parity"' in clause(report, "mcp.tools").why
    assert ("mcp.session" in {one.id for one in report.clauses}) == (kind is WithSessions)
    assert (having(report, Verdict.CONFORMS) >= OF_MCP) == (kind is WithSessions)
    # Every session is ended.
    sessions = agent.session_ids if isinstance(agent, WithSessions) else []
    assert (set(agent.deleted), len(agent.deleted)) == (set(sessions), len(sessions))


async def test_an_agent_that_is_called_by_methods_is_asked_nothing_of_mcp() -> None:
    agent = Agent()
    report = await checked(agent)
    assert not CLAUSES & {one.id for one in report.clauses}
    assert "server/discover" not in agent.methods and "initialize" not in agent.methods


def only(report: Report, name: str) -> str:
    """The reason of a clause, which is the only one of MCP that is not as it should be."""
    assert report.can_play
    failed, tolerated = failed_and_tolerated(report)
    assert OF_MCP & (failed | tolerated) == {name}, [(one.id, one.why) for one in report.clauses if one.id in OF_MCP]
    return clause(report, name).why


class NoHandshake(Server):
    def initialized(self, params: Any) -> Any:
        raise Wrong(-32601)


async def test_a_server_that_no_client_can_connect_to_is_reported() -> None:
    why = only(await checked(NoHandshake()), "mcp.version")
    assert "answers neither server/discover nor initialize" in why


class Wrongly(Server):
    """A server whose answer to ``initialize`` has a part that is not as MCP has it."""

    def __init__(self, part: str, value: Any) -> None:
        super().__init__()
        self.part, self.value = part, value

    def initialized(self, params: Any) -> Any:
        answer = super().initialized(params) | {self.part: self.value}
        return {name: value for name, value in answer.items() if value is not None}


@pytest.mark.parametrize(
    ("part", "value", "difference"),
    sampled(
        [
            ("serverInfo", None, "serverInfo in initialize was missing, expected an object"),
            ("serverInfo", {"name": "t"}, "serverInfo.version in initialize was missing, expected a string"),
            ("capabilities", {}, "capabilities.tools in initialize was missing, expected an object"),
            ("capabilities", {"tools": True}, "capabilities.tools in initialize was true, expected an object"),
        ],
        every=3,
    ),
)
async def test_what_is_wrong_with_an_initialize_is_named(part: str, value: Any, difference: str) -> None:
    why = only(await checked(Wrongly(part, value)), "mcp.greeting")
    assert why == f"{difference}. The league calls it all the same; clients of MCP may not."


@pytest.mark.parametrize(
    ("part", "value", "difference"),
    [
        ("protocolVersion", 2, "protocolVersion in initialize was 2, expected a string"),
        ("capabilities", None, "capabilities in initialize was missing, expected an object"),
    ],
)
async def test_a_report_says_why_an_initialize_is_not_that_of_an_mcp_server(
    part: str, value: Any, difference: str
) -> None:
    report = await checked(Wrongly(part, value))
    assert "no client of MCP can connect" in clause(report, "mcp.version").why
    assert clause(report, "mcp.greeting").why.startswith(difference)
    assert not {"mcp.list", "mcp.tools", "mcp.session"} & {one.id for one in report.clauses}


class LosesSessions(WithSessions):
    """Opens a session and accepts it only in calls of its tools."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        if b"tools/list" in body:
            return web.json_response(self.lost(None), status=404)
        return await super().serve(request)


async def test_a_session_that_is_refused_is_reported() -> None:
    why = clause(await checked(LosesSessions()), "mcp.session").why
    assert why == "It refused the session that it had just given: error -32600: Missing session ID."


class SpacedSessions(WithSessions):
    """Gives a session id that MCP does not allow, and takes calls without."""

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        reply = await Server.serve(self, request)
        if request.method == "POST" and b"initialize" in await request.read():
            reply.headers["Mcp-Session-Id"] = "s 1"
        return reply


async def test_a_session_id_that_mcp_does_not_allow_is_reported() -> None:
    why = only(await checked(SpacedSessions()), "mcp.session")
    assert why.startswith('Its Mcp-Session-Id was "s 1": MCP allows visible ASCII characters only')


@pytest.mark.parametrize(
    ("changes", "difference"),
    sampled(
        [
            ({"inputSchema": None}, "tools.0.inputSchema in tools/list was missing, expected an object"),
            ({"inputSchema": {}}, "tools.0.inputSchema.type in tools/list was missing, expected object"),
            ({"inputSchema": {"type": "array"}}, 'tools.0.inputSchema.type in tools/list was "array", expected object'),
        ],
        every=2,
    ),
)
async def test_a_tool_that_makes_clients_refuse_the_list_is_reported(changes: Any, difference: str) -> None:
    class Listing(Server):
        def listed(self, params: Any) -> Any:
            tools = super().listed(params)["tools"]
            return {
                "tools": [
                    {name: value for name, value in (one | changes).items() if value is not None} for one in tools
                ]
            }

    report = await checked(Listing())
    assert clause(report, "mcp.list").why.startswith(f"{difference}. The league calls it all the same")


class SlowToGreet(Server):
    """A server that does not answer ``initialize`` in time."""

    async def call(self, method: Any, params: Any) -> Any:
        if method == "initialize":
            await self.never()
        return await super().call(method, params)


@pytest.mark.parametrize(("kind", "known"), [(Server, "2025-06-18"), (NoHandshake, ""), (SlowToGreet, None)])
async def test_the_report_keeps_the_version_that_the_server_answered(kind: type[Server], known: str | None) -> None:
    report = await checked(kind())
    assert report.memory is not None
    assert (report.memory.mcp, report.memory.shared().get("mcp")) == (known, known)
    assert ("GAME_INVITATION" in report.memory.own) == bool(known)


class NoResultTool(Server):
    tools = tuple(name for name in NAMES if name != "notify_match_result")


async def test_a_message_without_a_tool_is_named_with_the_tool_that_would_do() -> None:
    why = only(await checked(NoResultTool()), "mcp.tools")
    assert why == "Nothing in its list is for GAME_OVER: name a tool notify_match_result."


class WantsMood(Server):
    schema = SCHEMA | {"properties": SCHEMA["properties"] | {"mood": STRING}, "required": ["mood"]}


async def test_an_argument_that_no_message_has_is_named() -> None:
    why = only(await checked(WantsMood()), "mcp.arguments")
    assert why.startswith(
        '"handle_game_invitation" requires "mood", which no field of GAME_INVITATION is: it is sent empty.'
    )


class NoContent(Server):
    def result(self, message: Any) -> Any:
        return message


async def test_a_result_without_content_is_reported() -> None:
    why = only(await checked(NoContent()), "mcp.results")
    assert why.startswith("content in tools/call was missing, expected a list. The league reads it all the same")


class OwnNames(Server):
    tools = ("receive_invitation", "pick_parity", "game_over")

    def meaning(self, name: str) -> str:
        return dict(zip(self.tools, NAMES, strict=False))[name]


async def test_tools_may_have_names_of_their_own_and_broadcasts_without_a_tool_are_reported() -> None:
    report = await checked(OwnNames())
    assert having(report, Verdict.CONFORMS) >= CLAUSES and clause(report, "method.names").verdict is Verdict.CONFORMS
    outcome = clause(report, "message.standings_update")
    assert outcome.verdict is Verdict.TOLERATED
    # What the tool said is quoted, without the token in it.
    assert "an error: Unknown tool: update_standings" in outcome.why or "no tool for this" in outcome.why
    assert TOKEN not in json.dumps(report.to_json())


class Endless(Stateless):
    """A server whose list of tools never ends and has no useful tool."""

    def listed(self, params: Any) -> Any:
        more = [{"name": f"t{number}", "inputSchema": {"properties": {"x": {"$ref": "#"}}}} for number in range(500)]
        return super().listed(params) | {"nextCursor": f"c{len(self.called_methods)}", "tools": more}


class Strange(Stateless):
    """A server whose answers have the right names and the wrong types."""

    def listed(self, params: Any) -> Any:
        return {
            "tools": [None, 7, {"name": ["x"]}, {"name": "y" * 9000}, {"name": "z", "inputSchema": 5}],
            "nextCursor": 7,
        }

    def result(self, message: Any) -> Any:
        return {"content": [None, {"text": 7}, "x"], "structuredContent": message, "isError": "no"}

    def failed(self, why: str) -> Any:
        return {"content": [7, {"type": "text", "text": None}], "isError": True}


@pytest.mark.parametrize("kind", [Endless, Strange], ids=lambda kind: kind.__name__)
async def test_a_hostile_server_is_checked_to_the_end(kind: type[Server]) -> None:
    agent = kind()
    report = await checked(agent, limits=SHORT_LIMITS)
    assert having(report, Verdict.CONFORMS) >= {"mcp.version", "mcp.greeting"}
    assert agent.called_methods.count("tools/list") == (MAX_PAGES if kind is Endless else 1)
    assert len(json.dumps(report.to_json())) < 400_000
