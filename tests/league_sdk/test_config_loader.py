"""ConfigLoader and its models (004 9.3, 10.3, 10.4), on the tree in examples/."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from league_sdk import ConfigLoader
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.registry import games
from tests.places import ROOT

EXAMPLES = ROOT / "examples" / "config"
LEAGUE = "league_2025_even_odd"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, tmp_path / "config"))


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")


def test_the_example_tree_says_what_the_league_does() -> None:
    loader, settings = ConfigLoader(EXAMPLES), LeagueSettings()
    timeouts, scoring = loader.load_system().timeouts, loader.load_league(LEAGUE).scoring
    assert (timeouts.game_join_ack_timeout_sec, timeouts.move_timeout_sec) == (5, 30)
    assert timeouts.generic_response_timeout_sec == settings.generic_timeout_s
    assert (scoring.win_points, scoring.draw_points, scoring.loss_points) == (3, 1, 0)
    assert loader.load_system().default_league_id == LEAGUE
    assert loader.get_game("even_odd").max_round_time_sec == games()["even_odd"].max_round_time_sec
    assert [referee.referee_id for referee in loader.load_agents().referees] == ["REF01", "REF02"]
    assert loader.get_player_by_id("P03").default_endpoint == "http://127.0.0.1:8103/mcp"
    assert loader.get_referee_by_id("REF02").display_name == "Referee Beta"
    assert loader.load_defaults("player")["port"] == 8101


def test_each_file_is_read_once(tree: Path) -> None:
    loader = ConfigLoader(tree)
    first = (
        loader.load_system(),
        loader.load_agents(),
        loader.load_league(LEAGUE),
        loader.load_games_registry(),
    )
    shutil.rmtree(tree)
    again = (
        loader.load_system(),
        loader.load_agents(),
        loader.load_league(LEAGUE),
        loader.load_games_registry(),
    )
    assert all(left is right for left, right in zip(first, again, strict=True))


def test_unknown_fields_are_tolerated(tree: Path) -> None:
    change(tree / "system.json", added_by="someone")
    assert ConfigLoader(tree).load_system() == ConfigLoader(EXAMPLES).load_system()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"timeouts": {}}, "field timeouts.register_referee_timeout_sec is missing"),
        ({"system_id": 7}, "field system_id must be str, not int"),
        ({"network": []}, "network must be an object, not list"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_field(tree: Path, fields: dict[str, object], sentence: str) -> None:
    change(tree / "system.json", **fields)
    with pytest.raises(ValueError, match="system") as error:
        ConfigLoader(tree).load_system()
    assert str(error.value) == f"{tree / 'system.json'}: {sentence}"


def test_an_item_of_a_list_is_named_by_its_place(tree: Path) -> None:
    change(tree / "agents" / "agents_config.json", players=[{"player_id": "P01"}])
    with pytest.raises(ValueError, match=r"agents_config\.json: field players\[0\]\.display_name is missing"):
        ConfigLoader(tree).load_agents()


def test_a_boolean_is_no_number(tree: Path) -> None:
    change(tree / "leagues" / f"{LEAGUE}.json", scoring={"win_points": True, "draw_points": 1, "loss_points": 0})
    with pytest.raises(ValueError, match=r"field scoring\.win_points must be int, not bool"):
        ConfigLoader(tree).load_league(LEAGUE)


def test_a_registry_as_a_list_is_read_too(tree: Path) -> None:
    path = tree / "games" / "games_registry.json"
    rows = list(json.loads(path.read_text(encoding="utf-8"))["game_registry"].values())
    path.write_text(json.dumps({"schema_version": "1.0.0", "games": rows}), encoding="utf-8")
    assert ConfigLoader(tree).load_games_registry() == ConfigLoader(EXAMPLES).load_games_registry()


def test_broken_and_missing_files(tree: Path) -> None:
    (tree / "system.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"system\.json: not JSON"):
        ConfigLoader(tree).load_system()
    with pytest.raises(FileNotFoundError):
        ConfigLoader(tree).load_league("another")


@pytest.mark.parametrize("name", ["../system", "a/b", "", "x" * 65])
def test_an_id_never_leaves_the_folder(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name"):
        ConfigLoader(EXAMPLES).load_league(name)


def test_unknown_ids() -> None:
    loader = ConfigLoader(EXAMPLES)
    with pytest.raises(ValueError, match=r"^Player not found: P99$"):
        loader.get_player_by_id("P99")
    with pytest.raises(ValueError, match=r"^Referee not found: REF99$"):
        loader.get_referee_by_id("REF99")


def test_importing_the_sdk_is_cheap() -> None:
    """A student's script that only reads a file does not wait for an HTTP stack."""
    heavy = "{'aiohttp', 'asyncio', 'django', 'httpx', 'pydantic'}"
    code = f"import sys, league_sdk; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
