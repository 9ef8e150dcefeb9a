"""PostgreSQL and Redis on machines of their own, with TLS, passwords and a standby, as docs/deployment.md says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from league_sdk.cli.app import main
from tests.e2e.own_servers import HERE, PASSWORD, Postgres, SecureRedis
from tests.e2e.scaled import Scaled, WebProcess
from tests.e2e.site import Player, wait_for
from tests.e2e.test_backup import LEAGUE, SLOW_PLAYERS, matches_in_play

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]


def url_of(*servers: Postgres, authority: Path | None = None) -> str:
    """DATABASE_URL for a server, or for two of which one can be written to."""
    hosts = ",".join(f"{HERE}:{server.port}" for server in servers)
    where = authority or servers[0].authority
    return f"postgres://league:{PASSWORD}@{hosts}/league?sslmode=verify-full&sslrootcert={where}"


@contextmanager
def primary() -> Iterator[Postgres]:
    """A server with the documented roles and an empty database."""
    server = Postgres()
    try:
        server.sql(f"CREATE ROLE league LOGIN PASSWORD '{PASSWORD}'")
        server.sql(f"CREATE ROLE replicator LOGIN REPLICATION PASSWORD '{PASSWORD}'")
        server.sql("CREATE DATABASE league OWNER league ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0")
        yield server
    finally:
        server.close()


@contextmanager
def site_in_play(folder: Path, database: str) -> Iterator[tuple[Scaled, WebProcess, list[Player]]]:
    """A site whose first league is played by slow players, in its second round."""
    with ExitStack() as stack:
        cache = SecureRedis(folder / "redis")
        stack.callback(cache.kill)
        site = Scaled(folder, database, cache.url)
        stack.callback(site.close)
        site.start_conductor()
        [web] = site.start_web()
        site.start_referee(web)
        players = []
        for number in range(4):
            players.append(Player(web, f"Agent{number + 1}", folder, *SLOW_PLAYERS))
            stack.callback(players[-1].close)
        site.wait_for_referees(web, 1)
        web.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        web.wait_for_round(LEAGUE, 1)
        yield site, web, players


def test_a_league_is_played_while_the_database_fails_over_to_its_standby(tmp_path: Path) -> None:
    with ExitStack() as stack:
        one = stack.enter_context(primary())
        other = Postgres(one)
        stack.callback(other.close)
        one.wait_for_standby()
        site, web, players = stack.enter_context(site_in_play(tmp_path, url_of(one, other)))
        with psycopg.connect(url_of(one, other) + "&target_session_attrs=read-write") as used:
            encrypted = used.execute("SELECT ssl, client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchall()
        assert encrypted == [(True, None)]
        wait_for("two matches are being played", lambda: matches_in_play(web) == 2)
        head = str(web.get(f"/leagues/{LEAGUE}/ledger")["head"])
        before = web.get(f"/leagues/{LEAGUE}/matches")[:2]

        one.kill()
        wait_for("the site notices", lambda: web.http.get("/health").status_code == 503)
        other.promote()
        begun = time.monotonic()
        wait_for("the site goes on", lambda: web.http.get("/health").status_code == 200)
        print(f"{time.monotonic() - begun:.1f} s after the promotion the site is healthy")
        try:
            league = web.wait_until(LEAGUE, "COMPLETED", 120)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{site.logs()}") from None
        print(f"{time.monotonic() - begun:.1f} s after the promotion the league is over")
        assert (league["matches"], league["matches_done"]) == (6, 6)
        matches = web.get(f"/leagues/{LEAGUE}/matches")
        assert matches[:2] == before
        assert {match["state"] for match in matches} == {"FINISHED"}
        # Nobody lost a match because of it.
        assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
        assert main(["verify", f"{web.url}/leagues/{LEAGUE}/", "--head", head]) == 0
        for player in players:
            player.wait_for_last_message()
            assert player.deviations() == []


def test_nobody_gets_in_without_the_authority_the_password_or_tls(tmp_path: Path) -> None:
    with primary() as server, ExitStack() as stack:
        cache = SecureRedis(tmp_path / "redis")
        stack.callback(cache.kill)
        good = url_of(server)
        psycopg.connect(good).close()
        for url, why in (
            (url_of(server, authority=tmp_path / "redis" / "ca.pem"), "certificate verify failed"),
            (good.replace(PASSWORD, "wrong"), "password authentication failed"),
            (good.replace("verify-full", "disable"), "no pg_hba.conf entry.*no encryption"),
            (good.replace(HERE, "localhost"), 'does not match host name "localhost"'),
        ):
            with pytest.raises(psycopg.OperationalError, match=why):
                psycopg.connect(url)
        for url, why in (
            (cache.url.replace(f"{tmp_path}/redis/ca.pem", str(server.authority)), "certificate verify failed"),
            (cache.url.replace(PASSWORD, "wrong"), "invalid username-password pair"),
            (cache.url.replace("rediss:", "redis:").partition("?")[0], "Connection"),
        ):
            with redis.Redis.from_url(url) as client, pytest.raises(redis.ConnectionError, match=why):
                client.ping()
