"""An MCP server with a few tools, resources and a prompt, and clients of both eras; without a network."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from league_sdk.mcp.asking import elicitation
from league_sdk.mcp.context import Context
from league_sdk.mcp.errors import ToolError
from league_sdk.mcp.listening import Listeners
from league_sdk.mcp.registry import Prompt, PromptArgument, Registry, Resource, Tool, ToolResult, text
from league_sdk.mcp.requests import HttpRequest
from league_sdk.mcp.server import McpServer, Origins
from league_sdk.mcp.sessions import MAX_SESSIONS, Sessions
from league_sdk.mcp.states import States
from league_sdk.mcp.versions import META, STATELESS_VERSIONS

BOTH = "application/json, text/event-stream"
"""An Accept header: for JSON and for streams."""
NAME_FORM = elicitation("Your name?", {"name": {"type": "string"}}, "name")


async def _echo(context: Context, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult([], {"arguments": arguments, "principal": context.principal})


async def _refuse(context: Context, arguments: dict[str, Any]) -> ToolResult:
    raise ToolError("Not today.", {"day": "Sunday"})


async def _fail(context: Context, arguments: dict[str, Any]) -> ToolResult:
    raise RuntimeError("a secret")


async def _greet(context: Context, arguments: dict[str, Any]) -> ToolResult:
    answer = (await context.ask({"who": NAME_FORM}))["who"]
    return ToolResult([text(f"{answer['action']} {answer.get('content')}")])


async def _open(context: Context, arguments: dict[str, Any]) -> ToolResult:
    answer = (await context.ask({"who": NAME_FORM}, bound=False))["who"]
    return ToolResult([text(str(answer["action"]))])


async def _steps(context: Context, arguments: dict[str, Any]) -> ToolResult:
    await context.progress(1, 2, "half")
    await context.log("debug", "a detail")
    await context.log("warning", "a warning")
    return ToolResult([text("done")])


async def _read(context: Context, uri: str, values: dict[str, str]) -> list[dict[str, Any]] | None:
    return None if values.get("id") == "gone" else [{"uri": uri, "text": json.dumps(values)}]


async def _prompt(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text(arguments["topic"])}]


def registry() -> Registry:
    """Tools, resources and a prompt."""
    made = Registry(name="tests", title="Tests", version="1", instructions="For tests.", changes=True)
    headed = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    works = {"echo": _echo, "refuse": _refuse, "fail": _fail, "greet": _greet, "open": _open, "steps": _steps}
    for name, work in works.items():
        made.add(Tool(name, name, "For tests.", work))
    cities = ["paris", "park", "prague"]
    made.add(
        Tool("headed", "Headed", "For tests.", _echo, headed),
        Resource("test://one", "one", "One", "For tests.", "text/plain", _read),
        Resource(
            "test://many/{id}/part",
            "many",
            "Many",
            "For tests.",
            "text/plain",
            _read,
            {"id": lambda typed: [city for city in cities if city.startswith(typed)]},
        ),
        Resource("test://still", "still", "Still", "For tests.", "text/plain", _read, reports_changes=False),
        Prompt("explain", "Explain", "For tests.", _prompt, [PromptArgument("topic", "What.", required=True)]),
    )
    return made


@dataclass
class Clock:
    """A clock that a test sets."""

    seconds: float = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Answer:
    """An answer: JSON, or a stream that was read to its end.

    Attributes:
        status: the HTTP status.
        body: the response; None without one.
        before: the messages of a stream before it.
        headers: the headers of the reply.
    """

    status: int
    body: Any
    before: list[Any]
    headers: dict[str, str]

    @property
    def result(self) -> Any:
        return self.body["result"]

    @property
    def code(self) -> int:
        return int(self.body["error"]["code"])


@dataclass
class Talk:
    """A server and somebody who calls it."""

    clock: Clock = field(default_factory=Clock)
    principal: str = "P01"
    caller: str = "10.0.0.1"
    max_sessions: int = MAX_SESSIONS
    listeners: Listeners = field(default_factory=Listeners)

    def __post_init__(self) -> None:
        self.sessions = Sessions(b"key", self.clock, max_sessions=self.max_sessions)
        self.server = McpServer(
            registry(),
            states=States(b"key", self.clock),
            sessions=self.sessions,
            origins=Origins(["league.example"]),
            listeners=self.listeners,
        )

    async def send(self, body: Any, *, method: str = "POST", **headers: str) -> Answer:
        """One request; names of headers are written with underscores."""
        reply = await self.server.handle(self.request(body, method=method, **headers))
        if reply.body is None:
            return Answer(reply.status, None, [], reply.headers)
        if isinstance(reply.body, bytes):
            return Answer(reply.status, json.loads(reply.body), [], reply.headers)
        messages = [message async for message in events(reply.body)]
        return Answer(reply.status, messages[-1], messages[:-1], reply.headers)

    def request(self, body: Any, *, method: str = "POST", **headers: str) -> HttpRequest:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {"accept": BOTH, "content-type": "application/json", "host": "localhost"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        return HttpRequest(method, named, raw, self.principal, self.caller)

    async def stateless(self, method: str, *, capabilities: Any = None, meta: Any = None, **params: Any) -> Answer:
        """A request of the stateless era as its clients send it."""
        body, headers = stateless(method, capabilities=capabilities, meta=meta, **params)
        return await self.send(body, **headers)

    async def session(self, **capabilities: Any) -> str:
        """A new session of the handshake era: its id."""
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t"}}
        answer = await self.send(handshake_body("initialize", **params))
        return answer.headers["mcp-session-id"]


def stateless(
    method: str, *, capabilities: Any = None, meta: Any = None, **params: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a request of the stateless era."""
    version = STATELESS_VERSIONS[0]
    stamped = {f"{META}protocolVersion": version, f"{META}clientCapabilities": capabilities or {}} | (meta or {})
    headers = {"mcp_protocol_version": version, "mcp_method": method}
    named = params.get("name", params.get("uri"))
    if isinstance(named, str):
        headers["mcp_name"] = named
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params | {"_meta": stamped}}, headers


def handshake_body(method: str, *, rpc_id: Any = 7, **params: Any) -> dict[str, Any]:
    """The body of a request of the handshake era."""
    return {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params}


async def events(body: AsyncGenerator[bytes, None]) -> AsyncGenerator[Any, None]:
    """The messages of a stream."""
    async for part in body:
        for line in part.decode().splitlines():
            if line.startswith("data:"):
                yield json.loads(line[5:])
