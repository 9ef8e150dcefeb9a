"""What a check found: one clause a question, one sentence a verdict, and JSON that stays readable.

The JSON of a report (``schema`` 1) is an object with the fields of :class:`Report`; ``clauses`` is a
list of objects with the fields of :class:`Clause`. Fields may be added later, none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import body_for_transcript

SCHEMA = 1
MAX_TEXT_CHARS = 400
MOST_CLAUSES = 200
ROLES = ("player", "referee", "manager")


class Verdict(StrEnum):
    CONFORMS = "conforms"
    """As the documents say."""
    TOLERATED = "tolerated"
    """Not as the documents say, but the league copes; here is what to mend."""
    FAILS = "fails"
    """Not as the documents say, and it costs the agent something."""
    SKIPPED = "skipped"
    """Could not be asked, and why."""


def printable(text: str) -> str:
    """A text without control and other invisible characters: an agent's words may end up on a terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing the documents ask of an agent, and what this one did.

    Attributes:
        id: stable and short, such as ``join.accepts``.
        title: the question in a few words.
        expected: what the documents expect, in a sentence.
        source: where they say so, such as ``004 4.4.2`` or ``league.v2 ruling, section 6``.
        verdict: see :class:`Verdict`.
        why: the reason for the verdict and, unless it conforms, what to mend.
        sent: the body that was sent, without secrets and cut at 4 KiB; None when nothing was.
        came: the body that came back, likewise; text that was no JSON stands as a string.
        elapsed_ms: milliseconds from sending to the answer; None when nothing was sent.
        http_status: of the answer; None when there was none.
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

    def __post_init__(self) -> None:
        # Here, so that no check can forget it: what an agent says may hold a token or be endless.
        for name in ("id", "title", "expected", "source", "why"):
            object.__setattr__(self, name, printable(redact(getattr(self, name)))[:MAX_TEXT_CHARS])
        for name in ("sent", "came"):
            object.__setattr__(self, name, body_for_transcript(getattr(self, name)))

    def to_json(self) -> dict[str, Any]:
        """A dict that JSON can carry."""
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"verdict": self.verdict.value}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Clause:
        """Read :meth:`to_json`; unknown fields are passed over.

        Raises:
            ValueError: a field is missing or is of the wrong type.
        """
        return cls(
            id=_text(value, "id"),
            title=_text(value, "title"),
            expected=_text(value, "expected"),
            source=_text(value, "source"),
            verdict=Verdict(_text(value, "verdict")),
            why=_text(value, "why"),
            sent=value.get("sent"),
            came=value.get("came"),
            elapsed_ms=_number(value, "elapsed_ms"),
            http_status=_number(value, "http_status"),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """A whole check.

    Attributes:
        role: what the agent was checked as: one of :data:`ROLES`.
        endpoint: the address that was checked.
        started_at: UTC, ``YYYY-MM-DDTHH:MM:SSZ``.
        took_s: seconds, rounded to milliseconds.
        dialect: the way of speaking that was understood for the invitation (a name of
            :data:`league_sdk.dialects.shapes.SHAPES`); empty when none was.
        spoken: by message type, the way of speaking that was understood.
        clauses: in the order in which they were looked at.
        can_play: whether the league as it is can play (or use) this agent.
        summary: one sentence.
        next_step: the one most useful thing to mend; empty when there is none.
    """

    role: str
    endpoint: str
    started_at: str
    took_s: float
    dialect: str
    can_play: bool
    summary: str
    next_step: str
    spoken: Mapping[str, str] = field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many clauses have that verdict."""
        return sum(clause.verdict is verdict for clause in self.clauses)

    def clause(self, name: str) -> Clause:
        """The clause of that id.

        Raises:
            KeyError: there is none.
        """
        for clause in self.clauses:
            if clause.id == name:
                return clause
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """A dict that JSON can carry; see the top of this module."""
        return {
            "schema": SCHEMA,
            "role": self.role,
            "endpoint": self.endpoint,
            "started_at": self.started_at,
            "took_s": self.took_s,
            "dialect": self.dialect,
            "spoken": dict(self.spoken),
            "can_play": self.can_play,
            "summary": self.summary,
            "next_step": self.next_step,
            "counts": {verdict.value: self.count(verdict) for verdict in Verdict},
            "clauses": [clause.to_json() for clause in self.clauses],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Report:
        """Read :meth:`to_json`; unknown fields are passed over.

        Raises:
            ValueError: it is none, naming the field.
        """
        if value.get("schema") != SCHEMA:
            raise ValueError(f"schema is {value.get('schema')!r:.40}, expected {SCHEMA}")
        took, spoken, clauses = value.get("took_s"), value.get("spoken"), value.get("clauses")
        if isinstance(took, bool) or not isinstance(took, (int, float)):
            raise ValueError("took_s is not a number")
        if not isinstance(value.get("can_play"), bool):
            raise ValueError("can_play is neither true nor false")
        if not isinstance(spoken, Mapping) or not isinstance(clauses, list) or len(clauses) > MOST_CLAUSES:
            raise ValueError("spoken or clauses are not what they should be")
        if value.get("role") not in ROLES:
            raise ValueError(f"role is none of {', '.join(ROLES)}")
        texts = ("role", "endpoint", "started_at", "dialect", "summary", "next_step")
        return cls(
            **{name: _text(value, name) for name in texts},
            took_s=float(took),
            can_play=value["can_play"],
            spoken={str(kind): str(shape) for kind, shape in spoken.items()},
            clauses=tuple(Clause.from_json(_object(clause)) for clause in clauses),
        )


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _number(holder: Mapping[str, Any], name: str) -> int | None:
    value = holder.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(f"{name} is not an integer")
    return value


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("a clause is not an object")
    return value
