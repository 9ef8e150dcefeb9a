"""One request to one player: tries, retries, GAME_ERROR between them, and the verdict (ruling, section 6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from league_sdk.dialects.hunt import Proposal
from league_sdk.judging import messages
from league_sdk.judging.brief import Seat
from league_sdk.judging.conversation import Conversation
from league_sdk.judging.fault import Fault, MachineFailed, Wrong
from league_sdk.judging.heard import Heard
from league_sdk.judging.mailbox import MOST_WAITING, Box
from league_sdk.protocol import faults
from league_sdk.protocol.errors import LEGACY_CODES, RETRYABLE, LeagueError, MissingField
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, Note, note

logger = logging.getLogger(__name__)

MOST_NAMES = 8
"""Of the fields an answer has, in a fault."""
CALLED_BACK = "called back"
"""With this message an ask is cancelled when its answer has come by a POST: it worked."""
NETWORK_WAIT_S = 2.0
"""After a try that failed as this machine had no network: so long until the next one."""
MAX_EXCUSED_TRIES = 3
"""Tries of one match, in all its attempts, that do not count for a failure of this side; the fourth counts."""


@dataclass(slots=True)
class Request:
    """One request with its tries.

    An answer counts wherever it comes: in the reply, or by a POST of the player's own at any moment
    before the verdict. The first valid one stands.

    Attributes:
        talk: the conversation that it is part of.
        seat: whom.
        build: makes the message from now and the deadline; fresh for each try.
        limit_s: seconds for each try.
        answer_type: the message expected back.
        accept: turns an answer into its value, or raises LeagueError when it is none.
        hidden: keep answers off the public transcript until the draw.
        max_retries: instead of the league's.
    """

    talk: Conversation
    seat: Seat
    build: Callable[[datetime, datetime], dict[str, Any]]
    limit_s: float
    answer_type: MessageType
    accept: Callable[[Mapping[str, Any]], Any]
    hidden: bool = False
    max_retries: int | None = None
    _tries: int = field(default=0, init=False)
    _begun: float = field(init=False)
    """When it began, later by what does not count; monotonic seconds."""
    _delay: float = field(init=False)
    """Seconds before the next try, when this one is not answered."""
    _only: Proposal | None = field(default=None, init=False)
    """The one spelling that the next try sends."""
    _eased: bool = field(default=False, init=False)
    """Whether a refusal for a rate was excused already."""
    _asked: str = field(default="", init=False)
    _limit: float = field(default=0.0, init=False)
    _box: Box = field(init=False)

    async def obtain(self) -> Any | Fault:
        """Ask until a valid answer comes or the tries are used up.

        Returns the value, or the Fault that stands after the last try.

        Raises:
            MachineFailed: this machine has no network any more, and no attempt of the match was lost for that yet.
        """
        mailbox, player, rules = self.talk.mailbox, self.seat.player_id, self.talk.brief.settings
        self._begun, self._delay = self.talk.clock.monotonic(), rules.retry_base_s
        with mailbox.expecting(player, self.answer_type) as self._box:
            while True:
                heard = await self._try()
                if await self._is_excused(heard):
                    continue
                self._only = None
                self._tries += 1
                found = self._judge(heard)
                if not isinstance(found, Wrong):
                    mailbox.settle(player, self.answer_type, in_time=True)
                    return found
                if not await self._goes_on(found, heard):
                    mailbox.settle(player, self.answer_type, in_time=False)
                    return found.fault(player, self._asked, self._tries, self.limit_s)
                mailbox.ask_again(player)
                if found.code in RETRYABLE:
                    self._delay *= rules.retry_factor

    def _left_s(self) -> float:
        """Seconds that the league's patience with the request lasts."""
        return self.talk.brief.settings.request_patience_s - (self.talk.clock.monotonic() - self._begun)

    def _retries(self) -> int:
        return self.talk.brief.settings.max_retries if self.max_retries is None else self.max_retries

    async def _try(self) -> Heard:
        """One try: whichever comes first, the reply or a callback; a failed try does not hide a callback."""
        talk, seat, now = self.talk, self.seat, self.talk.clock.now()
        self._limit = min(self.limit_s, max(self._left_s(), 0.001))
        message = self.build(now, now + timedelta(seconds=self._limit))
        self._asked = message["message_type"]
        if not self._box.messages:
            talk.note_sent(seat, message, False)
            asked = asyncio.ensure_future(talk.guarded(talk.ask(seat, message, limit_s=self._limit, only=self._only)))
            await _either(asked, self._box)
            if not self._box.messages:
                heard = asked.result()
                secret = self.hidden and heard.spoke
                talk.note_heard(seat, heard, self._asked, self.answer_type, self._limit, secret)
                return heard
            asked.cancel(CALLED_BACK)
            await asyncio.gather(asked, return_exceptions=True)
        posted = self._box.take()
        heard = Heard(message=posted, body=posted, notes=(note(Code.POSTED),))
        talk.note_heard(seat, heard, "", self.answer_type, None, self.hidden)
        return heard

    async def _is_excused(self, heard: Heard) -> bool:
        """Whether a try does not count; then whatever has to be waited for was, and the next one is due."""
        talk, player = self.talk, self.seat.player_id
        if heard.excuse and self._excuse(heard):
            # It is asked once more as if this had not been: neither tries nor patience are less for it.
            self._begun += heard.elapsed_s
            talk.mailbox.ask_again(player)
            if not heard.connected:
                self._begun += NETWORK_WAIT_S
                await talk.clock.sleep(NETWORK_WAIT_S)
            return True
        if heard.limited is None or self._eased:
            return False
        # Once a request, within the time of this try: the next one sends one spelling, and counts.
        self._eased, self._only = True, heard.limited
        wanted = talk.brief.settings.retry_base_s if heard.wait_s is None else heard.wait_s
        await self._pause(min(wanted, max(0.0, self._limit - heard.elapsed_s)))
        talk.mailbox.ask_again(player)
        return True

    def _excuse(self, heard: Heard) -> bool:
        """Whether our own failure excuses a try: at most so many of a match, whoever is served by that (ruling, 12)."""
        brief, log = self.talk.brief, self.talk.log
        used = brief.excused + len(log.excused)
        counts = used >= MAX_EXCUSED_TRIES
        if counts and not heard.connected and brief.attempt == 1:
            # Once only: a second referee without a network has this try count.
            raise MachineFailed(heard.excuse)
        if used <= MAX_EXCUSED_TRIES:
            log.excused.append(
                {
                    "player_id": self.seat.player_id,
                    "message_type": self._asked,
                    "evidence": heard.excuse,
                    "at": self.talk.clock.now().isoformat(),
                    "counted": "yes" if counts else "no",
                }
            )
        return not counts

    def _judge(self, heard: Heard) -> Any | Wrong:
        if heard.error_code is not None:
            cause = heard.cause or faults.of_error(heard.error_code)
            legacy = LEGACY_CODES.get(heard.error_code)
            sentence, seen = heard.problem, {}
            if isinstance(sentence, Note) and (public := sentence.public) is not None:
                # What a complaint quotes stands in its context: everybody else's copy leaves that out.
                seen = {name: sentence.args[name] for name in sentence.code.quotes & sentence.args.keys()}
                sentence = public
            return Wrong(heard.error_code, str(sentence), seen, legacy, cause, heard.detail)
        try:
            return self.accept(heard.message)
        except LeagueError as error:
            cause, detail = faults.of_error(error.error_code), _seen(heard, error)
            return Wrong(error.error_code, error.message, error.context, error.legacy_code, cause, detail)
        except Exception as error:
            # As in Conversation.guarded: what a player says ends in its fault, never in an attempt that does not count.
            logger.exception("an answer of a player could not be read")
            problem = f"its answer could not be read ({type(error).__name__})"
            return Wrong("E002", problem, {}, None, Cause.WRONG_MESSAGE, problem)

    async def _goes_on(self, wrong: Wrong, heard: Heard) -> bool:
        """Complain of a try, and say whether there is another; the delay before it is over then."""
        wait = self._delay if wrong.code in RETRYABLE else 0.0
        retries = self._retries()
        again = wrong.code in (*RETRYABLE, "E004") and self._tries <= retries and self._left_s() > wait
        # That nothing came gives no choice away, and those who watch should see it at once.
        await self._complain(wrong, wait if again else None, hidden=self.hidden and heard.spoke)
        # What was posted before the verdict counts; whoever goes on posting does not put it off for ever.
        return again or (bool(self._box.messages) and self._tries <= retries + MOST_WAITING)

    async def _complain(self, wrong: Wrong, wait: float | None, *, hidden: bool) -> None:
        """GAME_ERROR, while the delay before the next try runs; a callback ends the delay."""
        talk, now = self.talk, self.talk.clock.now()
        message = messages.game_error(
            talk.brief,
            self.seat,
            wrong,
            now=now,
            action_required=self.answer_type,
            game_state=talk.log.state,
            retry_count=self._tries if wait is not None else self._tries - 1,
            max_retries=self._retries(),
            next_retry_at=None if wait is None else now + timedelta(seconds=wait),
        )
        # A player that is slow to take the complaint must not delay its own next try for long.
        limit = max(wait or 0.0, min(1.0, talk.brief.settings.generic_timeout_s))
        await asyncio.gather(self._pause(wait or 0.0), talk.tell(self.seat, message, limit_s=limit, hidden=hidden))

    async def _pause(self, seconds: float) -> None:
        """Wait; a callback ends it."""
        pause = asyncio.ensure_future(self.talk.clock.sleep(seconds))
        try:
            await _either(pause, self._box)
        finally:
            pause.cancel()


def _seen(heard: Heard, error: LeagueError) -> Note:
    """What an answer had in place of what it should have."""
    sentence = error.message.rstrip(".")
    if isinstance(error, MissingField):
        names = [str(name)[:30] for name, value in heard.message.items() if value is not None][:MOST_NAMES]
        return note(Code.LACKS, sentence=sentence, names=", ".join(names) or "nothing")
    return note(Code.NOT_WANTED, sentence=sentence, seen=str(error.context.get("seen", "nothing")))


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
