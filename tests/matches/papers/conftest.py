from __future__ import annotations

import json
from typing import Any

import pytest

from tests import rich
from tests.matches.papers.exporting import empty_site, exported_json


@pytest.fixture(scope="module")
def _exported_once() -> dict[str, bytes]:
    return {}


@pytest.fixture
def document(_exported_once: dict[str, bytes]) -> Any:
    """The document of an exported league, for a test to change; the league is not in the database any more."""
    if "data" not in _exported_once:
        rich.over()
        _exported_once["data"] = exported_json()
        empty_site()
    return json.loads(_exported_once["data"])
