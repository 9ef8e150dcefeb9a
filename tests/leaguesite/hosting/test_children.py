"""What a process started by the host is given; other users of the machine may be able to read its environment."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from league_sdk.player.app import read_line
from leaguesite.hosting import host as hosting
from leaguesite.hosting.children import Child, child_environment
from leaguesite.hosting.host import Host, Site

SECRETS = {
    "LEAGUE_ADMIN_PASSWORD": "secret-1",
    "LEAGUE_API_KEY": "secret-2",
    "LEAGUE_SECRET_KEY": "secret-3",
    "DATABASE_URL": "postgres://me:secret-4@db/league",
    "REDIS_URL": "redis://:secret-5@cache",
    "LEAGUE_DEMO_KEY": "secret-6",
    "SOMETHING_NEW_PASSWORD": "secret-7",
}
TELLER = """
import json, os, sys
line = sys.stdin.readline()
own = open("/proc/self/cmdline").read()
open(sys.argv[1], "w").write(json.dumps([dict(os.environ), line, own]))
sys.stdin.read()
"""


def test_a_child_gets_the_listed_variables_only() -> None:
    listed = {"PATH": "/bin", "LC_ALL": "C.UTF-8", "PYTHONPATH": "here", "LEAGUE_LOG_LEVEL": "INFO"}
    assert child_environment(SECRETS | listed | {"LEAGUE_REFEREE_KEY": "x", "LEAGUE_METRICS_KEY": "y"}) == listed


def test_a_child_gets_variables_that_the_operator_names() -> None:
    named = {"LEAGUE_PASS_ON": "PROFILE_TO, OTHER", "PROFILE_TO": "here", "OTHER": "1"}
    assert child_environment(named | SECRETS) == named


@pytest.mark.parametrize("has_work", [True, False])
async def test_killing_a_child_that_does_not_stop_is_a_warning_only_if_it_had_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, has_work: bool
) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    deaf = "import signal, sys; signal.signal(15, signal.SIG_IGN); open(sys.argv[1], 'w').close(); signal.pause()"
    child = Child("deaf", lambda: [sys.executable, "-c", deaf, str(ready)], {})
    child.start()
    async with asyncio.timeout(60):
        await asyncio.to_thread(ready.read_text)
    await child.stop(0, has_work=has_work)
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warned == (["deaf does not stop; killing it"] if has_work else [])


async def test_a_child_reads_its_secret_from_a_pipe_and_sees_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    seen = tmp_path / "seen"
    os.mkfifo(seen)
    child = Child("teller", lambda: [sys.executable, "-c", TELLER, str(seen)], {"OWN": "mine"}, first_line="the-code")
    child.start()
    try:
        async with asyncio.timeout(60):
            text = await asyncio.to_thread(seen.read_text)
    finally:
        await child.stop(5)
    environment, line, command = json.loads(text)
    assert line == "the-code\n"
    assert environment["OWN"] == "mine"
    assert [name for name in SECRETS if name in environment] == []
    assert not any(value in json.dumps(environment) + command for value in [*SECRETS.values(), "the-code"])


def test_no_child_of_the_host_is_given_a_key_of_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    made: list[tuple[str, str]] = []

    def keep(name: str, command: object, environment: dict[str, str], *, first_line: str = "") -> None:
        made.append((json.dumps([*command(), child_environment(os.environ) | environment]), first_line))  # type: ignore[operator]

    monkeypatch.setattr(hosting, "Child", keep)
    settings.DATA_DIR = tmp_path
    host = Host(Site("127.0.0.1", 8000, "http://127.0.0.1:8000", 1, 18001, with_demo=True))
    host._referee(1)
    host._player("Ada", "random")
    (referee, line_to_referee), (player, line_to_player) = made
    others = [*SECRETS.values(), settings.SECRET_KEY, settings.LEAGUE_DEMO_KEY]
    assert not any(value in seen for value in others for seen in (referee, player))
    assert (settings.LEAGUE_REFEREE_KEY in referee, settings.LEAGUE_REFEREE_KEY in player) == (True, False)
    assert (line_to_referee, line_to_player) == ("", settings.LEAGUE_DEMO_KEY)


@pytest.mark.parametrize(
    ("sent", "line", "rest"), [(b"code\nmore", "code", b"more"), (b"-x\n", "-x", b""), (b"", "", b"")]
)
def test_only_the_first_line_of_a_pipe_is_read(sent: bytes, line: str, rest: bytes) -> None:
    end, begin = os.pipe()
    try:
        os.write(begin, sent)
        os.close(begin)
        assert read_line(end) == line
        assert os.read(end, 100) == rest
    finally:
        os.close(end)
