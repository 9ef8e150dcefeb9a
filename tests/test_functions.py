"""No function of the product is longer than a page."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.paths import ROOT

PACKAGES = ("agents_registry", "league_sdk", "leaguesite", "matches", "storage")
MAX_LINES = 50


def lengths(path: Path) -> dict[str, int]:
    """The number of lines of each function of a module, docstring included, by name and line."""
    functions = [
        one
        for one in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return {f"{one.name}:{one.lineno}": (one.end_lineno or one.lineno) - one.lineno + 1 for one in functions}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_is_longer_than_a_page(package: str) -> None:
    modules = {str(path.relative_to(ROOT)): path for path in sorted((ROOT / package).rglob("*.py"))}
    lengths_by_module = {name: lengths(path) for name, path in modules.items()}
    assert sum(map(len, lengths_by_module.values())) > 0
    assert [
        (name, one, n) for name, all_ in lengths_by_module.items() for one, n in all_.items() if n > MAX_LINES
    ] == []
