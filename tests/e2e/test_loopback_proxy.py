"""A site behind a proxy on its own machine, as real processes: our referees judge, and a stranger gains nothing."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.proxying import proxy
from tests.e2e.site import Instructor, Player, Site, free_port, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def register(at: Instructor, method: str, meta: str, name: str, endpoint: str, **more: Any) -> str:
    """Register an agent by hand; returns the status in the answer, or the message of its error."""
    facts = {"display_name": name, "version": "1", "game_types": ["even_odd"], "contact_endpoint": endpoint}
    params = {meta: facts | more.pop("facts", {}), "sender": f"player:{name}", "protocol": "league.v2", **more}
    params |= {"timestamp": "2026-01-01T00:00:00Z", "conversation_id": "conv-of-the-test"}
    body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    answer = httpx.post(f"{at.url}/mcp", json=body, timeout=20, trust_env=False).json()
    return str(answer["result"]["status"] if "result" in answer else answer["error"]["message"])


def test_players_play_through_a_proxy_and_a_stranger_behind_a_silent_one_gains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_TRUSTED_PROXIES", "127.0.0.0/8,::1")
    with ExitStack() as stack:
        site = Site(tmp_path / "data", "--no-demo")
        stack.callback(site.close)
        # The site is healthy, which means that its referees may judge.
        assert len(site.referees()) == 2
        telling_proxy = stack.enter_context(proxy(site))
        silent_proxy = stack.enter_context(proxy(site, "--as", "silent"))
        site.create("far")
        players = [Player(telling_proxy, f"Agent{number}", tmp_path, "--league-id", "far") for number in (1, 2)]
        for player in players:
            stack.callback(player.close)
        assert [player.player_id for player in players] == ["P01", "P02"]

        referee = {"sends_progress": True, "seals": True, "max_concurrent_matches": 9}
        local_endpoint = f"http://127.0.0.1:{free_port()}/mcp"
        answers = [
            # Behind the silent proxy the stranger seems to be on this machine: it claims the name of a player, of a new
            # player and of a referee.
            register(silent_proxy, "register_player", "player_meta", "Agent1", players[0].endpoint, league_id="far"),
            register(silent_proxy, "register_player", "player_meta", "Mallory", local_endpoint, league_id="far"),
            register(silent_proxy, "register_referee", "referee_meta", "Referee 1", local_endpoint, facts=referee),
            register(
                silent_proxy,
                "register_referee",
                "referee_meta",
                "Referee 1",
                local_endpoint,
                facts=referee | {"registration_code": "a-key-that-is-guessed"},
            ),
            # The same calls directly at the site, where our referees register, but without their key.
            register(site, "register_player", "player_meta", "Agent1", players[0].endpoint, league_id="far"),
            register(site, "register_referee", "referee_meta", "Referee 1", local_endpoint, facts=referee),
        ]
        assert all(re.search("own machine|E0|REJECTED", one) and "ACCEPTED" not in one for one in answers), answers
        assert site.get("/leagues/far")["players"] == 2

        site.play_to_the_end("far")
        for player in players:
            player.wait_for_last_message()
        assert [player.deviations() for player in players] == [[], []]

        # After a restart the referees register again by themselves.
        site.stop()
        site.start()
        wait_for("referees after a restart", lambda: len(site.referees()) == 2)
        assert site.stop() == 0
