"""A league with failures: SIGKILL to a referee or the host, a referee that cannot open sockets, SIGTERM to the host."""

from __future__ import annotations

import os
import resource
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import Player, Site, is_running, league_with_players, site_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "faulty"
QUICK = {"referee_lease_s": 2, "retry_base_s": 0.05}


def in_play(site: Site) -> list[dict[str, Any]]:
    """The matches whose players are asked for their choices."""
    return [match for match in site.get(f"/leagues/{LEAGUE}/matches") if match["state"] == "COLLECTING_CHOICES"]


def check_that_all_counted_once(site: Site, players: list[Player], matches: int) -> None:
    """Check that the table is the sum of one result per match, and that each player's last GAME_OVER agrees."""
    played = site.get(f"/leagues/{LEAGUE}/matches")
    assert [match["state"] for match in played] == ["FINISHED"] * matches
    assert {match["status"] for match in played} <= {"WIN", "DRAW"}, "our fault was charged to a player"
    points: Counter[str] = Counter()
    for match in played:
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
            for match in played
            if player.player_id in (match["player_A_id"], match["player_B_id"])
        }


def test_a_match_whose_referee_is_killed_is_played_again_and_counts_once(tmp_path: Path) -> None:
    options = ("--league-id", LEAGUE, "--delay-choice", "1.5")
    with site_with_players(tmp_path, 4, league=LEAGUE, settings={"referee_lease_s": 2}, player_options=options) as (
        site,
        players,
    ):
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("both matches are in play", lambda: len(in_play(site)) == 2)
        killed_pid = site.referees()[0]
        os.kill(killed_pid, signal.SIGKILL)
        site.wait_until(LEAGUE, "COMPLETED")

        attempts = [match["attempt"] for match in site.get(f"/leagues/{LEAGUE}/matches")]
        assert sorted(attempts)[:5] == [1, 1, 1, 1, 1]
        assert max(attempts) == 2, "the killed referee's match was not played again"
        wait_for("the referee was started again", lambda: len(site.referees()) == 2)
        assert killed_pid not in site.referees()
        check_that_all_counted_once(site, players, matches=6)


# The more spare file descriptors, the further the referee gets before it fails.
@pytest.mark.parametrize("spare", [0, 1, 2])
def test_a_referee_that_cannot_open_sockets_costs_no_player_a_point(tmp_path: Path, spare: int) -> None:
    """With one spare descriptor the referee can be given matches; with two it can call one player as well, not both."""
    options = ("--league-id", LEAGUE)
    with site_with_players(tmp_path, 4, league=LEAGUE, settings=QUICK, player_options=options) as (site, players):
        referee_pid = site.referees()[0]
        opened = max(int(one.name) for one in Path(f"/proc/{referee_pid}/fd").iterdir()) + 1
        resource.prlimit(referee_pid, resource.RLIMIT_NOFILE, (opened + spare, opened + spare))
        site.play_to_the_end(LEAGUE)
        check_that_all_counted_once(site, players, matches=6)


def test_a_killed_host_finishes_its_league_after_a_restart(tmp_path: Path) -> None:
    # A referee sends heartbeats once a second, so players must think for longer to be seen thinking.
    options = ("--league-id", LEAGUE, "--delay-choice", "3")
    with site_with_players(tmp_path, 4, league=LEAGUE, player_options=options) as (site, players):
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("both matches are in play", lambda: len(in_play(site)) == 2)
        before = {agent["agent_id"] for agent in site.get(f"/leagues/{LEAGUE}/agents")}
        children = site.children()
        assert len(site.referees()) == 2
        site.kill()
        wait_for("the children end with their host", lambda: not any(map(is_running, children)))

        site.start()
        site.wait_until(LEAGUE, "COMPLETED")
        assert {agent["agent_id"] for agent in site.get(f"/leagues/{LEAGUE}/agents")} == before
        check_that_all_counted_once(site, players, matches=6)


@dataclass(frozen=True)
class Stopped:
    """A site that was stopped by SIGTERM and started again, with a match in play and a league that is paused."""

    site: Site
    exit_code: int
    left_running: list[int]
    log: str


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    folder = tmp_path_factory.mktemp("stopped")
    site = Site(folder / "data", "--no-demo")
    try:
        with (
            league_with_players(site, LEAGUE, 2, folder, "--delay-choice", "20"),
            league_with_players(site, "resting", 2, folder),
        ):
            site.post("/leagues/resting/close")
            site.post("/leagues/resting/pause")
            site.post(f"/leagues/{LEAGUE}/start")
            wait_for("the match is in play", lambda: len(in_play(site)) == 1)
            children = site.children()
            code = site.stop()
            survivors, log = [pid for pid in children if is_running(pid)], site.log()
            site.start()
            yield Stopped(site, code, survivors, log)
    finally:
        site.close()


def test_a_paused_league_stays_paused_over_a_restart(stopped: Stopped) -> None:
    site = stopped.site
    assert site.get("/leagues/resting")["paused"] is True
    refusal = site.post("/leagues/resting/rounds/start", status=409)
    assert refusal["error"] == "resting is paused: resume it first."
    site.post("/leagues/resting/resume")
    site.post("/leagues/resting/rounds/start")
    site.wait_until("resting", "COMPLETED")


def test_a_site_stopped_by_sigterm_hands_matches_back_and_leaves_no_process(stopped: Stopped) -> None:
    assert (stopped.exit_code, stopped.left_running) == (0, [])
    assert "Traceback" not in stopped.log
    wait_for("the match is played again", lambda: in_play(stopped.site))
    match = stopped.site.get(f"/leagues/{LEAGUE}/matches/R1M1")
    assert match["attempt"] == 2
    states = [step["state"] for step in match["lifecycle"]]
    assert states[states.index("COLLECTING_CHOICES") + 1] == "READY", "the match was lost instead of handed back"
