"""The requests of a referee to one player with the answers, each compared with the expected answer."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from agents_registry.models import Agent
from league_sdk.dialects.answers import accepted, choice, read_answer
from league_sdk.dialects.shapes import canonical_method
from league_sdk.protocol import notes, rpc, schemas
from league_sdk.protocol.errors import SECRET_FIELDS
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.own_words import clean_words
from league_sdk.protocol.schemas import Problem
from league_sdk.protocol.tokens import REDACTED
from league_sdk.protocol.transcript import clean
from matches.view import queries
from matches.words import checks, match
from matches.words.notes import sentence_of

MAX_VALUE_CHARS = 200
_MISSING = object()
PARITIES = ["even", "odd"]


class AttemptEntry(NamedTuple):
    """A transcript entry and the attempt that it belongs to."""

    attempt: int
    entry: Mapping[str, Any]


class FieldRow(NamedTuple):
    """A field of an answer: expected value, as JSON or in words, received value, and a mark (:func:`comparison`)."""

    name: str
    expected: str
    received: str
    mark: str
    cost: bool = False
    in_words: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request.

    Attributes:
        hunt: a sentence on each request of the hunt for the agent's dialect that came before it.
        own_words: what the agent said of its failure instead of answering, such as its exception or error.
        text: the beginning of the response, if it was not JSON.
        rows: the comparison field by field; empty if nothing was expected or the body cannot be read.
        wrong: whether it failed to do what was asked.
    """

    took: str
    http_status: Any
    content_type: str
    problem: str
    notes: list[str]
    hunt: list[str]
    own_words: str
    text: str
    body: str
    rows: list[FieldRow]
    wrong: bool

    @property
    def differs(self) -> bool:
        return any(row.mark in ("wrong", "missing") for row in self.rows)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request to a player with its answers, as the page shows it.

    Attributes:
        key: attempt and number, such as ``1.12``.
        asked: whether there was a request; False for a message that the player sent unasked.
        wire: the HTTP requests that were tried, the last of which was answered, if one was; empty if not recorded.
        way: by which way the last HTTP request went; empty for the agent's address.
        whole: whether the transcript has the complete body.
        again: whether the request can be sent again.
        opened: whether the page shows the details, as this is the first exchange with a wrong answer.
    """

    key: str
    attempt: int
    kind: str
    asked: bool
    wire: list[Mapping[str, Any]]
    path: str
    sent: str
    whole: bool
    curl: str
    again: bool
    answers: list[Answer]
    opened: bool = False

    @property
    def last(self) -> Mapping[str, Any] | None:
        return self.wire[-1] if self.wire else None

    @property
    def way(self) -> str:
        return way_of(self.last)

    @property
    def earlier(self) -> list[Mapping[str, Any]]:
        return self.wire[:-1]

    @property
    def wrong(self) -> bool:
        return any(answer.wrong for answer in self.answers)

    @property
    def compared(self) -> bool:
        return any(answer.rows for answer in self.answers)

    @property
    def noted(self) -> bool:
        return any(answer.notes or answer.hunt or answer.differs for answer in self.answers)


def exchanges(transcript: Sequence[AttemptEntry], agent: Agent) -> list[Exchange]:
    """The requests to one player with their answers, in order; nothing of the other player.

    Args:
        transcript: that of one match.
        agent: the player.
    """
    requests: list[tuple[AttemptEntry, list[Mapping[str, Any]]]] = []
    for one in transcript:
        # A student's referee may put anything into its transcript.
        if is_of(one.entry.get("recipient"), agent) and one.entry.get("method"):
            requests.append((one, []))
        elif is_of(one.entry.get("sender"), agent):
            if not requests or requests[-1][0].attempt != one.attempt:
                # The player sent something before the first request.
                requests.append((AttemptEntry(one.attempt, {"n": one.entry.get("n")}), []))
            requests[-1][1].append(one.entry)
    paired = [_exchange(request, entries, agent) for request, entries in requests]
    first = next((exchange for exchange in paired if exchange.wrong), None)
    return [replace(exchange, opened=True) if exchange is first else exchange for exchange in paired]


def is_of(who: object, agent: Agent) -> bool:
    """Whether ``P01`` or ``player:P01`` names this player."""
    return isinstance(who, str) and who.rpartition(":")[2] == agent.code


def _exchange(request: AttemptEntry, entries: Sequence[Mapping[str, Any]], agent: Agent) -> Exchange:
    is_request, body = bool(request.entry.get("method")), request.entry.get("body")
    kind = str(request.entry.get("message_type", ""))
    wire = next((wire for entry in entries if (wire := _wire(entry))), [])
    sent, whole = _sent(body, kind, wire)
    path = wire[-1]["path"] if wire else urlsplit(agent.endpoint).path
    return Exchange(
        f"{request.attempt}.{request.entry.get('n')}",
        request.attempt,
        kind,
        is_request,
        wire,
        path,
        pretty(sent),
        whole,
        curl(agent.endpoint, path, sent) if whole and not agent.is_inbox_only else "",
        whole and is_request and isinstance(body, Mapping) and kind in schemas.MODELS,
        [_answer(entry, body, agent) for entry in entries],
    )


def _wire(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The well-formed records of HTTP requests in an entry; a student's referee may put anything there."""
    wire = entry.get("wire")
    return [record for record in wire if _is_wire(record)] if isinstance(wire, list) else []


def _is_wire(record: object) -> bool:
    return (
        isinstance(record, Mapping)
        and all(isinstance(record.get(name), str) for name in ("path", "shape", "method", "content_type"))
        and isinstance(record.get("id"), (int, str))
        and isinstance(record.get("session"), bool)
        and isinstance(record.get("text", ""), str)
    )


def way_of(wire: Mapping[str, Any] | None) -> str:
    """The way of a request; empty for the agent's address, and if nothing is on record."""
    way = wire.get("way") if wire is not None else None
    return way if way in list(Way) else ""


def _sent(body: Any, kind: str, wire: Sequence[Mapping[str, Any]]) -> tuple[Any, bool]:
    """The request body as it was sent, and whether it is complete."""
    if wire and "request" in wire[-1]:
        sent = wire[-1]["request"]
    elif isinstance(body, Mapping) and not is_cut(body):
        sent = rpc.call(canonical_method(kind), body, 1)
        if wire:
            sent["id"] = wire[-1]["id"]
    else:
        sent = body
    return sent, not is_cut(sent) and isinstance(sent, Mapping)


def is_cut(body: Any) -> bool:
    """Whether a transcript has only the beginning of a body."""
    return isinstance(body, Mapping) and body.get("cut") is True and set(body) == {"cut", "beginning"}


def _answer(entry: Mapping[str, Any], sent: Any, agent: Agent) -> Answer:
    wire = _wire(entry)
    body = entry.get("body")
    expected = expected_answer(sent, agent.code)
    message = read_answer(body, rpc_id=wire[-1]["id"] if wire else 0).message if not is_cut(body) else {}
    readable = bool(expected) and body is not None and not is_cut(body)
    usable = readable and is_usable(sent, message)
    problem = sentence_of(entry.get("problem"))
    of_answer, of_hunt = notes.apart(entry.get("notes") or [])
    own_words = entry.get("said")
    return Answer(
        _took(entry),
        entry.get("http_status"),
        wire[-1]["content_type"] if wire and way_of(wire[-1]) != Way.INBOX else "",
        problem,
        [sentence_of(note) for note in of_answer],
        [sentence_of(note) for note in of_hunt],
        clean_words(own_words) if isinstance(own_words, str) else "",
        wire[-1].get("text", "") if wire else "",
        pretty(body) if body is not None else "",
        comparison(expected, message, usable=usable) if readable else [],
        bool(problem) or (readable and not usable),
    )


def _took(entry: Mapping[str, Any]) -> str:
    """How long an answer took, in words; empty unless the recorded times are plausible."""
    elapsed, limit = (
        value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
        for value in (entry.get("elapsed_ms"), entry.get("limit_ms"))
    )
    return match.took(elapsed, limit) if elapsed is not None else ""


def pretty(value: Any) -> str:
    """Indented JSON without tokens."""
    return json.dumps(clean(value), indent=2, ensure_ascii=False)


def curl(endpoint: str, path: str, body: Any) -> str:
    """A curl command that sends the body to the agent's address."""
    parts = urlsplit(endpoint)
    url = urlunsplit((parts.scheme, parts.netloc, path, parts.query if path == parts.path else "", ""))
    text = json.dumps(clean(body), ensure_ascii=False)
    return f"curl -sS -X POST {shlex.quote(url)} -H 'Content-Type: application/json' --data-raw {shlex.quote(text)}"


# Expected against received --------------------------------------------------------------------


def expected_answer(sent: Any, player_id: str) -> dict[str, Any]:
    """The answer to a request exactly as the course specifies it; empty if the request needs none."""
    if not isinstance(sent, Mapping) or is_cut(sent):
        return {}
    message_type = str(sent.get("message_type"))
    kind = schemas.MODELS[message_type].answer if message_type in schemas.MODELS else None
    particular: dict[str, Any]
    if kind == MessageType.GAME_JOIN_ACK:
        particular = {"arrival_timestamp": sent.get("timestamp"), "accept": True}
    elif kind == MessageType.CHOOSE_PARITY_RESPONSE:
        particular = {"parity_choice": PARITIES[0]}
    elif kind == MessageType.GAME_MOVE_RESPONSE:
        move = {"move_type": sent.get("move_type"), "choice": next(iter(options(sent)), None)}
        particular = {"game_type": sent.get("game_type"), "move_data": move}
    else:
        return {}
    return {
        "protocol": sent.get("protocol"),
        "message_type": str(kind),
        "sender": f"player:{player_id}",
        "timestamp": sent.get("timestamp"),
        "conversation_id": sent.get("conversation_id"),
        "auth_token": REDACTED,
        "match_id": sent.get("match_id"),
        "player_id": player_id,
        **particular,
    }


def options(sent: Mapping[str, Any]) -> list[Any]:
    """The legal moves that a request lists."""
    if sent.get("message_type") == MessageType.CHOOSE_PARITY_CALL:
        return PARITIES
    offered = sent.get("valid_options")
    return offered if isinstance(offered, list) else []


def is_legal(move: Any, sent: Mapping[str, Any]) -> bool:
    """Whether a move is among those that a request lists; a number may be written as a string of digits."""
    offered = options(sent)
    if isinstance(move, str) and move.isascii() and move.isdigit() and len(move) < 10:
        return move in offered or int(move) in offered
    return not isinstance(move, bool) and move in offered


def is_usable(sent: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether a referee could use an answer, whatever its form: it accepts the invitation or has a legal move."""
    if sent.get("message_type") == MessageType.GAME_INVITATION:
        return accepted(message) is True
    return is_legal(choice(message, queries.choice_field(str(sent.get("game_type")))), sent)


_CHOICE_FIELDS = ("parity_choice", "move_data")
_DECISIVE_FIELDS = ("accept", *_CHOICE_FIELDS)
_EXACT_FIELDS = ("protocol", "message_type", "sender", "conversation_id", "match_id", "player_id", "game_type")
"""Fields that must have exactly the expected value; for the others the schema decides."""


def comparison(expected: Mapping[str, Any], message: Mapping[str, Any], *, usable: bool) -> list[FieldRow]:
    """Compare an answer with the expected one, field by field.

    The marks: ``ok``, ``missing``, ``wrong``, and ``more`` for a field that is not expected. ``cost`` marks fields that
    made the answer unusable; these come first. Other deviations were tolerated.

    Args:
        expected: from :func:`expected_answer`.
        message: the fields that were read from the answer.
        usable: from :func:`is_usable`.
    """
    problems: dict[str, Problem] = {}
    for found in schemas.problems(str(expected["message_type"]), message):
        problems.setdefault(found.field.partition(".")[0], found)
    # The referee also finds a choice under another name: it is then wrong rather than missing.
    elsewhere = choice(message, "parity_choice" if "parity_choice" in expected else "choice")
    rows = []
    for name, value in expected.items():
        received, problem = message.get(name, _MISSING), problems.get(name)
        mark, shown = "ok", _value(name, received)
        if received is _MISSING and name in _CHOICE_FIELDS and elsewhere is not None:
            mark, shown = "wrong", _value("", elsewhere)
        elif received is _MISSING:
            mark = "missing"
        elif (problem is not None and name not in SECRET_FIELDS) or (name in _EXACT_FIELDS and received != value):
            mark = "wrong"
        in_words = problem is not None and name not in _EXACT_FIELDS
        expectation = checks.expected(problem.expected) if problem is not None and in_words else _value(name, value)
        cost = name in _DECISIVE_FIELDS and mark != "ok" and not usable
        rows.append(FieldRow(name, expectation, shown, mark, cost, in_words))
    for name, received in message.items():
        if name not in expected:
            rows.append(FieldRow(clean(str(name))[:64], "", _value(name, received), "more"))
    return sorted(rows, key=lambda row: not row.cost)


def _value(name: str, value: Any) -> str:
    if value is _MISSING:
        return ""
    if name in SECRET_FIELDS:
        return REDACTED if value else json.dumps(value)
    try:
        return json.dumps(clean(value), ensure_ascii=False)[:MAX_VALUE_CHARS]
    except (RecursionError, ValueError):
        return f"({type(value).__name__})"
