"""Every capability has one end-to-end test in `make test`."""

from __future__ import annotations

import ast

import pytest

from tests.e2e.capabilities import CAPABILITIES
from tests.paths import ROOT


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_test_of_a_capability_exists_and_is_not_long(capability: str) -> None:
    file, _, name = CAPABILITIES[capability].partition("::")
    tree = ast.parse((ROOT / "tests" / "e2e" / file).read_text(encoding="utf-8"))
    found = [one for one in tree.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) and one.name == name]
    assert [[mark for mark in one.decorator_list if ast.unparse(mark) == "pytest.mark.long"] for one in found] == [[]]
    of_module = [ast.unparse(one) for one in tree.body if isinstance(one, ast.Assign)]
    assert [one for one in of_module if one.startswith("pytestmark =") and "pytest.mark.long" in one] == []


def test_no_test_is_listed_for_two_capabilities() -> None:
    assert len(set(CAPABILITIES.values())) == len(CAPABILITIES)
