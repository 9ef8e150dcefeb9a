"""A site behind a proxy on its own machine, as real processes: our referees judge, and a stranger gains nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.site import ROOT, Instructor, Player, Site, free_port, wait_for

pytestmark = pytest.mark.e2e


@contextmanager
def proxy(site: Site, *options: str) -> Iterator[Instructor]:
    """A proxy in front of a site, and the instructor who comes through it."""
    command = [sys.executable, "-m", "tests.e2e.proxy", "--to", site.url, *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = re.match(r"READY (\d+)", process.stdout.readline())
        assert ready, "the proxy did not start"
        through = Instructor(f"http://127.0.0.1:{ready[1]}")
        try:
            yield through
        finally:
            through.http.close()
    finally:
        process.terminate()
        process.wait(timeout=10)
        if process.stdout is not None:
            process.stdout.close()


def register(at: Instructor, method: str, meta: str, name: str, endpoint: str, **more: Any) -> str:
    """Register by hand; how it ended."""
    facts = {"display_name": name, "version": "1", "game_types": ["even_odd"], "contact_endpoint": endpoint}
    params = {meta: facts | more.pop("facts", {}), "sender": f"player:{name}", "protocol": "league.v2", **more}
    params |= {"timestamp": "2026-01-01T00:00:00Z", "conversation_id": "conv-of-the-test"}
    body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    answer = httpx.post(f"{at.url}/mcp", json=body, timeout=20, trust_env=False).json()
    return str(answer["result"]["status"] if "result" in answer else answer["error"]["message"])


def test_a_league_plays_through_and_a_stranger_behind_a_silent_proxy_is_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_TRUSTED_PROXIES", "127.0.0.0/8,::1")
    with ExitStack() as stack:
        site = Site(tmp_path / "data", "--no-demo")
        stack.callback(site.close)
        # The site is healthy only when its referees may judge.
        assert len(site.referees()) == 2
        told = stack.enter_context(proxy(site))
        silent = stack.enter_context(proxy(site, "--silent"))
        site.create("far")
        players = [Player(told, f"Agent{number}", tmp_path, "--league-id", "far") for number in (1, 2)]
        for player in players:
            stack.callback(player.close)
        assert [player.player_id for player in players] == ["P01", "P02"]

        referee = {"sends_progress": True, "seals": True, "max_concurrent_matches": 9}
        here = f"http://127.0.0.1:{free_port()}/mcp"
        tries = [
            # The place of a player of this machine, by being "on" it; a new player on it; a judge on it.
            register(silent, "register_player", "player_meta", "Agent1", players[0].endpoint, league_id="far"),
            register(silent, "register_player", "player_meta", "Mallory", here, league_id="far"),
            register(silent, "register_referee", "referee_meta", "Referee 1", here, facts=referee),
            register(
                silent,
                "register_referee",
                "referee_meta",
                "Referee 1",
                here,
                facts=referee | {"registration_code": "a-key-that-is-guessed"},
            ),
            # Straight at the site, as our referees come, but without their key.
            register(site, "register_player", "player_meta", "Agent1", players[0].endpoint, league_id="far"),
            register(site, "register_referee", "referee_meta", "Referee 1", here, facts=referee),
        ]
        assert all(re.search("own machine|E0|REJECTED", one) and "ACCEPTED" not in one for one in tries), tries
        assert site.get("/leagues/far")["players"] == 2

        site.post("/leagues/far/start", {"auto_advance": True})
        site.wait_until("far", "COMPLETED")
        for player in players:
            player.wait_for_last_message()
        assert [player.deviations() for player in players] == [[], []]

        # The referees come back by themselves as well.
        site.stop()
        site.start()
        wait_for("referees after a restart", lambda: len(site.referees()) == 2)
        assert site.stop() == 0
