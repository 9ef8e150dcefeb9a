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
SLOW_PLAYERS = ("--delay-choice", "2")
"""Players that think for long, so that matches are in play while the backup is taken."""


def play_into_round_2(site: Instructor, players: list[Player]) -> None:
    """Play round 1, start round 2, and stop the players (SIGSTOP) while both of its matches are in play."""
    site.post(f"/leagues/{LEAGUE}/start")
    wait_for("round 1 is over", lambda: site.get(f"/leagues/{LEAGUE}")["matches_done"] == 2)
    site.wait_for_round(LEAGUE, 1)
    site.post(f"/leagues/{LEAGUE}/rounds/start")
    wait_for("two matches are being played", lambda: matches_in_play(site) == 2)
    signal_all(players, signal.SIGSTOP)
    assert matches_in_play(site) == 2


def signal_all(players: list[Player], number: signal.Signals) -> None:
    for player in players:
        player.process.send_signal(number)


def matches_in_play(site: Instructor) -> int:
    return [match["state"] for match in site.get(f"/leagues/{LEAGUE}/matches")].count("COLLECTING_CHOICES")


def check_that_league_goes_on(site: Instructor, before: list[dict[str, object]]) -> None:
    """Check that rounds 2 and 3 are played, and that the matches finished before the backup are unchanged."""
    site.wait_for_round(LEAGUE, 2)
    site.post(f"/leagues/{LEAGUE}/rounds/start")
    league = site.wait_until(LEAGUE, "COMPLETED")
    assert (league["matches"], league["matches_done"]) == (6, 6)
    matches = site.get(f"/leagues/{LEAGUE}/matches")
    assert Counter(match["state"] for match in matches) == {"FINISHED": 6}
    assert matches[:2] == before
    # The matches that were in play are played again, and count once. On a busy machine a restarted referee may be
    # silent for longer than its lease: then they need one more attempt.
    assert [match["attempt"] > 1 for match in matches] == [False, False, True, True, False, False]
    assert sum(row["played"] for row in site.get(f"/leagues/{LEAGUE}/standings")) == 12


def pause_after_backup(site: Instructor) -> str:
    """Pause the league, an event that the backup does not have; returns the head of the ledger after it."""
    site.post(f"/leagues/{LEAGUE}/pause")
    return str(site.get(f"/leagues/{LEAGUE}/ledger")["head"])


def check_ledger(site: Instructor, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that the ledger holds, with new draws for two matches, and contradicts a head taken after the backup."""
    board = f"{site.url}/leagues/{LEAGUE}/"
    capsys.readouterr()
    assert main(["verify", board]) == 0
    output = capsys.readouterr().out
    assert "6 drawn numbers follow from seeds that were committed to" in output
    assert "6 results are the verdicts that were sealed" in output
    assert main(["verify", board, "--head", head]) == 1
    assert "DOES NOT HOLD: the head that you kept" in capsys.readouterr().out
    events = site.get(f"/leagues/{LEAGUE}/ledger")["events"]
    second_plays = [event["public"]["data"]["plays"] for event in events if event["public"]["kind"] == "draw_committed"]
    assert second_plays == [{"R2M1": 2}, {"R2M2": 2}]


def unpack(file: Path, folder: Path) -> Path:
    """Unpack a backup as docs/deployment.md says; returns its folder."""
    folder.mkdir(mode=0o700)
    subprocess.run(["tar", "-xzf", str(file), "-C", str(folder)], check=True, timeout=60)
    return folder


@pytest.mark.long
def test_a_league_goes_on_from_a_backup_of_sqlite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "site.tar.gz"
    with site_with_players(tmp_path, 4, player_options=SLOW_PLAYERS) as (site, players):
        play_into_round_2(site, players)
        before = site.get(f"/leagues/{LEAGUE}/matches")[:2]
        # What `manage.py backup` does, without the seconds that its start takes on a busy machine.
        back_up(file, database=databases.database(None, site.data), data=site.data)
        assert matches_in_play(site) == 2
        head = pause_after_backup(site)
        site.kill()
        wait_for("its referees end", lambda: not site.children())
        signal_all(players, signal.SIGCONT)
        restored = Site(unpack(file, tmp_path / "restored"), "--no-demo")
        try:
            check_that_league_goes_on(restored, before)
            check_ledger(restored, head, capsys)
            for player in players:
                player.wait_for_last_message()
                assert player.deviations() == []
        finally:
            restored.close()


@pytest.mark.long
def test_a_league_goes_on_from_a_backup_of_postgresql(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "site.tar.gz"
    with ExitStack() as stack:
        site, redis = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        [web] = site.start_web()
        site.start_referee(web)
        players = []
        for number in range(4):
            players.append(Player(web, f"Agent{number + 1}", tmp_path, *SLOW_PLAYERS))
            stack.callback(players[-1].close)
        site.wait_for_referees(web, 1)
        play_into_round_2(web, players)
        before = web.get(f"/leagues/{LEAGUE}/matches")[:2]
        with psycopg.connect(site.environment["DATABASE_URL"]) as database:
            rows = database.execute("SELECT draw_seed FROM matches_match WHERE state = 'COLLECTING_CHOICES'").fetchall()
        secrets = [row[0] for row in rows]
        assert len(set(secrets)) == 2
        back_up(file, database=databases.database(site.environment["DATABASE_URL"], tmp_path), data=tmp_path / "data")
        assert matches_in_play(web) == 2
        head = pause_after_backup(web)
        assert "is written" in site.manage("backup", str(tmp_path / "later.tar.gz"))
        site.close()
        signal_all(players, signal.SIGCONT)

        empty = stack.enter_context(new_database())
        unpack(file, tmp_path / "restored")
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
        check_that_league_goes_on(web, before)
        check_ledger(web, head, capsys)
        for player in players:
            player.wait_for_last_message()
            assert player.deviations() == []
