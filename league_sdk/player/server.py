"""The HTTP server of players: POST /mcp with JSON-RPC (league.v2) or MCP, and /health (ruling, section 5)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from league_sdk.mcp.requests import HttpRequest
from league_sdk.mcp.server import McpServer, Origins
from league_sdk.mcp.sessions import Sessions
from league_sdk.mcp.states import States
from league_sdk.mcp.versions import is_mcp
from league_sdk.player.agent import Player
from league_sdk.player.offering import STATE, make_registry
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import NOT_DECODED, Exchange, Post, Reply, dispatch
from league_sdk.protocol.errors import LeagueError, NotARequest, UnknownMethod
from league_sdk.serving import Port, read_post, respond, response


class _Answering(Exchange[rpc.Request]):
    failure = "The player failed to answer."


async def answer(player: Player, post: Post) -> Reply:
    """Answer a JSON-RPC request that the player fetched from its inbox."""
    return await dispatch(_Answering(), post, lambda asked: player.call(asked.method, asked.params))


@dataclass(frozen=True, slots=True)
class _Mounted:
    """A player at a path, as an agent of the league and as an MCP server."""

    player: Player
    mcp: McpServer

    def changed(self) -> None:
        """Tell those clients of MCP that listen to the player's state that it has changed."""
        self.mcp.listeners.updated([STATE])


class PlayerServer:
    """Serves players at one port.

    Args:
        players: by path, such as ``{"/mcp": player}``.
    """

    def __init__(self, players: Mapping[str, Player]) -> None:
        self.players = dict(players)
        self._by_path: dict[str, _Mounted] = {}
        self._port = Port(self.handle)
        self.port = 0

    async def start(self, host: str, port: int) -> int:
        """Open the port; see :meth:`league_sdk.serving.Port.open`."""
        by_path = {path: _Mounted(player, _mcp_server(player, host)) for path, player in self.players.items()}
        # Accept a trailing slash, as we want the league to do.
        self._by_path = by_path | {path + "/": mounted for path, mounted in by_path.items()}
        self.port = await self._port.open(host, port)
        for mounted in by_path.values():
            mounted.player.watchers.append(mounted.changed)
        return self.port

    async def stop(self) -> None:
        """Close the port at once; calls under way are dropped, and the streams and sessions of MCP end."""
        for mounted in {id(mounted): mounted for mounted in self._by_path.values()}.values():
            mounted.mcp.close()
            with suppress(ValueError):
                mounted.player.watchers.remove(mounted.changed)
        await self._port.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request; what cannot be used is refused with JSON."""
        mounted = self._by_path.get(request.path) or self._by_path.get(request.path.lower())
        if mounted is None:
            return self._other(request)
        post, body = Post(b""), NOT_DECODED
        if request.method == "POST":
            try:
                post = await read_post(request)
            except LeagueError as error:
                return _refused(error, status=error.http_status)
            # A body that cannot be read is refused later, as the protocol that the headers show wants it.
            with suppress(LeagueError):
                body = post.decode()
                post = replace(post, decoded=body)
        if is_mcp(body, request.headers):
            return await respond(request, await mounted.mcp.handle(_of_mcp(request, post)))
        if request.method != "POST":
            wrong = NotARequest("Send JSON-RPC requests by POST.", field="HTTP method", seen=request.method)
            return _refused(wrong, status=405, headers={"Allow": "POST"})

        async def handle(call: rpc.Request) -> Any:
            await mounted.player.note_call(call.params)
            return await mounted.player.call(call.method, call.params)

        return response(await dispatch(_Answering(), post, handle))

    def _other(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/health" and request.method in ("GET", "HEAD"):
            names = {player.name: player.player_id for player in self.players.values()}
            return response(Reply(body=rpc.dumps({"status": "ok", "players": names})))
        hint = " or ".join([*list(self.players)[:3], "/health"])
        wrong = UnknownMethod("There is nothing here.", field="path", seen=request.path, expected=hint)
        return _refused(wrong, status=404)


def _mcp_server(player: Player, host: str) -> McpServer:
    """A player as an MCP server.

    Args:
        player: whose tools are offered.
        host: where it listens, perhaps a name of this machine.
    """
    return McpServer(
        make_registry(player),
        states=States(secrets.token_bytes(32), time.time),
        sessions=Sessions(secrets.token_bytes(32), time.time),
        origins=Origins([host.lower()]),
    )


def _of_mcp(request: web.BaseRequest, post: Post) -> HttpRequest:
    scheme, _space, token = post.authorization.partition(" ")
    return HttpRequest(
        request.method,
        {name.lower(): value for name, value in request.headers.items()},
        post.body,
        caller=request.remote or "",
        scope=token.strip() if scheme.lower() == "bearer" else "",
        decoded=post.decoded,
    )


def _refused(error: LeagueError, *, status: int, headers: dict[str, Any] | None = None) -> web.Response:
    body = rpc.dumps(_Answering().refusal(error, None))
    return response(Reply(status, body, headers or {}))
