"""Arguments of an agent's own tools: which of them takes which field of a message. No I/O.

The ``inputSchema`` of a tool names its arguments in the words of its author: ``matchId`` for ``match_id``, an
object around some of our fields, or ``opponent`` for ``opponent_id``. Only what the schema names is sent, as some
servers refuse every other argument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from league_sdk.protocol import rpc

WHOLE = ("params", "message", "envelope", "payload", "request", "data", "body")
"""Names of an argument that takes a whole message."""
MAX_ARGUMENTS = 30
"""The limit for the arguments of one tool, counted at every depth."""
MAX_DEPTH = 3
MAX_NAME_CHARS = 60
MAX_USES = 2
"""How often one list or object, or the whole message, may be in one call: each copy has to be encoded."""
MIN_SIMILAR_CHARS = 4
"""Shorter names, such as ``id``, are part of too many others."""
_EMPTY: dict[str, Any] = {
    "": "",
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "object": {},
    "array": [],
}
_NO_VALUE = object()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool.

    Attributes:
        name: as the agent spells it.
        type: a JSON type as in JSON Schema; empty if the schema does not say it.
        required: whether the tool refuses a call without it.
        inside: the arguments in it, if it is an object that names them.
        header: the name of the header that repeats it (:mod:`league_sdk.dialects.mirrored`), as the agent spells it;
            None if there is none.
    """

    name: str
    type: str = ""
    required: bool = False
    inside: tuple[Argument, ...] = ()
    header: str | None = None

    def to_json(self) -> list[Any]:
        """The short form that is stored."""
        header = [] if self.header is None else [self.header]
        return [self.name, self.type, self.required, [one.to_json() for one in self.inside], *header]


def read_schema(schema: object) -> tuple[Argument, ...] | None:
    """The arguments of an ``inputSchema``; None if it names none."""
    root = schema if isinstance(schema, Mapping) else {}
    return tuple(_of_schema(root, root, iter(range(MAX_ARGUMENTS)), MAX_DEPTH)) or None


def _of_schema(schema: Mapping[str, Any], root: Mapping[str, Any], budget: Iterator[int], depth: int) -> list[Argument]:
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    arguments: list[Argument] = []
    for name, described_by in properties.items() if isinstance(properties, Mapping) and depth else ():
        if not _is_name(name) or next(budget, None) is None:
            continue
        described = _resolved(described_by, root)
        kind = described.get("type")
        inside = tuple(_of_schema(described, root, budget, depth - 1))
        json_type = kind if isinstance(kind, str) and kind in _EMPTY else "object" if inside else ""
        arguments.append(Argument(name, json_type, name in needed, inside, _header(described_by)))
    return arguments


def _resolved(schema: object, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema after its references within its document; of alternatives the first that is not null."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        either = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        path = schema.get("$ref")
        if isinstance(path, str):
            where, _, name = path.rpartition("/")
            shared = root.get(where.removeprefix("#/"))
            schema = shared.get(name) if isinstance(shared, Mapping) else None
        elif isinstance(either, list):
            schema = next((one for one in either if isinstance(one, Mapping) and one.get("type") != "null"), None)
        else:
            return schema
    return schema if isinstance(schema, Mapping) else {}


def _header(property_: object) -> str | None:
    if not isinstance(property_, Mapping) or "x-mcp-header" not in property_:
        return None
    name = property_["x-mcp-header"]
    # An empty one stands for whatever cannot be a name.
    return name if _is_name(name) else ""


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME_CHARS


def read_stored(value: object) -> tuple[Argument, ...] | None:
    """What :meth:`Argument.to_json` gave for several; what cannot be one is left out."""
    return tuple(_of_stored(value, iter(range(MAX_ARGUMENTS)), MAX_DEPTH)) or None


def _of_stored(value: object, budget: Iterator[int], depth: int) -> Iterator[Argument]:
    for one in value if isinstance(value, list) and depth else ():
        if not isinstance(one, list) or len(one) not in (4, 5) or next(budget, None) is None:
            continue
        name, kind, required, inside, *more = one
        header = next((text for text in more if _is_name(text)), None)
        if _is_name(name) and isinstance(kind, str) and kind in _EMPTY:
            yield Argument(name, kind, required is True, tuple(_of_stored(inside, budget, depth - 1)), header)


def fill(arguments: Sequence[Argument], message: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fill a tool's arguments from a message.

    Args:
        arguments: at least one.
        message: in its canonical form.

    Returns:
        The values by argument, and the required arguments that are not among our fields: they are sent empty.
    """
    unfilled: list[str] = []
    values = _filled(arguments, message, _by_plain_name(message), unfilled, Counter())
    alone = arguments[0]
    if len(arguments) == 1 and (not values or unfilled == [alone.name]):
        # A single argument that is not one of our fields can only be the message.
        whole = _converted(message, alone.type)
        return ({alone.name: whole}, ()) if whole is not _NO_VALUE else (values, tuple(unfilled))
    return values, tuple(unfilled)


def _filled(
    arguments: Sequence[Argument],
    message: Mapping[str, Any],
    fields: Mapping[str, Any],
    unfilled: list[str],
    used: Counter[int],
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for one in arguments:
        value = _value(one, message, fields, unfilled, used)
        if value is not _NO_VALUE:
            values[one.name] = value
        elif one.required:
            unfilled.append(one.name)
            values[one.name] = _EMPTY[one.type]
    return values


def _value(
    one: Argument, message: Mapping[str, Any], fields: Mapping[str, Any], unfilled: list[str], used: Counter[int]
) -> Any:
    """The value for an argument; :data:`_NO_VALUE` if no field is meant."""
    plain = plain_name(one.name)
    if one.inside:
        similar = _similar(one, fields) if one.required else []
        objects = (fields[name] for name in (plain, *similar) if isinstance(fields.get(name), Mapping))
        within = dict(fields) | _by_plain_name(next(objects, {}))
        missing: list[str] = []
        values = _filled(one.inside, message, within, missing, used)
        if one.required:
            unfilled += missing
            return values
        # An object that is not required is left out rather than sent with empty values in it.
        return values if values and not missing else _NO_VALUE
    if one.name in WHOLE:
        return _taken(message, one.type, used)
    if plain in fields:
        return _taken(fields[plain], one.type, used)
    fitting = (_taken(fields[name], one.type, used) for name in (_similar(one, fields) if one.required else ()))
    return next((value for value in fitting if value is not _NO_VALUE), _NO_VALUE)


def _similar(one: Argument, fields: Mapping[str, Any]) -> list[str]:
    """The fields that the name of an argument is part of, or that are part of it; the shortest first."""
    plain = plain_name(one.name)
    if len(plain) < MIN_SIMILAR_CHARS:
        return []
    similar = [name for name in fields if plain in name or (len(name) >= MIN_SIMILAR_CHARS and name in plain)]
    return sorted(similar, key=len)


def _taken(value: Any, kind: str, used: Counter[int]) -> Any:
    """A value in a type, as :func:`_converted` has it; a list or an object at most :data:`MAX_USES` times."""
    if isinstance(value, Mapping | list):
        if used[id(value)] >= MAX_USES:
            return _NO_VALUE
        used[id(value)] += 1
    return _converted(value, kind)


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """A name in lower case with its letters and digits only, so that all spellings of it are equal."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _by_plain_name(message: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message, and behind them those of the objects in it."""
    fields: dict[str, Any] = {}
    inner = [value for value in message.values() if isinstance(value, Mapping)]
    for mapping in (message, *inner):
        for name, value in mapping.items():
            fields.setdefault(plain_name(name), value)
    return fields


def _converted(value: Any, kind: str) -> Any:
    """A value in the type that the schema asks for; :data:`_NO_VALUE` if it has no form in it."""
    if kind == "string" and not isinstance(value, str):
        return _NO_VALUE if value is None else rpc.dumps(value).decode()
    if kind in ("integer", "number") and isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else _NO_VALUE
    if kind == "object" and isinstance(value, Mapping):
        return dict(value)
    fits = {
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, (int, float)) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "object": False,
        "array": isinstance(value, list),
    }
    if not fits.get(kind, True):
        return _NO_VALUE
    return dict(value) if isinstance(value, Mapping) else value
