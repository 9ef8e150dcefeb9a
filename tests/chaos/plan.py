"""What goes wrong, drawn from a seed: the faults of one process from its start to its end, and those by the clock.

Pure. The same seed, kind of process and incarnation give the same faults at the same steps; which league is
being served at that step is the machine's to say.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

KILL, STOP, DELAY, REFUSE, BREAK, LOSE = "kill", "stop", "delay", "refuse", "break", "lose"
"""SIGKILL; SIGSTOP and later SIGCONT; a wait; a call that does not get out; one whose answer is cut off; one whose
answer never comes."""

BEFORE_WRITE, AFTER_WRITE = "before write", "after write"
BEFORE_COMMIT, AFTER_COMMIT = "before commit", "after commit"
BEFORE_CALL, AFTER_CALL = "before call", "after call"
BEFORE_ANSWER = "before answer"
AFTER_CHOICE = "after choice"
BEFORE_SEAL, AFTER_SEAL = "before seal", "after seal"
BEFORE_END, AFTER_END = "before end", "after end"
BEFORE_REPORT, AFTER_REPORT = "before report", "after report"
"""Of a referee: the steps from the choices of a match to its result. An end is a GAME_OVER."""

_DATABASE = {BEFORE_WRITE: 4, AFTER_WRITE: 4, BEFORE_COMMIT: 4, AFTER_COMMIT: 5}
_CALLS = {BEFORE_CALL: 4, AFTER_CALL: 5}
_VERDICT = {
    AFTER_CHOICE: 2,
    BEFORE_SEAL: 2,
    AFTER_SEAL: 2,
    BEFORE_END: 2,
    AFTER_END: 3,
    BEFORE_REPORT: 2,
    AFTER_REPORT: 2,
}
POINTS: dict[str, dict[str, int]] = {
    # A referee knows no database; the conductor answers nobody; a web process calls nobody.
    "referee": {**_CALLS, BEFORE_ANSWER: 2, **_VERDICT},
    "host": {**_DATABASE, **_CALLS, BEFORE_ANSWER: 4},
    "web": {**_DATABASE, BEFORE_ANSWER: 6},
    "conductor": {**_DATABASE, **_CALLS},
}
"""By kind of process, where it can be hit, and how often one place is chosen over another."""

_LIFE = {"referee": 40, "host": 80, "web": 50, "conductor": 50}
"""A process is killed at the latest at so many steps of the chosen kind; mostly much earlier."""
_LIFE_OF_VERDICTS = 6
"""The same for the steps of which a match has one or two."""
_MOMENTS = {BEFORE_CALL, BEFORE_END}
"""No process is stopped here: between looking at the clock and sending, nobody can be fenced but by the receiver."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong inside a process.

    Attributes:
        kind: KILL, STOP, DELAY, REFUSE, BREAK or LOSE.
        point: at which kind of step.
        nth: at the how many-th such step of the process, or the next one after it while faults are allowed.
        seconds: how long a stop or a delay lasts.
    """

    kind: str
    point: str
    nth: int
    seconds: float = 0.0


def faults_of(seed: int, role: str, number: int) -> list[Fault]:
    """The faults of the ``number``-th process of a kind: some that it survives, then the one that it does not."""
    rng = random.Random(f"{seed}/{role}/{number}")
    points = POINTS[role]
    found = [_survived(rng, points, _LIFE[role]) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    point = _point(rng, points)
    found.append(Fault(KILL, point, _nth(rng, point, _LIFE[role])))
    return found


def _survived(rng: random.Random, points: dict[str, int], life: int) -> Fault:
    kinds = {DELAY: 4, STOP: 1} | ({REFUSE: 3, BREAK: 3, LOSE: 2} if BEFORE_CALL in points else {})
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    nth = _somewhere(rng, life)
    if kind == REFUSE:
        return Fault(kind, BEFORE_CALL, nth)
    if kind in (BREAK, LOSE):
        return Fault(kind, AFTER_CALL, nth)
    if kind == STOP:
        point = _point(rng, {point: weight for point, weight in points.items() if point not in _MOMENTS})
        return Fault(
            kind, point, _nth(rng, point, life), round(rng.choice([0.5, 2.0, 4.0, 9.0]) * rng.uniform(0.8, 1.2), 2)
        )
    point = _point(rng, points)
    return Fault(kind, point, _nth(rng, point, life), round(rng.uniform(0.05, 0.9), 2))


def _nth(rng: random.Random, point: str, life: int) -> int:
    return _somewhere(rng, _LIFE_OF_VERDICTS if point in _VERDICT else life)


def _point(rng: random.Random, points: dict[str, int]) -> str:
    return rng.choices(list(points), list(points.values()))[0]


def _somewhere(rng: random.Random, life: int) -> int:
    """1 to ``life``, each order of size as likely as the next: some die young, some in the middle of things."""
    return max(1, round(life ** rng.random()))


@dataclass(frozen=True, slots=True)
class Blow:
    """One thing that is done to a process, or to what it stands on, by the clock.

    Attributes:
        after_s: it comes when nothing else has died for so many seconds.
        what: KILL or STOP, or ``disk``, ``redis``, ``postgres``.
        role: the kind of process that is hit; empty for what they stand on.
        which: picks one of those that run, 0 to 1.
        seconds: how long a stop or a full disk lasts.
        at_an_end: it does not wait for the clock but for the next GAME_OVER that a player hears.
    """

    after_s: float
    what: str
    role: str = ""
    which: float = 0.0
    seconds: float = 0.0
    at_an_end: bool = False


AT_ENDS = 0.5
"""So many of the blows wait for a GAME_OVER: what hears of it has not been reported yet."""
DISK, REDIS, POSTGRES = "disk", "redis", "postgres"
_BLOWS: dict[str, dict[tuple[str, str], int]] = {
    "sqlite": {(KILL, "referee"): 8, (KILL, "host"): 3, (STOP, "referee"): 2, (STOP, "host"): 1, (DISK, ""): 1},
    "scaled": {
        (KILL, "referee"): 6,
        (KILL, "web"): 3,
        (KILL, "conductor"): 3,
        (STOP, "referee"): 2,
        (STOP, "web"): 1,
        (STOP, "conductor"): 1,
        (REDIS, ""): 1,
        (POSTGRES, ""): 1,
    },
}


class Blows:
    """The blows of one episode, in their order; each kind comes within the first so many.

    Args:
        mode: ``sqlite`` or ``scaled``.
    """

    def __init__(self, seed: int, episode: int, mode: str) -> None:
        self._rng = random.Random(f"{seed}/blows/{episode}")
        self._weights = _BLOWS[mode]
        # What is rare must not be left to chance in a short run: each episode begins with two others of them.
        rare = [kind for kind in self._weights if not kind[1]] + [kind for kind in self._weights if kind[0] == STOP]
        self._first = [rare[(2 * episode + offset) % len(rare)] for offset in range(2)]

    def next(self) -> Blow:
        """The next blow."""
        rng = self._rng
        kinds = list(self._weights)
        what, role = rng.choices(kinds, list(self._weights.values()))[0]
        after = rng.uniform(0.5, 2.5)
        if self._first:
            # At once, or something inside a process is always quicker.
            (what, role), after = self._first.pop(0), 0.2
        least, most = {DISK: (3.0, 5.0), STOP: (1.0, 9.0)}.get(what, (0.0, 0.0))
        return Blow(
            round(after, 2),
            what,
            role,
            rng.random(),
            round(rng.uniform(least, most), 2),
            at_an_end=rng.random() < AT_ENDS,
        )


def settings_of(rng: random.Random) -> dict[str, Any]:
    """A league's settings: limits short enough that a lost call is over within the promise, the rest as by default."""
    limits = {"join_timeout_s": 2.0, "move_timeout_s": 2.5, "game_over_timeout_s": 2.0, "generic_timeout_s": 3.0}
    return {**limits, "retry_base_s": 0.3, "auto_advance": True, "announce_wait_s": rng.choice([1.0, 2.0])}
