"""A referee on a stage: its matches wait to be told how they end, its league manager is a record."""

from __future__ import annotations

import asyncio
from typing import Any

from league_sdk.judging.brief import read_brief
from league_sdk.judging.conversation import Conversation
from league_sdk.judging.ending import Played
from league_sdk.judging.log import MatchLog
from league_sdk.judging.mailbox import Mailbox
from league_sdk.judging.referee import Referee
from league_sdk.protocol.errors import InvalidFormat, TokenInvalid
from league_sdk.protocol.states import ResultStatus
from tests.league_sdk.judging.starts import START

KEY = ("league_2025_even_odd", "R1M1", 1)
TAKEN = {"accepted": True, "reason": None}
DETAILS = {"drawn_number": 8, "number_parity": "even", "choices": {"P01": "even", "P02": "odd"}}
WIN = Played(ResultStatus.WIN, "P01", "P01 chose even, number was 8 (even)", DETAILS, ())
Key = tuple[str, str, int]
SEAT = read_brief(START, referee_id="REF01", referee_endpoint="http://localhost:8001/mcp").seats[0]
"""Of P01."""


class Stage:
    """Where matches are played: each waits for its end to be decided."""

    def __init__(self) -> None:
        self.begun: list[Key] = []
        self.given_up: list[Key] = []
        self.logs: dict[Key, MatchLog] = {}
        self.asks: dict[Key, Any] = {}
        self.mailboxes: dict[Key, Mailbox] = {}
        self.curtain = asyncio.Event()
        self._ends: dict[Key, asyncio.Future[Played]] = {}

    async def play(
        self,
        talk: Conversation,
        game: Any,
        *,
        rng: Any,
        safe: Any,
    ) -> Played:
        brief = talk.brief
        self.begun.append(brief.key)
        self.mailboxes[brief.key] = talk.mailbox
        self.logs[brief.key], self.asks[brief.key] = talk.log, talk.ask
        talk.log.show({})
        self._ends[brief.key] = asyncio.get_running_loop().create_future()
        try:
            return await self._ends[brief.key]
        except asyncio.CancelledError:
            self.given_up.append(brief.key)
            self.curtain.set()
            raise

    def end(self, played: Played | Exception, key: Key = KEY) -> None:
        if isinstance(played, Exception):
            self._ends[key].set_exception(played)
        else:
            self._ends[key].set_result(played)

    async def over(self, played: Played | Exception, key: Key = KEY) -> None:
        """End a match, and let the referee do what it does then."""
        self.end(played, key)
        await settle()


async def begin(referee: Referee, params: dict[str, Any] = START) -> None:
    """Have a match begin."""
    referee.start_match(params)
    await settle()


async def settle() -> None:
    """Let everyone run who can."""
    for _ in range(20):
        await asyncio.sleep(0)


def in_play(referee: Referee, match_id: str = "R1M1") -> bool:
    try:
        referee.match_state({"match_id": match_id})
    except InvalidFormat:
        return False
    except TokenInvalid:
        return True
    raise AssertionError("a match was shown to nobody")
