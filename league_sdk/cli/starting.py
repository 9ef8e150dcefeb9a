"""Starts a student's file as a player at a free port of this machine, for commands that call agents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from league_sdk.player.agent import Player
from league_sdk.player.loading import load
from league_sdk.player.server import PlayerServer
from league_sdk.protocol.tokens import new_token
from league_sdk.simulated_league import Identity


@asynccontextmanager
async def started(source: str, identity: Identity, games: Sequence[str]) -> AsyncIterator[str]:
    """A player with this strategy that is told this identity as if it had registered; runs until the block ends.

    Yields its address.

    Args:
        source: as for :func:`league_sdk.player.loading.load`.
        identity: who it is told to be.
        games: what it plays.

    Raises:
        NotLoaded: the file cannot be used.
    """
    player = Player("Mine", load(source)(), game_types=tuple(games))
    player.accept(
        {
            "player_id": identity.player_id,
            "league_id": identity.league_id,
            "league_token": identity.league_token,
            "auth_token": new_token(),
        }
    )
    server = PlayerServer({"/mcp": player})
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        await server.stop()
