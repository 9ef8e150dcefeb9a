"""The values that corrections are planned with: what is asked for, how things stand, what changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import IN_PLAY, OPEN
from league_sdk.protocol.transcript import is_storable
from matches.league.errors import Invalid
from matches.models import League, Match

VOID, REPLAY, SET_RESULT = "void", "replay", "set_result"
WITHDRAW, DISQUALIFY, POINTS = "withdraw", "disqualify", "points"
OF_MATCH, OF_PLAYER = (VOID, REPLAY, SET_RESULT), (WITHDRAW, DISQUALIFY, POINTS)
KEEP, LOSE = "keep", "lose"
MATCHES_BECOME = (KEEP, VOID, LOSE)
MAX_POINTS = 1000
MIN_REASON_CHARS, MAX_REASON_CHARS = 3, 300


@dataclass(frozen=True, slots=True)
class Wish:
    """What the instructor asks for.

    Attributes:
        status: for ``set_result``: WIN, DRAW or TECHNICAL_LOSS.
        winner: for ``set_result``: a player id; None with TECHNICAL_LOSS means that both were absent.
        points: for ``points``: above 0 awarded, below 0 taken.
        matches_become: for ``withdraw`` and ``disqualify``: ``keep``, ``void`` or ``lose``.
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
        match: its row, with its round, players and referee.
        outcome: the result that counts, in the form of an event's data; None when there is none.
    """

    match: Match
    outcome: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Situation:
    """What a plan is made from.

    Attributes:
        number: the number of the correction that is planned or undone.
        matches: the matches that the correction may change, by id.
        players: the ids of everyone in the schedule.
    """

    league: League
    number: int
    matches: Mapping[str, Known]
    players: Sequence[str]


@dataclass(frozen=True, slots=True)
class Change:
    """What one match becomes.

    Attributes:
        outcome: the result that counts from then on, in the form of an event's data; None when there is none.
        finished_at: when it was finished; None for the time of the correction.
    """

    known: Known
    state: str
    outcome: Mapping[str, Any] | None
    finished_at: datetime | None = None

    @property
    def match(self) -> Match:
        """The match's row as it was when the plan was made."""
        return self.known.match


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a correction, or its undoing, changes.

    Attributes:
        players: the ids of the players of the match that the correction is about.
        points: by how much each player's points change.
        out: the entry of each player in ``League.out`` afterwards; None for no entry.
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
    def event(self) -> EventKind:
        """The kind of the plan's event."""
        return EventKind.CORRECTION_UNDONE if self.undo else EventKind.CORRECTED

    @property
    def gone(self) -> list[str]:
        """The players that this plan has an entry for: they are out of the league after it."""
        return [player for player, entry in self.out.items() if entry is not None]

    @property
    def reopened(self) -> list[Change]:
        """The matches that this plan opens."""
        return [change for change in self.changes if change.state in OPEN]

    def data(self, now: datetime) -> dict[str, Any]:
        """The data of the plan's event (``history.Moment``).

        Args:
            now: the time at which a match ends that this plan decides.
        """
        return {
            "number": self.number,
            "kind": self.kind,
            "match_id": self.match_id,
            "player_id": self.player_id,
            "players": list(self.players),
            "matches_become": self.matches_become,
            "points": dict(self.points),
            "out": {player: entry["word"] if entry else None for player, entry in self.out.items()},
            "results": {
                change.match.match_id: change.outcome
                and {**change.outcome, "finished_at": (change.finished_at or now).isoformat()}
                for change in self.changes
            },
            "reason": self.reason,
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the plan's effect: equal for the preview and for what is carried out after it.

        The progress of a match in play does not change it. Another correction in between changes that of a new
        correction, but not that of an undo, which is refused if a later correction touches the same match or player.
        """
        matches = [
            [change.match.match_id, _standing(change.match), change.known.outcome, change.state, change.outcome]
            for change in self.changes
        ]
        whole = [self.number, self.undo, self.kind, self.player_id, dict(self.points), dict(self.out), matches]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def _standing(match: Match) -> list[Any]:
    return ["in play" if match.state in IN_PLAY else match.state, match.attempt]


def checked_reason(reason: object) -> str:
    """Check a reason, and return it as one line of 3 to 300 characters.

    Raises:
        Invalid: it is not a text, too short or too long, or cannot be stored.
    """
    text = " ".join(reason.split()) if isinstance(reason, str) else ""
    if not is_storable(text):
        raise Invalid(_("The reason holds a character that cannot be stored."), field="reason")
    if not MIN_REASON_CHARS <= len(text) <= MAX_REASON_CHARS:
        raise Invalid(
            _("Give a reason of %(min)d to %(max)d characters (seen: %(seen)d): everybody reads it.")
            % {"min": MIN_REASON_CHARS, "max": MAX_REASON_CHARS, "seen": len(text)},
            field="reason",
        )
    return text
