"""Faults of machines and links: each begins, lasts, and ends, and says what a league may suffer from it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from tests.machines.bed import Bed

BAD_LOSS_PERCENT, BAD_DELAY_MS = 20, 300


@dataclass(slots=True, kw_only=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        name: for people.
        lasts_s: how long it lasts at least.
        goes_on: whether leagues go on while it lasts: nothing is away of which there is only one.
        spares: whether no player may lose a match by it: each is still reached by somebody.
    """

    name: str
    lasts_s: float
    goes_on: bool = True
    spares: bool = True

    async def begin(self, bed: Bed) -> str:
        """Let it happen; returns what could not be done as named, or an empty string."""
        raise NotImplementedError

    async def end(self, bed: Bed) -> None:
        """Let it be over, as far as hands outside the machines can."""
        raise NotImplementedError


@dataclass(slots=True, kw_only=True)
class Killed(Fault):
    """Every process of a machine is killed, and started again at the end."""

    machine: str

    async def begin(self, bed: Bed) -> str:
        await bed.machines[self.machine].kill()
        return ""

    async def end(self, bed: Bed) -> None:
        bed.machines[self.machine].start()


@dataclass(slots=True, kw_only=True)
class Server(Fault):
    """One server of the database machine is killed, and started again at the end."""

    unit: str

    async def begin(self, bed: Bed) -> str:
        for unit in bed.machines["db"].units:
            if unit.name == self.unit:
                await unit.end()
        return ""

    async def end(self, bed: Bed) -> None:
        for unit in bed.machines["db"].units:
            if unit.name == self.unit:
                unit.start()


@dataclass(slots=True, kw_only=True)
class Flushed(Fault):
    """Redis forgets everything."""

    async def begin(self, bed: Bed) -> str:
        await bed.flush_redis()
        return ""

    async def end(self, bed: Bed) -> None:
        return None


@dataclass(slots=True, kw_only=True)
class Frozen(Fault):
    """Every process of a machine stands still (SIGSTOP); connections to it stay open and are not answered."""

    machine: str

    async def begin(self, bed: Bed) -> str:
        bed.machines[self.machine].signal(signal.SIGSTOP)
        return ""

    async def end(self, bed: Bed) -> None:
        bed.machines[self.machine].signal(signal.SIGCONT)


@dataclass(slots=True, kw_only=True)
class Cut(Fault):
    """Packets are dropped at the switch, and nobody is told.

    Attributes:
        rules: which, in nft's words.
        delay: whose packets are delayed, too.
    """

    rules: tuple[str, ...]
    delay: str = ""
    _ends: tuple[Callable[[], None], ...] = ()

    async def begin(self, bed: Bed) -> str:
        self._ends = (bed.network.drop(*self.rules),)
        if self.delay:
            self._ends += (bed.network.delay(self.delay, BAD_DELAY_MS // 2),)
        return ""

    async def end(self, bed: Bed) -> None:
        for end in self._ends:
            end()
        self._ends = ()


@dataclass(slots=True, kw_only=True)
class Clock(Fault):
    """The clock of a machine leaps, and leaps back at the end.

    Attributes:
        seconds: by how much; forward if it is positive.
    """

    machine: str
    seconds: int

    async def begin(self, bed: Bed) -> str:
        return "" if bed.set_clock(self.machine, self.seconds) else "nothing done: no C compiler is installed"

    async def end(self, bed: Bed) -> None:
        bed.set_clock(self.machine, 0)


@dataclass(slots=True, kw_only=True)
class Full(Fault):
    """The disk of a machine is full."""

    machine: str

    async def begin(self, bed: Bed) -> str:
        bed.fill_disk(self.machine)
        return ""

    async def end(self, bed: Bed) -> None:
        bed.empty_disk(self.machine)


def away(machine: str) -> tuple[str, ...]:
    """Rules that drop everything to and from a machine."""
    return out_of(machine), into(machine)


def out_of(machine: str) -> str:
    """The rule that drops what a machine sends."""
    return f'iifname "{machine}"'


def into(machine: str) -> str:
    """The rule that drops what is sent to a machine."""
    return f'oifname "{machine}"'


def between(one: str, *others: str) -> tuple[str, ...]:
    """Rules that drop everything between a machine and some others."""
    pairs = [(one, other) for other in others] + [(other, one) for other in others]
    return tuple(f'iifname "{source}" oifname "{sink}"' for source, sink in pairs)


def lossy(machine: str) -> tuple[str, ...]:
    """Rules that drop a share of what goes to and from a machine."""
    return tuple(f"{rule} numgen random mod 100 < {BAD_LOSS_PERCENT}" for rule in away(machine))


def every_fault(lasts_s: float) -> list[Fault]:
    """Every fault that ``python -m tests.machines`` tries."""
    faults: list[Fault] = []
    for machine in ("web1", "conductor1", "referee1"):
        faults += [
            Killed(name=f"{machine} killed", lasts_s=lasts_s, machine=machine),
            Cut(name=f"{machine} cut off", lasts_s=lasts_s, rules=away(machine)),
            Cut(name=f"{machine} sends nothing", lasts_s=lasts_s, rules=(out_of(machine),)),
            Frozen(name=f"{machine} frozen", lasts_s=lasts_s, machine=machine),
            Clock(name=f"{machine}: clock 5 min ahead", lasts_s=lasts_s, machine=machine, seconds=300),
            Clock(name=f"{machine}: clock 5 min behind", lasts_s=lasts_s, machine=machine, seconds=-300),
        ]
    bad = {"lasts_s": lasts_s, "delay": "referee1"}
    faults += [
        Cut(name="referee1: 20 % loss, 300 ms", rules=lossy("referee1"), **bad),  # type: ignore[arg-type]
        Cut(
            name="referee1 cut off from players",
            lasts_s=lasts_s,
            rules=between("referee1", "players"),
        ),
        Cut(name="web1 cut off from db", lasts_s=lasts_s, rules=between("web1", "db")),
        Cut(name="conductor1 cut off from db", lasts_s=lasts_s, rules=between("conductor1", "db")),
        Cut(
            name="db cut off",
            lasts_s=lasts_s,
            rules=away("db"),
            goes_on=False,
        ),
        Server(name="PostgreSQL restarted", lasts_s=0, unit="postgres", goes_on=False),
        Server(name="PostgreSQL killed", lasts_s=lasts_s, unit="postgres", goes_on=False),
        Server(name="Redis restarted", lasts_s=2, unit="redis"),
        # Without it a message reaches only those players that dial out to the process which is asked: leagues crawl.
        Server(name="Redis killed", lasts_s=lasts_s, unit="redis", goes_on=False),
        Flushed(name="Redis flushed", lasts_s=0),
        Cut(
            name="Redis cut off",
            lasts_s=lasts_s,
            goes_on=False,
            rules=tuple(f"{rule} tcp {side} 6379" for rule, side in ((into("db"), "dport"), (out_of("db"), "sport"))),
        ),
        Full(name="web1: disk full", lasts_s=lasts_s, machine="web1"),
        Full(name="conductor1: disk full", lasts_s=lasts_s, machine="conductor1"),
        Full(name="db: disk full", lasts_s=lasts_s, machine="db", goes_on=False),
        Killed(name="proxy killed", lasts_s=5, machine="proxy", goes_on=False),
        Cut(name="players cut off", lasts_s=lasts_s, rules=away("players"), spares=False),
    ]
    return faults


SHORT = ("web1 cut off", "db cut off", "Redis killed", "referee1 cut off from players")
"""The faults of the short form, in ``.ci/run``."""
