"""Foreign agents that are MCP servers of newer libraries: one with tools of other names, one without handshake."""

from __future__ import annotations

from typing import Any

from tests.bots.base import Call
from tests.bots.foreign_agents.base import Reply, error, result
from tests.bots.foreign_agents.mcp import McpServer
from tests.bots.words import CHOOSE, INVITE, OVER

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
VERSION = "2026-07-28"


def an_object(*, needed: tuple[str, ...] = (), **fields: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema that allows only these fields; requires those in ``needed``, or all by default."""
    required = list(needed or fields)
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def mismatch(value: Any, schema: dict[str, Any], where: str) -> str:
    """Why a value does not fit a schema; empty if it does."""
    kinds = {"string": str, "integer": int, "object": dict}
    if not isinstance(value, kinds[schema["type"]]) or isinstance(value, bool):
        return f"{where}: Input should be a valid {schema['type']}"
    if schema["type"] != "object" or "properties" not in schema:
        return ""
    properties = schema["properties"]
    missing = [name for name in schema["required"] if name not in value]
    unknown = [name for name in value if name not in properties]
    wrong = [mismatch(value[name], properties[name], name) for name in value if name in properties]
    if missing or unknown:
        return f"{where}: missing {missing}, unexpected {unknown}"
    return next(filter(None, wrong), "")


class McpCamelArguments(McpServer):
    """Tools and arguments in camelCase, some in nested objects, one required though no message has such a field;
    refuses arguments that its schema does not name."""

    needs_session = False
    events = False
    tools = {"receiveInvitation": INVITE, "chooseParity": CHOOSE, "notifyResult": OVER}
    schemas = {
        "receiveInvitation": an_object(matchId=STRING, invitation=an_object(roundId=INTEGER, opponent=STRING)),
        "chooseParity": an_object(
            matchId=STRING,
            standings=an_object(wins=INTEGER),
            opponent=STRING,
            mood=STRING,
            needed=("matchId", "standings"),
        ),
        "notifyResult": an_object(matchId=STRING, gameResult=an_object(status=STRING), comment=STRING),
    }

    def listed(self) -> list[dict[str, Any]]:
        """The bot's tools as ``tools/list`` returns them."""
        return [{"name": name, "description": "", "inputSchema": self.schemas[name]} for name in self.tools]

    async def answer_call(self, call: Call) -> Reply:
        """Answers ``tools/list`` itself."""
        if call.body.get("method") == "tools/list":
            return result({"tools": self.listed()}, call)
        return await super().answer_call(call)

    def called(self, params: dict[str, Any], call: Call) -> Reply:
        """Answer one tools/call."""
        name, arguments = params.get("name"), params.get("arguments")
        why = "Unknown tool" if name not in self.tools else mismatch(arguments, self.schemas[str(name)], str(name))
        if why or not isinstance(arguments, dict):
            return result({"content": [{"type": "text", "text": f"1 validation error: {why}"}], "isError": True}, call)
        fields = {"match_id": arguments["matchId"]}
        return result(self.wrapped(self.message(self.tools[str(name)], fields)), call)


class McpNewEra(McpServer):
    """Speaks the stateless version of MCP only: each call has the version in ``params._meta`` and in a header."""

    events = False

    async def answer_call(self, call: Call) -> Reply:
        """Answer one call; refuses with the texts and codes of the specification."""
        body, headers = call.body, call.headers
        params = body.get("params") if isinstance(body.get("params"), dict) else {}
        meta, method = params.get("_meta"), body.get("method")
        if method == "initialize":
            data = {"supported": [VERSION], "requested": params.get("protocolVersion")}
            return self.refused(-32022, "Unsupported protocol version", call, data=data)
        named = {f"io.modelcontextprotocol/{one}" for one in ("protocolVersion", "clientCapabilities")}
        if not isinstance(meta, dict) or not named <= set(meta):
            return self.refused(-32602, "Invalid _meta: io.modelcontextprotocol/protocolVersion is required", call)
        expected = {"mcp-protocol-version": VERSION, "mcp-method": method}
        expected |= {"mcp-name": params.get("name")} if method == "tools/call" else {}
        if any(headers.get(name) != value for name, value in expected.items()):
            return self.refused(-32020, "Header mismatch", call)
        if method == "tools/list":
            offered = [{"name": tool, "inputSchema": self.schema} for tool in self.tools]
            return result({"resultType": "complete", "tools": offered, "ttlMs": 0, "cacheScope": "public"}, call)
        if method != "tools/call":
            return error(-32601, "Method not found", call, status=404)
        return self.called(params, call)

    def refused(self, code: int, why: str, call: Call, data: Any = None) -> Reply:
        """A JSON-RPC error with HTTP status 400."""
        reply = error(code, why, call, status=400)
        if data is not None:
            reply.body["error"]["data"] = data
        return reply

    def wrapped(self, message: dict[str, Any]) -> dict[str, Any]:
        """A tool's return value, wrapped as the newer library does."""
        return {"resultType": "complete", **super().wrapped(message)}
