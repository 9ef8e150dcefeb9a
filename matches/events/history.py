"""The state of a league after a number of events, and what each kind of event changes in it. Pure.

The table, the pages and messages to agents are made from this state. So what an audience sees depends only on the last
event that the audience may know: the newest one, the last one before the freeze, or the one that the slider of the
replay is at. Only matches in play are read from their rows, for an audience that sees the present.
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
    """The result of one match, as it counted after an event."""

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
    """The number of the correction that set it; None if none did."""
    draw_seed: str = ""
    """The revealed seed in hex; empty if nothing was drawn, or by a referee that does not seal its verdicts."""
    play: int = 1
    """1 when the match is played for the first time; one higher each time that a correction, or an undo, reopens it."""
    sealed: bool = False
    """Whether the referee sealed the verdict before the players were told."""

    @property
    def result(self) -> Result:
        """The result as the table is computed from it."""
        return Result(self.round_number, *self.players, self.status, self.winner)

    def to_event(self) -> dict[str, Any]:
        """The result in the form in which the data of an event have it."""
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
    """A round that had started when an event happened, as the round stood after that event."""

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
        corrected_points: for each player, the points that corrections gave, or took if below 0.
        out: for each player, ``withdrawn`` or ``disqualified``.
        commitments: by match, the commitments to its seeds, one for each of its plays, in order (ruling, section 12).
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
    corrected_points: dict[str, int] = field(default_factory=dict)
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
            corrected_points=dict(self.corrected_points),
            out=dict(self.out),
            corrections=dict(self.corrections),
        )


# What each kind of event changes; the registry names one of these functions for each kind that changes something ---


def demo_afresh(moment: Moment, event: Happened) -> None:
    fresh = Moment()
    for name in moment.__slots__:
        setattr(moment, name, getattr(fresh, name))


def schedule_made(moment: Moment, event: Happened) -> None:
    moment.state = LeagueState.SCHEDULED


def round_started(moment: Moment, event: Happened) -> None:
    if moment.state != LeagueState.COMPLETED:
        moment.state = LeagueState.RUNNING
    moment.started_at = moment.started_at or event.at
    number = int(event.data["round_id"])
    moment.rounds[number] = RoundThen(number, RoundState.ANNOUNCING, event.at)
    committed(moment, event)


def committed(moment: Moment, event: Happened) -> None:
    """Add the commitments to the draws of matches that are opened, for the first time or for a replay."""
    for match_id, commitment in event.data.get("draw_commitments", {}).items():
        moment.commitments[match_id] = (*moment.commitments.get(match_id, ()), str(commitment))


def round_opened(moment: Moment, event: Happened) -> None:
    number = int(event.data["round_id"])
    moment.rounds[number] = replace(moment.rounds[number], state=RoundState.RUNNING)


def round_completed(moment: Moment, event: Happened) -> None:
    number = int(event.data["round_id"])
    moment.rounds[number] = replace(moment.rounds[number], state=RoundState.COMPLETED, completed_at=event.at)


def paused_or_resumed(moment: Moment, event: Happened) -> None:
    moment.paused = event.kind != EventKind.RESUMED


def completed(moment: Moment, event: Happened) -> None:
    moment.state, moment.completed_at, moment.paused = LeagueState.COMPLETED, event.at, False


def stopped(moment: Moment, event: Happened) -> None:
    moment.state, moment.completed_at, moment.paused = LeagueState.STOPPED, moment.completed_at or event.at, False
    # An active round is not played any more.
    moment.rounds = {number: row for number, row in moment.rounds.items() if row.state == RoundState.COMPLETED}


def match_finished(moment: Moment, event: Happened) -> None:
    _count(moment, event, event.data)


def _count(moment: Moment, event: Happened, data: Mapping[str, Any]) -> None:
    match_id = str(data["match_id"])
    # A result that replaces an earlier one moves to the end, as in the feed of events.
    moment.outcomes.pop(match_id, None)
    first, second = data["players"]
    moment.outcomes[match_id] = Outcome(
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


def corrected(moment: Moment, event: Happened) -> None:
    """Apply a correction or its undoing.

    The data of both say which results count afterwards, by how much points change, and which players are out.
    """
    number = int(event.data["number"])
    undone = event.kind == EventKind.CORRECTION_UNDONE
    correction = {**moment.corrections.get(number, {}), "undone": undone}
    if undone:
        correction["undone_reason"] = event.data["reason"]
    else:
        correction |= {**event.data, "at": event.at}
    moment.corrections[number] = correction
    committed(moment, event)
    for match_id, result in event.data.get("results", {}).items():
        if result is None:
            moment.outcomes.pop(match_id, None)
        else:
            _count(moment, event, result)
    for player_id, points in event.data.get("points", {}).items():
        moment.corrected_points[player_id] = moment.corrected_points.get(player_id, 0) + int(points)
    for player_id, word in event.data.get("out", {}).items():
        if word is None:
            moment.out.pop(player_id, None)
        else:
            moment.out[player_id] = word


def frozen(moment: Moment, event: Happened) -> None:
    moment.frozen_after = int(event.data["after_round"])


def unfrozen(moment: Moment, event: Happened) -> None:
    moment.frozen_after = None
