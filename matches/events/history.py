"""The state of a league after a number of events, and what each kind of event changes of it. Pure.

The table, the pages and messages to agents are made from it. So what an audience sees depends only on the last event
it knows: the present one, the one before the freeze, or the one that the slider of the replay is at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.standings import Result
from league_sdk.protocol.states import LeagueState, RoundState


class Happened(NamedTuple):
    """One event as it is on record."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: datetime
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one match that counted after an event."""

    match_id: str
    round_number: int
    players: tuple[str, str]
    status: str
    winner: str | None
    reason: str
    details: Mapping[str, Any]
    faults: tuple[Mapping[str, Any], ...]
    attempt: int
    referee_id: str | None
    seq: int
    at: datetime
    correction: int | None = None
    """The number of the correction that set it; None if it is as the referee reported it."""
    draw_seed: str = ""
    """The revealed seed in hex; empty if nothing was drawn, or by a referee that does not seal its verdicts."""
    play: int = 1
    """1 for the first play, and one higher for each replay that the instructor ordered."""
    sealed: bool = False
    """Whether the referee sealed the verdict before the players were told."""

    @property
    def result(self) -> Result:
        """The result as the table is computed from it."""
        return Result(self.round_number, *self.players, self.status, self.winner)

    def to_event(self) -> dict[str, Any]:
        """The result as an event tells it."""
        return {
            "match_id": self.match_id,
            "round_id": self.round_number,
            "players": list(self.players),
            "status": self.status,
            "winner_id": self.winner,
            "reason": self.reason,
            "details": dict(self.details),
            "faults": [dict(fault) for fault in self.faults],
            "attempt": self.attempt,
            "referee_id": self.referee_id,
            "correction": self.correction,
        }


@dataclass(frozen=True, slots=True)
class RoundThen:
    """A round that had started."""

    number: int
    state: str
    started_at: datetime
    completed_at: datetime | None = None


@dataclass(slots=True)
class Moment:
    """The state of a league after an event.

    Attributes:
        seq: the number of that event; 0 before the first one.
        head: the digest of that event: the head of the ledger at that time.
        rounds: the rounds that had started, by number.
        outcomes: the results that counted, by match, in the order in which they began to count.
        points: for each player, the points that corrections gave or took.
        out: for each player, ``withdrawn`` or ``disqualified``.
        commitments: by match, the hashes of its seeds, in the order of its plays (ruling, section 12).
        corrections: the corrections by number: the data of each one's event, with ``undone``.
        frozen_after: the last round that the public sees, while the board is frozen.
    """

    seq: int = 0
    head: str = ""
    at: datetime | None = None
    state: str = LeagueState.REGISTRATION
    paused: bool = False
    started_at: datetime | None = None
    completed_at: datetime | None = None
    rounds: dict[int, RoundThen] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    commitments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)
    out: dict[str, str] = field(default_factory=dict)
    corrections: dict[int, dict[str, Any]] = field(default_factory=dict)
    frozen_after: int | None = None

    @property
    def results(self) -> list[Result]:
        """Every result that counts, by round: a corrected result belongs to the round in which it was played."""
        return sorted((outcome.result for outcome in self.outcomes.values()), key=lambda result: result.round_number)

    @property
    def current(self) -> RoundThen | None:
        """The round that was started last."""
        return self.rounds[max(self.rounds)] if self.rounds else None

    def done_in(self, number: int) -> int:
        """How many matches of a round have a result."""
        return sum(outcome.round_number == number for outcome in self.outcomes.values())

    def copy(self) -> Moment:
        """A copy that can be changed without changing this one."""
        return replace(
            self,
            rounds=dict(self.rounds),
            outcomes=dict(self.outcomes),
            commitments=dict(self.commitments),
            points=dict(self.points),
            out=dict(self.out),
            corrections=dict(self.corrections),
        )


# What each kind of event changes; the registry has one of these functions for each kind ----------


def demo_afresh(then: Moment, event: Happened) -> None:
    fresh = Moment()
    for name in then.__slots__:
        setattr(then, name, getattr(fresh, name))


def schedule_made(then: Moment, event: Happened) -> None:
    then.state = LeagueState.SCHEDULED


def round_started(then: Moment, event: Happened) -> None:
    if then.state != LeagueState.COMPLETED:
        then.state = LeagueState.RUNNING
    then.started_at = then.started_at or event.at
    number = int(event.data["round_id"])
    then.rounds[number] = RoundThen(number, RoundState.ANNOUNCING, event.at)
    committed(then, event)


def committed(then: Moment, event: Happened) -> None:
    """Add the commitments to the draws of matches that are opened, for the first time or for a replay."""
    for match_id, known in event.data.get("draw_commitments", {}).items():
        then.commitments[match_id] = (*then.commitments.get(match_id, ()), str(known))


def round_opened(then: Moment, event: Happened) -> None:
    number = int(event.data["round_id"])
    then.rounds[number] = replace(then.rounds[number], state=RoundState.RUNNING)


def round_completed(then: Moment, event: Happened) -> None:
    number = int(event.data["round_id"])
    then.rounds[number] = replace(then.rounds[number], state=RoundState.COMPLETED, completed_at=event.at)


def paused(then: Moment, event: Happened) -> None:
    then.paused = event.kind == EventKind.PAUSED


def completed(then: Moment, event: Happened) -> None:
    then.state, then.completed_at, then.paused = LeagueState.COMPLETED, event.at, False


def stopped(then: Moment, event: Happened) -> None:
    then.state, then.completed_at, then.paused = LeagueState.STOPPED, then.completed_at or event.at, False
    # An active round is not played any more.
    then.rounds = {number: one for number, one in then.rounds.items() if one.state == RoundState.COMPLETED}


def match_finished(then: Moment, event: Happened) -> None:
    _count(then, event, event.data)


def _count(then: Moment, event: Happened, data: Mapping[str, Any]) -> None:
    match_id = str(data["match_id"])
    # A result that counts again moves to the end, as in the feed of events.
    then.outcomes.pop(match_id, None)
    first, second = data["players"]
    then.outcomes[match_id] = Outcome(
        match_id=match_id,
        round_number=int(data["round_id"]),
        players=(first, second),
        status=data["status"],
        winner=data["winner_id"],
        reason=data["reason"],
        details=data["details"],
        faults=tuple(data["faults"]),
        attempt=int(data["attempt"]),
        referee_id=data["referee_id"],
        seq=event.seq,
        at=event.at,
        correction=data.get("correction"),
        draw_seed=str(data.get("draw_seed") or ""),
        play=int(data.get("play") or 1),
        sealed=bool(data.get("sealed", data.get("draw_seed"))),
    )


def corrected(then: Moment, event: Happened) -> None:
    """Apply a correction or its undoing; the data of both are the results, points and players out afterwards."""
    number = int(event.data["number"])
    undone = event.kind == EventKind.CORRECTION_UNDONE
    known = {**then.corrections.get(number, {}), "undone": undone}
    if undone:
        known["undone_reason"] = event.data["reason"]
    else:
        known |= {**event.data, "at": event.at}
    then.corrections[number] = known
    committed(then, event)
    for match_id, result in event.data.get("results", {}).items():
        if result is None:
            then.outcomes.pop(match_id, None)
        else:
            _count(then, event, result)
    for player_id, points in event.data.get("points", {}).items():
        then.points[player_id] = then.points.get(player_id, 0) + int(points)
    for player_id, word in event.data.get("out", {}).items():
        if word is None:
            then.out.pop(player_id, None)
        else:
            then.out[player_id] = word


def frozen(then: Moment, event: Happened) -> None:
    then.frozen_after = int(event.data["after_round"])


def unfrozen(then: Moment, event: Happened) -> None:
    then.frozen_after = None
