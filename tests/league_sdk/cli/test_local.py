"""``league local``: what is printed, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from league_sdk.cli import main

MINE = "class Mine:\n    def choose(self, options, context):\n        return 'odd'\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's file in an empty folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_a_league_is_played_and_shown(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "mine.py", "--matches", "4", "--against", "random,mine.py", "--seed", "1"]) == 0
    out, err = capsys.readouterr()
    out = " ".join(out.split())
    assert err == ""
    assert out.startswith("Even/Odd: 12 matches, ")
    assert "mine 1 against random: won " in out
    assert "mine 1 against mine 2: won 0, drawn 4, lost 0 of 4, 50 % (15 to 85): could be chance" in out
    # The message that mine 1 answered worst: not at all, wrongly, or slowest.
    assert "The worst message to mine 1 is " in out
    assert "\x1b" not in out


def test_everything_is_printed_as_json(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "mine.py", "--matches", "2", "--against", "careful", "--game", "connect_four", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["game_type"], found["rounds"], found["matches"]) == ("connect_four", 2, 2)
    assert {row["display_name"] for row in found["table"]} == {"mine", "careful"}


def test_mistakes_are_told_with_their_line_and_fail(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine.write_text(MINE.replace("'odd'", "context['[bold]\\x1b[2J']"), encoding="utf-8")
    assert main(["local", "mine.py", "--matches", "2", "--against", "even"]) == 1
    out = capsys.readouterr().out
    assert "mine failed 2 times; where that cost a move, a random one was played instead:" in out
    assert "2 x choose(): KeyError: '[bold]\\x1b[2J' (mine.py, line 3)" in out


def test_a_move_that_is_not_allowed_is_a_mistake(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine.write_text(MINE.replace("'odd'", "'Odd'"), encoding="utf-8")
    assert main(["local", "mine.py", "--matches", "1", "--against", "even"]) == 1
    assert "1 x choose(): gave 'Odd', not one of ['even', 'odd']" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing.py"], "There is no file nothing.py in "),
        (["mine.py", "--against", ""], "A league has 2 to 20 players, yours among them; --against names 0."),
        (["mine.py", "--against", "random,clever"], "'clever' is neither a Python file nor a strategy"),
        (["mine.py", "--game", "chess"], "There is no game 'chess' here; there are: even_odd, "),
    ],
)
def test_what_cannot_be_played_is_refused(
    arguments: list[str], sentence: str, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["local", *arguments]) == 2
    assert sentence in capsys.readouterr().err
