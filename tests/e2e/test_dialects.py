"""Agents of four dialects in a league that was told none of them. All known dialects play in ``test_zoo.py``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.site import Site
from tests.e2e.test_zoo import finished_league, started_league

pytestmark = pytest.mark.e2e
NAMES = ["Chapter8", "TypeAsMethod", "ToolsDirect", "FlatOnMcp"]


def test_agents_of_four_dialects_are_played_without_a_fault(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo")
    try:
        # Otherwise the default league would take the agents that name no league.
        site.post("/leagues/league_2025_even_odd/stop")
        with started_league(site, tmp_path, "dialects", NAMES, bridged=False) as cast:
            played = finished_league(site, "dialects", cast)
        assert (cast.unregistered, sorted(cast.ready)) == ({}, sorted(NAMES))
        assert Counter(match["state"] for match in played.matches) == {"FINISHED": 6}
        assert [match["result"]["faults"] for match in played.matches] == [[]] * 6
    finally:
        site.close()
