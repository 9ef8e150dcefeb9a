"""Which paths agents call, which paths are of files that take long to make, and that the former have routes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import resolve

from leaguesite.serving.paths import IMPORTS, is_agent_path, is_paper_path

AGENTS_CALL = {
    "/mcp": "mcp_endpoint",
    "/leagues/fall/mcp": "league_mcp_endpoint",
    "/register": "register_endpoint",
    "/register_player": "register_endpoint",
    "/api/register": "register_endpoint",
    "/leagues/fall/register": "league_register_endpoint",
}


@pytest.mark.parametrize(("path", "name"), AGENTS_CALL.items())
@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize("case", [str, lambda path: path.replace("fall", "").upper().replace("//", "/fall/")])
def test_paths_of_agents_are_known_in_any_case_and_have_routes(
    path: str, name: str, end: str, case: Callable[[str], str]
) -> None:
    path = case(path)
    route = resolve(path + end)
    assert is_agent_path(path + end)
    assert (route.view_name, route.kwargs.get("league_id")) == (f"api:{name}", "fall" if "fall" in path else None)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/api/leagues", "/leagues/fall/", "/leagues/fall/check", "/leagues/a/b/mcp", "/leagues//mcp"),
        *("/registered", "/mcpx", "/mcp\n", "/mcp//", "/admin/leagues/mcp"),
    ],
)
def test_other_paths_are_not_for_agents(path: str) -> None:
    assert not is_agent_path(path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/admin/matches/league/fall/papers/", True),
        ("/admin/matches/league/fall/papers/league.zip", True),
        ("/admin/matches/league/fall/papers/evidence/", True),
        *((path, True) for path in IMPORTS),
        ("/api/leagues/fall/export/league.zip", True),
        ("/api/leagues/fall/evidence", True),
        ("/api/leagues/fall/events", False),
        ("/admin/matches/league/fall/", False),
        ("/admin/matches/league/papers/", True),
        ("/leagues/papers/papers/", False),
        ("/mcp", False),
    ],
)
def test_paths_of_exports_imports_and_evidence_are_those_of_papers(path: str, expected: bool) -> None:
    assert is_paper_path(path) is expected
