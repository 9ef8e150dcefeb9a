"""What tools answer, as JSON Schemas: what is common to the league manager, a referee and a player (our choice)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import TypeAdapter

# pydantic reads no ``typing.TypedDict`` before Python 3.12.
from typing_extensions import TypedDict

from league_sdk.protocol.schemas.parts import CLAUSE, EXPECTED, says

_ANSWER, _REFUSAL = "Answer", "Refusal"
_ANY_VALUE = {"anyOf": [{"type": name} for name in ("object", "array", "string", "number", "boolean", "null")]}
_ANNOTATIONS = frozenset({"description", "default", "examples"})
"""Keywords that restrict no value."""
_LEFT_OUT = frozenset({"$schema", "$id", "title", CLAUSE, EXPECTED})
"""Keywords that our schemas leave out: some validators know only one draft, accept an id once only, or refuse keywords
that they do not know."""


class Alive(TypedDict):
    """The answer to a ping."""

    status: Annotated[Literal["ok"], says("ok")]


class ToolLine(TypedDict):
    """A tool."""

    name: Annotated[str, says("By which it is called.")]
    description: Annotated[str, says("What it does.")]
    inputSchema: Annotated[dict[str, Any], says("The JSON Schema of its arguments.")]


class Tools(TypedDict):
    """The tools."""

    tools: Annotated[list[ToolLine], says("Every tool.")]


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type as it is answered.

    Args:
        kind: what pydantic reads, such as a TypedDict.
    """
    return TypeAdapter(kind).json_schema(mode="serialization")


def output_schema(answer: dict[str, Any], refusal: dict[str, Any]) -> dict[str, Any]:
    """The ``outputSchema`` of a tool: for its answer, or the refusal in its place; some clients check both against it.

    Args:
        answer: the schema of what the tool answers.
        refusal: the schema of what it says when it refuses a call. Its descriptions are left out: a refusal is the same
            for every tool, and the protocol describes it once.

    Raises:
        ValueError: two parts of the same name differ.
    """
    parts = {_ANSWER: dict(answer), _REFUSAL: _without(frozenset({"description"}), refusal)}
    defined: dict[str, Any] = {}
    for part in parts.values():
        for name, schema in part.pop("$defs", {}).items():
            if defined.setdefault(name, schema) != schema:
                raise ValueError(f"two schemas are called {name}")
    either = [{"$ref": f"#/$defs/{name}"} for name in parts]
    whole = _without(_LEFT_OUT, {"type": "object", "anyOf": either, "$defs": defined | parts})
    typed: dict[str, Any] = _with_types(whole)
    return typed


def _with_types(schema: Any) -> Any:
    """A schema in which a part that takes any value says so by its types: some clients refuse one without a keyword."""
    if not isinstance(schema, dict):
        return schema
    typed = dict(schema)
    for word in ("properties", "$defs"):
        if word in schema:
            typed[word] = {name: _with_types(part) for name, part in schema[word].items()}
    for word in ("items", "additionalProperties"):
        if word in schema:
            typed[word] = _with_types(schema[word])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            typed[word] = [_with_types(part) for part in schema[word]]
    return typed if set(typed) - _ANNOTATIONS else _ANY_VALUE | typed


def _without(words: frozenset[str], value: Any, *, names: bool = False) -> Any:
    """A schema without some of its keywords; ``names``: the keys of this object are names of fields and stay."""
    if isinstance(value, dict):
        fields = {key: one for key, one in value.items() if names or key not in words}
        return {
            key: _without(words, one, names=not names and key in ("properties", "$defs")) for key, one in fields.items()
        }
    return [_without(words, one) for one in value] if isinstance(value, list) else value
