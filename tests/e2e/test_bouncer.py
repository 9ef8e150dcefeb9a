"""A site whose sessions of PostgreSQL belong to PgBouncer, which lends them for one transaction at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from storage.databases import SESSION
from tests.e2e.bouncer import bouncer
from tests.e2e.scaled import Scaled
from tests.e2e.servers import Redis, new_database
from tests.e2e.site import Player, wait_for
from tests.e2e.test_scaled import LEAGUE, play_round, rounds_done

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]


def test_a_league_is_played_and_read_through_pgbouncer(tmp_path: Path) -> None:
    with ExitStack() as stack:
        database = stack.enter_context(new_database())
        url = stack.enter_context(bouncer(database, tmp_path))
        redis = Redis(tmp_path)
        stack.callback(redis.kill)
        site = Scaled(tmp_path, url, redis.url)
        stack.callback(site.close)
        # Processes that prepare at the same moment wait for each other.
        with ThreadPoolExecutor(2) as pool:
            assert all("is ready" in text for text in pool.map(site.manage, ["prepare"] * 2))
        site.start_conductor()
        one, other = site.start_web(2)
        site.start_referee(one)
        players = []
        for number in range(4):
            players.append(Player((one, other)[number % 2], f"Agent{number + 1}", tmp_path))
            stack.callback(players[-1].close)
        site.wait_for_referees(one, 1)
        one.post(f"/leagues/{LEAGUE}/start")
        wait_for("round 1 is over", lambda: rounds_done(one, 1))
        play_round(site, other, 2)
        play_round(site, one, 3)
        one.wait_until(LEAGUE, "COMPLETED")
        webs = [one, other] * 5
        with ThreadPoolExecutor(4) as pool:
            ledgers = list(pool.map(lambda web: web.http.get(f"/api/leagues/{LEAGUE}/ledger"), webs))
        assert {ledger.status_code for ledger in ledgers} == {200}
        assert len({ledger.text for ledger in ledgers}) == 1
        assert "Traceback" not in site.logs()
        with psycopg.connect(url.partition("?")[0]) as pooled:
            # The configuration that we ship has the limits of a direct connection.
            for setting in SESSION.split(" -c "):
                name, _equals, value = setting.removeprefix("-c ").partition("=")
                found = pooled.execute("SELECT setting FROM pg_settings WHERE name = %s", [name]).fetchone()
                assert found == (value,), name
        with pytest.raises(AssertionError, match="PgBouncer"):
            site.manage("backup", str(tmp_path / "site.tar.gz"))
