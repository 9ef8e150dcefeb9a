"""Make the data folder of ``test_upgrade.py``: written by an older version of the site, in mid-round.

    git worktree add /tmp/old COMMIT
    python -m tests.e2e.make_upgrade_sample --code /tmp/old --to tests/samples/upgrade/NUMBER.tar.gz

Run it with the Python that the old version runs on, and no newer one. When the work on an issue has changed models,
COMMIT is the last commit before that work, and NUMBER is the number of the issue that was closed before. The folder
holds three leagues: one of five players with its first round completed and its second in play (one match finished, one
being played); one of three players, in registration; and one whose only player has a finished check, a finished
practice match and a practice match in play. Its keys are used nowhere else.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tests.e2e import site as sites
from tests.e2e.losers import losers
from tests.e2e.site import Player, Site, wait_for

PLAYED, OPEN, PRACTISED = "upgraded", "waiting", "practised"
PLAYERS = ("Ann", "Ben", "Cleo", "Dan", "Eve")
WAITING = ("Fay", "Gus", "Hal")


@contextmanager
def practising(site: Site, folder: Path) -> Iterator[None]:
    """A player that was checked and has practised once; its second practice match is in play during the block."""
    site.create(PRACTISED)
    player = Player(site, "Ida", folder, "--league-id", PRACTISED)
    try:
        token = {"auth_token": player.auth_token()}
        check = site.post("/checks", token, status=201)["check_id"]
        wait_for("the check is over", lambda: site.get(f"/checks/{check}")["state"] == "DONE")
        first = site.post("/practice", token, status=201)["practice_id"]
        wait_for("the practice match is over", lambda: site.get(f"/practice/{first}")["state"] == "DONE")
        player.process.send_signal(signal.SIGSTOP)
        second = site.post("/practice", token, status=201)["practice_id"]
        wait_for("the second one is in play", lambda: site.get(f"/practice/{second}")["state"] == "RUNNING")
        yield
    finally:
        player.process.send_signal(signal.SIGCONT)
        player.close()


def play_into_round_2(site: Site, folder: Path) -> None:
    """Play round 1, start round 2, and kill the site while one match of it is in play."""
    limits = {"announce_wait_s": 0.5, "join_timeout_s": 20, "auto_advance": False}
    site.create(PLAYED, **limits)
    site.create(OPEN, **limits)
    with ExitStack() as stack:
        # A name without a trick after its colon is a player that behaves well.
        stack.enter_context(losers(site, OPEN, folder, *(f"{name}:" for name in WAITING)))
        cast = {}
        for name in PLAYERS:
            (folder / name).mkdir()
            one = stack.enter_context(losers(site, PLAYED, folder / name, f"{name}:"))
            cast[one.ids[name]] = one
        stack.enter_context(practising(site, folder))
        site.post(f"/leagues/{PLAYED}/start")
        site.wait_for_round(PLAYED, 1)
        second = [match for match in site.get(f"/leagues/{PLAYED}/matches") if match["round_id"] == 2]
        cast[second[0]["player_A_id"]].process.send_signal(signal.SIGSTOP)
        site.post(f"/leagues/{PLAYED}/rounds/start")
        wait_for(
            "one of two matches of round 2 is finished", lambda: site.get(f"/leagues/{PLAYED}")["matches_done"] == 3
        )
        states = [match["state"] for match in site.get(f"/leagues/{PLAYED}/matches") if match["round_id"] == 2]
        assert sorted(states) == ["FINISHED", "WAITING_FOR_PLAYERS"], states
        # As if the old version were stopped now: in its database the match is still in play.
        site.kill()


def pack(data: Path, sample: Path) -> None:
    """Pack the database (made one small file), the keys and the ports."""
    sample.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(data / "league.sqlite3")) as database:
        database.execute("PRAGMA journal_mode=DELETE")
        database.execute("VACUUM")
    with tarfile.open(sample, "w:gz") as made:
        for name in ("league.sqlite3", "keys", "ports.json"):
            if (data / name).exists():
                made.add(data / name, name)


def main() -> None:
    """Make the sample that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", type=Path, required=True, help="a checkout of the old version")
    parser.add_argument("--to", type=Path, required=True, help="the sample to write, .tar.gz")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="upgrade-"))
    # The players are of this version, the site is of the other one.
    sites.ROOT = options.code
    site = Site(folder / "data", "--no-demo", "--referees", "1")
    try:
        play_into_round_2(site, folder)
        pack(site.data, options.to)
        print(f"{options.to}: {options.to.stat().st_size} bytes")
    finally:
        site.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
