"""Foreign agents that register in ways of their own."""

from __future__ import annotations

import json
from typing import Any

from tests.bots.foreign_agents.base import ForeignAgent
from tests.bots.words import rpc


class RegistersTwice(ForeignAgent):
    """Registers at its start and again when its main loop starts; keeps the second answer."""

    async def enter(self) -> None:
        await super().enter()
        first = self.player_id
        await super().enter()
        assert self.player_id == first


class OwnToken(ForeignAgent):
    """Registers with an auth_token that it made up, and uses only that, whatever token the league gives it."""

    def request(self) -> dict[str, Any]:
        return super().request() | {"auth_token": "my-own-secret-token"}

    def read(self, answer: Any) -> None:
        super().read(answer)
        self.token = "my-own-secret-token"


class HostAndPort(ForeignAgent):
    """Registers with a host and a port (a string) instead of a URL."""

    def meta(self) -> dict[str, Any]:
        return {"name": self.name, "host": "localhost", "port": str(self.port), "games": "even_odd"}


class PortAlone(ForeignAgent):
    """Calls ``register`` with a name and a port only, not in a ``player_meta``."""

    async def enter(self) -> None:
        self.read(await self.rpc(self.league, "register", {"player_name": self.name, "port": self.port}))


class JoinLeague(ForeignAgent):
    """Calls ``join_league`` with ``agent_id`` and ``url``: no name from the documents."""

    async def enter(self) -> None:
        params = {"agent_id": self.name, "agent_type": "player", "url": self.address, "capabilities": ["even_odd"]}
        self.read(await self.rpc(self.league, "join_league", params))


class RequestArgument(ForeignAgent):
    """Calls ``register_player`` with the whole message in one argument, ``request``."""

    async def enter(self) -> None:
        self.read(await self.rpc(self.league, "register_player", {"request": self.request()}))


class PlayerArgument(ForeignAgent):
    """Calls ``league.register_player`` with ``player: {...}`` and its URL as ``mcp_endpoint``."""

    async def enter(self) -> None:
        player = {"name": self.name, "mcp_endpoint": self.address, "supported_games": ["even_odd"]}
        self.read(await self.rpc(self.league, "league.register_player", {"player": player}))


class RestRegistration(ForeignAgent):
    """Registers by a plain POST to /register_player, without JSON-RPC."""

    async def enter(self) -> None:
        answer = await self.post(f"{self.site}/register_player", self.request())
        self.read({"result": answer})


class RestApiRegistration(ForeignAgent):
    """Registers by a plain POST to /api/register."""

    async def enter(self) -> None:
        body = {"display_name": self.name, "contact_endpoint": self.address}
        self.read({"result": await self.post(f"{self.site}/api/register", body)})


class AtTheBase(ForeignAgent):
    """Registers by JSON-RPC at the league's host without a path."""

    async def enter(self) -> None:
        self.read(await self.rpc(f"{self.site}/", "register_player", self.request()))


class TrailingSlash(ForeignAgent):
    """Registers at /mcp/ instead of /mcp."""

    async def enter(self) -> None:
        self.read(await self.rpc(f"{self.site}/mcp/", "register_player", self.request()))


class McpRegistration(ForeignAgent):
    """Registers as the MCP library's client: initialize, initialized, tools/list, tools/call."""

    async def enter(self) -> None:
        accept = {"Accept": "application/json, text/event-stream"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        call = rpc("initialize", hello, 0)
        capabilities = await self.post(self.league, call, json=call, headers=accept)
        assert "protocolVersion" in capabilities["result"], capabilities
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.post(self.league, done, json=done, headers=accept)
        call = rpc("tools/list", {})
        tools = await self.post(self.league, call, json=call, headers=accept)
        assert "register_player" in {tool["name"] for tool in tools["result"]["tools"]}, tools
        tool = {"name": "register_player", "arguments": {"player_meta": self.meta()}}
        call = rpc("tools/call", tool, 2)
        answer = await self.post(self.league, call, json=call, headers=accept)
        self.read({"result": json.loads(answer["result"]["content"][0]["text"])})
