"""One request to one player: tries, retries, GAME_ERROR between them, and the verdict (ruling, section 6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from league_sdk.dialects.answers import accepted, oddities
from league_sdk.dialects.hunt import Proposal
from league_sdk.judging import messages, watching
from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.clock import Clock
from league_sdk.judging.fault import MAX_DETAIL_CHARS, Fault, Fenced, MachineFailed
from league_sdk.judging.heard import Ask, Heard, Tell
from league_sdk.judging.log import MatchLog
from league_sdk.judging.mailbox import MOST_WAITING, Box, Mailbox
from league_sdk.protocol import faults, tokens
from league_sdk.protocol.errors import LEGACY_CODES, RETRYABLE, LeagueError, MissingField
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.tokens import REDACTED, redact
from league_sdk.protocol.transcript import entry, storable

__all__ = ["Ask", "Conversation", "Heard", "Tell"]
logger = logging.getLogger(__name__)

MOST_NAMES = 8
"""Of the fields an answer has, in a fault."""
CALLED_BACK = "called back"
"""With this message an ask is cancelled when its answer has come by a POST: it worked."""
NETWORK_WAIT_S = 2.0
"""After a try that failed as this machine had no network: so long until the next one."""
MAX_EXCUSED_TRIES = 3
"""Tries of one match, in all its attempts, that do not count for a failure of this side; the fourth counts."""


class Conversation:
    """All requests of one attempt at a match, on one transcript."""

    def __init__(
        self, brief: Brief, *, ask: Ask, tell: Tell, clock: Clock, log: MatchLog, mailbox: Mailbox | None = None
    ) -> None:
        self.brief = brief
        self.log = log
        self.clock = clock
        self._ask = ask
        self._tell = tell
        self._mailbox = mailbox or Mailbox()
        self._mailbox.on_repeat = self._note_repeat

    async def obtain(
        self,
        seat: Seat,
        build: Callable[[datetime, datetime], dict[str, Any]],
        *,
        limit_s: float,
        answer_type: MessageType,
        accept: Callable[[Mapping[str, Any]], Any],
        hidden: bool = False,
        max_retries: int | None = None,
    ) -> Any | Fault:
        """Ask until a valid answer comes or the tries are used up.

        An answer counts wherever it comes: in the reply, or by a POST of the player's own at any moment
        before the verdict. The first valid one stands.

        Args:
            seat: whom.
            build: makes the message from now and the deadline; fresh for each try.
            limit_s: seconds for each try.
            answer_type: the message expected back.
            accept: turns an answer into its value, or raises LeagueError when it is none.
            hidden: keep answers off the public transcript until the draw.
            max_retries: instead of the league's.

        Returns the value, or the Fault that stands after the last try.

        Raises:
            MachineFailed: this machine has no network any more, and no attempt of the match was lost for that yet.
        """
        rules = self.brief.settings
        retries = rules.max_retries if max_retries is None else max_retries
        begun = self.clock.monotonic()
        delay = rules.retry_base_s
        tries = 0
        eased, only = False, None
        with self._mailbox.expecting(seat.player_id, answer_type) as box:
            while True:
                left = rules.request_patience_s - (self.clock.monotonic() - begun)
                limit = min(limit_s, max(left, 0.001))
                now = self.clock.now()
                message = build(now, now + timedelta(seconds=limit))
                if box.messages:
                    heard = self._called_back(seat, box, answer_type, hidden)
                else:
                    heard = await self._exchange(seat, message, limit, answer_type, hidden, box, only)
                if heard.excuse and self._excuse(seat, message["message_type"], heard):
                    # It is asked once more as if this had not been: neither tries nor patience are less for it.
                    begun += heard.elapsed_s
                    self._mailbox.ask_again(seat.player_id)
                    if not heard.connected:
                        begun += NETWORK_WAIT_S
                        await self.clock.sleep(NETWORK_WAIT_S)
                    continue
                if not eased and heard.limited is not None:
                    # Once a request, within the time of this try: the next one sends one spelling, and counts.
                    eased, only = True, heard.limited.proposal
                    await self._pause(_hold_off_s(heard, limit, rules.retry_base_s), box)
                    self._mailbox.ask_again(seat.player_id)
                    continue
                only = None
                tries += 1
                error = self._judge(heard, accept)
                if not isinstance(error, _Wrong):
                    self._mailbox.settle(seat.player_id, answer_type, in_time=True)
                    return error
                wait = delay if error.code in RETRYABLE else 0.0
                left = rules.request_patience_s - (self.clock.monotonic() - begun)
                again = error.code in (*RETRYABLE, "E004") and tries <= retries and left > wait
                # That nothing came gives no choice away, and those who watch should see it at once.
                secret = hidden and heard.spoke
                await self._complain(seat, error, answer_type, tries, retries, wait if again else None, secret, box)
                # What was posted before the verdict counts; whoever goes on posting does not put it off for ever.
                if not again and (not box.messages or tries > retries + MOST_WAITING):
                    self._mailbox.settle(seat.player_id, answer_type, in_time=False)
                    return error.fault(seat.player_id, message["message_type"], tries, limit_s)
                self._mailbox.ask_again(seat.player_id)
                if error.code in RETRYABLE:
                    delay *= rules.retry_factor

    async def _pause(self, seconds: float, box: Box) -> None:
        """Wait; a callback ends it."""
        pause = asyncio.ensure_future(self.clock.sleep(seconds))
        try:
            await _either(pause, box)
        finally:
            pause.cancel()

    def _excuse(self, seat: Seat, message_type: str, heard: Heard) -> bool:
        """Whether a try does not count: at most so many of a match, whoever is served by that (ruling, section 12)."""
        evidence = heard.excuse
        used = self.brief.excused + len(self.log.excused)
        counts = used >= MAX_EXCUSED_TRIES
        if counts and not heard.connected and self.brief.attempt == 1:
            # Once only: a second referee without a network has this try count.
            raise MachineFailed(evidence)
        if used <= MAX_EXCUSED_TRIES:
            self.log.excused.append(
                {
                    "player_id": seat.player_id,
                    "message_type": message_type,
                    "evidence": evidence,
                    "at": self.clock.now().isoformat(),
                    "counted": "yes" if counts else "no",
                }
            )
        return not counts

    async def tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float, hidden: bool = False) -> Heard:
        """Send a message whose answer does not matter; both go on the transcript."""
        self._note_sent(seat, message, hidden)
        heard = await self._guarded(self._tell(seat, message, limit_s=limit_s))
        self._note_heard(seat, heard, message["message_type"], "", limit_s, hidden)
        return heard

    async def _exchange(
        self,
        seat: Seat,
        message: dict[str, Any],
        limit: float,
        answer_type: str,
        hidden: bool,
        box: Box,
        only: Proposal | None,
    ) -> Heard:
        """One try: whichever comes first, the reply or a callback; a failed try does not hide a callback."""
        self._note_sent(seat, message, False)
        asked = asyncio.ensure_future(self._guarded(self._ask(seat, message, limit_s=limit, only=only)))
        await _either(asked, box)
        if box.messages:
            asked.cancel(CALLED_BACK)
            await asyncio.gather(asked, return_exceptions=True)
            return self._called_back(seat, box, answer_type, hidden)
        heard = asked.result()
        self._note_heard(seat, heard, message["message_type"], answer_type, limit, hidden and heard.spoke)
        return heard

    @staticmethod
    async def _guarded(call: Awaitable[Heard]) -> Heard:
        """A call of a player. An error of ours in reading its answer is no reason to play the match again.

        A player that finds such an error would else escape every match that it is about to lose.
        """
        try:
            return await call
        except Fenced:
            raise
        except Exception as error:
            logger.exception("an answer of a player could not be handled")
            problem = f"its answer could not be handled ({type(error).__name__})"
            return Heard(error_code="E002", problem=problem, detail=problem, cause=Cause.WRONG_MESSAGE)

    def _called_back(self, seat: Seat, box: Box, answer_type: str, hidden: bool) -> Heard:
        message = box.take()
        heard = Heard(message=message, body=message, notes=("answered by a POST of its own",))
        self._note_heard(seat, heard, "", answer_type, None, hidden)
        return heard

    def _note_repeat(self, player_id: str, message_type: str, message: Mapping[str, Any], in_time: bool) -> None:
        """A second answer to one request, or one after its verdict: it changes nothing."""
        note = "a second answer: the first stands" if in_time else "came after the verdict: it changes nothing"
        if in_time and message_type == MessageType.GAME_JOIN_ACK and accepted(message):
            # The receipt was taken for its yes, and here it is: nothing to mend.
            note = "joined by a POST of its own as well"
        self.log.add(
            entry(
                n=self.log.count,
                at=self.clock.now(),
                sender=player_id,
                recipient=self.brief.referee_id,
                message_type=message_type,
                notes=[note],
                body=message,
            ),
            hidden=True,
        )

    @staticmethod
    def _judge(heard: Heard, accept: Callable[[Mapping[str, Any]], Any]) -> Any:
        if heard.error_code is not None:
            cause = heard.cause or faults.of_error(heard.error_code)
            legacy = LEGACY_CODES.get(heard.error_code)
            return _Wrong(heard.error_code, heard.problem, {}, legacy, cause, heard.detail)
        try:
            return accept(heard.message)
        except LeagueError as error:
            cause, detail = faults.of_error(error.error_code), f"{error.message.rstrip('.')} ({_seen(heard, error)})"
            return _Wrong(error.error_code, error.message, error.context, error.legacy_code, cause, detail)
        except Exception as error:
            # As in _guarded: what a player says ends in its fault, never in an attempt that does not count.
            logger.exception("an answer of a player could not be read")
            problem = f"its answer could not be read ({type(error).__name__})"
            return _Wrong("E002", problem, {}, None, Cause.WRONG_MESSAGE, problem)

    async def _complain(
        self,
        seat: Seat,
        error: _Wrong,
        answer_type: MessageType,
        tries: int,
        retries: int,
        wait: float | None,
        hidden: bool,
        box: Box,
    ) -> None:
        """GAME_ERROR, while the delay before the next try runs; a callback ends the delay."""
        rules = self.brief.settings
        now = self.clock.now()
        message = messages.game_error(
            self.brief,
            seat,
            now=now,
            error_code=error.code,
            sentence=error.sentence,
            action_required=answer_type,
            game_state=self.log.state,
            retry_count=tries if wait is not None else tries - 1,
            max_retries=retries,
            next_retry_at=None if wait is None else now + timedelta(seconds=wait),
            context=error.context,
            legacy_code=error.legacy_code,
        )
        # A player that is slow to take the complaint must not delay its own next try for long.
        limit = max(wait or 0.0, min(1.0, rules.generic_timeout_s))
        await asyncio.gather(self._pause(wait or 0.0, box), self.tell(seat, message, limit_s=limit, hidden=hidden))

    def _note_sent(self, seat: Seat, message: dict[str, Any], hidden: bool) -> None:
        kind = message["message_type"]
        self.log.add(
            entry(
                n=self.log.count,
                at=self.clock.now(),
                sender=self.brief.referee_id,
                recipient=seat.player_id,
                message_type=kind,
                method=METHODS[MessageType(kind)],
                body=message,
            ),
            hidden=hidden,
        )

    def _odd(self, seat: Seat, heard: Heard, answer_type: str) -> list[str]:
        try:
            return _noteworthy(self.brief, seat, heard, answer_type)
        except Exception:
            # A note is left out before a match is lost to it.
            logger.exception("an answer of a player could not be looked at for oddities")
            return []

    def _note_heard(
        self, seat: Seat, heard: Heard, asked: str, answer_type: str, limit_s: float | None, hidden: bool
    ) -> None:
        watching.heard(
            seat.player_id,
            asked or answer_type,
            seconds=heard.elapsed_s,
            error_code=heard.error_code,
            cause=heard.cause,
            status=heard.http_status,
        )
        notes = [*heard.notes]
        if heard.message:
            notes += self._odd(seat, heard, answer_type)
            # What is posted to us may come from anywhere; an answer comes from the address that was called.
            if heard.http_status is not None and (digest := _digest_in(heard.message)) in seat.unproven:
                self.log.proofs[seat.player_id] = digest
        said = heard.message.get("message_type")
        named = isinstance(said, str) and bool(said) and said.isprintable()
        self.log.add(
            entry(
                n=self.log.count,
                at=self.clock.now(),
                sender=seat.player_id,
                recipient=self.brief.referee_id,
                message_type=str(said)[:40] if named else answer_type or f"reply to {asked}",
                elapsed_ms=round(heard.elapsed_s * 1000),
                limit_ms=None if limit_s is None else round(limit_s * 1000),
                http_status=heard.http_status,
                problem=heard.problem,
                notes=notes,
                body=heard.body,
                wire=heard.wire,
            ),
            hidden=hidden,
        )


def _noteworthy(brief: Brief, seat: Seat, heard: Heard, answer_type: str) -> list[str]:
    """What is odd about an answer."""
    expected = answer_type if heard.error_code is None else ""
    odd = oddities(heard.message, match_id=brief.match_id, player_id=seat.player_id, expected_type=expected)
    return [*odd, *_token_of_another(seat, heard.message)]


def _token_of_another(seat: Seat, message: Mapping[str, Any]) -> list[str]:
    """An answer is proven by the connection it came on; a token in it that is somebody else's is odd all the same."""
    token = message.get("auth_token")
    if not isinstance(token, str) or redact(token) != REDACTED or tokens.same(token, seat.league_token):
        return []
    return [] if tokens.digest(token) in seat.token_digests else ["auth_token was not its own"]


def _digest_in(message: Mapping[str, Any]) -> str:
    token = message.get("auth_token")
    return tokens.digest(token) if isinstance(token, str) else ""


def _seen(heard: Heard, error: LeagueError) -> str:
    """What an answer had in place of what it should have."""
    if isinstance(error, MissingField):
        names = [str(name)[:30] for name, value in heard.message.items() if value is not None][:MOST_NAMES]
        return f"it has {', '.join(names) or 'nothing'}"
    return f"seen: {error.context.get('seen', 'nothing')}"


def _hold_off_s(heard: Heard, limit_s: float, usual_s: float) -> float:
    """How long to leave a player alone that has refused for a rate: at most what is left of the try's limit."""
    wanted = heard.limited.wait_s if heard.limited is not None else None
    return min(usual_s if wanted is None else wanted, max(0.0, limit_s - heard.elapsed_s))


async def _either(work: asyncio.Future[Any], box: Box) -> None:
    """Wait for some work or for a callback, whichever is first; the work is cancelled with its waiter only."""
    arrival = asyncio.ensure_future(box.arrived.wait())
    try:
        await asyncio.wait({work, arrival}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        work.cancel()
        raise
    finally:
        arrival.cancel()


@dataclass(frozen=True, slots=True)
class _Wrong:
    code: str
    sentence: str
    context: dict[str, Any]
    legacy_code: str | None
    cause: Cause
    detail: str

    def fault(self, player_id: str, message_type: str, tries: int, limit_s: float) -> Fault:
        # Both players are told: what one of them said must not hold its token.
        detail = storable(self.detail)[:MAX_DETAIL_CHARS]
        return Fault(player_id, self.code, message_type, tries, self.cause, limit_s, detail)
