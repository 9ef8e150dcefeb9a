"""Personal codes on a real site, in mid-match: which code registers a player again; no page or log has one."""

from __future__ import annotations

import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.bots import words
from tests.e2e.site import Player, Site, site_with_players, wait_for

pytestmark = pytest.mark.e2e
LEAGUE = "league_2025_even_odd"
CODES = {"Agent1": "ada-geheim-7", "Agent2": "bob-geheim-8"}
HOME, ELSEWHERE = "127.0.0.2", "127.0.0.9"
"""The players' machine, and another one: the site takes 127.0.0.2 and 127.0.0.9 for machines of their own."""


def write_roster(site: Site) -> None:
    """Write a roster as the desk does, after the players have registered without codes."""
    with closing(sqlite3.connect(site.data / "league.sqlite3", timeout=20)) as database, database:
        rows = [(name, f"{name.lower()}@school.example", code, LEAGUE) for name, code in CODES.items()]
        insert = "INSERT INTO agents_registry_rosterentry (name, email, code, league_id) VALUES (?, ?, ?, ?)"
        database.executemany(insert, rows)


def register(site: Site, player: Player, name: str, code: str = "", *, caller: str = ELSEWHERE) -> dict[str, Any]:
    """Register a name at a player's address, calling from ``caller``; returns the answer."""
    meta = words.meta(name, player.endpoint) | ({"registration_code": code} if code else {})
    params = words.registration("player", name, "conv-of-a-stranger", meta, league_id=LEAGUE)
    body = words.rpc("register_player", params)
    with httpx.Client(transport=httpx.HTTPTransport(local_address=caller), trust_env=False) as http:
        answer = http.post(f"{site.url}/mcp", json=body).json()
    outcome: dict[str, Any] = answer.get("result") or answer["error"]
    return outcome


def is_playing(site: Site) -> bool:
    return [match["state"] for match in site.get(f"/leagues/{LEAGUE}/matches")] == ["COLLECTING_CHOICES"]


@pytest.mark.long
def test_only_a_players_own_code_registers_it_again_and_no_page_or_log_has_a_code(tmp_path: Path) -> None:
    slow = ("--delay-choice", "2", "--host", HOME, "--register-host", HOME)
    with site_with_players(tmp_path, 2, player_options=slow) as (site, players):
        write_roster(site)
        for player, (name, code) in zip(players, CODES.items(), strict=True):
            owned = register(site, player, name, code, caller=HOME)
            assert (owned["status"], owned["player_id"]) == ("ACCEPTED", player.player_id)
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("the match is being played", lambda: is_playing(site))
        for player in players:
            player.process.send_signal(signal.SIGSTOP)

        victim = players[0]
        for code in ("", "ada-geheim-6", CODES["Agent2"]):
            refused = register(site, victim, "Agent1", code)
            assert (refused.get("status"), refused.get("legacy_code")) == ("REJECTED", "L003"), refused
            assert "auth_token" not in refused
        # A classmate's code does not help on the victim's own machine either.
        assert register(site, victim, "Agent1", CODES["Agent2"], caller=HOME)["status"] == "REJECTED"
        # The player's own code, twice at once: the same player at the same address, and its match goes on.
        with ThreadPoolExecutor() as both:
            twice = list(both.map(lambda code: register(site, victim, "Agent1", code), [CODES["Agent1"]] * 2))
        assert [(one["status"], one["player_id"]) for one in twice] == [("ACCEPTED", "P01")] * 2
        # The code of a person with one agent finds it at another address, too; but the other player is at this one.
        moved = register(site, players[1], "Agent1", CODES["Agent1"])
        assert (moved["status"], moved["player_id"]) == ("ACCEPTED", "P01")

        for player in players:
            player.process.send_signal(signal.SIGCONT)
        site.wait_until(LEAGUE, "COMPLETED")
        for player in players:
            player.wait_for_last_message()
            ends = [one["game_result"] for one in player.messages() if one["message_type"] == "GAME_OVER"]
            assert len(ends) == 1
        kinds = [event["kind"] for event in site.get(f"/leagues/{LEAGUE}/events?limit=500")["events"]]
        assert "player_moved" not in kinds
        [match] = site.get(f"/leagues/{LEAGUE}/matches")
        assert (match["attempt"], match["status"] in ("WIN", "DRAW")) == (1, True)

        paths = (f"/leagues/{LEAGUE}/", f"/leagues/{LEAGUE}/matches/R1M1/", f"/leagues/{LEAGUE}/players/P01/")
        texts = [site.http.get(path).text for path in (*paths, f"/api/leagues/{LEAGUE}/ledger", "/metrics")]
        texts += [player.log_file.read_text(encoding="utf-8") for player in players]
    texts += [path.read_text(encoding="utf-8") for path in (tmp_path / "data" / "logs").rglob("*.jsonl")]
    assert len(texts) > 8
    texts.append(site.log())
    assert [text[max(0, text.find("geheim") - 100) :][:200] for text in texts if "geheim" in text] == []
