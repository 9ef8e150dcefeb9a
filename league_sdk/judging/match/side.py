"""The side of a referee that asks one player in a match (:class:`league_sdk.asking.request.Side`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.asking.mailbox import Mailbox
from league_sdk.dialects.hunt import Proposal
from league_sdk.judging.match.brief import Seat
from league_sdk.judging.match.broken_off import MachineFailed, PlayerNotReached
from league_sdk.judging.match.conversation import Conversation
from league_sdk.match_messages import Receiver
from league_sdk.protocol.inbox import SCHEME
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType

MAX_EXCUSED_TRIES = 3
"""Tries of one player in one match, in all its attempts, that are excused by a failure of this side; the next one
counts."""


@dataclass(frozen=True, slots=True)
class RefereeSide:
    """Asks the player at one seat; everything goes on the transcript of the match."""

    talk: Conversation
    seat: Seat

    @property
    def player_id(self) -> str:
        return self.seat.player_id

    @property
    def mailbox(self) -> Mailbox:
        return self.talk.mailbox

    @property
    def clock(self) -> Clock:
        return self.talk.clock

    @property
    def patience(self) -> LeagueSettings:
        return self.talk.brief.settings

    @property
    def state(self) -> str:
        return self.talk.log.state

    def receiver(self) -> Receiver:
        return self.talk.brief.to(self.seat)

    async def ask(self, message: dict[str, Any], *, limit_s: float, first: Proposal | None) -> CallResult:
        return await self.talk.call(self.talk.ask, self.seat, message, limit_s=limit_s, first=first)

    async def tell(self, message: dict[str, Any], *, limit_s: float, hidden: bool) -> object:
        return await self.talk.tell(self.seat, message, limit_s=limit_s, hidden=hidden)

    def sent(self, message: dict[str, Any]) -> None:
        self.talk.record_sent(self.seat, message, False)

    def record(
        self, result: CallResult, *, request_type: str, answer_type: MessageType, limit_s: float | None, hidden: bool
    ) -> None:
        self.talk.record_result(self.seat, result, request_type, answer_type, limit_s, hidden)

    def excuses(self, result: CallResult, *, message_type: str) -> bool:
        """Whether our own failure excuses a try; how many do for one seat of a match is limited (ruling, section 12).

        Raises:
            MachineFailed: too many tries have failed on our side, and this is the first attempt at the match.
        """
        brief, log = self.talk.brief, self.talk.log
        excused = self.seat.excused + sum(one["player_id"] == self.player_id for one in log.excused)
        try_counts = excused >= MAX_EXCUSED_TRIES
        if try_counts and not result.connected and brief.attempt == 1:
            # Only in the first attempt: if a second referee has no network either, the try counts.
            raise MachineFailed(result)
        if excused <= MAX_EXCUSED_TRIES:
            log.excused.append(
                {
                    "player_id": self.seat.player_id,
                    "message_type": message_type,
                    "evidence": result.excuse,
                    "at": self.talk.clock.now().isoformat(),
                    "counted": "yes" if try_counts else "no",
                }
            )
        return not try_counts

    def not_reached(self) -> None:
        """End the attempt if a referee in another place can look; an inbox is the same place for every referee.

        Raises:
            PlayerNotReached: the league manager gives the match to that referee.
        """
        if self.talk.brief.second_look and urlsplit(self.seat.endpoint).scheme != SCHEME:
            raise PlayerNotReached(self.player_id)
