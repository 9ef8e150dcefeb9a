"""The words in which corrections are planned: what is wished, how things stand, what changes. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import IN_PLAY, MatchState
from matches.league.errors import Invalid

VOID, REPLAY, SET_RESULT = "void", "replay", "set_result"
WITHDRAW, DISQUALIFY, POINTS = "withdraw", "disqualify", "points"
OF_MATCH, OF_PLAYER = (VOID, REPLAY, SET_RESULT), (WITHDRAW, DISQUALIFY, POINTS)
KEEP, LOSE = "keep", "lose"
MATCHES_BECOME = (KEEP, VOID, LOSE)
MOST_POINTS = 1000
LEAST_REASON, MOST_REASON = 3, 300
OPEN = (MatchState.READY, MatchState.HELD, *IN_PLAY)
NO_RESULT: dict[str, Any] = {
    "status": "",
    "winner": None,
    "reason": "",
    "details": {},
    "faults": [],
    "finished_at": None,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the instructor asks for.

    Attributes:
        status: for ``set_result``: WIN, DRAW or TECHNICAL_LOSS.
        winner: for ``set_result``: a player id; None with TECHNICAL_LOSS is both absent.
        points: for ``points``: above 0 awarded, below 0 taken.
        matches_become: for a player that is taken out: ``keep``, ``void`` or ``lose``.
    """

    kind: str
    reason: str
    match_id: str = ""
    player_id: str = ""
    status: str = ""
    winner: str | None = None
    points: int = 0
    matches_become: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """One match as it stands.

    Attributes:
        columns: those of its row that hold its result, a winner by id, a time as text.
        outcome: the result that counts, as an event tells it; None when there is none.
        blank: the details of a result that was not played for.
        sealed: its verdict is sealed, and its players are being told.
    """

    match_id: str
    round_number: int
    players: tuple[str, str]
    state: str
    attempt: int
    referee_id: str | None
    columns: Mapping[str, Any]
    outcome: Mapping[str, Any] | None
    blank: Mapping[str, Any] = field(default_factory=dict)
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Situation:
    """What a plan is made from.

    Attributes:
        number: that of the correction that is planned, or undone.
        matches: those that the correction may be about.
        players: everyone in the schedule.
        out: who has been taken out already, and what becomes of their matches (``League.out``).
    """

    number: int
    state: str
    matches: Mapping[str, Known]
    players: Sequence[str]
    out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    demo: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What one match becomes: its row, and the result that counts from then on (None: there is none)."""

    known: Known
    state: str
    columns: Mapping[str, Any]
    outcome: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a correction, or its undoing, changes.

    Attributes:
        players: those of the match it is about.
        points: what each player's points change by.
        out: what ``League.out`` has of each player afterwards; None: nothing.
    """

    number: int
    kind: str
    reason: str
    undo: bool = False
    match_id: str = ""
    player_id: str = ""
    players: tuple[str, ...] = ()
    matches_become: str = ""
    changes: tuple[Change, ...] = ()
    points: Mapping[str, int] = field(default_factory=dict)
    out: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)

    @property
    def event(self) -> str:
        """The kind of the event that tells it."""
        return EventKind.CORRECTION_UNDONE if self.undo else EventKind.CORRECTED

    @property
    def gone(self) -> list[str]:
        """The players that are out of the league from now on."""
        return [player for player, entry in self.out.items() if entry is not None]

    @property
    def reopened(self) -> list[Change]:
        """The matches that are played from now on."""
        return [change for change in self.changes if change.state in OPEN]

    def data(self) -> dict[str, Any]:
        """What its event says of it (``history.Moment``)."""
        return {
            "number": self.number,
            "kind": self.kind,
            "match_id": self.match_id,
            "player_id": self.player_id,
            "players": list(self.players),
            "matches_become": self.matches_become,
            "points": dict(self.points),
            "out": {player: entry["word"] if entry else None for player, entry in self.out.items()},
            "results": {change.known.match_id: change.outcome for change in self.changes},
            "reason": self.reason,
        }

    @property
    def fingerprint(self) -> str:
        """The same for the same effect: what is confirmed is what was shown.

        How far a match in play has come makes no difference; that another correction came between does.
        """
        matches = [
            [change.known.match_id, _standing(change.known), change.known.outcome, change.state, change.outcome]
            for change in self.changes
        ]
        whole = [self.number, self.undo, self.kind, self.player_id, dict(self.points), dict(self.out), matches]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def _standing(known: Known) -> list[Any]:
    return ["in play" if known.state in IN_PLAY else known.state, known.attempt]


def checked_reason(reason: object) -> str:
    """A reason as it is kept: one line of 3 to 300 characters.

    Raises:
        Invalid: it is none, too short or too long, or cannot be stored.
    """
    text = " ".join(reason.split()) if isinstance(reason, str) else ""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Invalid(_("The reason holds a character that cannot be stored."), field="reason")
    if not LEAST_REASON <= len(text) <= MOST_REASON:
        raise Invalid(
            _("Give a reason of %(least)d to %(most)d characters (seen: %(seen)d): everybody reads it.")
            % {"least": LEAST_REASON, "most": MOST_REASON, "seen": len(text)},
            field="reason",
        )
    return text


@dataclass(frozen=True, slots=True)
class Made:
    """A correction as it is on record.

    Attributes:
        before: by match id its state, result columns and counting result before it.
        out: what ``League.out`` had of its player.
        touches: the matches and the player that it is about.
    """

    number: int
    kind: str
    match_id: str
    player_id: str
    players: tuple[str, ...]
    points: int
    matches_become: str
    before: Mapping[str, Mapping[str, Any]]
    out: Mapping[str, Mapping[str, str] | None]
    undone: bool

    @property
    def touches(self) -> set[str]:
        found = set(self.before) | {f"player {self.player_id}"}
        return found if self.player_id else set(self.before)
