"""Small players that are MCP servers, with and without sessions and of the stateless version."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.league_sdk.conformance.agents import NAMES, TOKEN, Agent, Wrong

VERSION = "2026-07-28"
STRING, OBJECT = {"type": "string"}, {"type": "object"}
SCHEMA = {
    "type": "object",
    "properties": {"match_id": STRING, "conversation_id": STRING, "game_result": OBJECT},
    "required": ["conversation_id"],
}
CACHEABLE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
"""What a result must have in the stateless version if a client may cache it."""


class Server(Agent):
    """A player that is an MCP server of the handshake era, without sessions; tests override its methods."""

    tools = tuple(NAMES)
    schema: Any = SCHEMA

    def __init__(self) -> None:
        super().__init__()
        self.called_methods: list[str] = []
        self.deleted: list[str] = []

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "DELETE":
            self.deleted.append(request.headers.get("Mcp-Session-Id", ""))
            return web.Response(status=204)
        return await super().serve(request)

    async def call(self, method: Any, params: Any) -> Any:
        self.called_methods.append(method)
        if method == "initialize":
            return self.initialized(params)
        if method == "tools/list":
            return self.listed(params)
        if method == "ping":
            return {}
        if method != "tools/call":
            raise Wrong(-32601)
        name = params.get("name")
        if name not in self.tools:
            return self.failed(f"Unknown tool: {name} {TOKEN}")
        try:
            return self.result(await super().call(self.meaning(name), params.get("arguments") or {}))
        except (Wrong, KeyError) as error:
            return self.failed(f"Error executing tool {name}: {error!r}")

    def meaning(self, name: str) -> str:
        """The method of 004 chapter 8 that a tool stands for."""
        return name

    def initialized(self, params: Any) -> Any:
        server_info = {"name": "t", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server_info}

    def listed(self, params: Any) -> Any:
        return {"tools": [{"name": name, "inputSchema": self.schema} for name in self.tools]}

    def result(self, message: Any) -> Any:
        return {"content": [{"type": "text", "text": json.dumps(message)}], "isError": False}

    def failed(self, why: str) -> Any:
        return {"content": [{"type": "text", "text": why}], "isError": True}


class Stateless(Server):
    """A server of the stateless version."""

    async def call(self, method: Any, params: Any) -> Any:
        if method == "server/discover":
            return {"supportedVersions": [VERSION], "capabilities": {"tools": {}}} | CACHEABLE
        if method == "initialize":
            raise Wrong(-32022)
        return await super().call(method, params)

    def result(self, message: Any) -> Any:
        return super().result(message) | {"resultType": "complete", "_meta": {"serverInfo": {"name": "t"}}}

    def listed(self, params: Any) -> Any:
        return super().listed(params) | CACHEABLE


class WithSessions(Server):
    """A server that wants a session for each call, and answers with a stream of events."""

    def __init__(self) -> None:
        super().__init__()
        self.session_ids: list[str] = []

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        session_id = request.headers.get("Mcp-Session-Id")
        if request.method == "DELETE":
            return await super().serve(request)
        body = await request.read()
        method = json.loads(body).get("method") if body.startswith(b"{") and body.endswith(b"}") else ""
        if method == "initialize":
            self.session_ids.append(f"s{len(self.session_ids) + 1}")
        elif not self.knows(session_id):
            return web.json_response(self.lost(session_id), status=400 if session_id is None else 404)
        reply = await super().serve(request)
        if method == "initialize":
            reply.headers["Mcp-Session-Id"] = self.session_ids[-1]
        if method == "tools/call" and isinstance(reply, web.Response) and reply.text:
            return web.Response(text=f"event: message\ndata: {reply.text}\n\n", content_type="text/event-stream")
        return reply

    def knows(self, session_id: str | None) -> bool:
        """Whether a session is open."""
        return session_id in self.session_ids and session_id not in self.deleted

    def lost(self, session_id: str | None) -> Any:
        """The answer to a call without an open session."""
        message = "Missing session ID" if session_id is None else "Session not found"
        return {"jsonrpc": "2.0", "error": {"code": -32600, "message": message}, "id": "server-error"}
