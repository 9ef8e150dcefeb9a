"""Personal codes on a real site, in mid-match: what opens a seat, what does not, and that no code is left anywhere."""

from __future__ import annotations

import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.site import Player, Site, site_with_players, wait_for

pytestmark = pytest.mark.e2e
LEAGUE = "league_2025_even_odd"
CODES = {"Agent1": "ada-geheim-7", "Agent2": "bob-geheim-8"}
HOME, ELSEWHERE = "127.0.0.2", "127.0.0.9"
"""The players' machine, and another: loopback addresses but the first stand for machines of their own."""


def roster(site: Site) -> None:
    """A roster, as the desk writes it; nobody could have been let in by it before."""
    with closing(sqlite3.connect(site.data / "league.sqlite3", timeout=20)) as database, database:
        rows = [(name, f"{name.lower()}@school.example", code, LEAGUE) for name, code in CODES.items()]
        insert = "INSERT INTO agents_registry_rosterentry (name, email, code, league_id) VALUES (?, ?, ?, ?)"
        database.executemany(insert, rows)


def register(site: Site, player: Player, name: str, code: str = "", *, caller: str = ELSEWHERE) -> dict[str, Any]:
    """Register a name with a player's address."""
    meta = {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": player.endpoint}
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "timestamp": "2026-01-01T00:00:00Z",
        "conversation_id": "conv-of-a-stranger",
        "league_id": LEAGUE,
        "player_meta": meta | ({"registration_code": code} if code else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}
    with httpx.Client(transport=httpx.HTTPTransport(local_address=caller), trust_env=False) as http:
        answer = http.post(f"{site.url}/mcp", json=body).json()
    found: dict[str, Any] = answer.get("result") or answer["error"]
    return found


def playing(site: Site) -> bool:
    return [match["state"] for match in site.get(f"/leagues/{LEAGUE}/matches")] == ["COLLECTING_CHOICES"]


def test_a_seat_is_opened_by_its_own_code_only_and_no_code_is_left_anywhere(tmp_path: Path) -> None:
    slow = ("--delay-choice", "2", "--host", HOME, "--register-host", HOME)
    with site_with_players(tmp_path, 2, player_options=slow) as (site, players):
        roster(site)
        for player, (name, code) in zip(players, CODES.items(), strict=True):
            owned = register(site, player, name, code, caller=HOME)
            assert (owned["status"], owned["player_id"]) == ("ACCEPTED", player.player_id)
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("the match is being played", lambda: playing(site))
        for player in players:
            player.process.send_signal(signal.SIGSTOP)

        victim = players[0]
        for code in ("", "ada-geheim-6", CODES["Agent2"]):
            refused = register(site, victim, "Agent1", code)
            assert (refused.get("status"), refused.get("legacy_code")) == ("REJECTED", "L003"), refused
            assert "auth_token" not in refused
        # A classmate's code does not help on the victim's own machine either.
        assert register(site, victim, "Agent1", CODES["Agent2"], caller=HOME)["status"] == "REJECTED"
        # The code itself, twice at once: the same seat, at the same address, and its match goes on.
        with ThreadPoolExecutor() as both:
            twice = list(both.map(lambda code: register(site, victim, "Agent1", code), [CODES["Agent1"]] * 2))
        assert [(one["status"], one["player_id"]) for one in twice] == [("ACCEPTED", "P01")] * 2
        # With it nobody takes the seat elsewhere: another address is another player, and it is too late for one.
        assert register(site, players[1], "Agent1", CODES["Agent1"])["status"] == "REJECTED"

        for player in players:
            player.process.send_signal(signal.SIGCONT)
        site.wait_until(LEAGUE, "COMPLETED")
        for player in players:
            player.wait_for_last_message()
            ends = [one["game_result"] for one in player.messages() if one["message_type"] == "GAME_OVER"]
            assert len(ends) == 1
        [match] = site.get(f"/leagues/{LEAGUE}/matches")
        assert (match["attempt"], match["status"] in ("WIN", "DRAW")) == (1, True)

        paths = (f"/leagues/{LEAGUE}/", f"/leagues/{LEAGUE}/matches/R1M1/", f"/leagues/{LEAGUE}/players/P01/")
        told = [site.http.get(path).text for path in (*paths, f"/api/leagues/{LEAGUE}/ledger", "/metrics")]
        told += [player.log_file.read_text(encoding="utf-8") for player in players]
    told += [path.read_text(encoding="utf-8") for path in (tmp_path / "data" / "logs").rglob("*.jsonl")]
    assert len(told) > 8
    told.append(site.log())
    assert [text[max(0, text.find("geheim") - 100) :][:200] for text in told if "geheim" in text] == []
