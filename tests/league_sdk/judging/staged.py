"""What a referee gets in tests: matches that end when the test says so, and callers of players that record messages."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.asking.mailbox import Mailbox
from league_sdk.judging.match.brief import Seat, read_brief
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ending import Verdict
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.worker.match_runner import Dependencies
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol.states import ResultStatus
from tests.league_sdk.judging.starts import START

KEY = ("league_2025_even_odd", "R1M1", 1)
TAKEN = {"accepted": True, "reason": None}
DETAILS = {"drawn_number": 8, "number_parity": "even", "choices": {"P01": "even", "P02": "odd"}}
WIN = Verdict(ResultStatus.WIN, "P01", "P01 chose even, number was 8 (even)", DETAILS, ())
Key = tuple[str, str, int]
SEAT = read_brief(START, referee_id="REF01", referee_endpoint="http://localhost:8001/mcp").seats[0]
"""The seat of P01."""


class SettableClock(Clock):
    """A clock that a test may set; the event loop keeps its own."""

    def __init__(self) -> None:
        self.at: float | None = None

    def monotonic(self) -> float:
        return super().monotonic() if self.at is None else self.at


class RecordingCaller:
    """Calls players that answer at once, and records the types of the messages that they were sent."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.closed = 0

    def for_match(self, *_: object) -> tuple[Any, Any]:
        async def call(seat: Seat, message: dict[str, Any], *, limit_s: float) -> CallResult:
            self.called.append(message["message_type"])
            return CallResult()

        return call, call

    def spoken(self, seat: Seat) -> dict[str, str]:
        return {}

    def learned(self, seat: Seat) -> dict[str, Any]:
        return {}

    def found_at(self, seat: Seat) -> str:
        return ""

    async def aclose(self) -> None:
        self.closed += 1


class Stage:
    """Stands in for ``play_match``: each match waits until the test decides how it ends.

    Attributes:
        uses: what the referee gets instead of the outside world.
        callers: its callers of players.
    """

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.callers: list[RecordingCaller] = []
        self.uses = Dependencies(
            clock=self.clock,
            play_match=self.play,
            progress_interval_s=0,
            new_caller=self._new_caller,  # type: ignore[arg-type]
        )
        self.begun: list[Key] = []
        self.given_up: list[Key] = []
        self.logs: dict[Key, MatchLog] = {}
        self.asks: dict[Key, Any] = {}
        self.mailboxes: dict[Key, Mailbox] = {}
        self.gave_up = asyncio.Event()
        self._ends: dict[Key, asyncio.Future[Verdict]] = {}

    def _new_caller(self, *_: object) -> RecordingCaller:
        self.callers.append(RecordingCaller())
        return self.callers[-1]

    async def play(self, talk: Conversation, game: Any, *, rng: Any, store: Any) -> Verdict:
        brief = talk.brief
        self.begun.append(brief.key)
        self.mailboxes[brief.key] = talk.mailbox
        self.logs[brief.key], self.asks[brief.key] = talk.log, partial(talk.call, talk.ask)
        talk.log.set_view({})
        self._ends[brief.key] = asyncio.get_running_loop().create_future()
        try:
            return await self._ends[brief.key]
        except asyncio.CancelledError:
            self.given_up.append(brief.key)
            self.gave_up.set()
            raise

    def end(self, played: Verdict | Exception, key: Key = KEY) -> None:
        if isinstance(played, Exception):
            self._ends[key].set_exception(played)
        else:
            self._ends[key].set_result(played)

    async def end_and_settle(self, played: Verdict | Exception, key: Key = KEY) -> None:
        """End a match, and let the referee do what it does then."""
        self.end(played, key)
        await settle()


async def begin(referee: Referee, params: dict[str, Any] = START) -> None:
    """Start a match at the referee."""
    referee.start_match(params)
    await settle()


async def settle() -> None:
    """Let every task run as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


def in_play(referee: Referee, match_id: str = "R1M1") -> bool:
    return any(key[1] == match_id for key in referee._running)
