"""A referee whose own machine fails, whole but for the sockets: its match is given back, and nobody loses a point."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from typing import Any

import aiohttp
import pytest
from aiohttp.resolver import ThreadedResolver

from league_sdk.judging import referee as module
from league_sdk.judging.match import NO_WAY_OUT
from league_sdk.judging.referee import Referee
from tests.league_sdk.judging.starts import START, Link

HASTY = {"retry_base_s": 0.001, "retry_factor": 1.0, "max_retries": 1, "join_timeout_s": 30}


def start(hosts: tuple[str, str]) -> dict[str, Any]:
    """start_match for players at these hosts."""
    seats = {
        name: START[name] | {"endpoint": f"http://{host}:8101/mcp"}
        for name, host in zip(("player_A", "player_B"), hosts, strict=True)
    }
    return START | seats | {"settings": HASTY}


async def outcome(hosts: tuple[str, str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What a referee reports as results of such a match, and what it gives back."""
    link = Link()
    made = Referee(link, endpoint="http://localhost:8001/mcp", max_concurrent=2)  # type: ignore[arg-type]
    reporting = asyncio.create_task(made.keep_reporting())
    made.start_match(start(hosts))

    def returned() -> list[dict[str, Any]]:
        return [one for heartbeat in link.heartbeats for one in heartbeat if one["state"] == "HANDED_BACK"]

    while not link.reports and not returned():
        link.changed.clear()
        await link.changed.wait()
    reporting.cancel()
    await asyncio.gather(reporting, return_exceptions=True)
    await made.drain(0)
    await made.aclose()
    return link.reports, [{name: one[name] for name in ("match_id", "cause", "why")} for one in returned()]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROGRESS_EVERY_S", 0)


def connections_end_with(monkeypatch: pytest.MonkeyPatch, **numbers: int) -> None:
    """By the end of a host's address, what a connection to it ends with."""

    async def connect(addr_infos: Any, **_: object) -> object:
        number = numbers["to_" + addr_infos[0][4][0].rpartition(".")[2]]
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(aiohttp.connector.aiohappyeyeballs, "start_connection", connect)


async def test_no_socket_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    connections_end_with(monkeypatch, to_1=errno.EMFILE, to_2=errno.ECONNREFUSED)
    why = "this machine cannot call anyone: Too many open files"
    assert await outcome(("10.0.0.1", "10.0.0.2")) == ([], [{"match_id": "R1M1", "cause": "REFEREE", "why": why}])


async def test_there_is_a_way_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    connections_end_with(monkeypatch, to_1=errno.ENETUNREACH, to_2=errno.ENETUNREACH)
    assert await outcome(("10.0.0.1", "10.0.0.2")) == (
        [],
        [{"match_id": "R1M1", "cause": "REFEREE", "why": NO_WAY_OUT}],
    )


async def test_no_name_can_be_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object) -> list[object]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)
    assert await outcome(("a.example", "b.example")) == (
        [],
        [{"match_id": "R1M1", "cause": "REFEREE", "why": NO_WAY_OUT}],
    )


async def test_there_is_a_way_to_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    connections_end_with(monkeypatch, to_1=errno.ENETUNREACH, to_2=errno.ECONNREFUSED)
    (report,), returned = await outcome(("10.0.0.1", "10.0.0.2"))
    assert returned == []
    assert {fault["player_id"]: (fault["cause"], fault["detail"]) for fault in report["faults"]} == {
        "P01": ("CONNECT", "no connection: Network is unreachable"),
        "P02": ("CONNECT", "nobody listens at its address"),
    }
