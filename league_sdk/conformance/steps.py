"""The steps of a practice match, each noted as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.conformance.exchange import Exchange
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


def step_of(message: Mapping[str, Any], exchange: Exchange) -> Step:
    """A message to the agent, with its outcome."""
    words = "" if exchange.answered else exchange.in_words()
    return Step(
        str(message["message_type"]),
        body_for_transcript(message),
        body_for_transcript(exchange.response_body),
        exchange.elapsed_ms,
        exchange.status,
        str(words),
        words.to_json() if isinstance(words, Sentence | Note) else words,
    )
