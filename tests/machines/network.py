"""Machines as Linux network namespaces, joined by a switch that is a namespace, too.

Every device and every rule is inside a namespace of this run: the machine's own network is neither seen nor changed.
Links are cut by rules at the switch, as by a broken cable or a firewall that drops: nobody is told. Names contain the
process id of the run; what a killed run has left is removed by the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tests.chaos.processes import Unit
from tests.chaos.servers import NotInstalled
from tests.paths import ROOT

PREFIX = "lgm"
SUBNET = "10.66.0"
HOME = "192.168.66"
_CLONE_NEWNET = 0x40000000

T = TypeVar("T")


def require_network() -> None:
    """Check that namespaces, and rules in them, can be made here.

    Raises:
        NotInstalled: they cannot; the message says why.
    """
    if os.geteuid() != 0:
        raise NotInstalled("machines are network namespaces, which only root can make")
    for program, package in (("ip", "iproute2"), ("nft", "nftables")):
        if shutil.which(program) is None:
            raise NotInstalled(f"{program} is not installed (apt-get install {package})")


def _run(*words: str, stdin: str = "") -> str:
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, timeout=30)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()} {stdin}")
    return done.stdout


class Machine:
    """One machine: a namespace, and the processes that are kept running in it, as systemd keeps them.

    Args:
        name: such as ``web1``; also the name of its port at the switch.
        address: its address.
        namespace: the name of its namespace.
    """

    def __init__(self, name: str, address: str, namespace: str) -> None:
        self.name, self.address, self.namespace = name, address, namespace
        self.units: list[Unit] = []
        self._inside: ThreadPoolExecutor | None = None

    def add(self, name: str, command: Sequence[str], environment: dict[str, str], folder: Path) -> Unit:
        """A process that is kept running from ``start`` on."""
        unit = Unit(name, self.command(*command), environment, folder)
        self.units.append(unit)
        return unit

    def command(self, *words: str) -> list[str]:
        """The command that runs ``words`` on this machine."""
        return ["ip", "netns", "exec", self.namespace, *words]

    def start(self) -> None:
        """Start every process, as when the machine boots."""
        for unit in self.units:
            unit.start()

    async def kill(self) -> None:
        """Kill every process at once, as when the power fails; nothing is started again."""
        for unit in self.units:
            unit.give_up()
        self.signal(signal.SIGKILL)
        for unit in self.units:
            await unit.end()
        # What a process that was just being started has become.
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the machine."""
        for pid in _run("ip", "netns", "pids", self.namespace).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), number)

    async def inside(self, work: Callable[[], T]) -> T:
        """Run a function in a thread whose connections are made from this machine."""
        if self._inside is None:
            self._inside = ThreadPoolExecutor(1, initializer=_enter, initargs=(self.namespace,))
        return await asyncio.get_running_loop().run_in_executor(self._inside, work)

    def close(self) -> None:
        """End the thread of ``inside``."""
        if self._inside is not None:
            self._inside.shutdown(cancel_futures=True)


def _enter(namespace: str) -> None:
    """Put this thread, and no other, into a network namespace."""
    with Path(f"/run/netns/{namespace}").open("rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


class Network:
    """A switch, and machines at it.

    Args:
        names: the machines, with the last byte of their addresses.
        router: the machine that hides another one, ``home``, behind its own address (NAT); what is behind it can call
            others and cannot be called.
    """

    def __init__(self, names: dict[str, int], *, router: str) -> None:
        self._tag = f"{PREFIX}{os.getpid()}"
        self._switch = f"{self._tag}-switch"
        self._rules = 0
        self.machines: dict[str, Machine] = {}
        self._add_namespace(self._switch)
        self._in(self._switch, "ip", "link", "add", "bridge", "type", "bridge")
        self._in(self._switch, "ip", "link", "set", "bridge", "up")
        for name, number in names.items():
            machine = self._machine(name, f"{SUBNET}.{number}")
            self._cable(machine, self._switch, name)
            self._in(self._switch, "ip", "link", "set", name, "master", "bridge", "up")
        self._hide(router)

    def _machine(self, name: str, address: str) -> Machine:
        machine = Machine(name, address, f"{self._tag}-{name}")
        self._add_namespace(machine.namespace)
        self.machines[name] = machine
        return machine

    def _add_namespace(self, name: str) -> None:
        _run("ip", "netns", "add", name)
        self._in(name, "ip", "link", "set", "lo", "up")

    def _in(self, namespace: str, *words: str, stdin: str = "") -> str:
        return _run("ip", "netns", "exec", namespace, *words, stdin=stdin)

    def _cable(self, machine: Machine, other: str, port: str) -> None:
        """A cable from the machine's ``eth0`` to ``port`` in another namespace."""
        peer = ("peer", "name", port, "netns", other)
        _run("ip", "link", "add", "eth0", "netns", machine.namespace, "type", "veth", *peer)
        self._in(machine.namespace, "ip", "address", "add", f"{machine.address}/24", "dev", "eth0")
        self._in(machine.namespace, "ip", "link", "set", "eth0", "up")

    def _hide(self, router: str) -> None:
        gate, home = self.machines[router], self._machine("home", f"{HOME}.2")
        self._cable(home, gate.namespace, "lan")
        self._in(gate.namespace, "ip", "address", "add", f"{HOME}.1/24", "dev", "lan")
        self._in(gate.namespace, "ip", "link", "set", "lan", "up")
        self._in(gate.namespace, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        self._in(home.namespace, "ip", "route", "add", "default", "via", f"{HOME}.1")
        chain = 'chain c { type nat hook postrouting priority 100; oifname "eth0" masquerade; };'
        self._in(gate.namespace, "nft", "-f", "-", stdin=f"table ip hidden {{ {chain} }};\n")

    def drop(self, *rules: str) -> Callable[[], None]:
        """Drop packets at the switch from now on.

        Args:
            rules: what is dropped, in nft's words, such as ``iifname "web1"``.

        Returns:
            A function that lets them pass again.
        """
        self._rules += 1
        table = f"fault{self._rules}"
        # Only IP: with ARP gone a caller would be told after three seconds, which no firewall and no router does.
        lines = "".join(f"ether type ip {rule} drop; " for rule in rules)
        chain = f"chain c {{ type filter hook forward priority 0; {lines}}};"
        self._in(self._switch, "nft", "-f", "-", stdin=f"table bridge {table} {{ {chain} }};\n")

        def end() -> None:
            self._in(self._switch, "nft", "delete", "table", "bridge", table)

        return end

    def delay(self, name: str, milliseconds: int) -> Callable[[], None]:
        """Delay what goes to a machine, and what comes from it, by a slow cable between it and the switch.

        Returns:
            A function that takes the cable away.
        """
        words = ["-m", "tests.machines.slow_cable", "slow-a", "slow-b", str(milliseconds)]
        command = ["ip", "netns", "exec", self._switch, sys.executable, *words]
        cable = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert cable.stdout is not None
        if cable.stdout.readline() != "ready\n":
            raise RuntimeError(f"the slow cable has ended: {cable.wait()}")
        self._in(self._switch, "ip", "link", "add", "slow", "type", "bridge")
        self._in(self._switch, "ip", "link", "set", "slow", "up")
        for device, bridge in (("slow-a", "bridge"), ("slow-b", "slow"), (name, "slow")):
            self._in(self._switch, "ip", "link", "set", device, "master", bridge, "up")

        def end() -> None:
            with cable:
                cable.kill()
            self._in(self._switch, "ip", "link", "set", name, "master", "bridge")
            self._in(self._switch, "ip", "link", "delete", "slow")

        return end

    def close(self) -> None:
        """Kill what still runs on the machines, and remove them."""
        for machine in self.machines.values():
            machine.close()
        remove(self._tag)


def remove(tag: str) -> None:
    """Kill every process in the namespaces of a run, and remove these."""
    for name in _namespaces():
        if name.startswith(f"{tag}-"):
            for pid in _run("ip", "netns", "pids", name).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            _run("ip", "netns", "delete", name)


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line]


def remove_what_killed_runs_left() -> None:
    """Remove the namespaces of runs whose process has ended."""
    tags = {name.partition("-")[0] for name in _namespaces() if name.startswith(PREFIX)}
    for tag in tags:
        number = tag.removeprefix(PREFIX)
        if number.isdigit() and not Path(f"/proc/{number}").exists():
            remove(tag)


@contextlib.contextmanager
def network(names: dict[str, int], *, router: str) -> Iterator[Network]:
    """A network of machines; whatever happens, it is removed when the block ends.

    Raises:
        NotInstalled: none can be made here.
    """
    require_network()
    remove_what_killed_runs_left()
    made: Network | None = None
    try:
        made = Network(names, router=router)
        yield made
    finally:
        if made is not None:
            made.close()
        else:
            remove(f"{PREFIX}{os.getpid()}")
