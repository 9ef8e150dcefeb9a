"""The players of all leagues of a run: they answer always, nearly at once, and remember everything they were told.

They stand outside of what goes wrong, so whatever point one of them loses without play was lost by our fault.
Like tests/bots/chapter8.py they import nothing of the project.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.bots import words
from tests.bots.base import listening

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
        about = words.meta(self.name, self.endpoint, "even_odd", "tic_tac_toe")
        conversation = f"conv-{self.league_id}-{self.name}-register"
        return words.registration("player", self.name, conversation, about, league_id=self.league_id)

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a message."""
        kind = params.get("message_type")
        if params.get("league_id") not in (None, self.league_id):
            self.odd.append(f"{kind} of {params['league_id']} came to a player of {self.league_id}")
        if kind == "GAME_INVITATION":
            return self._message("GAME_JOIN_ACK", params, accept=True)
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
        token = self.tokens[-1] if self.tokens else ""
        return words.answer(kind, params, self.player_id, auth_token=token, **fields)

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
        self._server = AsyncExitStack()
        self._url = ""
        self.ends = 0
        """How many GAME_OVERs have been heard by all players together."""

    async def open(self) -> None:
        """Listen on a free port."""
        self._url = await self._server.enter_async_context(listening({"/{league}/{name}/mcp": self._handle}))

    async def close(self) -> None:
        """Stop listening."""
        await self._server.aclose()

    def seat(self, league_id: str, count: int) -> list[Player]:
        """New players for a league."""
        found = []
        for number in range(1, count + 1):
            name = f"Agent{number}"
            endpoint = f"{self._url}/{league_id}/{name}/mcp"
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
            return web.json_response(words.rpc_result({"status": "ok"}, body.get("id")))
        params = body.get("params")
        if not isinstance(params, dict) or "message_type" not in params:
            # Two answers in a row were cut off, and the referee looks for words that break no connection.
            return web.json_response(words.rpc_error(-32601, "Method not found", body.get("id")))
        player.heard.append(params)
        self.ends += params["message_type"] == "GAME_OVER"
        # A moment's thought: a match takes long enough to be hit in the middle.
        await asyncio.sleep(player.rng.uniform(0.0, 0.12))
        return web.json_response(words.rpc_result(player.answer(params), body.get("id")))
