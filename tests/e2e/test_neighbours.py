"""A neighbour asks for the most expensive public data in a loop while matches are played: no heartbeat is lost.

A lost heartbeat would show in the league manager's counters of the referees' calls, or as a second attempt of a match.
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
def neighbour(site: Site, *requests: tuple[str, str]) -> Iterator[list[int]]:
    """Ask in several loops from another address, until the block ends; yields the HTTP statuses of the answers.

    Args:
        site: the site.
        requests: each is ``("page", path)``, or the limit of a query (empty: none) and its method.
    """
    ended_by_test, statuses = threading.Event(), list[int]()

    def loop(number: int) -> None:
        transport = httpx.HTTPTransport(local_address=NEIGHBOUR)
        with httpx.Client(base_url=site.url, transport=transport, timeout=120) as client:
            while not ended_by_test.is_set():
                kind, target = requests[number % len(requests)]
                if kind == "page":
                    answer = client.get(target)
                else:
                    query = {"league_id": "crowd", "limit": kind or None}
                    answer = client.post("/mcp", json=wire.request(target, query))
                statuses.append(answer.status_code)

    with ThreadPoolExecutor(LOOPS) as threads:
        running = [threads.submit(loop, number) for number in range(LOOPS)]
        try:
            wait_for("the neighbour is answered", lambda: statuses)
            yield statuses
        finally:
            ended_by_test.set()
    for one in running:
        one.result()


def outcomes(site: Site, message_type: str) -> set[str]:
    """How calls of a type have been answered so far: ok, or the code of an error."""
    metrics = site.http.get("/metrics").text
    return set(re.findall(rf'league_agent_calls_total{{message_type="{message_type}",outcome="(\w+)"}}', metrics))


@pytest.mark.long
def test_no_match_is_played_again_because_of_a_neighbours_loops(site: Site, tmp_path: Path) -> None:
    requests = [
        ("", "get_schedule"),
        ("5000", "get_schedule"),
        ("page", "/api/leagues/crowd/rounds"),
        ("", "get_standings"),
    ]
    student = httpx.Client(transport=httpx.HTTPTransport(local_address=STUDENT), timeout=60)
    with student, league_with_players(site, "small", 4, tmp_path, referee_lease_s=3) as players:
        with neighbour(site, *requests) as statuses:
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


@pytest.mark.long
def test_a_whole_schedule_is_answered_in_parts_of_a_mebibyte_at_most(site: Site) -> None:
    match_ids: list[str] = []
    cursor = None
    parts = 0
    while parts == 0 or cursor is not None:
        request = wire.request("get_schedule", {"league_id": "crowd", "cursor": cursor})
        answer = site.http.post("/mcp", json=request)
        assert len(answer.content) <= 1024 * 1024
        data = answer.json()["result"]["data"]
        match_ids += [match["match_id"] for one in data["rounds"] for match in one["matches"]]
        cursor = data.get("next_cursor")
        parts += 1
    assert (len(match_ids), len(set(match_ids))) == (CROWD * (CROWD - 1) // 2,) * 2
    assert parts > 1
