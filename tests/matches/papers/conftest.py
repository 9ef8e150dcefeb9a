from __future__ import annotations

import json
from typing import Any

import pytest

from tests import rich
from tests.matches.papers.exporting import emptied, exported


@pytest.fixture(scope="module")
def _kept() -> dict[str, bytes]:
    return {}


@pytest.fixture
def document(_kept: dict[str, bytes]) -> Any:
    """A league's document to spoil; nothing of it is here any more."""
    if "data" not in _kept:
        rich.over()
        _kept["data"] = exported()
        emptied()
    return json.loads(_kept["data"])
