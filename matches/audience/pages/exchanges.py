"""What went over the wire between a referee and one player: requests with their answers, expected against received."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.dialects.answers import accepted, choice, read_answer
from league_sdk.dialects.shapes import canonical_method
from league_sdk.protocol import rpc, schemas
from league_sdk.protocol.errors import SECRET_FIELDS
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import in_words
from league_sdk.protocol.tokens import REDACTED
from league_sdk.protocol.transcript import clean
from league_sdk.rules.registry import games
from matches.words import match

MAX_VALUE_CHARS = 200
_MISSING = object()
PARITIES = ["even", "odd"]


class Line(NamedTuple):
    """One entry of a transcript with the attempt it belongs to."""

    attempt: int
    entry: Mapping[str, Any]


def exchanges(lines: Sequence[Line], agent: Agent) -> list[dict[str, Any]]:
    """The requests to one player, each with what came back, in order; nothing of the other player's.

    Args:
        lines: the transcript of one match.
        agent: whose they are.
    """
    found: list[dict[str, Any]] = []
    for attempt, entry in lines:
        # A foreign referee may write anything into its transcript.
        if is_of(entry.get("recipient"), agent) and entry.get("method"):
            found.append(_request(attempt, entry))
        elif is_of(entry.get("sender"), agent):
            if not found or found[-1]["attempt"] != attempt:
                # It said something before it was asked.
                found.append(_request(attempt, {"n": entry.get("n"), "at": entry.get("at")}))
            found[-1]["entries"].append(entry)
    shown = [_shown(one, agent) for one in found]
    first = next((one for one in shown if one["wrong"]), None)
    return [one | {"opened": one is first} for one in shown]


def is_of(who: object, agent: Agent) -> bool:
    """Whether ``P01`` or ``player:P01`` names this player."""
    return isinstance(who, str) and who.rpartition(":")[2] == agent.code


def _request(attempt: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": f"{attempt}.{entry.get('n')}",
        "attempt": attempt,
        "at": datetime.fromisoformat(str(entry.get("at"))),
        "message_type": str(entry.get("message_type", "")),
        "body": entry.get("body"),
        "asked": bool(entry.get("method")),
        "entries": [],
    }


def _shown(one: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """An exchange as the page shows it."""
    entries: list[Mapping[str, Any]] = one.pop("entries")
    wire = next((wire for entry in entries if (wire := _wire(entry))), [])
    kind = one["message_type"]
    sent, whole = _sent(one["body"], kind, wire)
    path = wire[-1]["path"] if wire else urlsplit(agent.endpoint).path
    answers = [_answer(entry, one, agent) for entry in entries]
    return one | {
        "kind": kind,
        "path": path,
        "shape": wire[-1]["shape"] if wire else "",
        "session": bool(wire) and wire[-1]["session"],
        "sent": pretty(sent),
        "whole": whole,
        "recorded": bool(wire),
        "earlier": wire[:-1],
        "curl": curl(agent.endpoint, path, sent) if whole else "",
        "again": whole and one["asked"] and isinstance(one["body"], Mapping) and kind in schemas.MODELS,
        "answers": answers,
        "wrong": any(answer["wrong"] for answer in answers),
        "measured": any(answer["rows"] for answer in answers),
        "noted": any(answer["notes"] or answer["differs"] for answer in answers),
    }


def _wire(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The requests that brought an answer; a foreign referee may write anything there, which is left out."""
    given = entry.get("wire")
    return [one for one in given if _is_wire(one)] if isinstance(given, list) else []


def _is_wire(one: object) -> bool:
    return (
        isinstance(one, Mapping)
        and all(isinstance(one.get(name), str) for name in ("path", "shape", "method", "content_type"))
        and isinstance(one.get("id"), (int, str))
        and isinstance(one.get("session"), bool)
        and isinstance(one.get("text", ""), str)
    )


def _sent(body: Any, kind: str, wire: Sequence[Mapping[str, Any]]) -> tuple[Any, bool]:
    """The body as it went out, and whether it is whole."""
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
    """Whether a transcript holds only the beginning of a body."""
    return isinstance(body, Mapping) and body.get("cut") is True and set(body) == {"cut", "beginning"}


def _answer(entry: Mapping[str, Any], one: Mapping[str, Any], agent: Agent) -> dict[str, Any]:
    wire = _wire(entry)
    body = entry.get("body")
    expected = expected_answer(one["body"], agent.code)
    message = read_answer(body, rpc_id=wire[-1]["id"] if wire else 0).message if not is_cut(body) else {}
    readable = bool(expected) and body is not None and not is_cut(body)
    usable = readable and is_usable(one["body"], message)
    rows = comparison(expected, message, usable=usable) if readable else []
    problem = in_words(entry.get("problem"), _)
    return {
        "at": datetime.fromisoformat(str(entry.get("at"))),
        "took": _took(entry),
        "http_status": entry.get("http_status"),
        "content_type": wire[-1]["content_type"] if wire else "",
        "problem": problem,
        "notes": [in_words(note, _) for note in entry.get("notes") or []],
        "text": wire[-1].get("text", "") if wire else "",
        "body": pretty(body) if body is not None else "",
        "message_type": str(entry.get("message_type", "")),
        "rows": rows,
        "differs": any(row["mark"] in ("wrong", "missing") for row in rows),
        "wrong": bool(problem) or (readable and not usable),
        "expected": pretty(expected) if expected else "",
    }


def _took(entry: Mapping[str, Any]) -> str:
    """How long an answer took, in words; a foreign referee may have put anything there."""
    elapsed, limit = (
        value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
        for value in (entry.get("elapsed_ms"), entry.get("limit_ms"))
    )
    return match.took(elapsed, limit) if elapsed is not None else ""


def pretty(value: Any) -> str:
    """JSON for reading; no token in it."""
    return json.dumps(clean(value), indent=2, ensure_ascii=False)


def curl(endpoint: str, path: str, body: Any) -> str:
    """A command that sends the same body to the agent's own address."""
    parts = urlsplit(endpoint)
    url = urlunsplit((parts.scheme, parts.netloc, path, parts.query if path == parts.path else "", ""))
    text = json.dumps(clean(body), ensure_ascii=False)
    return f"curl -sS -X POST {shlex.quote(url)} -H 'Content-Type: application/json' --data-raw {shlex.quote(text)}"


# Expected against received --------------------------------------------------------------------


def expected_answer(sent: Any, player_id: str) -> dict[str, Any]:
    """An answer to a request that keeps to every word of the course's text; empty when none is asked for."""
    if not isinstance(sent, Mapping) or is_cut(sent):
        return {}
    asked = str(sent.get("message_type"))
    kind = schemas.TRAVEL[asked].answer if asked in schemas.TRAVEL else None
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
    """The moves that a request offers."""
    if sent.get("message_type") == MessageType.CHOOSE_PARITY_CALL:
        return PARITIES
    offered = sent.get("valid_options")
    return offered if isinstance(offered, list) else []


def is_legal(move: Any, sent: Mapping[str, Any]) -> bool:
    """Whether a move is one of those that a request offers; a number may be its digits, as in a match."""
    offered = options(sent)
    if isinstance(move, str) and move.isascii() and move.isdigit() and len(move) < 10:
        return move in offered or int(move) in offered
    return not isinstance(move, bool) and move in offered


def is_usable(sent: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether an answer does what was asked for, in whatever words: it joins, or it moves and may move so."""
    if sent.get("message_type") == MessageType.GAME_INVITATION:
        return accepted(message) is True
    return is_legal(choice(message, choice_field(str(sent.get("game_type")))), sent)


def choice_field(game_type: str) -> str:
    """A game's own name for a move."""
    game = games().get(game_type)
    return game.choice_field if game is not None else ""


_DECISIVE = ("accept", "parity_choice", "move_data")
_SAME = ("protocol", "message_type", "sender", "conversation_id", "match_id", "player_id", "game_type")
"""Fields whose value is given; of the others the schema says what is right."""


def comparison(expected: Mapping[str, Any], message: Mapping[str, Any], *, usable: bool) -> list[dict[str, Any]]:
    """Field by field: expected, received, and a mark.

    The marks: ``ok``; ``missing``, it must be there; ``wrong``; ``more``, nothing is expected under this name. ``cost``
    says that it was this that made the answer useless (it stands first); the rest was tolerated.

    Args:
        expected: from :func:`expected_answer`.
        message: what was read of the answer.
        usable: from :func:`is_usable`.
    """
    found = {}
    for problem in schemas.problems(str(expected["message_type"]), message):
        found.setdefault(problem.field.partition(".")[0], problem)
    rows = []
    for name, value in expected.items():
        came, wrong = message.get(name, _MISSING), found.get(name)
        mark = "ok"
        if came is _MISSING:
            mark = "missing"
        elif (wrong and not _is_secret(name)) or (name in _SAME and came != value):
            mark = "wrong"
        words = wrong.expected if wrong is not None and name not in _SAME else ""
        row = {"name": name, "expected": words or _value(name, value), "came": _value(name, came), "mark": mark}
        rows.append(row | {"cost": name in _DECISIVE and mark != "ok" and not usable})
    for name, came in message.items():
        if name not in expected:
            more = {"name": clean(str(name))[:64], "expected": "", "came": _value(name, came), "mark": "more"}
            rows.append(more | {"cost": False})
    return sorted(_found_elsewhere(rows, expected, message), key=lambda row: not row["cost"])


def _found_elsewhere(
    rows: list[dict[str, Any]], expected: Mapping[str, Any], message: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A choice that stands under another name is found by the referee: it is not missing, but not as expected."""
    given = choice(message, "parity_choice" if "parity_choice" in expected else "choice")
    for row in rows:
        if row["name"] in ("parity_choice", "move_data") and row["mark"] == "missing" and given is not None:
            row["came"] = _value("", given)
            row["mark"] = "wrong"
    return rows


def _is_secret(name: str) -> bool:
    return name in SECRET_FIELDS


def _value(name: str, value: Any) -> str:
    if value is _MISSING:
        return ""
    if name in SECRET_FIELDS:
        return REDACTED if value else json.dumps(value)
    try:
        return json.dumps(clean(value), ensure_ascii=False)[:MAX_VALUE_CHARS]
    except (RecursionError, ValueError):
        return f"({type(value).__name__})"
