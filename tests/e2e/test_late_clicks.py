"""Late and repeated calls on a real site: twenty at once start one round, with and without its number."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.site import API_KEY, Site, site_with_players

pytestmark = pytest.mark.e2e
CALLS = 20


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site with four quick players in the league ``late``, whose first round is over."""
    named = {"league": "late", "player_options": ("--league-id", "late")}
    with site_with_players(tmp_path, 4, **named) as (site, _players):
        site.post("/leagues/late/start")
        site.wait_for_round("late", 1)
        yield site


def call_at_once(site: Site, body: Any) -> list[tuple[int, Any]]:
    """Send one call twenty times, on a line of its own each."""

    def call(_number: int) -> tuple[int, Any]:
        head = {"Authorization": f"Bearer {API_KEY}"}
        answer = httpx.post(f"{site.url}/api/leagues/late/rounds/start", headers=head, json=body, timeout=60)
        return answer.status_code, answer.json()

    with ThreadPoolExecutor(CALLS) as callers:
        return list(callers.map(call, range(CALLS)))


@pytest.mark.parametrize("body", [None, pytest.param({"round": 2}, marks=pytest.mark.long)])
def test_twenty_calls_at_once_start_one_round(site: Site, body: Any) -> None:
    answers = call_at_once(site, body)
    assert sorted(status for status, _ in answers) == [200] + [409] * (CALLS - 1)
    site.wait_for_round("late", 2)
    assert [one["state"] for one in site.get("/leagues/late/rounds")] == ["COMPLETED", "COMPLETED", "PENDING"]
