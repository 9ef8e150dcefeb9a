"""The report of a check: its clauses, each with a verdict and a reason, and their JSON.

The JSON of a report (``schema`` 1) is an object with the fields of :class:`Report`, and ``counts`` of the verdicts;
``clauses`` is a list of objects with the fields of :class:`Clause`. Fields may be added, but none changes its meaning.
A field named ``..._words`` has a sentence again as text and facts, so that it can be translated
(:mod:`league_sdk.protocol.sentences`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from league_sdk.dialects.memory import Memory
from league_sdk.protocol.sentences import Sentence
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import body_for_transcript

SCHEMA = 1
MAX_TEXT_CHARS = 400


class Verdict(StrEnum):
    CONFORMS = "conforms"
    """The agent does what the documents say."""
    TOLERATED = "tolerated"
    """The agent deviates from the documents, but the league copes with it; the reason says what to mend."""
    FAILS = "fails"
    """The agent deviates from the documents, and it costs the agent something."""
    SKIPPED = "skipped"
    """The clause could not be checked; the reason says why."""


def printable(text: str) -> str:
    """Replace control and other invisible characters, because an agent's text may be printed on a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _cleaned(text: str) -> str:
    return printable(redact(text))[:MAX_TEXT_CHARS]


def _without_words(part: Clause | Report) -> dict[str, Any]:
    names = [item.name for item in fields(part) if item.name != "memory"]
    return {name: getattr(part, name) for name in names if not name.endswith("_words")}


def _words(**sentences: Sentence | None) -> dict[str, Any]:
    return {name: sentence.to_json() for name, sentence in sentences.items() if sentence is not None}


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that the documents demand of an agent, and what this agent did.

    Attributes:
        id: stable and short, such as ``join.accepts``.
        title: what is demanded, in a few words, such as "It answers ping".
        expected: what the documents expect, in a sentence.
        source: where they say so, such as ``004 4.4.2`` or ``league.v2 ruling, section 6``.
        verdict: see :class:`Verdict`.
        why: the reason for the verdict and, unless it conforms, what to mend.
        sent: the body that was sent, without secrets and cut at 4 KiB; None when nothing was.
        came: the body that came back, likewise; text that was not JSON is a string.
        elapsed_ms: milliseconds from sending to the answer; None when nothing was sent.
        http_status: the status of the answer; None when there was none.
        why_words: ``why`` as text and facts; None if there is no such form.
    """

    id: str
    title: str
    expected: str
    source: str
    verdict: Verdict
    why: str
    sent: Any = None
    came: Any = None
    elapsed_ms: int | None = None
    http_status: int | None = None
    why_words: Sentence | None = None

    def __post_init__(self) -> None:
        # Done here so that no check can forget it: an agent's text may contain a token or be very long.
        for name in ("id", "title", "expected", "source", "why"):
            object.__setattr__(self, name, _cleaned(getattr(self, name)))
        if self.why_words is not None:
            object.__setattr__(self, "why_words", self.why_words.cleaned(_cleaned))
        for name in ("sent", "came"):
            object.__setattr__(self, name, body_for_transcript(getattr(self, name)))

    def to_json(self) -> dict[str, Any]:
        """The clause as a dict for JSON."""
        return _without_words(self) | {"verdict": self.verdict.value} | _words(why_words=self.why_words)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one check.

    Attributes:
        role: what the agent was checked as: ``player``, ``referee`` or ``manager``.
        endpoint: the address that was checked.
        started_at: UTC, ``YYYY-MM-DDTHH:MM:SSZ``.
        took_s: seconds, rounded to milliseconds.
        dialect: the dialect in which the invitation was understood (a name of
            :data:`league_sdk.dialects.shapes.SHAPES`); empty when it was not.
        spoken: by message type, the dialect in which it was understood.
        clauses: in the order of the rules.
        can_play: whether the league as it is can play (or use) this agent.
        summary: one sentence.
        next_step: the one most useful thing to mend; empty when there is none.
        summary_words, next_step_words: the same as text and facts; None if there is no such form.
        memory: the agent's dialect, for the next caller; not part of the JSON. None if it was not found out.
    """

    role: str
    endpoint: str
    started_at: str
    took_s: float
    dialect: str
    spoken: Mapping[str, str]
    can_play: bool
    summary: str
    next_step: str
    clauses: tuple[Clause, ...]
    summary_words: Sentence | None = None
    next_step_words: Sentence | None = None
    memory: Memory | None = field(default=None, compare=False)

    def count(self, verdict: Verdict) -> int:
        """How many clauses have that verdict."""
        return sum(clause.verdict is verdict for clause in self.clauses)

    def to_json(self) -> dict[str, Any]:
        """The report as a dict for JSON; see the top of this module."""
        return {
            "schema": SCHEMA,
            **_without_words(self),
            **_words(summary_words=self.summary_words, next_step_words=self.next_step_words),
            "clauses": [clause.to_json() for clause in self.clauses],
            "counts": {verdict.value: self.count(verdict) for verdict in Verdict},
        }
