"""The players of all leagues of a run: they answer every call nearly at once, and record the messages of a league.

No fault hits them, so a point that one of them loses without play was lost by the site's fault.
Like all bots they use nothing of the project but the helper that stops a server (tests/bots/base.py).
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from tests.bots import words
from tests.bots.base import listening
from tests.chaos.lines import POLL, PUSH, SOCKET, Line

_RECEIVED = {"status": "received"}
_WAYS = {1: POLL, 2: SOCKET}
"""The way in which the first two players of a league dial out, by number; the others are called."""


@dataclass(slots=True)
class Player:
    """One player.

    Attributes:
        player_id: its id, once a registration was accepted.
        tokens: every auth_token it was given.
        received: every message that it understood, in the order of arrival.
        odd: a sentence for each message that was wrong in itself.
        way: how messages reach it: PUSH, POLL or SOCKET.
    """

    league_id: str
    name: str
    endpoint: str
    rng: random.Random
    player_id: str = ""
    tokens: list[str] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    choices: dict[str, Any] = field(default_factory=dict)
    way: str = PUSH

    def registration(self) -> dict[str, Any]:
        """LEAGUE_REGISTER_REQUEST with its address, always the same."""
        about = words.meta(self.name, self.endpoint, "even_odd", "tic_tac_toe")
        conversation = f"conv-{self.league_id}-{self.name}-register"
        return words.registration("player", self.name, conversation, about, league_id=self.league_id)

    def without_address(self) -> dict[str, Any]:
        """The registration with which it begins to dial out; its token shows that it is the same player."""
        request = self.registration()
        about = {name: value for name, value in request["player_meta"].items() if name != "contact_endpoint"}
        return request | {"player_meta": about | {"delivery": self.way}, "auth_token": self.tokens[-1]}

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
        """Our choice; the same one when a call is repeated."""
        key = f"{params['conversation_id']} {json.dumps(params.get('state'))}"
        return self.choices.setdefault(key, self.rng.choice(options))

    def _message(self, kind: str, params: dict[str, Any], **fields: Any) -> dict[str, Any]:
        token = self.tokens[-1] if self.tokens else ""
        return words.answer(kind, params, self.player_id, auth_token=token, **fields)

    def game_overs(self) -> dict[str, list[dict[str, Any]]]:
        """Every GAME_OVER in the order of arrival, by match."""
        by_match: dict[str, list[dict[str, Any]]] = {}
        for message in self.received:
            if message.get("message_type") == "GAME_OVER":
                by_match.setdefault(message["match_id"], []).append(message)
        return by_match


class Room:
    """All players of a run: one server with a path for each that is called, and a line for each of the others.

    Args:
        seed: the seed of the run; it decides what players choose and how long they wait before an answer.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._players: dict[tuple[str, str], Player] = {}
        self._server = AsyncExitStack()
        self._lines: list[asyncio.Task[None]] = []
        self._url = ""
        self.game_overs = 0
        """How many GAME_OVERs all players together have received."""

    async def open(self) -> None:
        """Listen on a free port."""
        self._url = await self._server.enter_async_context(listening({"/{league}/{name}/mcp": self._handle}))

    async def close(self) -> None:
        """Stop listening, and end all lines."""
        for task in self._lines:
            task.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)
        await self._server.aclose()

    def seat(self, league_id: str, count: int) -> list[Player]:
        """New players for a league; the first two dial out, one by poll and one by socket."""
        seated = []
        for number in range(1, count + 1):
            name = f"Agent{number}"
            endpoint = f"{self._url}/{league_id}/{name}/mcp"
            rng = random.Random(f"{self._seed}/{league_id}/{name}")
            seated.append(Player(league_id, name, endpoint, rng, way=_WAYS.get(number, PUSH)))
            self._players[league_id, name] = seated[-1]
        return seated

    def dial(self, player: Player, addresses: list[str]) -> None:
        """Let a registered player dial out from now on.

        Args:
            addresses: where it finds the site.
        """
        rng = random.Random(f"{self._seed}/{player.league_id}/{player.name}/line")
        line = Line(player.way, player.tokens[-1], addresses, rng, partial(self._answer, player), player.odd)
        self._lines.append(asyncio.create_task(line.keep()))

    def of(self, league_id: str) -> list[Player]:
        """The players of a league."""
        return [player for (league, _), player in self._players.items() if league == league_id]

    async def _handle(self, request: web.Request) -> web.Response:
        player = self._players[request.match_info["league"], request.match_info["name"]]
        return web.json_response(await self._answer(player, json.loads(await request.read())))

    async def _answer(self, player: Player, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("method") == "ping":
            return words.rpc_result({"status": "ok"}, body.get("id"))
        params = body.get("params")
        if not isinstance(params, dict) or "message_type" not in params:
            # When two answers in a row are cut off, a referee tries other dialects; these players understand only one.
            return words.rpc_error(-32601, "Method not found", body.get("id"))
        player.received.append(params)
        self.game_overs += params["message_type"] == "GAME_OVER"
        # A short delay, so that faults can hit a match in the middle.
        await asyncio.sleep(player.rng.uniform(0.0, 0.12))
        return words.rpc_result(player.answer(params), body.get("id"))
