"""This version starts on an older version's data folder and finishes the league in play there (docs/operations.md).

The samples in ``tests/samples/upgrade`` are such folders, packed. ``make_upgrade_sample.py`` makes them and says how.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import tar_files
from tests.e2e.losers import losers
from tests.e2e.make_upgrade_sample import OPEN, PLAYED, PLAYERS, WAITING
from tests.e2e.site import ROOT, Site, free_port, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
SAMPLES = sorted((ROOT / "tests/samples/upgrade").glob("*.tar.gz"))


def unpack(sample: Path, data: Path) -> dict[str, int]:
    """Unpack a sample and give its players new addresses; returns the port of each."""
    tar_files.unpack(sample, data)
    ports = {name: free_port() for name in (*PLAYERS, *WAITING)}
    with closing(sqlite3.connect(data / "league.sqlite3")) as database, database:
        for name, port in ports.items():
            changed = database.execute(
                "UPDATE agents_registry_agent SET endpoint = ?, endpoint_key = ? WHERE kind = 'player' AND name = ?",
                (f"http://127.0.0.1:{port}/mcp", f"127.0.0.1|{port}/mcp?", name),
            )
            assert changed.rowcount == 1, name
    # The port that the referee had may be taken on this machine.
    (data / "ports.json").unlink(missing_ok=True)
    return ports


def finished(site: Site) -> list[dict[str, Any]]:
    """The matches of the league that have a result, as the API shows them."""
    return [match for match in site.get(f"/leagues/{PLAYED}/matches") if match["state"] == "FINISHED"]


def checks_in(data: Path) -> list[tuple[str, bool, str]]:
    """The checks and practice matches in a database: id, whether it is a practice match, and state."""
    with closing(sqlite3.connect(data / "league.sqlite3")) as database:
        columns = {row[1] for row in database.execute("PRAGMA table_info(matches_check)")}
        opponent = "opponent" if "opponent" in columns else "''"
        rows = database.execute(f"SELECT check_id, {opponent} != '', state FROM matches_check").fetchall()  # noqa: S608
    return [(row[0], bool(row[1]), row[2]) for row in rows]


def is_over(site: Site, path: str) -> bool:
    """Whether a check or practice match has ended, as the API shows it."""
    return site.get(path)["state"] in ("DONE", "FAILED")


@pytest.mark.long
def test_there_is_a_data_folder_of_an_older_version() -> None:
    assert SAMPLES != []


@pytest.mark.parametrize(
    "sample",
    [*(pytest.param(one, marks=pytest.mark.long) for one in SAMPLES[:-1]), *SAMPLES[-1:]],
    ids=lambda path: path.name,
)
def test_the_new_version_finishes_a_league_that_was_in_mid_round(tmp_path: Path, sample: Path) -> None:
    ports = unpack(sample, tmp_path / "data")
    with closing(sqlite3.connect(tmp_path / "data/league.sqlite3")) as database:
        query = "SELECT match_id, status FROM matches_match WHERE state = 'FINISHED' ORDER BY id"
        before = dict(database.execute(query).fetchall())
    checks = checks_in(tmp_path / "data")
    if sample.name >= "0020":
        assert {("practice" if practice else "check", state) for _, practice, state in checks} >= {
            ("check", "DONE"),
            ("practice", "DONE"),
            ("practice", "RUNNING"),
        }
    assert sorted(before)[:2] == ["R1M1", "R1M2"]
    assert len(before) == 3
    with ExitStack() as stack:
        for league_id, names in ((PLAYED, PLAYERS), (OPEN, WAITING)):
            options = ("--known", "--fixed", *(str(ports[name]) for name in names), "--")
            stack.enter_context(losers(None, league_id, tmp_path, *(f"{name}:" for name in names), options=options))
        site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
        stack.callback(site.close)
        earlier = [match for match in finished(site) if match["match_id"] in before]
        assert {match["match_id"]: match["status"] for match in earlier} == before
        site.wait_for_round(PLAYED, 2)
        league = site.play_to_the_end(PLAYED)
        assert (league["matches"], league["matches_done"]) == (10, 10)
        now = finished(site)
        assert [match for match in now if match["match_id"] in before] == earlier
        assert {match["status"] for match in now} <= {"WIN", "DRAW"}
        assert sum(row["played"] for row in site.get(f"/leagues/{PLAYED}/standings")) == 20
        for check_id, practice, state in checks:
            path = f"/{'practice' if practice else 'checks'}/{check_id}"
            if state == "DONE":
                assert site.get(path)["report"] is not None
            wait_for(f"{path} is over", partial(is_over, site, path))
        # The league that was in registration is played from its start to its end.
        site.post(f"/leagues/{OPEN}/start", {"auto_advance": True})
        assert site.wait_until(OPEN, "COMPLETED")["matches_done"] == 3
        assert site.stop() == 0
