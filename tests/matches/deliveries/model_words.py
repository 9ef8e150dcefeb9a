"""The words of the model: an agent, a match, a correction, a message that is on its way. Time is in whole seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LEASE_S, SILENT_S, MAX_LOST_ATTEMPTS, MAX_PLAYERS, MAX_TOKENS, MAX_RELAYED_ANSWERS, WAIT_S = 8, 16, 3, 5, 16, 4, 2
"""Limits of the league; a referee that reports progress and was silent for longer than SILENT_S gets no match, and a
round waits WAIT_S for its announcements to be delivered."""
MAX_LOST_MATCHES = 3
"""A student's referee that lost so many matches gets one only if there is no other referee."""
MIN_ABSENT_PEOPLE, SHARE_ABSENT, MAX_OWN_PAUSES = 3, 0.5, 3
"""So many people, and this share of them and of the players, have to go in one round for the league to pause, which it
does so many times."""
MIN_CALL_S, MAX_CALL_S, MAX_CALLED_S, MAX_MOVES_PER_HOUR = 1, 30, 600, 12
"""Of moves: between two calls at a new address pass at least MIN_CALL_S and at most MAX_CALL_S, and it is called for
MAX_CALLED_S."""
MAX_ENDS_TOLD = 6
"""The end of a league is told once, and five times more if others are champions later."""
SUSPEND_AFTER, SHUTDOWN_AFTER = 1, 2
"""After so many silences in a row a player is suspended, or shut down."""
QUIET_S, SIMULTANEOUS_S, RECENT_S, MIN_BACKOFF_S, MAX_BACKOFF_S = 3, 2, 15, 3, 600
"""Of held matches (``matches/league/holds.py``): for QUIET_S no attempt may be lost before they are retried; attempts
lost within SIMULTANEOUS_S may have one cause; the loss of an unrelated match matters for RECENT_S."""
PENDING, READY, PLAYING, HELD, FINISHED = "PENDING", "READY", "PLAYING", "HELD", "FINISHED"
STEPS = ("ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER")
OPEN = (READY, PLAYING, HELD)
OVER = ("COMPLETED", "STOPPED")
Changes = dict[str, tuple[str, tuple[str, str | None] | None]]
"""For each match, its new phase and result."""
Rows = list[tuple[str, int, int, int, int, int]]
"""A table: id, points, wins, draws, losses, technical losses."""
KEEP, VOID, LOSE = "keep", "void", "lose"
"""What becomes of the matches of a player that is taken out: those played stand and the others are lost; all are void;
all are lost."""


@dataclass
class Move:
    """A player that has registered at another address, where it is not called before an answer proves it.

    Attributes:
        machine: the IP address.
        home_at: when it last registered from that machine; None if it did not.
        since, next_at: when it first registered there, and when it is called or looked at next.
        token: the token that it got.
        proven: an answer came from there.
        taken: another player is there.
    """

    machine: str
    home_at: int | None
    since: int
    next_at: int
    token: str = ""
    proven: bool = False
    taken: bool = False


@dataclass
class Agent:
    """An agent.

    Of a referee it matters whether it is ``suspended``, of a player in which ``state`` it is.

    Attributes:
        machine: its IP address.
        registered_from: the caller of its first registration.
        tokens: each valid token, and whether it proves identity.
        lost_matches: of a student's referee, the matches that it lost.
        home_at: when it last registered from the machine of its address.
        answered: an answer proved its address.
        moved_at: when its moves counted.
    """

    number: int
    prefix: str
    name: str
    display_name: str
    machine: str
    registered_from: str
    tokens: dict[str, bool] = field(default_factory=dict)
    trusted: bool = False
    site_key: bool = False
    sends_progress: bool = True
    suspended: bool = False
    last_call_at: int = 0
    state: str = "REGISTERED"
    silences: int = 0
    lost_matches: int = 0
    home_at: int | None = None
    answered: bool = False
    move: Move | None = None
    moved_at: list[int] = field(default_factory=list)

    @property
    def code(self) -> str:
        return f"{self.prefix}{self.number:02d}"


@dataclass
class Match:
    """One match.

    Attributes:
        lost_or_corrected_at: when it last lost an attempt, was corrected, or a correction of it was undone.
        assigned_at: when its attempt began.
        play: one more whenever it is played again.
        lost_by: the referee that lost an attempt, by its number.
        silent: who did not answer, as the report says whose result is on record.
        step: the last of :data:`STEPS` that was reported, as its index.
    """

    players: tuple[str, str]
    round: int
    phase: str = PENDING
    attempt: int = 0
    lost_attempts: int = 0
    referee: str | None = None
    lease_until: int | None = None
    lost_or_corrected_at: int = 0
    assigned_at: int = 0
    play: int = 1
    lost_by: dict[int, str | None] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    step: int = 0
    result: tuple[str, str | None] | None = None


@dataclass(frozen=True)
class Out:
    """A player that is out of the league: how, and what becomes of its matches."""

    how: str
    matches_become: str


@dataclass
class Correction:
    """Before a correction: each match's phase, result and silent players, and whether a player was in and called."""

    number: int
    before: dict[str, tuple[str, tuple[str, str | None] | None]]
    player: str | None = None
    points: int = 0
    takes_out: bool = False
    was_out: Out | None = None
    was_called: bool = True
    silent: dict[str, frozenset[str]] = field(default_factory=dict)
    undone: bool = False

    @property
    def touches(self) -> set[str | None]:
        return {*self.before, self.player} - {None}


@dataclass
class Parcel:
    """One message to one agent in the outbox."""

    kind: str
    round: int | None
    to: str
    relayed_for: str | None
    state: str = "PENDING"


def is_in_play(match: Match) -> bool:
    return match.phase == PLAYING


def call_again(player: Agent) -> None:
    if player.state == "SHUTDOWN":
        player.state, player.silences = "REGISTERED", 0


def result_without(match: Match, absent: Mapping[str, str]) -> tuple[str, str | None]:
    """How a match ends without its absent players; ``absent`` has what becomes of the matches of each."""
    left = [code for code in match.players if code not in absent]
    if any(absent.get(code) == VOID for code in match.players):
        return "CANCELLED", None
    return "TECHNICAL_LOSS", left[0] if left else None


def lost_technically(match: Match, code: str) -> bool:
    """Whether a player has lost a match technically."""
    status, winner = match.result or ("", None)
    return status == "TECHNICAL_LOSS" and winner != code


def free_number(agents: list[Agent], wanted: int | None) -> int:
    numbers = {one.number for one in agents}
    if wanted is not None and wanted not in numbers:
        return wanted
    return next(number for number in range(1, 100) if number not in numbers)
