"""The address of an agent that the site passes on to other agents."""

from __future__ import annotations

from typing import Any

import pytest

from agents_registry.models import Agent, Kind

PUBLIC = "https://league.example.org"


@pytest.mark.parametrize(
    ("public", "endpoint", "site_key", "expected"),
    [
        (PUBLIC, "inbox://7", False, f"{PUBLIC}/mcp"),
        # A referee of the site behind a tunnel is called at the site's address.
        (PUBLIC, "http://127.0.0.1:8001/mcp", True, f"{PUBLIC}/mcp"),
        (PUBLIC, "http://127.0.0.1:8001/mcp", False, "http://127.0.0.1:8001/mcp"),
        ("http://10.0.0.5:8000", "http://10.0.0.5:8001/mcp", True, "http://10.0.0.5:8001/mcp"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8001/mcp", True, "http://127.0.0.1:8001/mcp"),
        ("http://127.0.0.1:8000", "inbox://7", False, "http://127.0.0.1:8000/mcp"),
    ],
)
def test_which_address_of_an_agent_others_are_told(
    settings: Any, public: str, endpoint: str, site_key: bool, expected: str
) -> None:
    settings.LEAGUE_PUBLIC_URL = public
    assert Agent(kind=Kind.REFEREE, endpoint=endpoint, site_key=site_key).told_endpoint == expected
