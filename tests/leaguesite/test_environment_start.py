"""The site at its start: it closes its data folder to other users, and names in one sentence what it cannot use."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from leaguesite import environment
from leaguesite.environment import BASE_DIR, UnusableData, data_folder, read_or_make_key
from leaguesite.hosting.place import lock_data_folder
from tests.e2e.ports import free_port


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def manage(data: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LEAGUE_", "DJANGO_", "DATABASE_", "REDIS_"))
    }
    return subprocess.run(
        [sys.executable, "manage.py", *words, "--data", str(data)],
        cwd=BASE_DIR,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Assert that a command failed with a sentence, which contains these parts, and no traceback."""
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert [part for part in parts if part not in done.stderr] == []


def test_a_data_folder_that_others_could_read_is_closed_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    monkeypatch.setenv("LEAGUE_DATA", str(folder))
    before = os.umask(0o022)
    try:
        data_folder()
        (folder / "written").touch()
    finally:
        os.umask(before)
    assert (mode(folder), mode(folder / "written")) == (0o700, 0o600)


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"\xff\x00" * 20])
def test_a_damaged_key_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setenv("LEAGUE_DATA", str(tmp_path))
    monkeypatch.delenv("LEAGUE_REFEREE_KEY", raising=False)
    good = read_or_make_key("referee_key", "LEAGUE_REFEREE_KEY")
    assert read_or_make_key("referee_key", "LEAGUE_REFEREE_KEY") == good
    path = tmp_path / "keys" / "referee_key"
    path.write_bytes(content)
    with pytest.raises(UnusableData, match="referee_key is damaged or empty"):
        read_or_make_key("referee_key", "LEAGUE_REFEREE_KEY")
    assert path.read_bytes() == content


def test_a_data_folder_that_cannot_be_written_to_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_DATA", str(tmp_path))
    monkeypatch.setattr(environment.os, "access", lambda *_: False)
    with pytest.raises(UnusableData, match="cannot be written to"):
        data_folder()


def test_prepare_says_what_is_wrong_with_the_environment_or_the_data_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert_refused(manage(file, "prepare"), str(file), "--data")
    assert_refused(
        manage(tmp_path / "a", "prepare", LEAGUE_TRUSTED_PROXIES="nonsense"), "LEAGUE_TRUSTED_PROXIES", "expected"
    )
    data = tmp_path / "data"
    (data / "keys").mkdir(parents=True)
    (data / "keys" / "secret_key").touch()
    assert_refused(manage(data, "prepare"), "secret_key is damaged or empty")
    (data / "keys" / "secret_key").unlink()
    (data / "league.sqlite3").write_bytes(b"garbage " * 1000)
    assert_refused(manage(data, "prepare"), "league.sqlite3 cannot be used", "backup")


@pytest.mark.exhaustive
def test_the_host_says_that_its_ports_are_damaged_or_its_folder_in_use(tmp_path: Path) -> None:
    command = ("host", "--port", str(free_port()), "--no-demo", "--referees", "0")
    (tmp_path / "ports.json").write_text('{"Referee 1": "8001"}')
    assert_refused(manage(tmp_path, *command), "ports.json is damaged")
    lock_fd = lock_data_folder(tmp_path, "process 1234, port 8000")
    try:
        assert_refused(manage(tmp_path, *command), "in use by another host (process 1234, port 8000)", "--data")
        assert os.get_inheritable(lock_fd) is False
    finally:
        os.close(lock_fd)
    os.close(lock_data_folder(tmp_path, "the next one"))


@pytest.mark.parametrize(("text", "number"), [(None, 0), ("", 0), (" 30 ", 30), ("0", 0)])
def test_a_whole_number_is_read_from_the_environment(text: str | None, number: int) -> None:
    environ = {} if text is None else {"LEAGUE_SHARED_DAYS": text}
    assert environment.whole_number("LEAGUE_SHARED_DAYS", 100, environ) == number


@pytest.mark.parametrize("text", ["-1", "1.5", "ten", "101", "9" * 5000, "٣"])
def test_what_is_no_whole_number_is_named_with_its_variable(text: str) -> None:
    with pytest.raises(ValueError, match=r"LEAGUE_SHARED_DAYS is .*, not a whole number from 0 to 100"):
        environment.whole_number("LEAGUE_SHARED_DAYS", 100, {"LEAGUE_SHARED_DAYS": text})
