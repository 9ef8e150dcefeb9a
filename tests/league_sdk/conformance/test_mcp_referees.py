"""The check of referees that are MCP servers, and understand league.v2 as well or nothing but MCP."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from league_sdk.conformance.clauses.referee import REFEREE
from league_sdk.conformance.mcp.referees import TOOLS, check_referee_mcp
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.subject_caller import SubjectCaller
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects.memory import Memory
from league_sdk.transport.client import Client
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import Agent, Wrong, clause, failed_and_tolerated, having
from tests.league_sdk.conformance.servers import STRING, Server, Stateless, WithSessions
from tests.league_sdk.conformance.test_referee import SmallReferee
from tests.league_sdk.conformance.test_referee import checked as checked_whole

QUESTION = {"match_id": "R1M1", "player_id": "P01", "auth_token": "tok-of-the-check"}
OF_MCP = {name for name in REFEREE.rules if name.startswith("mcp.")}
OF_SESSIONS = {"mcp.session", "mcp.session_end"}


class Judges(Server):
    """A referee that is a server of MCP; it starts no match."""

    tools = TOOLS
    schema = {"type": "object", "properties": {"match_id": STRING}, "required": ["match_id"]}

    def __init__(self) -> None:
        super().__init__()
        self.called: list[tuple[str, Any]] = []

    async def call(self, method: Any, params: Any) -> Any:
        if method != "tools/call":
            return await super().call(method, params)
        self.called.append((params["name"], params["arguments"]))
        return self.result({"match_id": params["arguments"]["match_id"], "state": "FINISHED"})


class StatelessJudge(Judges, Stateless):
    """A referee in the stateless era."""


class SessionJudge(Judges, WithSessions):
    """A referee with sessions."""


async def checked(agent: Agent) -> Report:
    """The check's report about a referee as an MCP server."""
    client, verdicts = Client(agent_type="check"), Verdicts(REFEREE, "http://127.0.0.1/mcp", None)
    async with listening(agent.serve) as url:
        caller = SubjectCaller(url, client, memory=Memory(), overall_s=30)
        await check_referee_mcp(caller, verdicts, QUESTION)
        await caller.aclose()
        agent.over.set()
    await client.aclose()
    return verdicts.report()


@pytest.mark.parametrize("kind", [Judges, StatelessJudge, SessionJudge], ids=lambda kind: kind.__name__)
async def test_nothing_that_mcp_allows_is_a_mistake(kind: type[Judges]) -> None:
    agent = kind()
    report = await checked(agent)
    expected = OF_MCP - (set() if kind is SessionJudge else OF_SESSIONS)
    assert (having(report, Verdict.CONFORMS), failed_and_tolerated(report)) == (expected, (set(), set()))
    # Only what changes nothing is called, with the arguments that its schema names.
    assert agent.called == [("get_match_state", {"match_id": "R1M1"})]
    assert clause(report, "mcp.tools").why == "All of them are there."
    assert len(agent.called_methods) <= 8


async def test_nothing_is_reported_about_a_referee_that_is_not_an_mcp_server() -> None:
    agent = Agent()
    report = await checked(agent)
    assert not OF_MCP & {one.id for one in report.clauses}
    assert agent.methods == ["server/discover", "initialize"]


class NoServerInfo(Judges):
    def initialized(self, params: Any) -> Any:
        return {name: one for name, one in super().initialized(params).items() if name != "serverInfo"}


class NoSchema(Judges):
    def listed(self, params: Any) -> Any:
        return {"tools": [{"name": name} for name in self.tools]}


class NoDraw(Judges):
    tools = tuple(name for name in TOOLS if name != "draw_number")


class NoContent(StatelessJudge):
    def result(self, message: Any) -> Any:
        return {"resultType": "complete", **message}


class Forgets(SessionJudge):
    def knows(self, session_id: str | None) -> bool:
        return super().knows(session_id) and self.called_methods.count("tools/list") < 1


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (NoServerInfo, "mcp.greeting", "serverInfo in initialize was missing, expected an object."),
        (NoSchema, "mcp.list", "tools.0.inputSchema in tools/list was missing, expected an object."),
        (NoDraw, "mcp.tools", "Its list has no draw_number. The league starts matches in league.v2 all the same."),
        (NoContent, "mcp.results", "content in tools/call was missing, expected a list."),
        (Forgets, "mcp.session", "It took one call of its session, and refused the next: "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_what_a_student_has_to_mend_is_named(kind: type[Judges], name: str, why: str) -> None:
    report = await checked(kind())
    assert failed_and_tolerated(report) == (set(), {name}), [
        (one.id, one.why) for one in report.clauses if one.verdict != "skipped"
    ]
    assert clause(report, name).why.startswith(why)


class Refuses(Judges):
    """Refuses the question by an error of JSON-RPC, as MCP allows."""

    async def call(self, method: Any, params: Any) -> Any:
        if method == "tools/call":
            raise Wrong(-32602)
        return await super().call(method, params)


async def test_a_refused_question_is_not_reported() -> None:
    report = await checked(Refuses())
    assert having(report, Verdict.CONFORMS) == OF_MCP - OF_SESSIONS - {"mcp.results"}
    assert failed_and_tolerated(report) == (set(), set())


class McpAlone(SmallReferee):
    """A referee that takes nothing but MCP: no match can be started at it."""

    def __init__(self) -> None:
        super().__init__()
        self.server = SessionJudge()

    async def serve(self, request: web.BaseRequest) -> Any:
        return await self.server.serve(request)


async def test_a_referee_that_takes_mcp_alone_is_told_what_it_does_right() -> None:
    report = await checked_whole(McpAlone())
    assert failed_and_tolerated(report)[0] == {"start.taken"} and not report.can_play
    assert having(report, Verdict.CONFORMS) >= OF_MCP
    assert clause(report, "mcp.tools").why == (
        "All of them are there. But the league does not start matches through MCP: take the method start_match at the "
        "same address, too, by a POST without a session."
    )
    assert clause(report, "over.right").why == "Not asked: it takes no match."
