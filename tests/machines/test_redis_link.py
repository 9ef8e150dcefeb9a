"""A link to Redis that drops packets, between two machines (decision 42)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from storage.redis_links import Layer
from tests.chaos.servers import NotInstalled
from tests.machines.bed import until
from tests.machines.faults import away
from tests.machines.listener import GROUP
from tests.machines.network import SUBNET, Machine, Network, network
from tests.paths import ROOT

CUT_S = 12.0
"""After about five seconds the kernel ends the connection."""
REST_S = CUT_S / 4
"""More processor time than a listener that waits needs in this time; one that spins needs three quarters of all."""
HEARS_S = 10


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Network]:
    try:
        with network({"db": 2, "router": 41}, router="router") as made:
            yield made
    except NotInstalled as missing:
        if os.environ.get("LEAGUE_CI"):
            raise
        pytest.skip(str(missing))


async def _says(process: asyncio.subprocess.Process, line: str) -> None:
    assert process.stdout is not None
    assert (await process.stdout.readline()).decode().strip() == line


def _used_s(process: asyncio.subprocess.Process) -> float:
    """The processor time that a process has used. One that spins could not tell it itself."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _answers(machine: Machine, url: str) -> bool:
    def ping() -> bool:
        with redis.Redis.from_url(url) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

    return await machine.inside(ping)


async def _say(url: str) -> None:
    layer: Any = Layer(url)
    await layer.group_send(GROUP, {"type": "a.message"})
    await layer.flush()


async def _hears(machine: Machine, url: str, listener: asyncio.subprocess.Process) -> bool:
    """Whether a listener hears what is said from a machine, once a second, within HEARS_S."""
    heard = asyncio.create_task(_says(listener, "heard"))
    for _ in range(HEARS_S):
        await machine.inside(lambda: asyncio.run(_say(url)))
        if (await asyncio.wait({heard}, timeout=1))[0]:
            return True
    heard.cancel()
    return False


async def _cut_and_heal(made: Network, folder: Path, *words: str) -> tuple[float, bool]:
    """The processor time that a listener used while its link was cut, and whether it heard a message afterwards."""
    db, url = made.machines["db"], f"redis://{SUBNET}.2:6379/0"
    options = ["--bind", db.address, "--protected-mode", "no", "--save", "", "--appendonly", "no"]
    server = db.add("redis", ["redis-server", *options], {"PATH": os.environ["PATH"]}, folder)
    server.start()
    command = made.machines["router"].command(sys.executable, "-m", "tests.machines.listener", url, *words)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    try:
        await until("Redis answers", lambda: _answers(db, url))
        listener = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, cwd=ROOT, env=environment
        )
        try:
            await _says(listener, "listening")
            before = _used_s(listener)
            end = made.drop(*away("db"))
            await asyncio.sleep(CUT_S)
            used = _used_s(listener) - before
            end()
            return used, await _hears(db, url, listener)
        finally:
            listener.kill()
            await listener.wait()
    finally:
        await server.end()


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.parametrize(("words", "spins"), [((), False), (("plain",), True)], ids=["ours", "plain"])
def test_a_cut_link_to_redis_lets_nobody_spin(
    machines: Network, tmp_path: Path, words: tuple[str, ...], spins: bool
) -> None:
    used, heard = asyncio.run(_cut_and_heal(machines, tmp_path, *words))
    assert (used > REST_S) == spins, f"{used:.1f} s of processor time in {CUT_S:g} s"
    # The plain one shows that this is the fault which the connection of ours mends.
    assert heard != spins
