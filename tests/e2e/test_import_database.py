"""A site on SQLite, stopped in mid-round, goes on with PostgreSQL, and back: nobody registers or logs in again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from league_sdk.cli.app import main
from tests.e2e.scaled import Scaled
from tests.e2e.servers import Redis, new_database
from tests.e2e.site import PASSWORD, ROOT, Instructor, Player, Site, site_with_players, wait_for
from tests.e2e.test_backup import LEAGUE, SLOW_PLAYERS, check_that_league_goes_on, play_into_round_2, signal_all

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]


def import_database(source: str, data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command for a new site."""
    return subprocess.run(
        [sys.executable, "manage.py", "import_database", source, "--data", str(data)],
        cwd=ROOT,
        env={name: os.environ[name] for name in os.environ if name != "DJANGO_SETTINGS_MODULE"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def log_in(site: Instructor) -> dict[str, str]:
    """Log in as the instructor; returns the cookies of the session."""
    with httpx.Client(base_url=site.url, trust_env=False) as browser:
        browser.get("/admin/login/")
        form = {"username": "instructor", "password": PASSWORD, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        answer = browser.post("/admin/login/", data=form, headers={"Referer": site.url})
        assert answer.status_code == 302, answer.text
        return dict(browser.cookies)


def is_logged_in(site: Instructor, cookies: dict[str, str]) -> bool:
    """Whether the cookies of a session open the desk."""
    answer = httpx.get(f"{site.url}/admin/matches/league/", cookies=cookies, trust_env=False, timeout=20)
    return answer.status_code == 200


def check_token(site: Instructor, player: Player) -> None:
    """Check that the token of a player's registration still speaks for it."""
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": f"player:{player.player_id}",
        "timestamp": "2026-01-01T00:00:00Z",
        "conversation_id": "conv-of-the-test",
        "auth_token": player.auth_token(),
        "league_id": LEAGUE,
        "query_type": "GET_STANDINGS",
        "query_params": {"league_id": LEAGUE},
    }
    body = {"jsonrpc": "2.0", "method": "league_query", "params": params, "id": 1}
    answer = httpx.post(f"{site.url}/mcp", json=body, trust_env=False, timeout=20).json()
    assert answer["result"]["message_type"] == "LEAGUE_QUERY_RESPONSE", answer


def check_ledger(site: Instructor, *heads: str) -> str:
    """Check that the ledger holds and goes on from heads of before; returns its head."""
    board = f"{site.url}/leagues/{LEAGUE}/"
    for head in heads:
        assert main(["verify", board, "--head", head]) == 0
    return str(site.get(f"/leagues/{LEAGUE}/ledger")["head"])


def test_a_site_moves_to_postgresql_in_mid_round_and_back_to_sqlite(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site, players = stack.enter_context(site_with_players(tmp_path, 4, player_options=SLOW_PLAYERS))
        play_into_round_2(site, players)
        before = site.get(f"/leagues/{LEAGUE}/matches")[:2]
        head, cookies = str(site.get(f"/leagues/{LEAGUE}/ledger")["head"]), log_in(site)
        assert is_logged_in(site, cookies)
        check_token(site, players[0])
        database = stack.enter_context(new_database())
        running = import_database(str(site.data), tmp_path / "new", DATABASE_URL=database)
        assert running.returncode == 1
        assert "is in use by another host" in running.stderr
        site.kill()
        wait_for("its referees end", lambda: not site.children())
        signal_all(players, signal.SIGCONT)

        redis = Redis(tmp_path)
        stack.callback(redis.kill)
        keys = {
            f"LEAGUE_{name.upper()}": (site.data / "keys" / name).read_text(encoding="ascii")
            for name in ("secret_key", "referee_key")
        }

        def done() -> subprocess.CompletedProcess[str] | None:
            finished = import_database(str(site.data), tmp_path / "new", DATABASE_URL=database, **keys)
            # A host that was killed has left a conductor's row, which counts for some seconds.
            assert finished.returncode == 0 or "still runs on the source" in finished.stderr, finished.stderr
            return None if finished.returncode else finished

        text = wait_for("the rows are copied", done).stdout
        assert "are here, and read as in the source." in text
        assert "is not this site's key" not in text
        again = import_database(str(site.data), tmp_path / "new", DATABASE_URL=database, **keys)
        assert "The new database must be empty, and it has rows (" in again.stderr

        new = Scaled(tmp_path, database, redis.url, **keys)
        stack.callback(new.close)
        new.start_conductor()
        [web] = new.start_web()
        new.start_referee(web)
        new.wait_for_referees(web, 1)
        assert is_logged_in(web, cookies)
        check_token(web, players[0])
        check_that_league_goes_on(web, before)
        later = check_ledger(web, head)
        for player in players:
            player.wait_for_last_message()
            assert player.deviations() == []

        with psycopg.connect(database):
            used = import_database(database, tmp_path / "back", **keys)
        assert used.returncode == 1
        assert "the source" in used.stderr
        new.close()
        back = tmp_path / "back"

        def is_back() -> bool:
            finished = import_database(database, back, **keys)
            assert finished.returncode == 0 or "the source" in finished.stderr, finished.stderr
            return finished.returncode == 0

        wait_for("the rows are back", is_back)
        old = Site(back, "--no-demo", environment=keys)
        stack.callback(old.close)
        assert old.get(f"/leagues/{LEAGUE}")["status"] == "COMPLETED"
        assert is_logged_in(old, cookies)
        check_token(old, players[0])
        assert check_ledger(old, head, later) == later
