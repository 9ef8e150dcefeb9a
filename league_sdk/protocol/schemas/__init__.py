"""The models of all messages of league.v2, their JSON Schemas, and the check of a message against them.

They follow the course's own text (004 chapters 4 and 8 with their tables): a message without :func:`problems` is one
that a reader of that text may send. A league accepts more than that (docs/dialects.md).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from league_sdk.protocol.errors import SECRET_FIELDS, seen_text
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.schemas import game, judging, league
from league_sdk.protocol.schemas.parts import CLAUSE, EXPECTED, MISSING, Message, When, find
from league_sdk.protocol.sentences import _
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import clean

NOTHING = "nothing"
"""What is seen where a field is missing."""
MAX_PROBLEMS = 50
"""The longest list of problems; a message may have more than anybody would read."""
_MAX_PART_CHARS = 64

_KINDS = {
    kind.name: kind
    for module in (league, game, judging)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Message) and kind.clause
}
MODELS: dict[str, type[Message]] = {name: _KINDS[name] for name in dict.fromkeys([*map(str, MessageType), *_KINDS])}
"""The model of every message by its name: first the 20 of :class:`MessageType`, then our own messages."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A field of a message that does not conform to the documents.

    Attributes:
        field: the dotted path, such as ``matches.0.match_id``; empty for the message itself.
        seen: the value that was received, shortened and without tokens; ``nothing`` if the field is missing.
        expected: the valid values in words.
        clause: the section that requires them, such as ``004 4.4.2``.
    """

    field: str
    seen: str
    expected: str
    clause: str


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles of fields, because they only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def _schema(message_type: str) -> dict[str, Any]:
    kind = MODELS[message_type]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:league.v2:{message_type}",
        "title": message_type,
        CLAUSE: kind.clause,
    }
    schema = kind.model_json_schema(schema_generator=_Untitled) | head
    rules = [_if_then(condition) for condition in kind.conditions]
    if kind.either:
        rules.append({"anyOf": [_requires((name,), nullable=False) for name in kind.either]})
    return schema | {"allOf": rules} if rules else schema


def _if_then(condition: When) -> dict[str, Any]:
    values = condition.values
    test: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    for name in reversed(condition.path.split(".")):
        test = {"type": "object", "properties": {name: test}, "required": [name]}
    branch = "else" if condition.unless else "then"
    return {"if": test, branch: _requires(condition.required, nullable=condition.nullable)}


def _requires(paths: tuple[str, ...], *, nullable: bool) -> dict[str, Any]:
    """A schema that requires fields of one object, which may be nested some levels down."""
    *holders, _name = paths[0].split(".")
    names = [path.rpartition(".")[2] for path in paths]
    inner: dict[str, Any] = {"required": names}
    if not nullable:
        inner["properties"] = {name: {"not": {"type": "null"}} for name in names}
    for name in reversed(holders):
        inner = {"properties": {name: inner}}
    return inner


def json_schema(message_type: str) -> dict[str, Any]:
    """The self-contained JSON Schema (draft 2020-12) of a message.

    Args:
        message_type: a key of :data:`MODELS`.

    Raises:
        KeyError: no message has that name.
    """
    return copy.deepcopy(_schema(str(message_type)))


def problems(message_type: str, message: Any) -> list[Problem]:
    """List what in a message does not conform to the course's text, at most 50 problems.

    Args:
        message_type: a key of :data:`MODELS`.
        message: any decoded JSON.

    Raises:
        KeyError: no message has that name.
    """
    kind = MODELS[message_type]
    if not isinstance(message, Mapping):
        return [Problem("", _seen("", message), _("a JSON object"), kind.clause)]
    all_problems: list[Problem] = []
    try:
        kind.model_validate(dict(message))
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False)[:MAX_PROBLEMS]:
            value = MISSING if detail["type"] == "missing" else detail["input"]
            if not detail["loc"]:
                # pydantic points at no field: a name of the message has half a surrogate pair in it.
                all_problems.append(Problem("", _seen("", value), _("names of fields in valid Unicode"), kind.clause))
                continue
            all_problems.append(_problem(detail["loc"], value, _demand(message_type, detail["loc"])))
    for condition in kind.conditions:
        for dotted in condition.unmet(message):
            path = tuple(dotted.split("."))
            demand = _demand(message_type, path, nullable=condition.nullable)
            all_problems.append(_problem(path, find(message, dotted), demand._replace(clause=condition.clause)))
    if kind.either and all(find(message, name) in (None, MISSING) for name in kind.either):
        first = kind.either[:1]
        demand = _demand(message_type, first)._replace(expected=" or ".join(kind.either))
        all_problems.append(_problem(first, find(message, *first), demand))
    first_of_field: dict[str, Problem] = {}
    for problem in all_problems:
        first_of_field.setdefault(problem.field, problem)
    return list(first_of_field.values())[:MAX_PROBLEMS]


class _Demand(NamedTuple):
    """What the schema requires of a field: its valid values in words, and the clause of the field or its object."""

    expected: str
    clause: str


def _problem(path: tuple[int | str, ...], value: Any, demand: _Demand) -> Problem:
    dotted = ".".join(redact(str(part))[:_MAX_PART_CHARS] for part in path)
    return Problem(dotted, _seen(str(path[-1]), value), demand.expected, demand.clause)


def _seen(name: str, value: Any) -> str:
    if value is MISSING:
        return NOTHING
    if name in SECRET_FIELDS and value is not None:
        return f"({type(value).__name__}, not shown)"
    try:
        return seen_text(clean(value))
    except RecursionError:
        return f"a {type(value).__name__}"


def _demand(message_type: str, path: tuple[int | str, ...], *, nullable: bool = True) -> _Demand:
    root = _schema(message_type)
    node, clause, or_null = root, root[CLAUSE], False
    for part in path:
        child = node.get("items") if isinstance(part, int) else node.get("properties", {}).get(part)
        if child is None:
            child = node.get("additionalProperties")
        node, or_null = _resolve(root, child if isinstance(child, dict) else {})
        clause = node.get(CLAUSE, clause)
    return _Demand(_in_words(node) + (" or null" if or_null and nullable else ""), clause)


def _resolve(root: Mapping[str, Any], node: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Follow the references of a schema node; returns the node, and whether it may be null."""
    whole, or_null = dict(node), False
    while "$ref" in whole or "anyOf" in whole:
        inner: Mapping[str, Any]
        if "$ref" in whole:
            inner = root["$defs"][whole.pop("$ref").rpartition("/")[2]]
        else:
            # The models use unions only in the form "X | None".
            inner, _null = whole.pop("anyOf")
            or_null = True
        whole = {**inner, **whole}
    return whole, or_null


_TYPES = {
    "object": _("an object"),
    "array": _("a list"),
    "string": _("a string"),
    "integer": _("a whole number"),
    "number": _("a number"),
    "boolean": _("true or false"),
}


def _in_words(node: Mapping[str, Any]) -> str:
    if EXPECTED in node:
        return str(node[EXPECTED])
    if "const" in node:
        return str(node["const"])
    if "enum" in node:
        return ", ".join(map(str, node["enum"]))
    return _TYPES.get(node.get("type", ""), _("a value"))
