"""What referee and players say to each other in one attempt at a match, on its transcript."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.dialects.answers import accepted, oddities
from league_sdk.judging import telemetry
from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.clock import Clock
from league_sdk.judging.fault import Fenced
from league_sdk.judging.heard import Ask, Heard, Tell
from league_sdk.judging.log import MatchLog
from league_sdk.judging.mailbox import Mailbox
from league_sdk.protocol import tokens
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import REDACTED, redact
from league_sdk.protocol.transcript import entry

logger = logging.getLogger(__name__)


@dataclass
class Conversation:
    """All messages of one attempt at a match.

    Attributes:
        brief: what ``start_match`` said.
        ask: sends a message and waits for the answer.
        send: sends a message whose answer does not matter.
        clock: time.
        log: state and transcript for those who watch.
        mailbox: where answers arrive that players send by a POST of their own.
    """

    brief: Brief
    ask: Ask
    send: Tell
    clock: Clock
    log: MatchLog
    mailbox: Mailbox = field(default_factory=Mailbox)

    def __post_init__(self) -> None:
        self.mailbox.on_repeat = self._note_repeat

    async def tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float, hidden: bool = False) -> Heard:
        """Send a message whose answer does not matter; both go on the transcript."""
        self.note_sent(seat, message, hidden)
        heard = await self.guarded(self.send(seat, message, limit_s=limit_s))
        self.note_heard(seat, heard, message["message_type"], "", limit_s, hidden)
        return heard

    @staticmethod
    async def guarded(call: Awaitable[Heard]) -> Heard:
        """Await a call of a player. An error of ours in reading its answer is no reason to play the match again.

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

    def _note_repeat(self, player_id: str, message_type: str, message: Mapping[str, Any], in_time: bool) -> None:
        """A second answer to one request, or one after its verdict: it changes nothing."""
        code = Code.SECOND if in_time else Code.AFTER_VERDICT
        if in_time and message_type == MessageType.GAME_JOIN_ACK and accepted(message):
            # The receipt was taken for its yes, and here it is: nothing to mend.
            code = Code.JOINED_AGAIN
        self.log.add(
            entry(
                n=self.log.count,
                at=self.clock.now(),
                sender=player_id,
                recipient=self.brief.referee_id,
                message_type=message_type,
                notes=[note(code)],
                body=message,
            ),
            hidden=True,
        )

    def note_sent(self, seat: Seat, message: dict[str, Any], hidden: bool) -> None:
        """A message goes on the transcript as it leaves."""
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

    def _odd(self, seat: Seat, heard: Heard, answer_type: str) -> list[Note]:
        try:
            return _noteworthy(self.brief, seat, heard, answer_type)
        except Exception:
            # A note is left out before a match is lost to it.
            logger.exception("an answer of a player could not be looked at for oddities")
            return []

    def note_heard(
        self, seat: Seat, heard: Heard, asked: str, answer_type: str, limit_s: float | None, hidden: bool
    ) -> None:
        """What came of a message goes on the transcript.

        Args:
            seat: from whom.
            heard: what.
            asked: the type of the message; empty for an answer by a POST of the player's own.
            answer_type: what was wanted; empty when nothing was.
            limit_s: seconds there were for it.
            hidden: keep it off the public transcript for now.
        """
        telemetry.heard(
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


def _noteworthy(brief: Brief, seat: Seat, heard: Heard, answer_type: str) -> list[Note]:
    """What is odd about an answer."""
    expected = answer_type if heard.error_code is None else ""
    odd = oddities(heard.message, match_id=brief.match_id, player_id=seat.player_id, expected_type=expected)
    return [*odd, *_token_of_another(seat, heard.message)]


def _token_of_another(seat: Seat, message: Mapping[str, Any]) -> list[Note]:
    """An answer is proven by the connection it came on; a token in it that is somebody else's is odd all the same."""
    token = message.get("auth_token")
    if not isinstance(token, str) or redact(token) != REDACTED or tokens.same(token, seat.league_token):
        return []
    return [] if tokens.digest(token) in seat.token_digests else [note(Code.FOREIGN_TOKEN)]


def _digest_in(message: Mapping[str, Any]) -> str:
    token = message.get("auth_token")
    return tokens.digest(token) if isinstance(token, str) else ""
