"""The folder SHARED of a site: rewritten by a command, and switched off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from leaguesite.hosting import shared_folder
from matches.papers.shared.projection import Projection
from matches.papers.shared.tree import Tree
from tests import factories as make


@pytest.fixture
def data(tmp_path: Path, settings: Any) -> Path:
    """The data folder."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.django_db
def test_the_command_writes_the_same_files_as_the_site(
    data: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    settings.LEAGUE_PUBLIC_URL = "https://league.example.org"
    Projection(Tree(data / "SHARED")).update()
    before = files_in(data)
    assert json.loads(before["SHARED/config/system.json"])["network"]["base_host"] == "league.example.org"
    (data / "SHARED/config/system.json").unlink()
    # The command does not know the host's command line.
    settings.LEAGUE_PUBLIC_URL = "http://127.0.0.1:8000"
    call_command("shared")
    assert files_in(data) == before
    assert capsys.readouterr().out.startswith(f"{data / 'SHARED'} is written: ")


@pytest.mark.django_db
def test_a_folder_that_cannot_be_written_is_an_error_in_one_sentence(data: Path) -> None:
    (data / "SHARED").write_text("a file")
    with pytest.raises(CommandError, match="SHARED cannot be written"):
        call_command("shared")


@pytest.mark.parametrize(("value", "expected"), [(None, True), ("1", True), ("0", False)])
def test_writing_the_folder_can_be_switched_off(
    monkeypatch: pytest.MonkeyPatch, value: str | None, expected: bool
) -> None:
    monkeypatch.delenv(shared_folder.SWITCH, raising=False)
    if value is not None:
        monkeypatch.setenv(shared_folder.SWITCH, value)
    assert shared_folder.is_wanted() is expected
