"""A whole referee with simulated sockets whose own machine fails: what is excused, and what is not."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from typing import Any

import aiohttp
import pytest

from league_sdk.asking import request
from league_sdk.judging.match.side import MAX_EXCUSED_TRIES
from league_sdk.judging.worker.match_runner import Dependencies
from league_sdk.judging.worker.referee import Referee
from league_sdk.transport.lookups import LOOKUPS, Lookups
from tests.league_sdk.judging.hostile_match import caller_maker
from tests.league_sdk.judging.starts import START, Link
from tests.league_sdk.transport.conftest import FakeLookups

HASTY = {"retry_base_s": 0.001, "retry_factor": 1.0, "max_retries": 1, "join_timeout_s": 30}


def start(hosts: tuple[str, str]) -> dict[str, Any]:
    """start_match for players at these hosts."""
    seats = {
        name: START[name] | {"endpoint": f"http://{host}:8101/mcp"}
        for name, host in zip(("player_A", "player_B"), hosts, strict=True)
    }
    return START | seats | {"settings": HASTY}


Dicts = list[dict[str, Any]]


async def outcome(
    hosts: tuple[str, str], network_problem: str = "", lookups: Lookups = LOOKUPS
) -> tuple[Dicts, Dicts, Dicts]:
    """What a referee reports of a match of players at these hosts, what it hands back, and which tries it excused.

    Args:
        hosts: the hosts of the two players.
        network_problem: what this machine's own probe says of its network.
        lookups: look up the names of hosts.
    """
    link = Link()
    uses = Dependencies(progress_interval_s=0, new_caller=caller_maker(lookups, probe=lambda: network_problem))
    made = Referee(link, endpoint="http://localhost:8001/mcp", max_concurrent=2, uses=uses)  # type: ignore[arg-type]
    reporting = asyncio.create_task(made.keep_reporting())
    made.start_match(start(hosts))

    def returned() -> list[dict[str, Any]]:
        return [one for beat in link.heartbeats for one in beat if one["state"] == "HANDED_BACK"]

    while not link.reports and not returned():
        link.changed.clear()
        await link.changed.wait()
    reporting.cancel()
    await asyncio.gather(reporting, return_exceptions=True)
    await made.drain(0)
    await made.aclose()
    handed_back = [{name: one[name] for name in ("match_id", "cause", "why")} for one in returned()]
    excused = [one.get("excused", []) for beat in link.heartbeats for one in beat]
    return link.reports, handed_back, max(excused, key=len, default=[])


def make_connections_fail(monkeypatch: pytest.MonkeyPatch, **numbers: int) -> None:
    """Make connections fail.

    Args:
        numbers: ``to_1`` is the ``errno`` for a host whose address ends with ``.1``, and so on.
    """

    async def connect(addr_infos: Any, **_: object) -> object:
        number = numbers["to_" + addr_infos[0][4][0].rpartition(".")[2]]
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(aiohttp.connector.aiohappyeyeballs, "start_connection", connect)


NO_NETWORK = "this machine has no network: Network is unreachable"


def by_player(report: dict[str, Any]) -> dict[str, tuple[str, int, str]]:
    """For each player: whose fault it was, in how many tries, and what was seen."""
    return {fault["player_id"]: (fault["cause"], fault["tries"], fault["detail"]) for fault in report["faults"]}


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENETUNREACH])
async def test_a_match_is_handed_back_when_our_own_probe_finds_no_network(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(request, "NETWORK_RETRY_DELAY_S", 0)
    make_connections_fail(monkeypatch, to_1=number, to_2=errno.ECONNREFUSED)
    reports, returned, excused = await outcome(("10.0.0.1", "10.0.0.2"), NO_NETWORK)
    assert (reports, returned) == ([], [{"match_id": "R1M1", "cause": "REFEREE", "why": NO_NETWORK}])
    assert [(one["player_id"], one["evidence"], one["counted"]) for one in excused] == [
        ("P01", NO_NETWORK, "no")
    ] * MAX_EXCUSED_TRIES


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EACCES])
async def test_connections_that_fail_to_both_players_are_no_excuse_if_our_probe_finds_a_network(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Otherwise two students who register unreachable addresses would never lose a match."""
    make_connections_fail(monkeypatch, to_1=number, to_2=number)
    (report,), returned, excused = await outcome(("10.0.0.1", "10.0.0.2"))
    assert (returned, excused, report["status"], report["result"]["winner"]) == ([], [], "TECHNICAL_LOSS", None)
    assert {player: (cause, tries) for player, (cause, tries, _) in by_player(report).items()} == {
        "P01": ("CONNECT", 2),
        "P02": ("CONNECT", 2),
    }


async def test_two_host_names_that_cannot_be_looked_up_are_no_excuse() -> None:
    lookups = FakeLookups(socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"))
    (report,), returned, excused = await outcome(("a.example", "b.example"), lookups=lookups)
    assert (returned, excused, report["status"], report["result"]["winner"]) == ([], [], "TECHNICAL_LOSS", None)


async def test_an_unreachable_and_a_refusing_player_are_both_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    make_connections_fail(monkeypatch, to_1=errno.ENETUNREACH, to_2=errno.ECONNREFUSED)
    (report,), returned, excused = await outcome(("10.0.0.1", "10.0.0.2"))
    assert (returned, excused) == ([], [])
    assert by_player(report) == {
        "P01": ("CONNECT", 2, "no connection: Network is unreachable"),
        "P02": ("CONNECT", 2, "nobody listens at its address"),
    }
