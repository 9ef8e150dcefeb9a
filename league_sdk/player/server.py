"""The HTTP side of players: POST /mcp with JSON-RPC, and /health (004 2.1, 5.4)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from league_sdk.player.agent import Player
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InternalError, LeagueError, NotARequest, TooLarge, UnknownMethod
from league_sdk.protocol.limits import MAX_BODY_BYTES

logger = logging.getLogger("league_sdk.player")


class PlayerServer:
    """Players behind one port.

    Args:
        players: by path, such as ``{"/mcp": player}``.
    """

    def __init__(self, players: Mapping[str, Player]) -> None:
        self.players = dict(players)
        # A slash too many is forgiven, as we ask the league to forgive it.
        self._by_path = self.players | {path + "/": player for path, player in self.players.items()}
        self._runner: web.ServerRunner | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> int:
        """Open the port, so that it is there before anyone is told about it.

        Args:
            host: the address to listen on.
            port: 0 for a free one.

        Returns:
            The port.

        Raises:
            OSError: it is taken.
        """
        # web.Server and not web.Application: no router, no middleware; this is the hot path of the benchmark.
        runner = web.ServerRunner(web.Server(self.handle, access_log=None), shutdown_timeout=0)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self.port = int(runner.addresses[0][1])
        return self.port

    async def stop(self) -> None:
        """Close the port at once; calls under way are dropped."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request; whatever comes in, JSON goes out."""
        path = request.path
        player = self._by_path.get(path)
        if player is None:
            return self._other(request, path)
        if request.method != "POST":
            wrong = NotARequest("Send JSON-RPC requests by POST.", field="HTTP method", seen=request.method)
            return _reply(_refusal(None, wrong), status=405, headers={"Allow": "POST"})
        rpc_id: Any = None
        try:
            rpc.check_http(request.content_type, request.content_length or 0)
            raw = await _read(request)
            body = rpc.loads(raw)
            rpc_id = rpc.request_id(body)
            call = rpc.read_request(body)
            answer = rpc.result(rpc_id, await player.call(call.method, call.params))
            if call.notification:
                return web.Response(status=204)
        except LeagueError as error:
            return _reply(_refusal(rpc_id, error), status=error.http_status)
        except Exception:
            # Ours, not the caller's: it is told so, and the traceback stays here.
            logger.exception("%s: a call failed", player.name)
            return _reply(_refusal(rpc_id, InternalError("The player failed to answer.")))
        return _reply(answer)

    def _other(self, request: web.BaseRequest, path: str) -> web.Response:
        if path == "/health" and request.method in ("GET", "HEAD"):
            names = {player.name: player.player_id for player in self.players.values()}
            return _reply({"status": "ok", "players": names})
        wrong = UnknownMethod("There is nothing here.", field="path", seen=path, expected=" or ".join(self._hint()))
        return _reply(_refusal(None, wrong), status=404)

    def _hint(self) -> list[str]:
        return [*list(self.players)[:3], "/health"]


async def _read(request: web.BaseRequest) -> bytes:
    """The body, with the size cap also for one that does not announce its length."""
    chunks = bytearray()
    async for chunk in request.content.iter_any():
        chunks += chunk
        if len(chunks) > MAX_BODY_BYTES:
            raise TooLarge("The body is too large.", field="body", expected=f"at most {MAX_BODY_BYTES} bytes")
    return bytes(chunks)


def _refusal(rpc_id: Any, error: LeagueError) -> dict[str, Any]:
    data = {"error_code": error.error_code, "error_name": error.error_name, "context": error.context}
    return rpc.error(rpc_id, error.rpc_code, error.message, data)


def _reply(body: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=rpc.dumps(body), status=status, headers=headers, content_type="application/json")
