"""The players of all leagues of a run: they answer always, nearly at once, and remember everything they were told.

They stand outside of what goes wrong, so whatever point one of them loses without play was lost by our fault.
Like tests/bots/chapter8.py they import nothing of the project.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

_RECEIVED = {"status": "received"}


@dataclass(slots=True)
class Player:
    """One player.

    Attributes:
        player_id: its id, once a registration was accepted.
        tokens: every auth_token it was given.
        heard: every message, in the order of arrival.
        odd: what was wrong with a message by itself.
    """

    league_id: str
    name: str
    endpoint: str
    rng: random.Random
    player_id: str = ""
    tokens: list[str] = field(default_factory=list)
    heard: list[dict[str, Any]] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    choices: dict[str, Any] = field(default_factory=dict)

    def registration(self) -> dict[str, Any]:
        """LEAGUE_REGISTER_REQUEST, always the same."""
        meta = {
            "display_name": self.name,
            "version": "1.0.0",
            "game_types": ["even_odd", "tic_tac_toe"],
            "contact_endpoint": self.endpoint,
        }
        return {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.name}",
            "timestamp": _now(),
            "conversation_id": f"conv-{self.league_id}-{self.name}-register",
            "league_id": self.league_id,
            "player_meta": meta,
        }

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a message."""
        kind = params.get("message_type")
        if params.get("league_id") not in (None, self.league_id):
            self.odd.append(f"{kind} of {params['league_id']} came to a player of {self.league_id}")
        if kind == "GAME_INVITATION":
            return self._message("GAME_JOIN_ACK", params, accept=True, arrival_timestamp=_now())
        if kind == "CHOOSE_PARITY_CALL":
            return self._message("CHOOSE_PARITY_RESPONSE", params, parity_choice=self._choose(params, ["even", "odd"]))
        if kind == "GAME_MOVE_CALL":
            move = self._choose(params, params["valid_options"])
            return self._message("GAME_MOVE_RESPONSE", params, move=move, move_data={"choice": move})
        return _RECEIVED

    def _choose(self, params: dict[str, Any], options: list[Any]) -> Any:
        """The same when asked the same again: a retry must not change our mind."""
        key = f"{params['conversation_id']} {json.dumps(params.get('state'))}"
        return self.choices.setdefault(key, self.rng.choice(options))

    def _message(self, kind: str, params: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"player:{self.player_id}",
            "timestamp": _now(),
            "conversation_id": params.get("conversation_id"),
            "auth_token": self.tokens[-1] if self.tokens else "",
            "match_id": params.get("match_id"),
            "player_id": self.player_id,
            **fields,
        }

    def game_overs(self) -> dict[str, list[dict[str, Any]]]:
        """By match every GAME_OVER, in the order of arrival."""
        found: dict[str, list[dict[str, Any]]] = {}
        for message in self.heard:
            if message.get("message_type") == "GAME_OVER":
                found.setdefault(message["match_id"], []).append(message)
        return found


class Room:
    """One server for all players of a run, each at an address of its own.

    Args:
        seed: of the run; what players choose and how long they think follows from it.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._players: dict[tuple[str, str], Player] = {}
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.ends = 0
        """How many GAME_OVERs have been heard by all players together."""

    async def open(self) -> None:
        """Listen on a free port."""
        made = web.Application()
        made.router.add_post("/{league}/{name}/mcp", self._handle)
        self._runner = web.AppRunner(made, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    def seat(self, league_id: str, count: int) -> list[Player]:
        """New players for a league."""
        found = []
        for number in range(1, count + 1):
            name = f"Agent{number}"
            endpoint = f"http://127.0.0.1:{self._port}/{league_id}/{name}/mcp"
            rng = random.Random(f"{self._seed}/{league_id}/{name}")
            found.append(Player(league_id, name, endpoint, rng))
            self._players[league_id, name] = found[-1]
        return found

    def of(self, league_id: str) -> list[Player]:
        """The players of a league."""
        return [player for (league, _), player in self._players.items() if league == league_id]

    async def _handle(self, request: web.Request) -> web.Response:
        player = self._players[request.match_info["league"], request.match_info["name"]]
        body = json.loads(await request.read())
        if body.get("method") == "ping":
            return web.json_response({"jsonrpc": "2.0", "id": body.get("id"), "result": {"status": "ok"}})
        params = body.get("params")
        if not isinstance(params, dict) or "message_type" not in params:
            # Two answers in a row were cut off, and the referee looks for words that break no connection.
            error = {"code": -32601, "message": "Method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": body.get("id"), "error": error})
        player.heard.append(params)
        self.ends += params["message_type"] == "GAME_OVER"
        # A moment's thought: a match takes long enough to be hit in the middle.
        await asyncio.sleep(player.rng.uniform(0.0, 0.12))
        return web.json_response({"jsonrpc": "2.0", "id": body.get("id"), "result": player.answer(params)})


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
