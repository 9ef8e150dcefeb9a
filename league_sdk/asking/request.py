"""One request to one player: tries, retries, GAME_ERROR between them, and the verdict (ruling, section 6).

Referees make it in matches and the check of players outside them, each with a :class:`Side` of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from league_sdk import match_messages
from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.asking.fault import Fault, TryFailure
from league_sdk.asking.mailbox import MAX_UNREAD_ANSWERS, Box, Mailbox
from league_sdk.dialects.hunt import Proposal
from league_sdk.dialects.kept import CALLED_BACK
from league_sdk.match_messages import Receiver
from league_sdk.protocol import faults
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.errors import LEGACY_CODES, RETRYABLE, LeagueError, MissingField
from league_sdk.protocol.faults import UNREACHED, Cause
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, Note, note

logger = logging.getLogger(__name__)

MAX_FIELD_NAMES = 8
"""How many fields of an answer a fault names."""
MAX_WAIT_AFTER_ERROR_S = 1.0
"""The longest pause after an error of the player's own: it runs and answers, so there is nothing to wait for."""
SLOW_CONNECT_S = 3.0
"""A try that reached nobody for so long is not made again from here if a referee in another place can be asked."""
NETWORK_RETRY_DELAY_S = 2.0
"""The pause after a try that failed because this machine had no network."""


class Side(Protocol):
    """The caller of one player, as the request needs it: how the player is called, and what is logged of the call."""

    @property
    def player_id(self) -> str: ...
    @property
    def mailbox(self) -> Mailbox:
        """The mailbox for answers that the player sends by a POST of its own."""

    @property
    def clock(self) -> Clock: ...
    @property
    def patience(self) -> LeagueSettings:
        """How often and how long a player is asked."""

    @property
    def state(self) -> str:
        """The state of the match."""

    def receiver(self) -> Receiver:
        """The player as the receiver of messages."""

    async def ask(self, message: dict[str, Any], *, limit_s: float, first: Proposal | None) -> CallResult:
        """Send a message and wait for its answer; ``first`` is the request to begin with."""

    async def tell(self, message: dict[str, Any], *, limit_s: float, hidden: bool) -> object:
        """Send a message whose answer does not matter, and keep its outcome."""

    def sent(self, message: dict[str, Any]) -> None:
        """Log a message as it is sent."""

    def record(
        self, result: CallResult, *, request_type: str, answer_type: MessageType, limit_s: float | None, hidden: bool
    ) -> None:
        """Keep the outcome of a message of ``request_type``, which is empty for an answer by a POST of the player."""

    def excuses(self, result: CallResult, *, message_type: str) -> bool:
        """Whether a try does not count, since our own side failed (``result.excuse``).

        Raises:
            Exception: one that ends the attempt at the match.
        """

    def not_reached(self) -> None:
        """Called when several tries in a row, a slow one or the last one did not reach the player at all.

        Raises:
            Exception: one that ends the attempt at the match.
        """


@dataclass(slots=True)
class Request:
    """One request with its tries.

    An answer counts wherever it comes: in the reply, or by a POST of the player's own at any moment before the
    verdict. The first valid answer counts.

    Attributes:
        side: who asks whom.
        build: makes the message from now and the deadline, for each try.
        limit_s: seconds for each try.
        answer_type: the message expected back.
        accept: turns an answer into its value; raises LeagueError for an invalid answer.
        max_retries: after the first try.
        hidden: withhold the answers from the public transcript for now.
    """

    side: Side
    build: Callable[[datetime, datetime], dict[str, Any]]
    limit_s: float
    answer_type: MessageType
    accept: Callable[[Mapping[str, Any]], Any]
    max_retries: int
    hidden: bool = False
    _tries: int = field(default=0, init=False)
    _begun: float = field(init=False)
    """When the request began, moved forward by the time of excused tries; monotonic seconds."""
    _delay_s: float = field(init=False)
    """Seconds before the next try, if this one is not answered."""
    _patience_s: float = field(init=False)
    """Seconds for all tries."""
    _first: Proposal | None = field(default=None, init=False)
    """The request that the next try begins with."""
    _rate_excused: bool = field(default=False, init=False)
    """Whether a temporary refusal was excused already."""
    _message_type: str = field(default="", init=False)
    _try_limit_s: float = field(default=0.0, init=False)
    _own_words: str = field(default="", init=False)
    """The player's own words in its last reply that was no answer but said something."""
    _box: Box = field(init=False)

    async def obtain(self) -> Any | Fault:
        """Ask until a valid answer comes or the tries are used up.

        Returns the value, or the Fault of the last try.

        Raises:
            Exception: what the side raises.
        """
        mailbox, player, patience = self.side.mailbox, self.side.player_id, self.side.patience
        self._begun, self._delay_s = self.side.clock.monotonic(), patience.retry_base_s
        self._patience_s = patience.request_patience_s
        with mailbox.expecting(player, self.answer_type) as self._box:
            while True:
                result = await self._try()
                self._own_words = result.own_words or self._own_words
                if await self._is_excused(result):
                    continue
                self._first = result.limited
                self._tries += 1
                value = self._evaluate(result)
                if not isinstance(value, TryFailure):
                    mailbox.settle(player, self.answer_type, in_time=True)
                    return value
                if self._is_not_reached(result):
                    self.side.not_reached()
                if not await self._may_retry(value, result):
                    mailbox.settle(player, self.answer_type, in_time=False)
                    return self._fault(value)
                mailbox.allow_repeat(player)
                if value.code in RETRYABLE:
                    self._delay_s *= patience.retry_factor

    def _is_not_reached(self, result: CallResult) -> bool:
        """Whether a failed try says that the player cannot be reached from here.

        A program that starts again refuses a connection at once, and gets one more try; packets that are lost for
        seconds are lost in the next try, too.
        """
        decisive = self._tries > 1 or self._tries > self.max_retries or result.elapsed_s >= SLOW_CONNECT_S
        return decisive and not result.connected and result.cause in UNREACHED

    def _fault(self, last: TryFailure) -> Fault:
        player = self.side.player_id
        return Fault(
            player, last.code, self._message_type, self._tries, last.cause, self.limit_s, last.detail, self._own_words
        )

    def _patience_left_s(self) -> float:
        """Seconds until the limit for the whole request."""
        return self._patience_s - (self.side.clock.monotonic() - self._begun)

    async def _try(self) -> CallResult:
        """One try: the reply or a callback, whichever comes first; a failed try does not hide a callback."""
        side, now = self.side, self.side.clock.now()
        self._try_limit_s = min(self.limit_s, max(self._patience_left_s(), 0.001))
        message = self.build(now, now + timedelta(seconds=self._try_limit_s))
        self._message_type = message["message_type"]
        if not self._box.messages:
            side.sent(message)
            call = asyncio.ensure_future(side.ask(message, limit_s=self._try_limit_s, first=self._first))
            await _wait_for_first(call, self._box)
            if not self._box.messages:
                result = call.result()
                side.record(
                    result,
                    request_type=self._message_type,
                    answer_type=self.answer_type,
                    limit_s=self._try_limit_s,
                    hidden=self.hidden and result.spoke,
                )
                return result
            call.cancel(CALLED_BACK)
            await asyncio.gather(call, return_exceptions=True)
        posted = self._box.take()
        result = CallResult(message=posted, body=posted, notes=(note(Code.POSTED),))
        side.record(result, request_type="", answer_type=self.answer_type, limit_s=None, hidden=self.hidden)
        return result

    async def _is_excused(self, result: CallResult) -> bool:
        """Whether a try does not count; if so, return when the next one may begin."""
        side, player = self.side, self.side.player_id
        if result.excuse and side.excuses(result, message_type=self._message_type):
            # The player is asked once more and loses nothing: neither a try nor time.
            self._begun += result.elapsed_s
            side.mailbox.allow_repeat(player)
            if not result.connected:
                self._begun += NETWORK_RETRY_DELAY_S
                await side.clock.sleep(NETWORK_RETRY_DELAY_S)
            return True
        if not result.overasked or self._rate_excused:
            return False
        # Once for each request and within the time of this try: the next try begins with this request, and counts.
        self._rate_excused, self._first = True, result.limited
        wanted_s = side.patience.retry_base_s if result.wait_s is None else result.wait_s
        await self._pause(min(wanted_s, max(0.0, self._try_limit_s - result.elapsed_s)))
        side.mailbox.allow_repeat(player)
        return True

    @AGENTS_TIME
    def _evaluate(self, result: CallResult) -> Any | TryFailure:
        """The value of a valid answer, or why there is none."""
        if result.error_code is not None:
            cause = result.cause or faults.of_error(result.error_code)
            legacy = LEGACY_CODES.get(result.error_code)
            sentence, quoted = result.problem, {}
            if isinstance(sentence, Note) and (public := sentence.public) is not None:
                # What GAME_ERROR quotes goes into its context, which other people's copies leave out.
                quoted = {name: sentence.args[name] for name in sentence.code.quotes & sentence.args.keys()}
                sentence = public
            return TryFailure(result.error_code, str(sentence), quoted, legacy, cause, result.detail)
        try:
            return self.accept(result.message)
        except LeagueError as error:
            cause, detail = faults.of_error(error.error_code), _detail_of(result, error)
            return TryFailure(error.error_code, error.message, error.context, error.legacy_code, cause, detail)
        except Exception as error:
            # As in Conversation.call: an answer that breaks our code is the player's fault and costs it the try.
            logger.exception("an answer of a player could not be read")
            problem = f"its answer could not be read ({type(error).__name__})"
            return TryFailure("E002", problem, {}, None, Cause.WRONG_MESSAGE, problem)

    async def _may_retry(self, failure: TryFailure, result: CallResult) -> bool:
        """Send GAME_ERROR, wait for the delay, and return whether there is another try."""
        wait_s = self._wait_s(failure, result)
        may_ask_again = (
            failure.code in (*RETRYABLE, "E004")
            and self._tries <= self.max_retries
            and self._patience_left_s() > wait_s
        )
        if may_ask_again and result.limited is not None:
            # A player that wants to be left alone gets no GAME_ERROR, which would count as one more request.
            await self._pause(wait_s)
            return True
        # Silence gives no choice away, so it is public at once.
        await self._send_game_error(failure, wait_s if may_ask_again else None, hidden=self.hidden and result.spoke)
        # An answer that was posted before the verdict counts; a player that keeps posting cannot delay it for ever.
        return may_ask_again or (bool(self._box.messages) and self._tries <= self.max_retries + MAX_UNREAD_ANSWERS)

    def _wait_s(self, failure: TryFailure, result: CallResult) -> float:
        """Seconds before the next try (ruling, sections 6 and 12).

        After a temporary refusal they are as many as the player wants. But the request takes no longer than if the
        player were silent, and the wait leaves a whole try.
        """
        if failure.code not in RETRYABLE:
            return 0.0
        if result.limited is not None:
            self._patience_s = self.side.patience.longest_request_s(self.limit_s, self.max_retries)
            return max(self._delay_s, min(result.wait_s or 0.0, self._patience_left_s() - self.limit_s))
        return min(self._delay_s, MAX_WAIT_AFTER_ERROR_S) if result.is_error_in_words else self._delay_s

    async def _send_game_error(self, failure: TryFailure, wait_s: float | None, *, hidden: bool) -> None:
        """Send GAME_ERROR during the delay before the next try; a callback ends the delay."""
        side, now = self.side, self.side.clock.now()
        message = match_messages.game_error(
            side.receiver(),
            failure,
            now=now,
            action_required=self.answer_type,
            game_state=side.state,
            tries=self._tries,
            max_retries=self.max_retries,
            next_retry_at=None if wait_s is None else now + timedelta(seconds=wait_s),
        )
        # A player that is slow to take GAME_ERROR must not delay its own next try for long.
        limit_s = max(wait_s or 0.0, min(1.0, side.patience.generic_timeout_s))
        await asyncio.gather(self._pause(wait_s or 0.0), side.tell(message, limit_s=limit_s, hidden=hidden))

    async def _pause(self, seconds: float) -> None:
        """Wait; a callback ends the wait."""
        pause = asyncio.ensure_future(self.side.clock.sleep(seconds))
        try:
            await _wait_for_first(pause, self._box)
        finally:
            pause.cancel()


def _detail_of(result: CallResult, error: LeagueError) -> Note:
    """What an answer had in place of what it should have."""
    sentence = error.message.rstrip(".")
    if isinstance(error, MissingField):
        names = [str(name)[:30] for name, value in result.message.items() if value is not None][:MAX_FIELD_NAMES]
        return note(Code.LACKS, sentence=sentence, names=", ".join(names) or "nothing")
    return note(Code.NOT_WANTED, sentence=sentence, seen=str(error.context.get("seen", "nothing")))


async def _wait_for_first(work: asyncio.Future[Any], box: Box) -> None:
    """Wait until the work is done or a callback has arrived; cancel the work only if this wait is cancelled."""
    arrival = asyncio.ensure_future(box.arrived.wait())
    try:
        await asyncio.wait({work, arrival}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        work.cancel()
        raise
    finally:
        arrival.cancel()
