"""The process that renders live pages: boards go on without it, it comes again, and it ends with its web process."""

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


def renderer(site: Site) -> int | None:
    """The process id of the site's renderer."""
    return next((pid for pid in site.children() if "leaguesite.hosting.rendering" in command_line(pid)), None)


def test_a_board_goes_on_when_its_renderer_is_killed_and_another_one_takes_over(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 4) as (site, _players):
        first = wait_for("there is a renderer", lambda: renderer(site))
        with closing(Watcher(site, f"/ws/leagues/{LEAGUE}/")) as board:
            os.kill(first, signal.SIGKILL)
            site.post(f"/leagues/{LEAGUE}/start")
            site.wait_for_round(LEAGUE, 1)
            wait_for("both results are shown", lambda: board.fragments["results"].count('id="result-R1M') == 2)
            second = wait_for("another renderer runs", lambda: (pid := renderer(site)) != first and pid)
            site.post(f"/leagues/{LEAGUE}/start")
            site.wait_for_round(LEAGUE, 2)
            wait_for("all results are shown", lambda: board.fragments["results"].count('id="result-R2M') == 2)
        assert not is_running(first)
        assert "the process that renders pages failed" in site.log()
        assert "Traceback" not in site.log()
        site.kill()
        wait_for("the renderer ends with its web process", lambda: not is_running(second))
