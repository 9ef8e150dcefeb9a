"""What referee and players say to each other in one attempt at a match, on its transcript."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.asking.mailbox import Mailbox
from league_sdk.dialects.answers import accepted, oddities
from league_sdk.dialects.hunt import Proposal
from league_sdk.judging.match.brief import Brief, Seat
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.observing import telemetry
from league_sdk.protocol import tokens
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.tokens import REDACTED, redact

logger = logging.getLogger(__name__)


class Ask(Protocol):
    """Send a message and wait for its answer, at most ``limit_s`` seconds; ``first`` is the request to begin with."""

    def __call__(
        self, seat: Seat, message: dict[str, Any], *, limit_s: float, first: Proposal | None = None
    ) -> Awaitable[CallResult]: ...


class Tell(Protocol):
    """Send a message whose answer does not matter, at most ``limit_s`` seconds."""

    def __call__(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> Awaitable[CallResult]: ...


@dataclass
class Conversation:
    """All messages of one attempt at a match.

    Attributes:
        brief: what ``start_match`` said.
        ask: sends a message and waits for the answer.
        send: sends a message whose answer does not matter.
        clock: time.
        log: state and transcript for those who watch.
        mailbox: where answers arrive that players send by POST requests of their own.
        fence: called before each call of a player; raises Fenced when the match may be another referee's by now.
    """

    brief: Brief
    ask: Ask
    send: Tell
    clock: Clock
    log: MatchLog
    mailbox: Mailbox = field(default_factory=Mailbox)
    fence: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.mailbox.on_repeat = self._record_repeat

    async def tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float, hidden: bool = False) -> CallResult:
        """Send a message whose answer does not matter; both go on the transcript."""
        self.record_sent(seat, message, hidden)
        result = await self.call(self.send, seat, message, limit_s=limit_s)
        self.record_result(seat, result, message["message_type"], "", limit_s, hidden)
        return result

    async def call(
        self, send: Callable[..., Awaitable[CallResult]], seat: Seat, message: dict[str, Any], **options: Any
    ) -> CallResult:
        """Call a player. If an error of ours keeps its answer from being read, that counts as a wrong answer.

        If the match were played again, a player that finds such an error could escape every match it is about to lose.

        Args:
            send: ``self.ask`` or ``self.send``; ``options`` are its further arguments.

        Raises:
            Fenced: the match may be another referee's by now.
        """
        self.fence()
        try:
            with telemetry.asking(seat.player_id, message["message_type"]):
                return await send(seat, message, **options)
        except Exception as error:
            logger.exception("an answer of a player could not be handled")
            problem = f"its answer could not be handled ({type(error).__name__})"
            return CallResult(error_code="E002", problem=problem, detail=problem, cause=Cause.WRONG_MESSAGE)

    def _record(self, sender: str, recipient: str, message_type: str, *, hidden: bool, **fields: Any) -> None:
        at = self.clock.now()
        self.log.record(at=at, sender=sender, recipient=recipient, message_type=message_type, hidden=hidden, **fields)

    def _record_repeat(self, player_id: str, message_type: str, message: Mapping[str, Any], in_time: bool) -> None:
        """A second answer to one request, or an answer after the request was given up: it changes nothing."""
        code = Code.SECOND if in_time else Code.AFTER_VERDICT
        if in_time and message_type == MessageType.GAME_JOIN_ACK and accepted(message):
            # The player's mere receipt of the invitation was taken for a yes, so a yes now is in order.
            code = Code.JOINED_AGAIN
        notes = [note(code)]
        self._record(player_id, self.brief.referee_id, message_type, hidden=True, notes=notes, body=message)

    def record_sent(self, seat: Seat, message: dict[str, Any], hidden: bool) -> None:
        """Put a message on the transcript as it leaves."""
        kind = message["message_type"]
        method = METHODS[MessageType(kind)]
        self._record(self.brief.referee_id, seat.player_id, kind, hidden=hidden, method=method, body=message)

    @AGENTS_TIME
    def record_result(
        self, seat: Seat, result: CallResult, request_type: str, answer_type: str, limit_s: float | None, hidden: bool
    ) -> None:
        """Put the outcome of a message on the transcript.

        Args:
            seat: the player.
            result: what came.
            request_type: the type of the message; empty for an answer by a POST of the player's own.
            answer_type: the type of answer that was expected; empty when none was.
            limit_s: seconds that the player had.
            hidden: withhold the entry from the public for now.
        """
        telemetry.answered(
            seat.player_id,
            request_type or answer_type,
            seconds=result.elapsed_s,
            error_code=result.error_code,
            cause=result.cause,
            status=result.http_status,
        )
        notes, way = [*result.notes], result.wire[-1].get("way") if result.wire else None
        if result.message:
            notes += self._oddities(seat, result, answer_type)
            # A token that was given to somebody who only named this address is proven once the address itself answers
            # with it. A POST of a player's own and an answer through an inbox may come from any machine.
            if (
                result.http_status is not None
                and not way
                and (digest := _token_digest(result.message)) in seat.unproven
            ):
                self.log.proofs[seat.player_id] = digest
        own_type = result.message.get("message_type")
        is_printable = isinstance(own_type, str) and bool(own_type) and own_type.isprintable()
        self._record(
            seat.player_id,
            self.brief.referee_id,
            str(own_type)[:40] if is_printable else answer_type or f"reply to {request_type}",
            hidden=hidden,
            elapsed_ms=round(result.elapsed_s * 1000),
            limit_ms=None if limit_s is None else round(limit_s * 1000),
            http_status=None if way == Way.INBOX else result.http_status,
            problem=result.problem,
            notes=notes,
            body=result.body,
            wire=result.wire,
            said=result.own_words,
        )

    def _oddities(self, seat: Seat, result: CallResult, answer_type: str) -> list[Note]:
        """What is odd about an answer."""
        expected = answer_type if result.error_code is None else ""
        match_id, message = self.brief.match_id, result.message
        try:
            notes = oddities(message, match_id=match_id, player_id=seat.player_id, expected_type=expected)
            return [*notes, note(Code.FOREIGN_TOKEN)] if _has_foreign_token(seat, message) else notes
        except Exception:
            # A match must not be lost because a note cannot be written.
            logger.exception("an answer of a player could not be checked for oddities")
            return []


def _has_foreign_token(seat: Seat, message: Mapping[str, Any]) -> bool:
    """Whether an answer carries somebody else's token: odd, but the connection proves who sent the answer."""
    token = message.get("auth_token")
    if not isinstance(token, str) or redact(token) != REDACTED or tokens.same(token, seat.league_token):
        return False
    return tokens.digest(token) not in seat.token_digests


def _token_digest(message: Mapping[str, Any]) -> str:
    token = message.get("auth_token")
    return tokens.digest(token) if isinstance(token, str) else ""
