"""A neighbour asks for the dearest public answers in a loop while matches are played: no heartbeat is lost.

Judged by what the league manager counted of the referees' calls, and by the number of attempts that each match took.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests import wire
from tests.e2e.site import Site, league_with_players, wait_for

pytestmark = pytest.mark.e2e
CROWD = 120
LOOPS = 6
NEIGHBOUR, STUDENT = "127.0.0.3", "127.0.0.2"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with one referee and a league whose schedule has 7,140 matches."""
    site = Site(tmp_path_factory.mktemp("neighbours") / "data", "--no-demo", "--referees", "1")
    try:
        site.create("crowd")
        for number in range(CROWD):
            request = wire.player_request(f"Crowd {number}", port=20_000 + number, league_id="crowd")
            answer = site.http.post("/mcp", json=wire.request("register_player", request))
            assert answer.json()["result"]["status"] == "ACCEPTED", answer.text
        site.post("/leagues/crowd/close")
        yield site
    finally:
        site.close()


@contextmanager
def neighbour(site: Site, *ways: tuple[str, str]) -> Iterator[list[int]]:
    """Somebody at another address asks in several loops; the statuses of the answers that came."""
    over, statuses = threading.Event(), list[int]()

    def loop(number: int) -> None:
        transport = httpx.HTTPTransport(local_address=NEIGHBOUR)
        with httpx.Client(base_url=site.url, transport=transport, timeout=120) as client:
            while not over.is_set():
                way, what = ways[number % len(ways)]
                if way == "page":
                    found = client.get(what)
                else:
                    found = client.post("/mcp", json=wire.request(what, {"league_id": "crowd", "limit": way or None}))
                statuses.append(found.status_code)

    with ThreadPoolExecutor(LOOPS) as threads:
        running = [threads.submit(loop, number) for number in range(LOOPS)]
        try:
            wait_for("the neighbour is answered", lambda: statuses)
            yield statuses
        finally:
            over.set()
    for one in running:
        one.result()


def outcomes(site: Site, message_type: str) -> set[str]:
    """What calls of a type were answered with so far: ok, or the code of an error."""
    found = site.http.get("/metrics").text
    return set(re.findall(rf'league_agent_calls_total{{message_type="{message_type}",outcome="(\w+)"}}', found))


def test_no_match_is_played_again_because_of_a_neighbour(site: Site, tmp_path: Path) -> None:
    ways = [
        ("", "get_schedule"),
        ("5000", "get_schedule"),
        ("page", "/api/leagues/crowd/rounds"),
        ("", "get_standings"),
    ]
    student = httpx.Client(transport=httpx.HTTPTransport(local_address=STUDENT), timeout=60)
    with student, league_with_players(site, "small", 4, tmp_path, referee_lease_s=3) as players:
        with neighbour(site, *ways) as statuses:
            site.post("/leagues/small/start", {"auto_advance": True})
            while site.get("/leagues/small")["status"] != "COMPLETED":
                pinged = student.post(f"{site.url}/mcp", json=wire.request("ping", {}))
                assert pinged.json()["result"] == {"status": "ok"}
        for player in players:
            player.wait_for_last_message()
        matches = site.get("/leagues/small/matches")
        assert [(one["state"], one["attempt"]) for one in matches] == [("FINISHED", 1)] * 6
        ended = [
            message["match_id"]
            for player in players
            for message in player.messages()
            if message["message_type"] == "GAME_OVER"
        ]
        assert sorted(ended) == sorted(2 * [one["match_id"] for one in matches])
    assert outcomes(site, "report_progress") == {"ok"}
    assert outcomes(site, "MATCH_RESULT_REPORT") == {"ok"}
    assert 200 in statuses
    assert set(statuses) <= {200, 429}


def test_a_whole_schedule_comes_in_parts_of_a_mebibyte_at_most(site: Site) -> None:
    found: list[str] = []
    cursor = None
    parts = 0
    while parts == 0 or cursor is not None:
        request = wire.request("get_schedule", {"league_id": "crowd", "cursor": cursor})
        answer = site.http.post("/mcp", json=request)
        assert len(answer.content) <= 1024 * 1024
        data = answer.json()["result"]["data"]
        found += [match["match_id"] for one in data["rounds"] for match in one["matches"]]
        cursor = data.get("next_cursor")
        parts += 1
    assert (len(found), len(set(found))) == (CROWD * (CROWD - 1) // 2,) * 2
    assert parts > 1
