"""Every message of league.v2 as a model and as a JSON Schema, and what in a message does not conform to it.

The measure is the course's own text (004 chapters 4 and 8, tables included): a message without :func:`problems` is
one that a reader of that text may send. What a league tolerates beyond it is not said here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from league_sdk.protocol.errors import SECRET_FIELDS, seen_text
from league_sdk.protocol.messages import METHODS, REPORT_PROGRESS, START_MATCH, MessageType
from league_sdk.protocol.schemas import game, judging, league, registration
from league_sdk.protocol.schemas.parts import CLAUSE, EXPECTED, MISSING, Message, When, find, missing_either, unmet
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import clean

MAX_PROBLEMS = 50
"""A message may be wrong in more places than anybody reads."""
_MAX_PART_CHARS = 64

_KINDS: dict[str, type[Message]] = {
    MessageType.REFEREE_REGISTER_REQUEST: registration.RefereeRegisterRequest,
    MessageType.REFEREE_REGISTER_RESPONSE: registration.RefereeRegisterResponse,
    MessageType.LEAGUE_REGISTER_REQUEST: registration.LeagueRegisterRequest,
    MessageType.LEAGUE_REGISTER_RESPONSE: registration.LeagueRegisterResponse,
    MessageType.ROUND_ANNOUNCEMENT: league.RoundAnnouncement,
    MessageType.ROUND_COMPLETED: league.RoundCompleted,
    MessageType.LEAGUE_COMPLETED: league.LeagueCompleted,
    MessageType.GAME_INVITATION: game.GameInvitation,
    MessageType.GAME_JOIN_ACK: game.GameJoinAck,
    MessageType.CHOOSE_PARITY_CALL: game.ChooseParityCall,
    MessageType.CHOOSE_PARITY_RESPONSE: game.ChooseParityResponse,
    MessageType.GAME_MOVE_CALL: game.GameMoveCall,
    MessageType.GAME_MOVE_RESPONSE: game.GameMoveResponse,
    MessageType.GAME_OVER: game.GameOver,
    MessageType.MATCH_RESULT_REPORT: judging.MatchResultReport,
    MessageType.LEAGUE_STANDINGS_UPDATE: league.LeagueStandingsUpdate,
    MessageType.LEAGUE_ERROR: league.LeagueError,
    MessageType.GAME_ERROR: game.GameError,
    MessageType.LEAGUE_QUERY: league.LeagueQuery,
    MessageType.LEAGUE_QUERY_RESPONSE: league.LeagueQueryResponse,
    "MATCH_RESULT_ACK": judging.MatchResultAck,
    "START_MATCH": judging.StartMatch,
    "START_MATCH_ANSWER": judging.StartMatchAnswer,
    "REPORT_PROGRESS": judging.ReportProgress,
    "REPORT_PROGRESS_ANSWER": judging.ReportProgressAnswer,
}
_OWN_METHODS = {"START_MATCH": START_MATCH, "REPORT_PROGRESS": REPORT_PROGRESS}

MODELS: dict[str, type[BaseModel]] = {str(name): kind for name, kind in _KINDS.items()}
"""The model of every message by its type; after the 20 of :class:`MessageType` those that are ours."""


class Travel(NamedTuple):
    """How a message travels.

    Attributes:
        sender: player, referee, league_manager.
        receiver: the same.
        method: the JSON-RPC method that carries it; None for what is only ever an answer.
        answer: the type of the message that answers it, if one does.
        clause: the section that shows it.
        summary: one sentence.
    """

    sender: tuple[str, ...]
    receiver: tuple[str, ...]
    method: str | None
    answer: str | None
    clause: str
    summary: str


def _travel(name: str, kind: type[Message]) -> Travel:
    method = METHODS[MessageType(name)] if name in METHODS else _OWN_METHODS.get(name)
    return Travel(kind.sent_by, kind.sent_to, method, kind.answer, kind.clause, str(kind.__doc__))


TRAVEL: dict[str, Travel] = {name: _travel(name, kind) for name, kind in _KINDS.items()}
"""Who sends every message to whom, by its type."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not conform.

    Attributes:
        field: the dotted path, such as ``matches.0.match_id``; empty for the message itself.
        seen: the value that came, bounded and without tokens; ``nothing`` when it is missing.
        expected: what would have been right, in words.
        clause: the section that says so, such as ``004 4.4.2``.
    """

    field: str
    seen: str
    expected: str
    clause: str


class _Untitled(GenerateJsonSchema):
    """Without titles of fields, which only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def _schema(message_type: str) -> dict[str, Any]:
    kind = _KINDS[message_type]
    mode: JsonSchemaMode = "validation"
    made = kind.model_json_schema(schema_generator=_Untitled, mode=mode)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:league.v2:{message_type}",
        "title": message_type,
        CLAUSE: kind.clause,
    }
    rules = [_if_then(condition) for condition in kind.conditions]
    rules += [{"anyOf": [_holds((name,), nullable=False) for name in names]} for names in kind.either]
    return (
        head | {name: value for name, value in made.items() if name not in head} | ({"allOf": rules} if rules else {})
    )


def _if_then(condition: When) -> dict[str, Any]:
    test: dict[str, Any] = {"const": condition.value}
    for name in reversed(condition.path.split(".")):
        test = {"type": "object", "properties": {name: test}, "required": [name]}
    return {"if": test, "then": _holds(condition.required, nullable=condition.nullable)}


def _holds(paths: tuple[str, ...], *, nullable: bool) -> dict[str, Any]:
    """A schema that demands fields of one object, which may itself be some levels down."""
    *holders, _ = paths[0].split(".")
    names = [path.rpartition(".")[2] for path in paths]
    inner: dict[str, Any] = {"required": names}
    if not nullable:
        inner["properties"] = {name: {"not": {"type": "null"}} for name in names}
    for name in reversed(holders):
        inner = {"properties": {name: inner}}
    return inner


def json_schema(message_type: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a message, whole in itself.

    Args:
        message_type: a key of :data:`MODELS`.

    Raises:
        KeyError: there is no such message.
    """
    return copy.deepcopy(_schema(str(message_type)))


def problems(message_type: str, message: Any) -> list[Problem]:
    """What in a message does not conform to the course's text, at most 50 points.

    Args:
        message_type: a key of :data:`MODELS`.
        message: the decoded message, whatever it is.

    Raises:
        KeyError: there is no such message.
    """
    kind = _KINDS[message_type]
    if not isinstance(message, Mapping):
        return [Problem("", _seen("", message), "a JSON object", kind.clause)]
    found: dict[str, Problem] = {}
    try:
        kind.model_validate(dict(message))
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False)[:MAX_PROBLEMS]:
            if one["loc"]:
                demand = _demand(message_type, one["loc"])
                wrong = _problem(one["loc"], MISSING if one["type"] == "missing" else one["input"], demand)
                found.setdefault(wrong.field, wrong)
    for condition in kind.conditions:
        for dotted in unmet(condition, message):
            path = tuple(dotted.split("."))
            demand = _Demand(_demand(message_type, path, nullable=condition.nullable).expected, condition.clause)
            found.setdefault(dotted, _problem(path, find(message, dotted), demand))
    for names in missing_either(kind, message):
        clause = _demand(message_type, names[:1]).clause
        wrong = _problem(names[:1], find(message, names[0]), _Demand(" or ".join(names), clause))
        found.setdefault(wrong.field, wrong)
    return list(found.values())[:MAX_PROBLEMS]


class _Demand(NamedTuple):
    """What a schema says of a field: the expected value in words, and the section nearest to it."""

    expected: str
    clause: str


def _problem(path: tuple[int | str, ...], value: Any, demand: _Demand) -> Problem:
    dotted = ".".join(redact(str(part))[:_MAX_PART_CHARS] for part in path)
    return Problem(dotted, _seen(str(path[-1]), value), demand.expected, demand.clause)


def _seen(name: str, value: Any) -> str:
    if value is MISSING:
        return "nothing"
    if name in SECRET_FIELDS and value is not None:
        return f"({type(value).__name__}, not shown)"
    try:
        return seen_text(clean(value))
    except RecursionError:
        return f"a {type(value).__name__}"


def _demand(message_type: str, path: tuple[int | str, ...], *, nullable: bool = True) -> _Demand:
    root = _schema(message_type)
    here, clause, or_null = root, root[CLAUSE], False
    for part in path:
        step = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        if step is None:
            step = here.get("additionalProperties")
        here, or_null = _resolve(root, step if isinstance(step, dict) else {})
        clause = here.get(CLAUSE, clause)
    return _Demand(_in_words(here) + (" or null" if or_null and nullable else ""), clause)


def _resolve(root: Mapping[str, Any], node: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A node with what it refers to, and whether it may be null."""
    whole, or_null = dict(node), False
    while "$ref" in whole or "anyOf" in whole:
        inner: Mapping[str, Any]
        if "$ref" in whole:
            inner = root["$defs"][whole.pop("$ref").rpartition("/")[2]]
        else:
            # Written as "X | None" in the models, and in no other way.
            inner, _ = whole.pop("anyOf")
            or_null = True
        whole = {**inner, **whole}
    return whole, or_null


_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def _in_words(node: Mapping[str, Any]) -> str:
    if EXPECTED in node:
        return str(node[EXPECTED])
    if "const" in node:
        return str(node["const"])
    if "enum" in node:
        return ", ".join(map(str, node["enum"]))
    return _TYPES.get(node.get("type", ""), "a value")
