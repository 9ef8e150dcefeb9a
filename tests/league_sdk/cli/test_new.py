"""``league new``: what is written, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from league_sdk.cli import main
from league_sdk.player.loading import load


def test_what_is_written_plays_and_tells_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "ada.py"]) == 0
    assert "league play ada.py --league URL" in capsys.readouterr().out
    assert "league local ada.py" in Path("ada.py").read_text(encoding="utf-8")
    assert load("ada.py")().choose(["odd"], {}) == "odd"


def test_a_file_that_exists_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text("precious", encoding="utf-8")
    assert main(["new", str(path)]) == 1
    assert path.read_text(encoding="utf-8") == "precious"
    assert "exists already: nothing was changed." in " ".join(capsys.readouterr().err.split())


def test_a_folder_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", str(tmp_path / "nowhere" / "mine.py")]) == 1
    assert "cannot be written: No such file or directory." in " ".join(capsys.readouterr().err.split())
    assert main(["new", "mine.txt"]) == 2
