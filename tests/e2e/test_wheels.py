"""The wheels, installed where there is no checkout: a league is played and verified."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.e2e.installed import ENVIRONMENT, build, install, run
from tests.e2e.site import Site, free_port, wait_for
from tests.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]
PLAYERS = 4


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels of this tree: league_sdk's and the site's."""
    folder = tmp_path_factory.mktemp("wheels")
    return build(folder, ROOT, ROOT / "league_sdk")


def test_the_wheels_hold_every_file_of_their_packages(wheels: list[Path]) -> None:
    packed = {name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    packages = ("agents_registry", "league_sdk", "leaguesite", "matches", "storage")
    ours = {name for name in tracked if name.startswith(packages)} - {"league_sdk/pyproject.toml"}
    resources = {name for name in tracked if name.startswith(("templates/", "static/", "locale/"))}
    assert ours - packed == set()
    examples = {name for name in tracked if name.startswith(("examples/kit/", "examples/starter/"))}
    assert {name.replace("examples", "league_sdk") for name in examples} - packed == set()
    assert {f"leaguesite/resources/{name}" for name in resources} - packed == set()


def test_an_installed_site_plays_a_league_that_verifies(wheels: list[Path], tmp_path: Path) -> None:
    programs = install(wheels, tmp_path)
    site = Site(
        tmp_path / "data",
        "--no-demo",
        "--referees",
        "1",
        first_start=True,
        command=[f"{programs}/leaguesite"],
        folder=tmp_path,
    )
    try:
        first = free_port(together=PLAYERS)
        player = [programs / "python", "-m", "league_sdk.player", "--league", f"{site.url}/mcp", "--name", "Alpha"]
        with subprocess.Popen(
            [*player, "--port", str(first), "--count", str(PLAYERS)], cwd=tmp_path, env=ENVIRONMENT
        ) as players:
            try:
                _play(site, programs, tmp_path)
            finally:
                players.terminate()
        kit = site.http.get("/leagues/league_2025_even_odd/join/kit.zip")
        assert (kit.status_code, kit.headers["content-type"]) == (200, "application/zip")
        hebrew = site.http.get("/", headers={"Accept-Language": "he"})
        assert 'dir="rtl"' in hebrew.text
        assert site.http.get("/static/js/live.js").status_code == 200
        assert "The command line" in site.http.get("/docs/cli/").text
    finally:
        site.close()


def _play(site: Site, programs: Path, folder: Path) -> None:
    league = "league_2025_even_odd"
    wait_for("all players are registered", lambda: len(site.get(f"/leagues/{league}/standings")) == PLAYERS)
    site.play_to_the_end(league)
    verdict = run(programs / "league", "verify", f"{site.url}/leagues/{league}/", folder=folder)
    assert verdict.startswith(f"HOLDS: league {league}, ")
