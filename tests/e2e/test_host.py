"""``manage.py host``: other machines, taken ports, first-run credentials, the demo, oversized bodies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.backlog import needs
from tests.e2e.site import (
    ROOT,
    Player,
    Site,
    command_line,
    free_port,
    league_with_players,
    site_with_players,
    wait_for,
)
from tests.e2e.sockets import Watcher

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "league_2025_even_odd"
CLASS_SIZE = 300


def test_an_agent_of_another_machine_that_says_localhost_is_called_at_its_own_address(
    site: Site, tmp_path: Path
) -> None:
    with league_with_players(site, "far", 1, tmp_path) as players:
        options = ("--league-id", "far", "--host", "127.0.0.2", "--register-host", "localhost")
        far = Player(site, "Far", tmp_path, *options)
        try:
            site.play_to_the_end("far")
            far.wait_for_last_message()
            players[0].wait_for_last_message()
            kinds = [message["message_type"] for message in far.messages()]
            assert kinds == [
                "ROUND_ANNOUNCEMENT",
                "GAME_INVITATION",
                "CHOOSE_PARITY_CALL",
                "GAME_OVER",
                "LEAGUE_STANDINGS_UPDATE",
                "ROUND_COMPLETED",
                "LEAGUE_COMPLETED",
            ]
            assert far.deviations() == players[0].deviations() == []
        finally:
            far.close()


def test_the_demo_plays_itself_until_a_league_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One generated key in 64 begins with a dash, as an option of a command does.
    monkeypatch.setenv("LEAGUE_DEMO_KEY", f"-{'d3' * 20}")
    with site_with_players(tmp_path, 2, options=("--demo",)) as (site, _):
        demo = site.wait_until("demo", "RUNNING")
        assert demo["players"] == 4
        children = site.children()
        samples = [pid for pid in children if "league_sdk.player" in command_line(pid)]
        assert len(samples) == 4
        assert all("--port 181" in command_line(pid) for pid in samples)
        wait_for("a match of the demo is played", lambda: site.get("/leagues/demo")["matches_done"])
        site.play_to_the_end(LEAGUE)
        site.wait_until("demo", "STOPPED")
        wait_for("the sample players end", lambda: set(site.children()).isdisjoint(samples))
        site.stop()
        site.start()
        assert site.get("/leagues/demo")["status"] == "STOPPED"


def test_an_instructor_stops_the_demo_for_good(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 0, options=("--demo",)) as (site, _):
        site.wait_until("demo", "RUNNING")
        site.post("/leagues/demo/stop")
        wait_for(
            "the sample players end",
            lambda: not any("league_sdk.player" in command_line(pid) for pid in site.children()),
        )
        assert site.get("/leagues/demo")["status"] == "STOPPED"


def test_the_demo_is_played_again_after_its_end(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 0, options=("--demo",)) as (site, _):
        site.wait_until("demo", "COMPLETED")
        # The second demo has the same match ids and attempts, which the referees know from the first one.
        site.wait_until("demo", "RUNNING")
        site.wait_until("demo", "COMPLETED")
        kinds = [event["kind"] for event in site.get("/leagues/demo/events")["events"]]
        assert (kinds[0], kinds.count("match_finished"), kinds.count("attempt_lost")) == ("demo_afresh", 6, 0)


def test_the_site_refuses_bodies_over_64_kib_even_if_they_never_end(site: Site) -> None:
    large = b'{"jsonrpc":"2.0","method":"ping","id":1,"params":{"x":"' + b"x" * 70_000 + b'"}}'
    answer = httpx.post(f"{site.url}/mcp", content=large, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, -32600)
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as endless:
        endless.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
        for _ in range(5):
            endless.sendall(chunk)
        assert endless.recv(100).startswith(b"HTTP/1.1 413 ")
    fine = httpx.post(f"{site.url}/mcp", json={"jsonrpc": "2.0", "method": "ping", "id": 1})
    assert fine.json() == {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}


@needs(CLASS_SIZE)
def test_a_class_that_connects_at_once_while_the_site_is_busy_is_served(site: Site) -> None:
    with ExitStack() as stack:
        site.process.send_signal(signal.SIGSTOP)
        try:
            callers = [
                stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=10))
                for _ in range(CLASS_SIZE)
            ]
        finally:
            site.process.send_signal(signal.SIGCONT)
        for caller in callers:
            caller.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert {caller.recv(12) for caller in callers} == {b"HTTP/1.1 200"}


def test_referees_take_ports_above_one_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with site_with_players(tmp_path, 0, options=("--no-demo", "--referee-port", str(port))) as (site, _):
            ports = [int(command_line(pid).partition("--port ")[2].split()[0]) for pid in site.referees()]
            assert len(set(ports)) == 2
            assert all(one > port for one in ports)


@pytest.mark.parametrize("host", ["::", "0.0.0.0"])
def test_referees_of_a_host_that_listens_everywhere_listen_where_they_say(tmp_path: Path, host: str) -> None:
    options = ("--no-demo", "--referees", "1", "--host", host)
    with site_with_players(tmp_path, 2, options=options) as (site, _):
        site.play_to_the_end(LEAGUE)
        [match] = site.get(f"/leagues/{LEAGUE}/matches")
        assert (match["attempt"], match["referee_id"]) == (1, "REF01")
        command = command_line(site.referees()[0])
        port = int(command.partition("--port ")[2].split()[0])
        said = urlsplit(command.partition("--endpoint ")[2].split()[0])
        for name in {said.hostname, "127.0.0.1"} | ({"::1"} if host == "::" else set()):
            with socket.create_connection((name, port), timeout=10):
                pass


def test_the_host_says_in_a_sentence_that_its_port_is_taken(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "manage.py", "host", "--port", str(port), "--data", str(tmp_path / "data")],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.strip().endswith(
        f"Port {port} at 127.0.0.1 is in use. Stop what listens there, or choose another with --port."
    )


def test_the_host_makes_credentials_and_shows_them_once(tmp_path: Path) -> None:
    site = Site(
        tmp_path / "data", "--no-demo", "--referees", "0", port=free_port(), credentials=False, first_start=True
    )
    try:
        shown = [line for line in site.log().splitlines() if "(shown this once)" in line]
        assert [line.split()[0] for line in shown] == ["Login", "API"]
        key = shown[1].split()[2]
        denied = httpx.post(f"{site.url}/api/leagues", json={"league_id": "x"})
        assert denied.status_code == 401
        made = httpx.post(
            f"{site.url}/api/leagues", json={"league_id": "x"}, headers={"Authorization": f"Bearer {key}"}
        )
        assert made.status_code == 201
        site.stop()
        site.start()
        assert site.log().count("(shown this once)") == 2
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "data.log"]
    finally:
        site.close()


def test_no_header_of_a_caller_changes_the_links_of_the_site(site: Site) -> None:
    site.create("mounted")
    elsewhere = {"Daphne-Root-Path": "https://evil.example", "X-Script-Name": "/evil", "SCRIPT_NAME": "/evil"}
    for path in ("/", "/leagues/mounted/", "/leagues/mounted/join/", "/admin/login/"):
        assert "evil" not in site.http.get(path, headers=elsewhere).text
        assert "evil" not in site.http.get(path).text
    with closing(Watcher(site, "/ws/leagues/mounted/", headers=elsewhere)) as board:
        assert "evil" not in str(board.fragments)
