"""A player that takes its name, games, address and league from agents_config.json of the course."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from league_sdk.player import app
from league_sdk.player.configured import options_of, options_on
from tests.paths import ROOT

SAMPLE = ROOT / "examples" / "config"
OPTIONS_OF_P02 = {
    "name": "Agent Beta",
    "host": "127.0.0.1",
    "port": 8102,
    "league": "http://127.0.0.1:8000/mcp",
    "game": ["even_odd"],
    "league_id": "league_2025_even_odd",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "config"))


def change(folder: Path, **fields: Any) -> Path:
    """Change fields of P02; returns the file."""
    path = folder / "agents" / "agents_config.json"
    content = json.loads(path.read_text())
    content["players"][1].update(fields)
    path.write_text(json.dumps(content))
    return path


def test_a_player_of_the_sample_is_read() -> None:
    assert options_of(SAMPLE, "P02") == OPTIONS_OF_P02
    assert options_on(["--config", str(SAMPLE), "--player=P02", "--data", "x"]) == OPTIONS_OF_P02
    assert options_on(["--name", "Own"]) == {}
    with pytest.raises(ValueError, match=r"--player names a player of .*: say with --config"):
        options_on(["--player", "P02"])


def test_fields_that_are_empty_or_not_unique_are_left_out(folder: Path) -> None:
    change(folder, default_endpoint="", preferred_leagues=["a", "b"], game_types=[])
    assert options_of(folder, "P02") == {"name": "Agent Beta", "league": "http://127.0.0.1:8000/mcp"}


@pytest.mark.parametrize("player", [None, "P01"])
def test_a_file_without_players_is_refused(folder: Path, player: str | None) -> None:
    path = change(folder)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"players": []}))
    with pytest.raises(ValueError, match=r"field players is empty: it must have the player$"):
        options_of(folder, player)


@pytest.mark.parametrize(
    ("player", "fields", "expected"),
    [
        ("P09", {}, "field players has no 'P09', only: P01, P02, P03, P04"),
        (None, {}, "say with --player which one this is: P01, P02, P03, P04"),
        ("P02", {"active": False}, "field players[1].active is false: this player is not to play"),
        ("P02", {"display_name": 7}, "field players[1].display_name must be str, not int"),
        (
            "P02",
            {"default_endpoint": "x:y"},
            "field players[1].default_endpoint is 'x:y', and must be http://HOST:PORT",
        ),
        ("P02", {"default_endpoint": "http://h:99999/"}, "and must be http://HOST:PORT/mcp"),
    ],
)
def test_a_mistake_names_the_file_and_what_is_wrong(
    folder: Path, player: str | None, fields: dict[str, Any], expected: str
) -> None:
    path = change(folder, **fields)
    with pytest.raises(ValueError, match="agents_config") as wrong:
        options_of(folder, player)
    assert str(wrong.value).startswith(str(path)) and expected in str(wrong.value)


def test_the_program_ends_if_the_configuration_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        app.run(arguments=["--config", str(tmp_path), "--player", "P02"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("agents_config.json cannot be read: No such file or directory\n")


def test_options_of_the_command_line_go_before_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    async def play(options: Any, make: Any) -> int:
        seen.append(options)
        return 0

    monkeypatch.setattr(app, "_main", play)
    config = ["--config", str(SAMPLE), "--player", "P02"]
    assert app.run(arguments=config) == app.run(arguments=[*config, "--name", "Own", "--port", "0"]) == 0
    assert app.run(arguments=[*config, "--game", "tic_tac_toe", "--league", "http://127.0.0.1:9/mcp"]) == 0
    parts = [(one.name, one.port, one.game, one.league, one.league_id) for one in seen]
    league_id, league_url = "league_2025_even_odd", "http://127.0.0.1:8000/mcp"
    assert parts == [
        ("Agent Beta", 8102, ["even_odd"], league_url, league_id),
        ("Own", 0, ["even_odd"], league_url, league_id),
        ("Agent Beta", 8102, ["tic_tac_toe"], "http://127.0.0.1:9/mcp", league_id),
    ]
