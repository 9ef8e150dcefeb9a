"""The HTTP side of players: POST /mcp with JSON-RPC, and /health (ruling, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from league_sdk.player.agent import Player
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Post, Reply, dispatch
from league_sdk.protocol.errors import LeagueError, NotARequest, UnknownMethod
from league_sdk.serving import Port, read_post, response


class _Answering(Exchange[rpc.Request]):
    failure = "The player failed to answer."


async def answer(player: Player, post: Post) -> Reply:
    """Have a player answer one request."""
    return await dispatch(_Answering(), post, lambda asked: player.call(asked.method, asked.params))


class PlayerServer:
    """Players behind one port.

    Args:
        players: by path, such as ``{"/mcp": player}``.
    """

    def __init__(self, players: Mapping[str, Player]) -> None:
        self.players = dict(players)
        # A slash too many is forgiven, as we ask the league to forgive it.
        self._by_path = self.players | {path + "/": player for path, player in self.players.items()}
        self._port = Port(self.handle)
        self.port = 0

    async def start(self, host: str, port: int) -> int:
        """Open the port; see :meth:`league_sdk.serving.Port.open`."""
        self.port = await self._port.open(host, port)
        return self.port

    async def stop(self) -> None:
        """Close the port at once; calls under way are dropped."""
        await self._port.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request; whatever comes in, JSON goes out."""
        player = self._by_path.get(request.path)
        if player is None:
            return self._other(request)
        if request.method != "POST":
            wrong = NotARequest("Send JSON-RPC requests by POST.", field="HTTP method", seen=request.method)
            return _refused(wrong, status=405, headers={"Allow": "POST"})
        try:
            post = await read_post(request)
        except LeagueError as error:
            return _refused(error, status=error.http_status)
        return response(await answer(player, post))

    def _other(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/health" and request.method in ("GET", "HEAD"):
            names = {player.name: player.player_id for player in self.players.values()}
            return response(Reply(body=rpc.dumps({"status": "ok", "players": names})))
        hint = " or ".join([*list(self.players)[:3], "/health"])
        wrong = UnknownMethod("There is nothing here.", field="path", seen=request.path, expected=hint)
        return _refused(wrong, status=404)


def _refused(error: LeagueError, *, status: int, headers: dict[str, Any] | None = None) -> web.Response:
    body = rpc.dumps(_Answering().refusal(error, None))
    return response(Reply(status, body, headers or {}))
