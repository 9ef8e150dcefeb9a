"""The side of the check that asks a player (:class:`league_sdk.asking.request.Side`), as a referee asks in a match."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.asking.mailbox import Mailbox
from league_sdk.conformance.exchange import Exchange, answered_by_post
from league_sdk.conformance.posts import OpenMatch, Posts
from league_sdk.conformance.subject_caller import Stopped, SubjectCaller
from league_sdk.dialects.answers import accepted
from league_sdk.dialects.hunt import Proposal
from league_sdk.match_messages import Receiver
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import MatchState
from league_sdk.simulated_league import Match, SimulatedLeague

LATE_POST_S = 0.3
"""How long a message by POST is waited for after an answer without ``message_type``."""
RESERVE_S = 10.0
"""The part of the check's time that is reserved for the steps after a request that is never answered."""


@dataclass(slots=True)
class CheckSide:
    """Asks the player under check for one thing, and keeps the exchange that decides.

    Attributes:
        invites: whether it is asked to join, not to move.
        options: further arguments of :meth:`SubjectCaller.ask`.
        heard: called with every message and what came of it.
        decisive: the exchange of the last try; None before any.
    """

    caller: SubjectCaller
    to: Receiver
    match: OpenMatch
    patience: LeagueSettings
    invites: bool
    options: Mapping[str, Any] = field(default_factory=dict)
    heard: Callable[[Mapping[str, Any], Exchange], None] = lambda message, exchange: None
    clock: Clock = field(default_factory=Clock)
    decisive: Exchange | None = None
    _reply: Exchange | None = None
    _sent: Mapping[str, Any] | None = None
    _sent_at: float = 0.0

    @property
    def player_id(self) -> str:
        return self.match.seat.player_id

    @property
    def mailbox(self) -> Mailbox:
        return self.match.mailbox

    @property
    def state(self) -> str:
        return MatchState.WAITING_FOR_PLAYERS if self.invites else MatchState.COLLECTING_CHOICES

    @property
    def message(self) -> Mapping[str, Any]:
        """The message as it was sent last."""
        return self._sent or {}

    def receiver(self) -> Receiver:
        return self.to

    async def ask(self, message: dict[str, Any], *, limit_s: float, first: Proposal | None) -> CallResult:
        self._reply = await self.caller.ask(message, limit_s=limit_s, first=first, **self.options)
        return self._reply.result

    async def tell(self, message: dict[str, Any], *, limit_s: float, hidden: bool) -> object:
        # What stops the check stops the next try, too.
        with suppress(Stopped):
            self.heard(message, await self.caller.ask(message, limit_s=limit_s, patient=False))
        return None

    def sent(self, message: dict[str, Any]) -> None:
        self._sent, self._sent_at = message, self.clock.monotonic()

    def record(
        self, result: CallResult, *, request_type: str, answer_type: MessageType, limit_s: float | None, hidden: bool
    ) -> None:
        self.decisive = self._reply
        if not request_type:
            elapsed_ms = round((self.clock.monotonic() - self._sent_at) * 1000)
            self.caller.note_outcome(None)
            self.decisive = answered_by_post(Exchange(self._sent, elapsed_ms=elapsed_ms), result.message)
        if self.decisive is not None:
            self.heard(self.message, self.decisive)

    def excuses(self, result: CallResult, *, message_type: str) -> bool:
        """Never: the check does not measure whether its own side failed, and no try that it makes costs a point."""
        return False

    def not_reached(self) -> None:
        """The check goes on: there is no other place to call the player from."""

    async def late_post(self, exchange: Exchange) -> Exchange:
        """Wait for the message that may follow by POST after an answer without ``message_type``.

        For a referee such a reply is the answer already, but the report judges the message.
        """
        arrived: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()

        def repeated(_player: str, _type: str, message: Mapping[str, Any], _in_time: bool) -> None:
            if not arrived.done():
                arrived.set_result(message)

        self.mailbox.on_repeat = repeated
        await asyncio.wait([arrived], timeout=LATE_POST_S)
        if not arrived.done() or accepted(arrived.result()) is False:
            return exchange
        return answered_by_post(exchange, arrived.result())


def side_of(  # noqa: PLR0913 - who asks whom for what
    caller: SubjectCaller,
    posts: Posts,
    league: SimulatedLeague,
    match: Match,
    answer_type: str,
    *,
    limits: LeagueSettings,
    limit_s: float,
    **options: Any,
) -> CheckSide:
    """The side that asks the agent for one thing in this match; its tries end before the time of the check does.

    Args:
        limits: the settings of the league.
        limit_s: seconds for a try.
        options: further arguments of :meth:`SubjectCaller.ask`.
    """
    patience_s = max(limit_s, min(limits.request_patience_s, caller.left_s() - RESERVE_S))
    patience = limits.model_copy(update={"request_patience_s": patience_s})
    invites = answer_type == MessageType.GAME_JOIN_ACK
    options["choice_field"] = league.game.choice_field
    return CheckSide(caller, league.receiver(match), posts.open(match, league.who), patience, invites, options)
