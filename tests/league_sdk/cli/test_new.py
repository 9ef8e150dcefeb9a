"""``league new``: what is written, and what is left alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from league_sdk.cli import main
from league_sdk.kits import LANGUAGES
from league_sdk.player.loading import load


def test_the_file_that_is_written_can_play_and_the_next_commands_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "ada.py"]) == 0
    assert "league play ada.py --league http://127.0.0.1:8000/mcp" in capsys.readouterr().out
    assert "league local ada.py" in Path("ada.py").read_text(encoding="utf-8")
    assert load("ada.py")().choose(["odd"], {}) == "odd"


def test_a_file_with_backslashes_in_its_name_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here the backslashes are a part of the name; \U begins the number of a character in a text of Python.
    monkeypatch.chdir(tmp_path)
    assert main(["new", r"C:\Users\ada.py"]) == 0
    assert load(r"C:\Users\ada.py")().choose(["odd"], {}) == "odd"


def test_what_was_written_is_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "mine.py")
    assert main(["new", path, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["written"] == path
    assert [command.split()[1] for command, _what in output["commands"]] == ["local", "check", "play"]


def test_a_file_that_exists_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text("precious", encoding="utf-8")
    assert main(["new", str(path)]) == 1
    assert path.read_text(encoding="utf-8") == "precious"
    assert "exists already: nothing was changed." in " ".join(capsys.readouterr().err.split())


def test_a_missing_folder_and_wrong_arguments_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", str(tmp_path / "nowhere" / "mine.py")]) == 1
    assert "cannot be written: No such file or directory." in " ".join(capsys.readouterr().err.split())
    assert main(["new", "mine.txt"]) == 2
    assert main(["new", "--language", "cobol"]) == 2
    assert main(["new", "--league", "nowhere"]) == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_kit_is_written_for_a_league(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["new", "--language", language, "--league", "http://class.example:8000/leagues/fall/mcp"]
    assert main([*command, "--game", "connect_four"]) == 0
    folder = tmp_path / f"my-agent-{language}"
    output = " ".join(capsys.readouterr().out.split())
    assert f'{LANGUAGES[language].start} --name "My Agent"' in output
    settings = json.loads((folder / "league.json").read_text(encoding="utf-8"))
    assert settings["league"] == "http://class.example:8000/leagues/fall/mcp"
    assert settings["game_types"] == ["connect_four"]
    written = sorted(path.name for path in folder.iterdir())
    assert written == sorted([*LANGUAGES[language].files, "README.md", "bridge.py", "league.json", ".gitignore"])
    assert "{" not in (folder / "README.md").read_text(encoding="utf-8").replace("{LANG", "")
    # A second time nothing is changed.
    assert main(command) == 1
    assert "exists already and is not empty" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_program_of_a_kit_starts_and_asks_for_a_name(language: str, tmp_path: Path) -> None:
    program = LANGUAGES[language].start.split()
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    assert main(["new", str(tmp_path / "kit"), "--language", language]) == 0
    done = subprocess.run(program, cwd=tmp_path / "kit", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--name" in done.stdout + done.stderr
