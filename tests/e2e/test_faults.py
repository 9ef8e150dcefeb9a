"""Kill -9 where it hurts: a referee in mid-match, the whole host in mid-round. Every match counts once."""

from __future__ import annotations

import os
import resource
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import Player, Site, is_running, site_with_players, wait_for

pytestmark = pytest.mark.e2e
LEAGUE = "faulty"
QUICK = {"referee_lease_s": 2, "retry_base_s": 0.05}


def in_play(site: Site) -> list[dict[str, Any]]:
    """Matches whose players are thinking."""
    return [match for match in site.get(f"/leagues/{LEAGUE}/matches") if match["state"] == "COLLECTING_CHOICES"]


def check_that_all_counted_once(site: Site, players: list[Player], matches: int) -> None:
    """The table is the fold of one result per match, and each player's last GAME_OVER agrees with it."""
    found = site.get(f"/leagues/{LEAGUE}/matches")
    assert [match["state"] for match in found] == ["FINISHED"] * matches
    assert {match["status"] for match in found} <= {"WIN", "DRAW"}, "our fault was charged to a player"
    points: Counter[str] = Counter()
    for match in found:
        if match["status"] == "WIN":
            points[match["winner"]] += 3
        else:
            points.update({match["player_A_id"]: 1, match["player_B_id"]: 1})
    standings = site.get(f"/leagues/{LEAGUE}/standings")
    assert {row["player_id"]: row["points"] for row in standings} == {
        player.player_id: points[player.player_id] for player in players
    }
    for player in players:
        last = {
            message["match_id"]: message["game_result"]["winner_player_id"]
            for message in player.messages()
            if message.get("message_type") == "GAME_OVER"
        }
        assert last == {
            match["match_id"]: match["winner"]
            for match in found
            if player.player_id in (match["player_A_id"], match["player_B_id"])
        }


def test_a_referee_killed_in_mid_match_costs_nothing_but_time(tmp_path: Path) -> None:
    options = ("--league-id", LEAGUE, "--delay-choice", "1.5")
    with site_with_players(tmp_path, 4, league=LEAGUE, settings={"referee_lease_s": 2}, player_options=options) as (
        site,
        players,
    ):
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("both matches are in play", lambda: len(in_play(site)) == 2)
        victim = site.referees()[0]
        os.kill(victim, signal.SIGKILL)
        site.wait_until(LEAGUE, "COMPLETED")

        attempts = [match["attempt"] for match in site.get(f"/leagues/{LEAGUE}/matches")]
        assert sorted(attempts)[:5] == [1, 1, 1, 1, 1]
        assert max(attempts) == 2, "the killed referee's match was not played again"
        wait_for("the referee was started again", lambda: len(site.referees()) == 2)
        assert victim not in site.referees()
        check_that_all_counted_once(site, players, matches=6)


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_a_referee_that_cannot_open_sockets_costs_no_player_a_point(tmp_path: Path, spare: int) -> None:
    """With one file to spare it can still be given matches, with two call one player and not the other."""
    options = ("--league-id", LEAGUE)
    with site_with_players(tmp_path, 4, league=LEAGUE, settings=QUICK, player_options=options) as (site, players):
        victim = site.referees()[0]
        opened = max(int(one.name) for one in Path(f"/proc/{victim}/fd").iterdir()) + 1
        resource.prlimit(victim, resource.RLIMIT_NOFILE, (opened + spare, opened + spare))
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        site.wait_until(LEAGUE, "COMPLETED")
        check_that_all_counted_once(site, players, matches=6)


def test_a_killed_host_goes_on_by_itself(tmp_path: Path) -> None:
    options = ("--league-id", LEAGUE, "--delay-choice", "1")
    with site_with_players(tmp_path, 4, league=LEAGUE, player_options=options) as (site, players):
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("both matches are in play", lambda: len(in_play(site)) == 2)
        before = {agent["agent_id"] for agent in site.get(f"/leagues/{LEAGUE}/agents")}
        children = site.children()
        assert len(children) == 2
        site.kill()
        wait_for("the children end with their host", lambda: not any(map(is_running, children)))

        site.start()
        site.wait_until(LEAGUE, "COMPLETED")
        assert {agent["agent_id"] for agent in site.get(f"/leagues/{LEAGUE}/agents")} == before
        check_that_all_counted_once(site, players, matches=6)


def test_a_paused_league_stays_paused_over_a_restart(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 2, league=LEAGUE, player_options=("--league-id", LEAGUE)) as (site, _):
        site.post(f"/leagues/{LEAGUE}/close")
        site.post(f"/leagues/{LEAGUE}/pause")
        assert site.stop() == 0
        site.start()
        assert site.get(f"/leagues/{LEAGUE}")["paused"] is True
        refusal = site.post(f"/leagues/{LEAGUE}/rounds/start", status=409)
        assert refusal["error"] == f"{LEAGUE} is paused: resume it first."
        site.post(f"/leagues/{LEAGUE}/resume")
        site.post(f"/leagues/{LEAGUE}/rounds/start")
        site.wait_until(LEAGUE, "COMPLETED")


def test_sigterm_hands_matches_back_and_leaves_nothing_running(tmp_path: Path) -> None:
    options = ("--league-id", LEAGUE, "--delay-choice", "20")
    with site_with_players(tmp_path, 2, league=LEAGUE, player_options=options) as (site, _):
        site.post(f"/leagues/{LEAGUE}/start")
        wait_for("the match is in play", lambda: len(in_play(site)) == 1)
        children = site.children()
        assert site.stop() == 0
        assert [pid for pid in children if is_running(pid)] == []
        assert "Traceback" not in site.log()
        site.start()
        wait_for("the match is played again", lambda: in_play(site))
        match = site.get(f"/leagues/{LEAGUE}/matches/R1M1")
        assert match["attempt"] == 2
        states = [step["state"] for step in match["lifecycle"]]
        assert states[states.index("COLLECTING_CHOICES") + 1] == "READY", "it was lost instead of handed back"
