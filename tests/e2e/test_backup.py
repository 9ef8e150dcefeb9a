"""A backup taken in mid-league, restored elsewhere: the league goes on, and every match counts once."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from league_sdk.cli.app import main
from leaguesite.hosting.backups import back_up
from storage import databases
from tests.e2e.scaled import Scaled, scaled_site
from tests.e2e.servers import new_database
from tests.e2e.site import Instructor, Player, Site, site_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
LEAGUE = "league_2025_even_odd"
SLOW = ("--delay-choice", "2")
"""So that a match is being played when the backup is taken."""


def into_the_middle(site: Instructor, players: list[Player]) -> None:
    """Round 1 is over, and both matches of round 2 are being played, for as long as the players stand still."""
    site.post(f"/leagues/{LEAGUE}/start")
    wait_for("round 1 is over", lambda: site.get(f"/leagues/{LEAGUE}")["matches_done"] == 2)
    wait_for("round 1 is closed", lambda: site.get(f"/leagues/{LEAGUE}/rounds")[0]["state"] == "COMPLETED")
    site.post(f"/leagues/{LEAGUE}/rounds/start")
    wait_for("two matches are being played", lambda: playing(site) == 2)
    signal_all(players, signal.SIGSTOP)
    assert playing(site) == 2


def signal_all(players: list[Player], number: signal.Signals) -> None:
    for player in players:
        player.process.send_signal(number)


def playing(site: Instructor) -> int:
    return [match["state"] for match in site.get(f"/leagues/{LEAGUE}/matches")].count("COLLECTING_CHOICES")


def goes_on(site: Instructor, before: list[dict[str, object]]) -> None:
    """Rounds 2 and 3 are played; what was over before the backup is as it was."""
    wait_for("round 2 is over", lambda: site.get(f"/leagues/{LEAGUE}/rounds")[1]["state"] == "COMPLETED")
    site.post(f"/leagues/{LEAGUE}/rounds/start")
    league = site.wait_until(LEAGUE, "COMPLETED")
    assert (league["matches"], league["matches_done"]) == (6, 6)
    matches = site.get(f"/leagues/{LEAGUE}/matches")
    assert Counter(match["state"] for match in matches) == {"FINISHED": 6}
    assert matches[:2] == before
    # Those that were being played are played again, once, and count once.
    assert [match["attempt"] for match in matches] == [1, 1, 2, 2, 1, 1]
    assert sum(row["played"] for row in site.get(f"/leagues/{LEAGUE}/standings")) == 12


def told_since(site: Instructor) -> str:
    """The head of the ledger after something that no backup has."""
    site.post(f"/leagues/{LEAGUE}/pause")
    return str(site.get(f"/leagues/{LEAGUE}/ledger")["head"])


def says_so(site: Instructor, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The ledger holds, drawn anew as it was committed to; a head from after the backup shows that it was restored."""
    board = f"{site.url}/leagues/{LEAGUE}/"
    capsys.readouterr()
    assert main(["verify", board]) == 0
    said = capsys.readouterr().out
    assert "6 drawn numbers follow from seeds that were committed to" in said
    assert "6 results are the verdicts that were sealed" in said
    assert main(["verify", board, "--head", head]) == 1
    assert "DOES NOT HOLD: the head that you kept" in capsys.readouterr().out
    events = site.get(f"/leagues/{LEAGUE}/ledger")["events"]
    anew = [event["public"]["data"]["plays"] for event in events if event["public"]["kind"] == "draw_committed"]
    assert anew == [{"R2M1": 2}, {"R2M2": 2}]


def unpacked(file: Path, folder: Path) -> Path:
    """As docs/deployment.md says."""
    folder.mkdir(mode=0o700)
    subprocess.run(["tar", "-xzf", str(file), "-C", str(folder)], check=True, timeout=60)
    return folder


def test_sqlite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "site.tar.gz"
    with site_with_players(tmp_path, 4, player_options=SLOW) as (site, players):
        into_the_middle(site, players)
        before = site.get(f"/leagues/{LEAGUE}/matches")[:2]
        # What `manage.py backup` does, without the seconds that its start takes on a busy machine.
        back_up(file, database=databases.database(None, site.data), data=site.data)
        assert playing(site) == 2
        head = told_since(site)
        site.kill()
        wait_for("its referees end", lambda: not site.children())
        signal_all(players, signal.SIGCONT)
        restored = Site(unpacked(file, tmp_path / "restored"), "--no-demo")
        try:
            goes_on(restored, before)
            says_so(restored, head, capsys)
            for player in players:
                player.wait_for_last_message()
                assert player.deviations() == []
        finally:
            restored.close()


@pytest.mark.long
def test_postgresql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "site.tar.gz"
    with ExitStack() as stack:
        site, redis = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        [web] = site.start_web()
        site.start_referee(web)
        players = []
        for number in range(4):
            players.append(Player(web, f"Agent{number + 1}", tmp_path, *SLOW))
            stack.callback(players[-1].close)
        site.wait_for_referees(web, 1)
        into_the_middle(web, players)
        before = web.get(f"/leagues/{LEAGUE}/matches")[:2]
        with psycopg.connect(site.environment["DATABASE_URL"]) as database:
            found = database.execute(
                "SELECT draw_seed FROM matches_match WHERE state = 'COLLECTING_CHOICES'"
            ).fetchall()
        secrets = [row[0] for row in found]
        assert len(set(secrets)) == 2
        back_up(file, database=databases.database(site.environment["DATABASE_URL"], tmp_path), data=tmp_path / "data")
        assert playing(web) == 2
        head = told_since(web)
        assert "is written" in site.manage("backup", str(tmp_path / "later.tar.gz"))
        site.close()
        signal_all(players, signal.SIGCONT)

        empty = stack.enter_context(new_database())
        unpacked(file, tmp_path / "restored")
        dump = str(tmp_path / "restored" / "league.sql")
        text = Path(dump).read_text(encoding="utf-8")
        assert [secret for secret in secrets if secret in text] == []
        options = ("--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1")
        subprocess.run(["psql", *options, f"--dbname={empty}", f"--file={dump}"], check=True, capture_output=True)
        (tmp_path / "elsewhere").mkdir()
        elsewhere = Scaled(tmp_path / "elsewhere", empty, redis.url)
        stack.callback(elsewhere.close)
        elsewhere.start_conductor()
        [web] = elsewhere.start_web()
        elsewhere.start_referee(web)
        elsewhere.wait_for_referees(web, 1)
        goes_on(web, before)
        says_so(web, head, capsys)
        for player in players:
            player.wait_for_last_message()
            assert player.deviations() == []
