"""Draws faults from a seed: inside a process, at its steps; from outside, by the clock; and on players' connections.

Pure. The same seed, kind of process and number of process give the same faults at the same steps; which league is
served at such a step depends on the machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

KILL, STOP, DELAY, REFUSE, BREAK, LOSE = "kill", "stop", "delay", "refuse", "break", "lose"
"""SIGKILL; SIGSTOP and later SIGCONT; a delay; a call that is refused; a call whose answer is cut off; a call whose
answer never comes."""
CUT = "cut"
"""The connection of a player that dials out is reset, on both sides."""

BEFORE_WRITE, AFTER_WRITE = "before write", "after write"
BEFORE_COMMIT, AFTER_COMMIT = "before commit", "after commit"
BEFORE_CALL, AFTER_CALL = "before call", "after call"
BEFORE_ANSWER = "before answer"
AFTER_CHOICE = "after choice"
BEFORE_SEAL, AFTER_SEAL = "before seal", "after seal"
BEFORE_END, AFTER_END = "before end", "after end"
BEFORE_REPORT, AFTER_REPORT = "before report", "after report"
"""The steps of a referee from the choices of a match to its result. An end is a GAME_OVER."""

WAITING, MESSAGE_ON_ITS_WAY, NOT_ANSWERED, ANSWER_ON_ITS_WAY, ANSWERED = (
    "waiting",
    "message on its way",
    "not answered",
    "answer on its way",
    "answered",
)
"""The states of a line in which it is cut: it waits; a message is on its way, and lost; the player has the message and
has not answered; its answer is on its way, and lost; the site has the answer, and the receipt, if there is one, is
lost."""

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
    # A referee has no database, a conductor answers no requests, and a web process calls no agents.
    "referee": {**_CALLS, BEFORE_ANSWER: 2, **_VERDICT},
    "host": {**_DATABASE, **_CALLS, BEFORE_ANSWER: 4},
    "web": {**_DATABASE, BEFORE_ANSWER: 6},
    "conductor": {**_DATABASE, **_CALLS},
}
"""For each kind of process, the points at which faults can happen, and the weight of each."""

_MAX_STEPS = {"referee": 40, "host": 80, "web": 50, "conductor": 50}
"""For each kind of process, the highest ``nth`` of its faults; low numbers are likelier."""
_MAX_VERDICT_STEPS = 6
"""Like ``_MAX_STEPS``, for the steps in ``_VERDICT``, of which a match has one or two."""
_NO_STOP = {BEFORE_CALL, BEFORE_END}
"""No process stops itself at these points, between reading the clock and calling: it could not notice that it is
late, and only the receiver can refuse such a call."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong inside a process, or on a line.

    Attributes:
        kind: KILL, STOP, DELAY, REFUSE, BREAK or LOSE; on a line CUT.
        point: the kind of step at which it happens.
        nth: the number of that step in the process or on the line; if faults are off then, it happens at the next one.
        seconds: how long a stop or a delay lasts, or a line waits before it is cut.
    """

    kind: str
    point: str
    nth: int
    seconds: float = 0.0


def faults_of(seed: int, role: str, number: int) -> list[Fault]:
    """The faults of the ``number``-th process of a kind: up to three that it survives, and a SIGKILL."""
    rng = random.Random(f"{seed}/{role}/{number}")
    points = POINTS[role]
    faults = [_survived(rng, points, _MAX_STEPS[role]) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    point = _point(rng, points)
    faults.append(Fault(KILL, point, _nth(rng, point, _MAX_STEPS[role])))
    return faults


def _survived(rng: random.Random, points: dict[str, int], max_steps: int) -> Fault:
    kinds = {DELAY: 4, STOP: 1} | ({REFUSE: 3, BREAK: 3, LOSE: 2} if BEFORE_CALL in points else {})
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    nth = _step(rng, max_steps)
    if kind == REFUSE:
        return Fault(kind, BEFORE_CALL, nth)
    if kind in (BREAK, LOSE):
        return Fault(kind, AFTER_CALL, nth)
    if kind == STOP:
        point = _point(rng, {point: weight for point, weight in points.items() if point not in _NO_STOP})
        return Fault(
            kind, point, _nth(rng, point, max_steps), round(rng.choice([0.5, 2.0, 4.0, 9.0]) * rng.uniform(0.8, 1.2), 2)
        )
    point = _point(rng, points)
    return Fault(kind, point, _nth(rng, point, max_steps), round(rng.uniform(0.05, 0.9), 2))


def _nth(rng: random.Random, point: str, max_steps: int) -> int:
    return _step(rng, _MAX_VERDICT_STEPS if point in _VERDICT else max_steps)


def _point(rng: random.Random, points: dict[str, int]) -> str:
    return rng.choices(list(points), list(points.values()))[0]


def _step(rng: random.Random, max_steps: int) -> int:
    """A step from 1 to ``max_steps``; each order of magnitude is equally likely."""
    return max(1, round(max_steps ** rng.random()))


LINE_POINTS = {WAITING: 1, MESSAGE_ON_ITS_WAY: 3, NOT_ANSWERED: 3, ANSWER_ON_ITS_WAY: 3, ANSWERED: 2}
"""The points at which a line is cut, and the weight of each."""
_MAX_LINE_STEPS = 8


def cut_of(seed: int, number: int) -> Fault:
    """The point at which the ``number``-th connection of the players that dial out is cut, unless it ends before."""
    rng = random.Random(f"{seed}/line/{number}")
    point, nth = _point(rng, LINE_POINTS), _step(rng, _MAX_LINE_STEPS)
    return Fault(CUT, point, nth, round(rng.uniform(0.0, 0.3), 2) if point == WAITING else 0.0)


@dataclass(frozen=True, slots=True)
class TimedFault:
    """A fault from outside, of a process, the disk or a server.

    Attributes:
        after_s: it happens when faults have been on for this many seconds and no process was killed meanwhile.
        what: KILL or STOP, or ``disk``, ``redis``, ``postgres``.
        role: the kind of process that is hit; empty for disk and servers.
        which: picks one of the running processes, 0 to 1.
        seconds: how long a stop or a full disk lasts.
        at_game_over: it happens not by the clock but at the next GAME_OVER that a player receives, or after
            ``episode.MAX_WAIT_S`` without one.
    """

    after_s: float
    what: str
    role: str = ""
    which: float = 0.0
    seconds: float = 0.0
    at_game_over: bool = False


SHARE_AT_GAME_OVER = 0.5
"""The share of timed faults that wait for a GAME_OVER: its result has not been reported yet."""
DISK, REDIS, POSTGRES = "disk", "redis", "postgres"
_TIMED_FAULTS: dict[str, dict[tuple[str, str], int]] = {
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


class TimedFaults:
    """The timed faults of one episode, in order; over some episodes each rare kind comes up.

    Args:
        mode: ``sqlite`` or ``scaled``.
    """

    def __init__(self, seed: int, episode: int, mode: str) -> None:
        self._rng = random.Random(f"{seed}/blows/{episode}")
        self._weights = _TIMED_FAULTS[mode]
        # Rare kinds must occur even in a short run: each episode begins with the next two of them.
        rare = [kind for kind in self._weights if not kind[1]] + [kind for kind in self._weights if kind[0] == STOP]
        self._first = [rare[(2 * episode + offset) % len(rare)] for offset in range(2)]

    def next(self) -> TimedFault:
        """The next timed fault."""
        rng = self._rng
        kinds = list(self._weights)
        what, role = rng.choices(kinds, list(self._weights.values()))[0]
        after, is_first = rng.uniform(0.5, 2.5), bool(self._first)
        if is_first:
            # Almost at once, because otherwise a fault inside a process would always come first.
            (what, role), after = self._first.pop(0), 0.2
        shortest, longest = {DISK: (3.0, 5.0), STOP: (1.0, 9.0)}.get(what, (0.0, 0.0))
        return TimedFault(
            round(after, 2),
            what,
            role,
            rng.random(),
            round(rng.uniform(shortest, longest), 2),
            at_game_over=rng.random() < SHARE_AT_GAME_OVER and not is_first,
        )


def settings_of(rng: random.Random) -> dict[str, Any]:
    """A league's settings: limits so short that a lost call ends within the promised time; rounds without pauses."""
    limits = {"join_timeout_s": 2.0, "move_timeout_s": 2.5, "game_over_timeout_s": 2.0, "generic_timeout_s": 3.0}
    return {
        **limits,
        "retry_base_s": 0.3,
        "auto_advance": True,
        "announce_wait_s": rng.choice([1.0, 2.0]),
        "pause_if_absent": 0,
    }
