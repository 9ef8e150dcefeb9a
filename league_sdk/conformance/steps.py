"""The steps of a practice match, each noted as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.side import CheckSide
from league_sdk.conformance.subject_caller import Stopped
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Note
from league_sdk.protocol.sentences import Sentence
from league_sdk.protocol.transcript import body_for_transcript


@dataclass(frozen=True, slots=True)
class Step:
    """One message to the agent, or a move of the house agent.

    Attributes:
        message_type: what was sent; empty for a move of the house agent.
        sent, came: the bodies, without secrets and cut at 4 KiB.
        elapsed_ms: milliseconds until the answer or giving up; None for a move of the house agent.
        http_status: the status of the answer; None when there was none.
        problem: why there was no answer, or what came in its place; empty if what was asked for came, also if that
            is a refusal or an illegal move.
        problem_words: the same as JSON, for translation: a sentence, a note or a text.
        move: the house agent's move.
    """

    message_type: str
    sent: Any = None
    came: Any = None
    elapsed_ms: int | None = None
    http_status: int | None = None
    problem: str = ""
    problem_words: Any = None
    move: Any = None


OnStep = Callable[[Step, Mapping[str, Any]], None]
"""Told of a step as it happens, and of the public view of the game after it."""


@dataclass(slots=True)
class WatchedSide(CheckSide):
    """Asks the agent, and notes every message with its outcome.

    Attributes:
        note: called with each step.
        join: called with what each try of the invitation brought; an empty message if it brought no answer.
    """

    note: Callable[[Step], None] = field(default=lambda step: None, kw_only=True)
    join: Callable[[Mapping[str, Any]], None] = field(default=lambda message: None, kw_only=True)

    async def tell(self, message: dict[str, Any], *, limit_s: float, hidden: bool) -> object:
        # If the check is stopped here, the match goes on to the next request that needs an answer, which ends it.
        with suppress(Stopped):
            self._note(message, await self.caller.ask(message, limit_s=limit_s, patient=False))
        return None

    def record(
        self, result: CallResult, *, request_type: str, answer_type: MessageType, limit_s: float | None, hidden: bool
    ) -> None:
        CheckSide.record(
            self, result, request_type=request_type, answer_type=answer_type, limit_s=limit_s, hidden=hidden
        )
        if self.decisive is not None:
            if self.invites:
                self.join(self.decisive.message)
            self._note(self.message, self.decisive)

    def _note(self, message: Mapping[str, Any], exchange: Exchange) -> None:
        words = "" if exchange.answered else exchange.in_words()
        self.note(
            Step(
                str(message["message_type"]),
                body_for_transcript(message),
                body_for_transcript(exchange.response_body),
                exchange.elapsed_ms,
                exchange.status,
                str(words),
                words.to_json() if isinstance(words, Sentence | Note) else words,
            )
        )
