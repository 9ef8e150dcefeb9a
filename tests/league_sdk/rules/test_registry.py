"""The registry of games, and games that other packages add (004 3.8.3, 3.8.4, 9.3.4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from league_sdk.rules.registry import describe, games, get_game
from tests.paths import ROOT
from tests.sizes import sampled

COIN = dedent(
    '''
    """A game of another package."""
    from league_sdk.rules.even_odd import EvenOdd
    from league_sdk.rules.game import Game


    class Coin(EvenOdd):
        game_type = "coin"
        display_name = "Coin"
        move_type = "call"
        valid_choices = ("heads", "tails")


    class Nameless(Coin):
        display_name = ""


    class Impostor(Coin):
        game_type = "even_odd"


    class Elsewhere(Coin):
        game_type = "elsewhere"
        drawing = "../../secrets"


    class Unfinished(Game):
        game_type = "unfinished"


    NOT_A_GAME = dict
    '''
)

PRINT_REGISTRY = dedent(
    """
    import json, logging, sys
    logging.basicConfig(stream=sys.stderr, format="LOG %(name)s %(levelname)s %(message)s")
    from league_sdk.rules.registry import describe, games
    print(json.dumps({"games": list(games()), "described": describe(), "even_odd": type(games()["even_odd"]).__name__}))
    """
)


def install(folder: Path, entry_points: dict[str, str]) -> None:
    """Create an installed package: its module and its metadata."""
    (folder / "coin_game.py").write_text(COIN, encoding="utf-8")
    info = folder / "coin_game-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-game\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[league_sdk.games]", *lines, ""]), encoding="utf-8")


def registry_with(folder: Path) -> tuple[dict[str, object], list[str]]:
    """The registry in a new process with the folder on its path, and the lines that it logs."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_REGISTRY], env=environment, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), [line for line in done.stderr.splitlines() if line.startswith("LOG ")]


OURS = ["even_odd", "even_odd_numbers", "tic_tac_toe", "connect_four"]


def test_the_registry_has_our_games_with_their_moves() -> None:
    assert list(games())[:4] == OURS
    assert {name: type(get_game(name)).__module__ for name in OURS} == {
        name: described["rules_module"] for name, described in describe().items() if name in OURS
    }
    assert {name: describe()[name]["valid_choices"] for name in OURS} == {
        "even_odd": {"choose_parity": ["even", "odd"]},
        "even_odd_numbers": {"choose_number": ["1-5"]},
        "tic_tac_toe": {"place_mark": ["0-8"]},
        "connect_four": {"drop_disc": ["0-6"]},
    }
    with pytest.raises(KeyError):
        get_game("chess")


def test_the_example_registry_equals_the_real_one() -> None:
    example = json.loads((ROOT / "examples/config/games/games_registry.json").read_text(encoding="utf-8"))
    assert example["game_registry"] == {name: describe()[name] for name in OURS}


def test_a_package_adds_a_game_by_its_entry_point(tmp_path: Path) -> None:
    install(tmp_path, {"coin": "coin_game:Coin"})
    printed, logged = registry_with(tmp_path)
    assert printed["games"] == [*OURS, "coin"]
    described = printed["described"]
    assert isinstance(described, dict)
    assert described["coin"] == {
        "game_type": "coin",
        "display_name": "Coin",
        "move_types": ["call"],
        "valid_choices": {"call": ["heads", "tails"]},
        "min_players": 2,
        "max_players": 2,
        "rules_module": "coin_game",
        "max_round_time_sec": 60,
    }
    assert logged == []


def broken() -> Iterator[tuple[str, str]]:
    yield "coin_game:NoSuchClass", "it could not be loaded"
    yield "no_such_module:Game", "it could not be loaded"
    yield "coin_game:Unfinished", "it could not be loaded"
    yield "coin_game:NOT_A_GAME", "it could not be loaded"
    yield "coin_game:Nameless", "it could not be loaded"
    yield "coin_game:Elsewhere", "it could not be loaded"
    yield "coin_game:Impostor", "there is a game_type 'even_odd' already"


@pytest.mark.parametrize(("value", "why"), sampled(broken()))
def test_the_registry_leaves_out_and_logs_a_game_that_cannot_be_used(tmp_path: Path, value: str, why: str) -> None:
    install(tmp_path, {"broken": value, "coin": "coin_game:Coin"})
    printed, logged = registry_with(tmp_path)
    assert (printed["games"], printed["even_odd"]) == ([*OURS, "coin"], "EvenOdd")
    assert logged == [f"LOG league_sdk.rules ERROR game broken ({value} of coin-game) is left out: {why}"]
