"""ConfigLoader and its models, with the files in examples/config (004 9.3, 10.3, 10.4)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from league_sdk import ConfigLoader
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.registry import games
from tests.paths import ROOT

EXAMPLES = ROOT / "examples" / "config"
LEAGUE = "league_2025_even_odd"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, tmp_path / "config"))


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")


def test_the_example_configuration_agrees_with_the_league() -> None:
    loader, settings = ConfigLoader(EXAMPLES), LeagueSettings()
    timeouts, scoring = loader.load_system().timeouts, loader.load_league(LEAGUE).scoring
    assert timeouts.game_join_ack_timeout_sec == settings.join_timeout_s
    assert timeouts.move_timeout_sec == settings.move_timeout_s
    assert timeouts.generic_response_timeout_sec == settings.generic_timeout_s
    points = settings.win_points, settings.draw_points, settings.loss_points
    assert (scoring.win_points, scoring.draw_points, scoring.loss_points) == points
    assert loader.load_system().default_league_id == LEAGUE
    assert loader.get_game("even_odd").max_round_time_sec == games()["even_odd"].max_round_time_sec
    assert [referee.referee_id for referee in loader.load_agents().referees] == ["REF01", "REF02"]
    assert loader.get_player_by_id("P03").default_endpoint == "http://127.0.0.1:8103/mcp"
    assert loader.get_referee_by_id("REF02").display_name == "Referee Beta"
    assert loader.load_defaults("player")["port"] == 8101


def test_the_loader_reads_each_file_once(tree: Path) -> None:
    loader = ConfigLoader(tree)
    loads = (loader.load_system, loader.load_agents, lambda: loader.load_league(LEAGUE), loader.load_games_registry)
    first = [load() for load in loads]
    shutil.rmtree(tree)
    assert [id(load()) for load in loads] == [id(config) for config in first]


def test_the_loader_ignores_unknown_fields(tree: Path) -> None:
    change(tree / "system.json", added_by="someone")
    assert ConfigLoader(tree).load_system() == ConfigLoader(EXAMPLES).load_system()


@pytest.mark.parametrize(
    ("file", "fields", "sentence"),
    [
        ("system.json", {"timeouts": {}}, "field timeouts.register_referee_timeout_sec is missing"),
        ("system.json", {"system_id": 7}, "field system_id must be str, not int"),
        ("system.json", {"network": []}, "network must be an object, not list"),
        ("agents/agents_config.json", {"players": [{"player_id": "P01"}]}, "field players[0].display_name is missing"),
        (f"leagues/{LEAGUE}.json", {"scoring": {"win_points": True}}, "field scoring.win_points must be int, not bool"),
    ],
)
def test_the_loader_names_file_and_field_of_an_error(
    tree: Path, file: str, fields: dict[str, object], sentence: str
) -> None:
    change(tree / file, **fields)
    loader = ConfigLoader(tree)
    loads = {"system.json": loader.load_system, "agents/agents_config.json": loader.load_agents}
    with pytest.raises(ValueError, match=r"field|object") as error:
        loads.get(file, lambda: loader.load_league(LEAGUE))()
    assert str(error.value) == f"{tree / file}: {sentence}"


def test_the_loader_reads_a_games_registry_that_is_a_list(tree: Path) -> None:
    path = tree / "games" / "games_registry.json"
    rows = list(json.loads(path.read_text(encoding="utf-8"))["game_registry"].values())
    path.write_text(json.dumps({"schema_version": "1.0.0", "games": rows}), encoding="utf-8")
    assert ConfigLoader(tree).load_games_registry() == ConfigLoader(EXAMPLES).load_games_registry()


def test_the_loader_refuses_broken_and_missing_files(tree: Path) -> None:
    (tree / "system.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"system\.json: not JSON"):
        ConfigLoader(tree).load_system()
    with pytest.raises(FileNotFoundError):
        ConfigLoader(tree).load_league("another")


@pytest.mark.parametrize("name", ["../system", "a/b", "", "x" * 65])
def test_the_loader_refuses_ids_that_are_not_file_names(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name"):
        ConfigLoader(EXAMPLES).load_league(name)


def test_the_loader_refuses_unknown_ids() -> None:
    loader = ConfigLoader(EXAMPLES)
    with pytest.raises(ValueError, match=r"^Player not found: P99$"):
        loader.get_player_by_id("P99")
    with pytest.raises(ValueError, match=r"^Referee not found: REF99$"):
        loader.get_referee_by_id("REF99")


def test_importing_the_sdk_loads_no_heavy_packages() -> None:
    """A script that only reads a file should not have to load an HTTP client."""
    heavy = "{'aiohttp', 'asyncio', 'django', 'httpx', 'pydantic'}"
    code = f"import sys, league_sdk; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
