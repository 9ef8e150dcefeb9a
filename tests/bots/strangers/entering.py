"""Strangers that register in ways of their own."""

from __future__ import annotations

import json
from typing import Any

from tests.bots.strangers.base import Stranger
from tests.bots.words import rpc


class RegistersTwice(Stranger):
    """Once as it comes up and once as its loop starts; the second answer is the one that it keeps."""

    async def enter(self) -> None:
        await super().enter()
        first = self.player_id
        await super().enter()
        assert self.player_id == first


class OwnToken(Stranger):
    """Brings a token of its own and uses only that, whatever it is given."""

    def request(self) -> dict[str, Any]:
        return super().request() | {"auth_token": "my-own-secret-token"}

    def read(self, answer: Any) -> None:
        super().read(answer)
        self.token = "my-own-secret-token"


class HostAndPort(Stranger):
    """No address but a host and a port, which is text."""

    def meta(self) -> dict[str, Any]:
        return {"name": self.name, "host": "localhost", "port": str(self.port), "games": "even_odd"}


class PortAlone(Stranger):
    """Flat parameters of ``register``: a name and a port."""

    async def enter(self) -> None:
        self.read(await self.rpc(self.league, "register", {"player_name": self.name, "port": self.port}))


class JoinLeague(Stranger):
    """``join_league`` with ``agent_id``, ``url`` and nothing from the documents."""

    async def enter(self) -> None:
        params = {"agent_id": self.name, "agent_type": "player", "url": self.address, "capabilities": ["even_odd"]}
        self.read(await self.rpc(self.league, "join_league", params))


class RequestArgument(Stranger):
    """``register_player`` whose parameters are one ``request``, since that is its function's argument."""

    async def enter(self) -> None:
        self.read(await self.rpc(self.league, "register_player", {"request": self.request()}))


class PlayerArgument(Stranger):
    """``league.register_player`` with ``player: {...}`` and the address as ``mcp_endpoint``."""

    async def enter(self) -> None:
        player = {"name": self.name, "mcp_endpoint": self.address, "supported_games": ["even_odd"]}
        self.read(await self.rpc(self.league, "league.register_player", {"player": player}))


class RestRegistration(Stranger):
    """Plain POST to /register_player; takes the answer as it stands."""

    async def enter(self) -> None:
        answer = await self.post(f"{self.site}/register_player", self.request())
        self.read({"result": answer})


class RestApiRegistration(Stranger):
    """Plain POST to /api/register."""

    async def enter(self) -> None:
        body = {"display_name": self.name, "contact_endpoint": self.address}
        self.read({"result": await self.post(f"{self.site}/api/register", body)})


class AtTheBase(Stranger):
    """Posts its JSON-RPC to the league's host without a path."""

    async def enter(self) -> None:
        self.read(await self.rpc(f"{self.site}/", "register_player", self.request()))


class TrailingSlash(Stranger):
    """Posts to /mcp/."""

    async def enter(self) -> None:
        self.read(await self.rpc(f"{self.site}/mcp/", "register_player", self.request()))


class McpRegistration(Stranger):
    """The library's client: initialize, initialized, tools/list, tools/call with the session it was given."""

    async def enter(self) -> None:
        accept = {"Accept": "application/json, text/event-stream"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        asking = rpc("initialize", hello, 0)
        able = await self.post(self.league, asking, json=asking, headers=accept)
        assert "protocolVersion" in able["result"], able
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.post(self.league, done, json=done, headers=accept)
        asking = rpc("tools/list", {})
        tools = await self.post(self.league, asking, json=asking, headers=accept)
        assert "register_player" in {tool["name"] for tool in tools["result"]["tools"]}, tools
        call = {"name": "register_player", "arguments": {"player_meta": self.meta()}}
        asking = rpc("tools/call", call, 2)
        answer = await self.post(self.league, asking, json=asking, headers=accept)
        self.read({"result": json.loads(answer["result"]["content"][0]["text"])})
