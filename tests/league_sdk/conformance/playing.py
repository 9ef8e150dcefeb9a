"""A player of the SDK at a free port, with the identity that checks and practice matches expect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from league_sdk.player import Player, PlayerServer, Strategy
from league_sdk.simulated_league import Identity
from tests.league_sdk.conformance.agents import TOKEN


@asynccontextmanager
async def started(strategy: Strategy, game_type: str) -> AsyncIterator[str]:
    """A player with this strategy; its address."""
    player, who = Player("Practising", strategy, game_types=(game_type,)), Identity()
    player.accept({"player_id": who.player_id, "league_id": who.league_id, "league_token": "", "auth_token": TOKEN})
    server = PlayerServer({"/mcp": player})
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        await server.stop()
