"""start_match as the league manager sends it, and a stand-in for ``LeagueLink`` that records what it is sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from league_sdk.judging.worker.league_link import Identity
from league_sdk.protocol import tokens
from league_sdk.protocol.league_settings import LeagueSettings

LEAGUE_TOKEN = "tok_" + "e" * 32
AUTH_TOKEN = "tok_" + "d" * 32


def seat_params(player_id: str, token: str, digest: str) -> dict[str, Any]:
    return {
        "id": player_id,
        "endpoint": f"http://localhost:81{player_id[1:]}/mcp",
        "dialect": "canonical",
        "league_token": "tok_" + token * 32,
        "auth_token_sha256": [digest * 64],
        "your_standings": {"wins": 1, "losses": 2, "draws": 3},
        "joined_before": False,
        "suspended": False,
    }


START: dict[str, Any] = {
    "protocol": "league.v2",
    "message_type": "START_MATCH",
    "sender": "league_manager:LM01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001",
    "auth_token": LEAGUE_TOKEN,
    "league_id": "league_2025_even_odd",
    "round_id": 1,
    "match_id": "R1M1",
    "attempt": 1,
    "game_type": "even_odd",
    "settings": LeagueSettings().for_referee(),
    "endpoint_policy": {"refused_ports": [8000]},
    "player_A": seat_params("P01", "1", "a"),
    "player_B": seat_params("P02", "2", "b"),
    "player_A_id": "P01",
    "player_B_id": "P02",
    "player_A_endpoint": "http://localhost:8101/mcp",
    "player_B_endpoint": "http://localhost:8102/mcp",
}


def auth_token_of(player: str) -> str:
    """The auth_token of a player, such as ``league_2P01``: the beginning of its league's id, and its own id.

    The digest of it is not in START; see :func:`with_tokens`.
    """
    return f"tok_{player.lower():0>32}"


def with_tokens(**changes: Any) -> dict[str, Any]:
    """START with the digest of the :func:`auth_token_of` each player."""
    params = START | changes
    for name in ("player_A", "player_B"):
        own = auth_token_of(params["league_id"][:8] + params[name]["id"])
        params[name] = params[name] | {"auth_token_sha256": ["f" * 64, tokens.digest(own)]}
    return params


class Link:
    """Stands in for ``LeagueLink``: takes what it is to send, unless ``on_progress`` or ``on_report`` objects."""

    url = "http://127.0.0.1:9/mcp"

    def __init__(self) -> None:
        self.identity: Identity | None = Identity("REF01", AUTH_TOKEN, LEAGUE_TOKEN)
        self.accepted_at = time.monotonic()
        self.reports: list[dict[str, Any]] = []
        self.heartbeats: list[list[dict[str, Any]]] = []
        self.registrations = 0
        self.on_progress: Callable[[list[dict[str, Any]]], Awaitable[list[Any]]] | None = None
        self.on_report: Callable[[], None] = lambda: None
        self.changed = asyncio.Event()

    def token(self) -> str:
        return AUTH_TOKEN

    async def register(self) -> Identity:
        self.registrations += 1
        self.changed.set()
        self.identity = Identity("REF01", AUTH_TOKEN, LEAGUE_TOKEN)
        return self.identity

    async def progress(self, matches: list[dict[str, Any]], *, leaving: bool = False) -> list[Any]:
        self.heartbeats.append(matches)
        self.changed.set()
        if self.on_progress is not None:
            return await self.on_progress(matches)
        self.accepted_at = time.monotonic()
        return []

    async def report(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        self.reports.append(dict(fields))
        self.changed.set()
        self.on_report()
        return {"status": "ACCEPTED"}
