"""How a strategy is found in a student's file, and what is said of files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from league_sdk.player import Random, Strategy
from league_sdk.player.loading import NotLoaded, load


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "mine.py") -> str:
    """Write a student's file."""
    Path(name).write_text(text, encoding="utf-8")
    return name


PLAIN = "class Mine:\n    def choose(self, options, context):\n        return 'odd'\n"


def test_a_plain_class_with_one_method_is_a_strategy_that_plays_every_game() -> None:
    made = load(write(PLAIN))()
    assert isinstance(made, Strategy)
    assert made.choose(["even", "odd"], {}) == "odd"
    assert made.move([3], {}, {}) == 3


def test_a_subclass_of_strategy_is_taken_as_it_is_and_imports_are_not() -> None:
    source = write("from league_sdk.player import Random, Strategy\nclass Mine(Random):\n    x = 1\n")
    made = load(source)
    assert made.__name__ == "Mine"  # type: ignore[attr-defined]
    assert isinstance(made(), Random)


def test_a_function_is_enough() -> None:
    assert load(write("def choose(options, context):\n    return 'even'\n"))().choose(["odd"], {}) == "even"


def test_of_classes_that_extend_each_other_the_last_is_loaded() -> None:
    made = load(write(PLAIN + "class Better(Mine):\n    pass\n"))
    assert made.__name__ == "Better"  # type: ignore[attr-defined]


def test_of_several_classes_one_has_to_be_named() -> None:
    source = write(PLAIN + "class Other:\n    def choose(self, options, context):\n        return 'even'\n")
    with pytest.raises(NotLoaded, match=r"several classes that play: Mine, Other\. Say which: mine\.py:Mine"):
        load(source)
    assert load(f"{source}:Other")().choose([], {}) == "even"
    with pytest.raises(NotLoaded, match=r"no class Third .* Mine, Other"):
        load(f"{source}:Third")


def test_a_file_may_import_its_neighbour_and_use_dataclasses() -> None:
    write("LUCKY = 'odd'\n", "neighbour_of_mine.py")
    source = write(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom neighbour_of_mine import LUCKY\n"
        "@dataclass\nclass Mine:\n    n: int = 1\n    def choose(self, options, context):\n        return LUCKY\n"
    )
    assert load(source)().choose([], {}) == "odd"


def test_the_names_of_the_command_line_are_strategies() -> None:
    assert isinstance(load("random")(), Random)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("class Mine\n", r"mine\.py, line 1: "),
        ("import nothing_like_this\n", r"cannot be imported: ModuleNotFoundError: .* \(mine\.py, line 1\)"),
        ("x = 1\ny = x / 0\n", r"ZeroDivisionError: division by zero \(mine\.py, line 2\)"),
        ("import sys\nsys.exit(3)\n", r"ends the program when it is imported: .*\(mine\.py, line 2\)"),
        ("x = 1\n", r"has nothing that plays: write a class with a method choose\(self, options, context\)"),
        ("class Mine:\n    def choose(self): ...\n", r"line 2: choose must take \(self, options, context\)"),
        ("class Mine:\n    def __init__(self, a): ...\n" + PLAIN[12:], r"Mine\(\) cannot be made: TypeError"),
        ("def choose(options):\n    return 1\n", r"line 1: choose must take \(options, context\)"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(text: str, sentence: str) -> None:
    with pytest.raises(NotLoaded, match=sentence):
        load(write(text))


def test_a_missing_file_is_reported_with_the_folder_and_a_wrong_name_with_the_strategies() -> None:
    with pytest.raises(NotLoaded, match=r"There is no file nothing\.py in /"):
        load("nothing.py")
    with pytest.raises(NotLoaded, match=r"'radnom' is neither a Python file nor a strategy; these are: random"):
        load("radnom")


def test_missing_environment_variables_of_a_strategy_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAGUE_MODEL_URL", raising=False)
    with pytest.raises(NotLoaded, match=r"^model cannot be used: LEAGUE_MODEL_URL is missing: the model's address"):
        load("model")
