"""A classroom: agents in a network of their own. They reach the site; nobody can open a connection to them.

Their network is a network namespace. Two TUN devices connect it with the site's machine, and this program carries
every packet from one to the other: it delays some, drops some, and drops all that would open a connection to an agent.
TCP sends again what was lost. ``tc netem`` would do the same, but not every kernel has it.

    python -m tests.e2e.classroom --namespace NAME --number 7

makes the devices with the addresses 10.213.7.1 (the site) and 10.213.7.2 (the agents), and prints ``READY``. A line
``DELAY_S LOSS`` on its input sets by how many seconds the agents' packets are delayed from then on, and which share of
them is dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.ports import MAX_PORT, MIN_PORT, PORT_SHARES, free_port
from tests.paths import ROOT

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_TCP, _SYN, _ACK = 6, 0x02, 0x10
_SEED = 18
NUMBERS_PER_WORKER = 31
"""How many classrooms one worker may have; with those of all workers, a number is still a byte of an address."""
DEVICE = Path("/dev/net/tun")


class Classroom:
    """The agents' network, as a test sees it.

    Attributes:
        site: the address at which agents reach the site.
        address: the agents' own address.
    """

    def __init__(self, number: int, namespace: str, link: subprocess.Popen[str]) -> None:
        self.site = _address(number, 1)
        self.address = _address(number, 2)
        self._number, self._namespace, self._link = number, namespace, link

    def set_network(self, *, delay_s: float, loss: float) -> None:
        """From now on delay the packets that agents send, and drop a share ``loss`` of them."""
        assert self._link.stdin is not None
        self._link.stdin.write(f"{delay_s} {loss}\n")
        self._link.stdin.flush()

    def change_addresses(self) -> None:
        """Give all agents another address, as when a laptop changes its network; old connections are not closed."""
        old, self.address = self.address, _address(self._number, 3)
        # The old address is removed first, because agents would go on calling from it.
        _ip("-n", self._namespace, "address", "del", f"{old}/24", "dev", _device(self._number, "a"))
        _ip("-n", self._namespace, "address", "add", f"{self.address}/24", "dev", _device(self._number, "a"))
        _ip("-n", self._namespace, "route", "add", "default", "dev", _device(self._number, "a"))

    def command(self, *words: str) -> tuple[str, ...]:
        """The command that runs ``words`` in the agents' network."""
        return (str(shutil.which("ip")), "netns", "exec", self._namespace, *words)

    @contextmanager
    def inside(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
        """Within the block, the Python programs that the test starts run in the agents' network."""
        python = folder / "python-of-the-classroom"
        python.write_text(f'#!/bin/sh\nexec {" ".join(self.command(sys.executable))} "$@"\n')
        python.chmod(0o700)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", str(python))
            yield


def _address(number: int, host: int) -> str:
    return f"10.213.{number}.{host}"


def _device(number: int, side: str) -> str:
    return f"league{number}{side}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def classroom() -> Iterator[Classroom]:
    """A classroom. The test is skipped, with the reason, on a machine where none can be made."""
    if reason := _reason_to_skip():
        pytest.skip(reason)
    number = number_of(free_port())
    namespace = f"classroom{number}"
    try:
        _ip("netns", "add", namespace)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr.strip()}")
    try:
        command = [sys.executable, "-m", "tests.e2e.classroom", "--namespace", namespace, "--number", str(number)]
        link = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert link.stdin is not None
        assert link.stdout is not None
        try:
            assert link.stdout.readline() == "READY\n", "the classroom's network could not be made"
            yield Classroom(number, namespace, link)
        finally:
            link.stdin.close()
            link.wait(timeout=10)
            link.stdout.close()
    finally:
        _ip("netns", "del", namespace)


def number_of(port: int) -> int:
    """The number of a classroom, by a port of its test worker; ports of different workers give different numbers."""
    return 1 + (port - MIN_PORT) * NUMBERS_PER_WORKER * PORT_SHARES // (MAX_PORT - MIN_PORT)


def _reason_to_skip() -> str:
    if os.geteuid() != 0:
        return "a network namespace that reaches the site can be made by root only"
    if shutil.which("ip") is None:
        return "ip is not installed (apt-get install iproute2)"
    return "" if DEVICE.exists() else f"this machine has no {DEVICE}"


# The link -----------------------------------------------------------------------------------------------


class Link:
    """Carries packets between the site's device and the agents' device, on the event loop.

    Args:
        site, agents: file descriptors of the devices.
    """

    def __init__(self, site: int, agents: int) -> None:
        self._site, self._agents = site, agents
        self._delay_s = self._loss = 0.0
        self._random = random.Random(_SEED)

    def start(self) -> None:
        """Carry packets from now on."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._agents, self._carry, self._agents, self._site)
        loop.add_reader(self._site, self._carry, self._site, self._agents)

    def set_network(self, line: str) -> None:
        """Set delay and loss from a line ``DELAY_S LOSS``."""
        self._delay_s, self._loss = (float(word) for word in line.split())

    def _carry(self, source: int, sink: int) -> None:
        packet = os.read(source, 65_536)
        if sink == self._agents:
            if may_enter(packet):
                _put(sink, packet)
        elif self._random.random() >= self._loss:
            asyncio.get_running_loop().call_later(self._delay_s, _put, sink, packet)


def _put(sink: int, packet: bytes) -> None:
    try:
        os.write(sink, packet)
    except OSError as error:
        # A device is full, or down while its address changes: the packet is lost, as on any network.
        sys.stderr.write(f"classroom: a packet was lost: {error.strerror}\n")


def may_enter(packet: bytes) -> bool:
    """Whether a packet may go to the agents: it is TCP and does not open a connection."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[9] != _TCP:
        return False
    flags = packet[(packet[0] & 0x0F) * 4 + 13]
    return not flags & _SYN or bool(flags & _ACK)


def _open_device(name: str) -> int:
    device = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


async def main(namespace: str, number: int) -> None:
    """Carry packets until the input ends."""
    site, agents = _device(number, "s"), _device(number, "a")
    link = Link(_open_device(site), _open_device(agents))
    _ip("address", "add", f"{_address(number, 1)}/24", "dev", site)
    _ip("link", "set", site, "up")
    _ip("link", "set", agents, "netns", namespace)
    _ip("-n", namespace, "address", "add", f"{_address(number, 2)}/24", "dev", agents)
    for device in ("lo", agents):
        _ip("-n", namespace, "link", "set", device, "up")
    _ip("-n", namespace, "route", "add", "default", "dev", agents)
    link.start()
    print("READY", flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        link.set_network(line.decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--number", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(main(options.namespace, options.number))
