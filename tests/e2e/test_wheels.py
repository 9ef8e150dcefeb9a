"""The wheels, installed where there is no checkout: a league is played and verified."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e.newcomer import Newcomer, follow
from tests.e2e.site import Site, free_port, wait_for
from tests.places import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]
PLAYERS = 4
# The installed programs must not find the tools of the tests, so their environment is nearly empty.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | {
    name: value for name, value in os.environ.items() if name.startswith("PIP_")
}


def run(*command: str | Path, folder: Path) -> str:
    """Run a command to its end; what it printed."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def pins() -> str:
    """The locked versions of what the site needs to run, without hashes: wheels that were just built have none."""
    lines = (ROOT / "requirements" / "base.txt").read_text(encoding="utf-8").splitlines()
    return "\n".join(line.removesuffix(" \\") for line in lines if "==" in line and not line.startswith((" ", "#")))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels of this tree: league_sdk's and the site's."""
    folder = tmp_path_factory.mktemp("wheels")
    build = (
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
    )
    run(*build, ROOT, ROOT / "league_sdk", folder=folder)
    return sorted(folder.glob("*.whl"))


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
    run(sys.executable, "-m", "venv", "venv", folder=tmp_path)
    (tmp_path / "pins.txt").write_text(pins(), encoding="utf-8")
    programs = tmp_path / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "-c", "pins.txt", *wheels, folder=tmp_path)
    site = Site(
        tmp_path / "data",
        "--no-demo",
        "--referees",
        "1",
        bare=True,
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
        _welcome(site, programs, tmp_path)
        kit = site.http.get("/leagues/league_2025_even_odd/join/kit.zip")
        assert (kit.status_code, kit.headers["content-type"]) == (200, "application/zip")
        hebrew = site.http.get("/", headers={"Accept-Language": "he"})
        assert 'dir="rtl"' in hebrew.text
        assert site.http.get("/static/js/live.js").status_code == 200
    finally:
        site.close()


def _welcome(site: Site, programs: Path, folder: Path) -> None:
    """A newcomer with nothing but the wheel; prints how long that took."""
    empty = folder / "empty"
    empty.mkdir()
    newcomer = Newcomer(empty, [f"{programs}/league"], ENVIRONMENT | {"COLUMNS": "100"})
    try:
        follow(newcomer, site)
    finally:
        newcomer.close()
    print(f"from an empty folder to a played match: {newcomer.took_s:.0f} s of machine time")


def _play(site: Site, programs: Path, folder: Path) -> None:
    league = "league_2025_even_odd"
    wait_for("all are registered", lambda: len(site.get(f"/leagues/{league}/standings")) == PLAYERS)
    site.play_to_the_end(league)
    verdict = run(programs / "league", "verify", f"{site.url}/leagues/{league}/", folder=folder)
    assert verdict.startswith(f"HOLDS: league {league}, ")
