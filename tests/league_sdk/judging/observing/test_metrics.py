"""A referee as it is watched: its metrics with a key, its health without one, and what neither tells."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from league_sdk.judging.door.server import WrongKeys
from league_sdk.judging.observing import telemetry
from league_sdk.judging.worker.referee import Referee
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.staged import begin
from tests.league_sdk.judging.starts import Link

KEY = "key-of-the-referees"


async def ask(referee: Referee, link: Link, path: str, **headers: str) -> tuple[int, str]:
    async with TestClient(TestServer(application(referee, link, ("", KEY)))) as client:  # type: ignore[arg-type]
        answer = await client.get(path, headers=headers)
        return answer.status, await answer.text()


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {KEY}", KEY])
async def test_the_metrics_need_a_key(referee: Referee, link: Link, authorization: str) -> None:
    expected = '{"error": "Send the referee key: Authorization: Bearer <key>."}'
    assert await ask(referee, link, "/metrics", Authorization=authorization) == (401, expected)


async def test_a_short_metrics_key_cannot_be_guessed(referee: Referee, link: Link) -> None:
    keys = ("4711", KEY)
    async with TestClient(TestServer(application(referee, link, keys))) as client:  # type: ignore[arg-type]

        async def status_with(authorization: str) -> int:
            answer = await client.get("/metrics", headers={"Authorization": authorization})
            if answer.status == 429:
                assert 0 < int(answer.headers["Retry-After"]) <= 600
            return answer.status

        assert await status_with("Bearer 4711") == 200
        # A request without a key is not a guess.
        assert [await status_with("") for _ in range(3)] == [401] * 3
        assert [await status_with(f"Bearer {number}") for number in range(101)] == [401] * 100 + [429]
        assert await status_with("Bearer 4711") == 429
        # A key that cannot be guessed is always accepted.
        assert await status_with(f"Bearer {KEY}") == 200
        assert await status_with(f"Bearer {KEY}x") == 401


def test_wrong_keys_are_counted_for_ten_minutes() -> None:
    now = [1000.0]
    wrong_keys = WrongKeys(clock=lambda: now[0])
    for number in range(100):
        assert wrong_keys.wait_s("4711") == 0
        wrong_keys.add(str(number))
    assert (wrong_keys.wait_s("4711"), wrong_keys.wait_s(KEY)) == (600, 0)
    now[0] += 599.5
    assert wrong_keys.wait_s("4711") == 1
    now[0] += 0.5
    assert wrong_keys.wait_s("4711") == 0
    wrong_keys.add("1")
    assert wrong_keys.wait_s("4711") == 0


async def test_prometheus_can_parse_the_metrics(referee: Referee, link: Link) -> None:
    for seconds in (0.001, 0.2, 99.0):
        telemetry.answered("P01", "GAME_INVITATION", seconds=seconds, error_code=None, cause=None, status=200)
    telemetry.answered("P01", "GAME_INVITATION", seconds=5, error_code="E001", cause="DEADLINE", status=None)
    status, text = await ask(referee, link, "/metrics", Authorization=f"Bearer {KEY}")
    assert status == 200
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    name = "league_referee_call_seconds"
    counts = [
        samples[f"{name}_bucket", "GAME_INVITATION", bucket] for bucket in ("0.005", "0.25", "10.0", "30.0", "+Inf")
    ]
    assert counts[-1] == samples[f"{name}_count", "GAME_INVITATION"] >= 4
    assert counts == sorted(counts) and counts[0] < counts[1] < counts[2] < counts[4]
    assert samples["league_referee_calls_total", "GAME_INVITATION", "DEADLINE"] >= 1
    assert samples["league_referee_matches_in_play",] == 0
    assert samples["process_resident_memory_bytes",] > 1e6


async def test_the_name_of_an_unknown_call_is_not_a_metric_label(referee: Referee, link: Link) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": 'x"} 1\nforged 1', "params": {}}
    async with TestClient(TestServer(application(referee, link, (KEY,)))) as client:  # type: ignore[arg-type]
        await client.post("/mcp", json=body)
        answer = await client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
        text = await answer.text()
    assert "forged" not in text
    assert re.search(r'league_referee_messages_total\{message_type="other",outcome="E002"\} [1-9]', text)


async def test_health_reports_a_draining_referee(referee: Referee, link: Link) -> None:
    assert (await ask(referee, link, "/health"))[0] == 200
    await referee.drain(0)
    status, text = await ask(referee, link, "/health")
    assert (status, '"status": "draining"' in text) == (503, True)


async def test_health_does_not_tell_what_is_played(referee: Referee, link: Link) -> None:
    idle = await ask(referee, link, "/health")
    await begin(referee)
    assert referee.in_play == 1
    assert await ask(referee, link, "/health") == idle


def test_an_answer_is_logged_by_its_type_player_and_status_only(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        telemetry.answered("P01", "CHOOSE_PARITY_CALL", seconds=0.1, error_code=None, cause=None, status=200)
    [line] = caplog.records
    assert line.getMessage() == "CHOOSE_PARITY_CALL was answered"
    fields: dict[str, Any] = {
        name: value for name, value in vars(line).items() if name in ("peer", "status", "cause", "error_code", "data")
    }
    assert fields == {"peer": "player:P01", "status": 200, "cause": None, "error_code": None}
