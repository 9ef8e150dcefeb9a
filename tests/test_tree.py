"""The folders of tests mirror the packages.

Tests of ``matches/league/results.py`` are ``tests/matches/league/test_results*.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.paths import ROOT

PACKAGES = ("agents_registry", "league_sdk", "leaguesite", "matches", "storage")


def subjects(folder: Path) -> set[str]:
    """The names that tests of a folder of the product may have: those of the folder and of its contents."""
    names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    return names - {"__init__"} | {folder.name}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_test_file_is_in_the_folder_of_what_it_tests(package: str) -> None:
    wrong = []
    tests = sorted((ROOT / "tests" / package).rglob("test_*.py"))
    assert tests
    for test in tests:
        path = test.relative_to(ROOT / "tests")
        folder, name = ROOT / path.parent, path.stem.removeprefix("test_")
        named = folder.is_dir() and any(name == one or name.startswith(f"{one}_") for one in subjects(folder))
        if not named:
            wrong.append(str(path))
    assert wrong == []
