"""The site as several processes: browsers see the current state, also when Redis, a conductor or a referee stops."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from matches.league.conductors import Duty
from tests.e2e.scaled import ENVIRONMENT, Scaled, WebProcess, scaled_site
from tests.e2e.servers import new_database
from tests.e2e.site import ROOT, Player, wait_for
from tests.e2e.sockets import Stalled, Watcher

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
LEAGUE = "league_2025_even_odd"
FRAGMENTS = ("header", "standings", "current", "results")


def is_current(watcher: Watcher, web: WebProcess) -> bool:
    """Whether a browser shows the same as a page that is loaded now."""
    page = " ".join(web.http.get(f"/leagues/{LEAGUE}/").text.split())
    return all(" ".join(watcher.fragments[name].split()) in page for name in FRAGMENTS)


def rounds_done(web: WebProcess, number: int) -> bool:
    return [one["state"] for one in web.get(f"/leagues/{LEAGUE}/rounds")].count("COMPLETED") >= number


def play_round(site: Scaled, web: WebProcess, number: int) -> None:
    web.post(f"/leagues/{LEAGUE}/rounds/start")
    try:
        wait_for(f"round {number} is over", lambda: rounds_done(web, number))
    except AssertionError as error:
        raise AssertionError(f"{error}\n{site.logs()}") from None


def test_a_league_is_played_while_redis_a_conductor_and_a_referee_stop(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site, redis = stack.enter_context(scaled_site(tmp_path))
        conductors = [site.start_conductor(), site.start_conductor()]
        one, other = site.start_web(2)
        referees = [site.start_referee(one), site.start_referee(other)]
        players = []
        for number, web in enumerate((one, other, one, other), 1):
            players.append(Player(web, f"Agent{number}", tmp_path))
            stack.callback(players[-1].close)
        site.wait_for_referees(one, 2)
        watchers = [Watcher(web, f"/ws/leagues/{LEAGUE}/") for web in (one, other)]
        for watcher in watchers:
            stack.callback(watcher.close)

        stalled = Stalled(one, f"/ws/leagues/{LEAGUE}/")
        stack.callback(stalled.close)

        def all_current() -> bool:
            return all(is_current(watcher, web) for watcher, web in zip(watchers, (one, other), strict=True))

        # What one web process receives, browsers at the other one see.
        one.post(f"/leagues/{LEAGUE}/start")
        wait_for("round 1 is over", lambda: rounds_done(one, 1))
        wait_for("both browsers are current", all_current)
        assert all(watcher.connections == 1 for watcher in watchers)

        # Without Redis the league goes on, and the web processes read the current state from the database.
        redis.kill()
        play_round(site, other, 2)
        begun = time.monotonic()
        wait_for("both browsers are current without Redis", all_current)
        print(f"without Redis both browsers were current after {time.monotonic() - begun:.2f} s")
        redis.start()

        # The league's conductor stops, a referee stops, and another referee starts.
        its_own = next(process for process in conductors if process.process.pid == pid_of_its_conductor(site))
        assert its_own.stop() == 0
        assert referees[0].stop() == 0
        site.start_referee(other)
        play_round(site, one, 3)
        league = one.wait_until(LEAGUE, "COMPLETED")
        wait_for("both browsers are current at the end", all_current)
        for player in players:
            player.wait_for_last_message()

        assert (league["rounds"], league["matches"], league["matches_done"]) == (3, 6, 6)
        matches = one.get(f"/leagues/{LEAGUE}/matches")
        assert Counter(match["state"] for match in matches) == {"FINISHED": 6}
        standings = one.get(f"/leagues/{LEAGUE}/standings")
        assert sum(row["played"] for row in standings) == 12
        assert [player.deviations() for player in players] == [[], [], [], []]
        # The end of a round and of the league was announced once, although there were two conductors.
        for player in players:
            sent_types = [one["message_type"] for one in player.messages()]
            assert (sent_types.count("ROUND_COMPLETED"), sent_types.count("LEAGUE_COMPLETED")) == (3, 1)
        # The browser that reads nothing is dropped; the others never were.
        wait_for("the browser that reads nothing is dropped", stalled.is_dropped)
        assert all(watcher.connections == 1 for watcher in watchers)
        assert [web.stop() for web in (one, other)] == [0, 0]
        assert "Traceback" not in one.log() + other.log()


def pid_of_its_conductor(site: Scaled) -> int:
    """The process id of the conductor that the league belongs to."""
    with psycopg.connect(site.environment["DATABASE_URL"]) as database:
        rows = database.execute("SELECT name, holder FROM matches_conductorlease WHERE until > now()").fetchall()
    present = tuple(sorted(name for name, _ in rows))
    return next(int(holder.split(":")[1]) for name, holder in rows if Duty(name, present).has(LEAGUE))


@pytest.mark.parametrize("command", ["web", "conductor"])
def test_web_and_conductor_do_not_start_without_redis(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", command, "--data", str(tmp_path / "data")],
        cwd=ROOT,
        env=ENVIRONMENT | {"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.search(r"REDIS_URL is not set\..*manage.py host", done.stderr)


def test_prepare_refuses_a_database_that_cannot_hold_what_agents_say(tmp_path: Path) -> None:
    with new_database("SQL_ASCII") as database:
        done = subprocess.run(
            [sys.executable, "manage.py", "prepare", "--data", str(tmp_path / "data")],
            cwd=ROOT,
            env=ENVIRONMENT | {"PATH": "/usr/bin:/bin", "DATABASE_URL": database, "REDIS_URL": "redis://127.0.0.1:1/0"},
            capture_output=True,
            text=True,
            check=False,
        )
        name = database.rpartition("/")[2]
        with psycopg.connect(database) as connection:
            tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert done.returncode == 1
    assert "The database has the encoding SQL_ASCII, and what agents say is UTF8." in done.stderr
    assert f"createdb --encoding UTF8 --locale C.UTF-8 --template template0 --owner postgres {name}" in done.stderr
    assert tables == (0,)
