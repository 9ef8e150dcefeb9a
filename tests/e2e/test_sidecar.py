"""The sidecar, a process beside the web process: boards and SHARED go on without it, and it ends with the site."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.site import Site, command_line, is_running, site_with_players, wait_for
from tests.e2e.sockets import Watcher

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
LEAGUE = "league_2025_even_odd"


def sidecar(site: Site) -> int | None:
    """The process id of the site's sidecar."""
    return next((pid for pid in site.children() if "leaguesite.hosting.sidecar_process" in command_line(pid)), None)


def test_a_board_goes_on_when_its_sidecar_is_killed_and_another_one_takes_over(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 4) as (site, _players):
        first = wait_for("there is a sidecar", lambda: sidecar(site))
        with closing(Watcher(site, f"/ws/leagues/{LEAGUE}/")) as board:
            os.kill(first, signal.SIGKILL)
            site.post(f"/leagues/{LEAGUE}/start")
            site.wait_for_round(LEAGUE, 1)
            wait_for("both results are shown", lambda: board.fragments["results"].count('id="result-R1M') == 2)
            second = wait_for("another sidecar runs", lambda: (pid := sidecar(site)) != first and pid)
            site.post(f"/leagues/{LEAGUE}/start")
            site.wait_for_round(LEAGUE, 2)
            wait_for("all results are shown", lambda: board.fragments["results"].count('id="result-R2M') == 2)
            matches = site.data / "SHARED" / "data" / "matches" / LEAGUE
            wait_for("SHARED has all results", lambda: len(list(matches.glob("R*M*.json"))) == 4)
        assert not is_running(first)
        assert "the sidecar failed" in site.log()
        assert "Traceback" not in site.log()
        site.kill()
        wait_for("the sidecar ends with its web process", lambda: not is_running(second))
