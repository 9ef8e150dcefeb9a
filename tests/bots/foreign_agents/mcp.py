"""Foreign agents that are MCP servers, as the MCP library makes them or as its documentation describes them."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from tests.bots.base import Call
from tests.bots.foreign_agents.base import ForeignAgent, Reply, error, result
from tests.bots.words import CHOOSE, INVITE, OVER, REQUIRED_TOOLS

STRINGS = {name: {"type": "string"} for name in ("match_id", "player_id", "game_type")}


class McpServer(ForeignAgent):
    """Like the library's streamable HTTP: needs a session and an Accept of both types; answers as an event stream."""

    needs_session = True
    events = True
    schema: dict[str, Any] = {"type": "object", "properties": STRINGS, "required": ["match_id"]}
    tools = REQUIRED_TOOLS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sessions: dict[str, bool] = {}

    def eventful(self, reply: Reply) -> Reply:
        """The reply as an event stream of one event, if this server answers so."""
        if not self.events or not reply.payload():
            return reply
        raw = b"event: message\r\ndata: " + reply.payload() + b"\r\n\r\n"
        return Reply(raw, reply.status, {"Content-Type": "text/event-stream"} | reply.headers)

    async def answer_call(self, call: Call) -> Reply:
        body = call.body
        accept = call.headers.get("accept", "")
        if "application/json" not in accept or "text/event-stream" not in accept:
            why = "Not Acceptable: Client must accept both application/json and text/event-stream"
            return Reply({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": why}}, 406)
        method = body.get("method")
        session = call.headers.get("mcp-session-id")
        if method == "initialize":
            session = uuid4().hex
            self.sessions[session] = False
            version = body["params"]["protocolVersion"]
            capabilities = {"protocolVersion": version, "capabilities": {"tools": {"listChanged": False}}}
            reply = result(capabilities | {"serverInfo": {"name": self.name, "version": "1.9.0"}}, call)
            reply.headers["mcp-session-id"] = session
            return self.eventful(reply)
        if self.needs_session:
            if session is None:
                return self.refuse("Bad Request: Missing session ID", 400)
            if session not in self.sessions:
                return self.refuse("Session not found", 404)
            if method == "notifications/initialized":
                self.sessions[session] = True
                return Reply(b"", 202)
            if not self.sessions[session]:
                return self.eventful(error(-32602, "Invalid request parameters", call))
        if method == "tools/list":
            offered = [{"name": tool, "description": "", "inputSchema": self.schema} for tool in self.tools]
            return self.eventful(result({"tools": offered}, call))
        if method != "tools/call":
            return self.eventful(error(-32602, "Invalid request parameters", call))
        return self.eventful(self.called(body["params"], call))

    @staticmethod
    def refuse(why: str, status: int) -> Reply:
        """An error of the transport, before any tool is called."""
        return Reply({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": why}}, status)

    def called(self, params: dict[str, Any], call: Call) -> Reply:
        """Answer one tools/call."""
        if params.get("name") not in self.tools:
            tool_result = {
                "content": [{"type": "text", "text": f"Unknown tool: {params.get('name')}"}],
                "isError": True,
            }
            return result(tool_result, call)
        kind = self.tools[params["name"]]
        fields = self.fields(params.get("arguments") or {})
        if fields is None or "match_id" not in fields:
            text = f"1 validation error for {params['name']}Arguments\nmessage\n  Field required [type=missing]"
            return result({"content": [{"type": "text", "text": text}], "isError": True}, call)
        return result(self.wrapped(self.message(kind, fields)), call)

    def fields(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The message that the arguments hold; None if they do not fit."""
        return arguments

    def wrapped(self, message: dict[str, Any]) -> dict[str, Any]:
        """A tool's return value, wrapped as the library does."""
        text = json.dumps(message, indent=2)
        return {"content": [{"type": "text", "text": text}], "structuredContent": message, "isError": False}


class McpStateless(McpServer):
    """``stateless_http=True``: no session, but answers as event streams."""

    needs_session = False


class McpMessageArgument(McpServer):
    """``json_response=True``, and each tool takes one argument, ``message``, an object."""

    events = False
    schema = {"type": "object", "properties": {"message": {"type": "object"}}, "required": ["message"]}

    def fields(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        message = arguments.get("message")
        return message if isinstance(message, dict) else None


class McpTextArgument(McpServer):
    """One tool for all: ``process_message(payload: str)``, the message as JSON text."""

    needs_session = False
    events = False
    schema = {"type": "object", "properties": {"payload": {"type": "string"}}, "required": ["payload"]}
    tools = {"process_message": ""}

    def called(self, params: dict[str, Any], call: Call) -> Reply:
        payload = (params.get("arguments") or {}).get("payload")
        if params.get("name") != "process_message" or not isinstance(payload, str):
            return result({"content": [{"type": "text", "text": "Unknown tool"}], "isError": True}, call)
        fields = json.loads(payload)
        kind = fields.get("message_type")
        if kind not in (INVITE, CHOOSE, OVER):
            return result(self.wrapped({"status": "ignored"}), call)
        return result(self.wrapped(self.message(kind, fields)), call)


class McpPlainWord(McpServer):
    """An MCP server whose tools return a bare value: ``even`` for a choice, ``true`` for joining."""

    def wrapped(self, message: dict[str, Any]) -> dict[str, Any]:
        value = message.get("parity_choice", message.get("accept", True))
        text = value if isinstance(value, str) else json.dumps(value)
        return {"content": [{"type": "text", "text": text}], "structuredContent": {"result": value}, "isError": False}


class McpForbidsExtra(McpServer):
    """Tools with ``additionalProperties: false``: an argument that the schema does not name is refused."""

    needs_session = False
    events = False
    schema = {**McpServer.schema, "additionalProperties": False}

    def fields(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        return arguments if set(arguments) <= set(STRINGS) else None


class MethodsAsEvents(ForeignAgent):
    """The methods of 004 chapter 8, but each answer is an event stream with a comment, an id and one data line for
    each line of its JSON."""

    def wire(self, reply: Reply) -> bytes:
        one, two = json.dumps(reply.body, indent=1).encode().split(b"\n", 1)
        raw = b": ok\nid: 1\nevent: message\ndata: " + one + b"\n"
        raw += b"".join(b"data:" + line + b"\n" for line in two.split(b"\n")) + b"\n"
        return super().wire(Reply(raw, reply.status, {"Content-Type": "text/event-stream; charset=utf-8"}))
