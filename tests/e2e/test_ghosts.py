"""The lobby with a player that is gone, another that now runs at its address, and thieves that name this address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import wire
from tests.e2e.site import Player, Site

pytestmark = [pytest.mark.e2e, pytest.mark.long]
HOME, ELSEWHERE = "127.0.0.2", "127.0.0.9"
"""Addresses of this machine that the site takes for two other machines."""


def start(site: Site, folder: Path, name: str, port: str = "0") -> Player:
    """A player on its own machine, which names no league."""
    return Player(site, name, folder, "--host", HOME, "--register-host", "localhost", "--port", port)


def steal(site: Site, name: str, endpoint: str) -> dict[str, Any]:
    """Register a player's address from another machine; returns the answer."""
    body = wire.request("register_player", wire.player_request(name, endpoint=endpoint))
    with httpx.Client(transport=httpx.HTTPTransport(local_address=ELSEWHERE), trust_env=False) as http:
        result: dict[str, Any] = http.post(f"{site.url}/mcp", json=body, timeout=30).json()["result"]
    return result


def test_the_league_has_the_players_that_run_and_neither_ghosts_nor_thieves(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo")
    players: list[Player] = []
    try:
        # Without an open league all of them wait in the lobby.
        site.post("/leagues/league_2025_even_odd/stop")
        ghost = start(site, tmp_path, "Draft")
        ghost.close()
        port = ghost.endpoint.rsplit(":", 1)[1].partition("/")[0]
        players = [start(site, tmp_path, "Final", port), start(site, tmp_path, "Neighbour")]
        address = f"http://{HOME}:{port}/mcp"
        thieves = [steal(site, f"Thief {number}", address) for number in range(3)]
        assert [thief["status"] for thief in thieves] == ["ACCEPTED"] * 3
        # The next league has the id that the lobby promised to its agents.
        league = thieves[0]["league_id"]
        site.create(league)
        agents = site.get(f"/leagues/{league}/agents")
        assert sorted(one["display_name"] for one in agents if one["kind"] == "player") == ["Final", "Neighbour"]
        site.play_to_the_end(league)
        [match] = site.get(f"/leagues/{league}/matches")
        assert match["status"] in ("WIN", "DRAW")
        assert [player.deviations() for player in players] == [[], []]
    finally:
        for player in players:
            player.close()
        site.close()
