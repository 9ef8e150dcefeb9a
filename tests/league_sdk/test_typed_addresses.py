"""Addresses on command lines: a sentence says which text is not one, and no command ends with a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from league_sdk import cli
from league_sdk.judging.__main__ import main as run_referee
from league_sdk.typed_addresses import read_address

WRONG = ("http://host:abc/mcp", "http://[::1/mcp", "http://127.0.0.1:99999/mcp", "http://a b/mcp", "http://\x01/mcp")


@pytest.mark.parametrize("text", [*WRONG, "nonsense", "", "ftp://site/mcp", "http://", "http://host:0/", "http:///mcp"])
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address such as http://127\.0\.0\.1:8000/mcp$"):
        read_address(text)


@pytest.mark.parametrize(
    "text", ["http://127.0.0.1:8000", "https://site.example/mcp", "http://[::1]:8000/", "HTTP://b\u00fc/"]
)
def test_an_address_is_read(text: str) -> None:
    assert read_address(text).host


COMMANDS: list[tuple[Callable[[list[str]], object], list[str]]] = [
    (cli.main, ["watch", "--once"]),
    (cli.main, ["check"]),
    (cli.main, ["spar"]),
    (cli.main, ["verify"]),
    (cli.main, ["bridge", "--agent", "http://127.0.0.1:8101/mcp", "--league"]),
    (cli.main, ["bridge", "--league", "http://127.0.0.1:8000/mcp", "--agent"]),
    (cli.main, ["play", "mine.py", "--name", "Ada", "--league"]),
    (cli.main, ["new", "agent", "--league"]),
    (run_referee, ["--league"]),
]


@pytest.mark.parametrize("address", WRONG)
@pytest.mark.parametrize(
    ("program", "arguments"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_command_says_that_an_address_is_wrong(
    program: Callable[[list[str]], object],
    arguments: list[str],
    address: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("from league_sdk.strategies import Strategy\n", encoding="utf-8")
    ended: object = None
    try:
        ended = program([*arguments, address])
    except SystemExit as end:
        ended = end.code
    printed = capsys.readouterr()
    assert ended in (1, 2)
    assert "is not an address" in " ".join((printed.out + printed.err + caplog.text).split())
