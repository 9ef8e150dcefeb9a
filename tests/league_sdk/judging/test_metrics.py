"""A referee as it is watched: its metrics with a key, its health without one, and what neither tells."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from league_sdk.judging import telemetry
from league_sdk.judging.guesses import Guesses
from league_sdk.judging.referee import Referee
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.starts import Link

KEY = "key-of-the-referees"


async def ask(referee: Referee, link: Link, path: str, **headers: str) -> tuple[int, str]:
    async with TestClient(TestServer(application(referee, link, ("", KEY)))) as client:  # type: ignore[arg-type]
        answer = await client.get(path, headers=headers)
        return answer.status, await answer.text()


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {KEY}", KEY])
async def test_the_figures_need_the_key(referee: Referee, link: Link, authorization: str) -> None:
    expected = '{"error": "Send the referee key: Authorization: Bearer <key>."}'
    assert await ask(referee, link, "/metrics", Authorization=authorization) == (401, expected)


async def test_a_short_key_is_not_found_by_trying(referee: Referee, link: Link) -> None:
    keys = ("4711", KEY)
    async with TestClient(TestServer(application(referee, link, keys))) as client:  # type: ignore[arg-type]

        async def come(authorization: str) -> int:
            answer = await client.get("/metrics", headers={"Authorization": authorization})
            if answer.status == 429:
                assert 0 < int(answer.headers["Retry-After"]) <= 600
            return answer.status

        assert await come("Bearer 4711") == 200
        # What says nothing is no guess.
        assert [await come("") for _ in range(3)] == [401] * 3
        assert [await come(f"Bearer {number}") for number in range(101)] == [401] * 100 + [429]
        assert await come("Bearer 4711") == 429
        # One that cannot be guessed opens all the time.
        assert await come(f"Bearer {KEY}") == 200
        assert await come(f"Bearer {KEY}x") == 401


def test_guesses_are_counted_for_ten_minutes() -> None:
    now = [1000.0]
    guesses = Guesses(clock=lambda: now[0])
    for number in range(100):
        assert guesses.wait_s("4711") == 0
        guesses.was_wrong(str(number))
    assert (guesses.wait_s("4711"), guesses.wait_s(KEY)) == (600, 0)
    now[0] += 599.5
    assert guesses.wait_s("4711") == 1
    now[0] += 0.5
    assert guesses.wait_s("4711") == 0
    guesses.was_wrong("1")
    assert guesses.wait_s("4711") == 0


async def test_figures_are_read_as_prometheus_reads_them(referee: Referee, link: Link) -> None:
    for seconds in (0.001, 0.2, 99.0):
        telemetry.heard("P01", "GAME_INVITATION", seconds=seconds, error_code=None, cause=None, status=200)
    telemetry.heard("P01", "GAME_INVITATION", seconds=5, error_code="E001", cause="DEADLINE", status=None)
    status, text = await ask(referee, link, "/metrics", Authorization=f"Bearer {KEY}")
    assert status == 200
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    name = "league_referee_call_seconds"
    counts = [
        found[f"{name}_bucket", "GAME_INVITATION", bucket] for bucket in ("0.005", "0.25", "10.0", "30.0", "+Inf")
    ]
    assert counts[-1] == found[f"{name}_count", "GAME_INVITATION"] >= 4
    assert counts == sorted(counts) and counts[0] < counts[1] < counts[2] < counts[4]
    assert found["league_referee_calls_total", "GAME_INVITATION", "DEADLINE"] >= 1
    assert found["league_referee_matches_in_play",] == 0
    assert found["process_resident_memory_bytes",] > 1e6


async def test_an_unknown_call_is_no_label(referee: Referee, link: Link) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": 'x"} 1\nforged 1', "params": {}}
    async with TestClient(TestServer(application(referee, link, (KEY,)))) as client:  # type: ignore[arg-type]
        await client.post("/mcp", json=body)
        answer = await client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
        text = await answer.text()
    assert "forged" not in text
    assert re.search(r'league_referee_messages_total\{message_type="other",outcome="E002"\} [1-9]', text)


async def test_health_says_when_it_is_leaving(referee: Referee, link: Link) -> None:
    assert (await ask(referee, link, "/health"))[0] == 200
    await referee.drain(0)
    status, text = await ask(referee, link, "/health")
    assert (status, '"status": "draining"' in text) == (503, True)


async def test_health_is_the_same_whatever_is_played(
    referee: Referee, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = await ask(referee, link, "/health")
    monkeypatch.setattr(Referee, "in_play", 7)
    assert await ask(referee, link, "/health") == idle


def test_what_a_player_answered_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        telemetry.heard("P01", "CHOOSE_PARITY_CALL", seconds=0.1, error_code=None, cause=None, status=200)
    [line] = caplog.records
    assert line.getMessage() == "CHOOSE_PARITY_CALL was answered"
    told: dict[str, Any] = {
        name: value for name, value in vars(line).items() if name in ("peer", "status", "cause", "error_code", "data")
    }
    assert told == {"peer": "player:P01", "status": 200, "cause": None, "error_code": None}
