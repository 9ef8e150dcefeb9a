"""Monitoring of a conductor in a process of its own: health without a key, metrics with one."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from aiohttp.test_utils import TestClient, TestServer
from django.db import OperationalError

from league_sdk.protocol import SDK_VERSION
from leaguesite.hosting import monitor
from leaguesite.observing import health
from matches.observing import metrics
from tests.e2e.site import free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_health_checks")]


class Conducting:
    """The part of a conductor that the monitor reads."""

    alive = True
    trouble = ""


async def test_health_says_whether_the_conductor_is_alive_and_what_troubles_it() -> None:
    conducting, port = Conducting(), free_port()
    watching = asyncio.create_task(monitor.watch(conducting, "127.0.0.1", port))  # type: ignore[arg-type]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        answer = await first_answer(http, watching)
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")
        conducting.alive = False
        answer = await http.get("/health")
        assert (answer.status_code, sorted(answer.json())) == (
            503,
            ["agent_id", "reason", "status", "uptime", "version"],
        )
        assert answer.json()["reason"] == "no look at the database for five seconds"
        conducting.trouble = "the disk is full"
        assert (await http.get("/health")).json()["reason"] == "the disk is full"
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def first_answer(http: httpx.AsyncClient, watching: asyncio.Task[Any]) -> httpx.Response:
    """The answer of a server that is about to listen."""
    while not watching.done():
        try:
            return await http.get("/health")
        except httpx.ConnectError:
            await asyncio.sleep(0)
    raise AssertionError(watching)


async def test_a_port_that_is_taken_ends_the_conductor_with_the_reason() -> None:
    async with TestServer(monitor.application()) as server:
        with pytest.raises(OSError, match="address already in use"):
            await monitor.watch(Conducting(), "127.0.0.1", int(server.port or 0))  # type: ignore[arg-type]


async def test_without_a_port_the_monitor_does_not_listen() -> None:
    # This machine cannot listen at this address: trying to would end the task.
    watching = asyncio.create_task(monitor.watch(Conducting(), "203.0.113.1", 0))  # type: ignore[arg-type]
    for _ in range(20):
        await asyncio.sleep(0)
    assert health.status()["status"] == "ok" and not watching.done()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic key-of-the-tests"])
async def test_the_conductors_metrics_need_the_key(api_key: str, authorization: str) -> None:
    async with TestClient(TestServer(monitor.application())) as client:
        answer = await client.get("/metrics", headers={"Authorization": authorization})
        assert (answer.status, await answer.json()) == (
            401,
            {"error": "Send the instructor's API key: Authorization: Bearer <key>."},
        )


async def test_the_conductors_metrics_are_read_with_the_key(api_key: str) -> None:
    async with TestClient(TestServer(monitor.application())) as client:
        answer = await client.get("/metrics", headers={"Authorization": f"Bearer {api_key}"})
        assert (answer.status, answer.headers["Content-Type"]) == (200, metrics.CONTENT_TYPE)
        metrics_text = await answer.text()
    assert "league_last_look_timestamp_seconds" in metrics_text and "league_database_reachable 1.0" in metrics_text


def test_health_names_a_database_that_does_not_answer_and_raises_nothing() -> None:
    def raise_unreachable() -> str:
        raise OperationalError("connection to server at 10.0.0.7 refused")

    health.add_check("database", raise_unreachable)
    health.add_check("referees", raise_unreachable)
    assert health.status() | {"uptime": 0} == {
        "status": "starting",
        "agent_id": "LM01",
        "version": SDK_VERSION,
        "uptime": 0,
        "reason": "the database does not answer",
    }


def test_health_is_ok_if_the_database_answers() -> None:
    health.add_check("database", health.check_database)
    assert health.status()["status"] == "ok"
