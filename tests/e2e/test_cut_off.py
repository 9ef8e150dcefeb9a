"""One of two referees, on another machine, reaches some players no more: nobody loses by it, and the desk names it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.ports import free_port
from tests.e2e.site import ROOT, Instructor, Player, Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
KEY = "referee-key-of-the-tests"
LEAGUE = "cut"
QUICK = {"join_timeout_s": 1, "move_timeout_s": 2, "retry_base_s": 0.1, "announce_wait_s": 0.2, "auto_advance": True}


@contextmanager
def cut_off_referee(site: Instructor, cut: Path) -> Iterator[None]:
    """A second referee of the site, at another address than the first, which cannot reach the ports in a file."""
    command = [sys.executable, "-m", "tests.bots.cut_off_referee", "--league", f"{site.url}/mcp", "--name", "Elsewhere"]
    command += ["--host", "127.0.0.2", "--port", str(free_port())]
    environment = os.environ | {"LEAGUE_REFEREE_KEY": KEY, "CUT_OFF": str(cut)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def both_may_judge() -> bool:
        agents = site.get(f"/leagues/{LEAGUE}/agents")
        return [one["state"] for one in agents if one["kind"] == "referee"] in (["REGISTERED"] * 2, ["ACTIVE"] * 2)

    try:
        wait_for("both referees may judge", both_may_judge)
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextmanager
def league(folder: Path, **settings: object) -> Iterator[tuple[Site, list[Player], Path]]:
    """A site with two referees in two places, four players, and the file of the ports that one referee cannot reach."""
    cut = folder / "cut.txt"
    cut.write_text("")
    site = Site(folder / "data", "--no-demo", "--referees", "1", environment={"LEAGUE_REFEREE_KEY": KEY})
    try:
        with (
            league_with_players(site, LEAGUE, 4, folder, **QUICK | settings) as players,
            cut_off_referee(site, cut),
        ):
            yield site, players, cut
    finally:
        site.close()


def port_of(player: Player) -> str:
    return str(urlsplit(player.endpoint).port)


def test_nobody_loses_as_one_referee_does_not_reach_them(tmp_path: Path) -> None:
    with league(tmp_path) as (site, players, cut):
        cut.write_text("\n".join(map(port_of, players)))
        site.play_to_the_end(LEAGUE)
        matches = site.get(f"/leagues/{LEAGUE}/matches")
        assert {one["status"] for one in matches} <= {"WIN", "DRAW"}
        assert max(one["attempt"] for one in matches) == 2
        assert {one["technical_losses"] for one in site.get(f"/leagues/{LEAGUE}/standings")} == {0}
        handed_on = [one for one in site.get(f"/leagues/{LEAGUE}/events")["events"] if one["kind"] == "attempt_lost"]
        assert {one["data"]["referee_id"] for one in handed_on} == {"REF02"}


def test_who_is_reached_by_neither_referee_loses_after_one_more_look(tmp_path: Path) -> None:
    with league(tmp_path) as (site, players, _):
        players[3].close()
        site.play_to_the_end(LEAGUE)
        of_dead = [one for one in site.get(f"/leagues/{LEAGUE}/matches") if "P04" in one.values()]
        assert [one["status"] for one in of_dead] == ["TECHNICAL_LOSS"] * 3
        assert {one["winner"] for one in of_dead} == {"P01", "P02", "P03"}
        assert {one["attempt"] for one in of_dead} <= {0, 2}
        rows = {row["player_id"]: row["technical_losses"] for row in site.get(f"/leagues/{LEAGUE}/standings")}
        assert rows == {"P01": 0, "P02": 0, "P03": 0, "P04": 3}
