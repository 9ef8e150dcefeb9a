"""A scripted conversation: players that answer from a list, time that passes at once, everything on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.mailbox import Mailbox
from league_sdk.judging.match.brief import Brief, Seat, Standings
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ending import Verdict
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.match.play import play_match
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.even_odd import EvenOdd
from league_sdk.rules.game import Game

BEGIN = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)
A, B = "P01", "P02"
ALL = 10**9
"""A budget for MatchLog.take that nothing exceeds."""


def seat(player_id: str, role: str, **changes: Any) -> Seat:
    number = int(player_id[1:])
    made = Seat(
        player_id=player_id,
        role=role,
        endpoint=f"http://localhost:{8100 + number}/mcp",
        dialect="canonical",
        league_token="tok_" + f"{number:032x}",
        token_digests=(f"{number:064x}",),
        standings=Standings(wins=number),
    )
    return replace(made, **changes)


def brief(*, a: dict[str, Any] | None = None, b: dict[str, Any] | None = None, attempt: int = 1, **rules: Any) -> Brief:
    """R1M1 between P01 and P02; ``a`` and ``b`` change the seats, the rest are league settings."""
    return Brief(
        league_id="league_2025_even_odd",
        round_id=1,
        match_id="R1M1",
        attempt=attempt,
        game_type="even_odd",
        conversation_id=f"conv-r1m1-{attempt:03d}",
        player_a=seat(A, "PLAYER_A", **(a or {})),
        player_b=seat(B, "PLAYER_B", **(b or {})),
        settings=LeagueSettings(**rules),
        referee_id="REF01",
        referee_endpoint="http://localhost:8001/mcp",
    )


# What a player may do ------------------------------------------------------------------------------------

JOIN = CallResult(message={"message_type": "GAME_JOIN_ACK", "accept": True}, body={"accept": True}, elapsed_s=1.0)
DECLINED = CallResult(message={"message_type": "GAME_JOIN_ACK", "accept": False}, body={"accept": False})
SILENCE = CallResult(error_code="E001", problem="no answer in time")
NOT_LISTENING = CallResult(
    error_code="E009",
    problem="no connection: Connection refused",
    connected=False,
    cause=Cause.CONNECT,
    detail="nobody listens at its address",
)
RESET = CallResult(error_code="E009", problem="the connection broke off", detail="the connection broke off")
OUR_FAILURE = CallResult(
    error_code="E009",
    problem="this machine cannot call anyone: Too many open files",
    connected=False,
    cause=Cause.REFEREE,
)
RECEIVED = CallResult(message={"status": "received"}, http_status=200)


def faults(played: Verdict) -> list[tuple[str, str, str, int]]:
    return [(one.player_id, one.error_code, one.message_type, one.tries) for one in played.faults]


def choice(value: Any, elapsed_s: float = 2.0) -> CallResult:
    message = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": value}
    return CallResult(message=message, body={"result": message}, elapsed_s=elapsed_s)


# Time ----------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes only when every task waits, and then at once to the earliest end of a wait."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._due: list[float] = []

    def monotonic(self) -> float:
        return 1000.0 + self.seconds

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        until = self.seconds + seconds
        self._due.append(until)
        try:
            while True:
                # All other tasks run as far as they can before time goes on.
                for _ in range(25):
                    await asyncio.sleep(0)
                if until == min(self._due):
                    break
        finally:
            # Also when the sleeper was cancelled.
            self._due.remove(until)
        self.seconds = until


def at(seconds: float) -> str:
    """The stamp of a moment of the match."""
    return stamp(BEGIN + timedelta(seconds=seconds))


# The match -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sent:
    """A message as it left, when, the limit it had, and how much had been published by then."""

    at: float
    player_id: str
    message: dict[str, Any]
    limit_s: float
    published_before: int

    @property
    def type(self) -> str:
        return str(self.message["message_type"])


@dataclass
class ScriptedMatch:
    """One match, whose players give the answers that a test has scripted.

    Attributes:
        joins, moves, ends: per player, the answers to invitations, to calls for a choice, to GAME_OVER.
        game: what is played.
        number: what is drawn.
        mailbox: where players may post an answer.
        sent: every message, in order.
        published: what the public could see at every change: state, joined, locked in, view, new entries.
        drawn_after: how much was published when the number was drawn.
    """

    joins: dict[str, Iterable[CallResult]] = field(default_factory=dict)
    moves: dict[str, Iterable[CallResult]] = field(default_factory=dict)
    ends: dict[str, Iterable[CallResult]] = field(default_factory=dict)
    brief: Brief = field(default_factory=brief)
    game: Game = field(default_factory=EvenOdd)
    number: int = 8
    mailbox: Mailbox = field(default_factory=Mailbox)
    clock: Clock = field(default_factory=Clock)
    sent: list[Sent] = field(default_factory=list)
    published: list[dict[str, Any]] = field(default_factory=list)
    drawn_after: int | None = None

    def __post_init__(self) -> None:
        self.log = MatchLog(self._publish)
        default = {"joins": [JOIN], "moves": None, "ends": [RECEIVED]}
        self._scripts = {
            (kind, player): iter(getattr(self, kind).get(player, default[kind] or [choice(word)]))
            for kind in default
            for player, word in ((A, "even"), (B, "odd"))
        }

    async def play(self) -> Verdict:
        return await play_match(self.talk(), self.game, rng=self)

    def talk(self) -> Conversation:
        return Conversation(self.brief, self._ask, self._tell, self.clock, self.log, self.mailbox)

    def randint(self, lowest: int, highest: int) -> int:
        assert (lowest, highest, self.drawn_after) == (1, 10, None)
        self._publish()
        self.drawn_after = len(self.published)
        return self.number

    async def _ask(self, seat: Seat, message: dict[str, Any], *, limit_s: float, first: object = None) -> CallResult:
        self._note(seat, message, limit_s)
        kind = "joins" if message["message_type"] == "GAME_INVITATION" else "moves"
        return await self._answer(kind, seat, limit_s)

    async def _tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> CallResult:
        self._note(seat, message, limit_s)
        if message["message_type"] != "GAME_OVER" or message["attempt"] != self.brief.attempt:
            return RECEIVED
        return await self._answer("ends", seat, limit_s)

    def _note(self, seat: Seat, message: dict[str, Any], limit_s: float) -> None:
        # Through JSON: what cannot be sent must not pass, and what was sent does not change later.
        self._publish()
        message = json.loads(json.dumps(message))
        self.sent.append(Sent(self.clock.seconds, seat.player_id, message, limit_s, len(self.published)))

    async def _answer(self, kind: str, seat: Seat, limit_s: float) -> CallResult:
        result = next(self._scripts[kind, seat.player_id], None)
        assert result is not None, f"{seat.player_id} has nothing left to say to {kind}"
        if result is SILENCE:
            result = replace(result, elapsed_s=limit_s)
        assert result.elapsed_s <= limit_s
        await self.clock.sleep(result.elapsed_s)
        return result

    def _publish(self) -> None:
        log = self.log
        self.published.append(
            {
                "state": str(log.state),
                "joined": list(log.joined),
                "locked_in": list(log.locked_in),
                "view": dict(log.view),
                "entries": [dict(entry) for entry in log.take(ALL)],
            }
        )

    # What was sent ---------------------------------------------------------------------------------------

    def to(self, player_id: str, *types: str) -> list[Sent]:
        """Messages to a player, of some types only."""
        return [one for one in self.sent if one.player_id == player_id and (not types or one.type in types)]

    def types(self, player_id: str) -> list[str]:
        return [one.type for one in self.to(player_id)]

    def entries(self) -> list[dict[str, Any]]:
        """The whole public transcript, in its order."""
        self._publish()
        return sorted((entry for one in self.published for entry in one["entries"]), key=lambda entry: entry["n"])
