"""What a server asks of a client's person or language model, and whether an answer is one.

The stateless era sends such requests inside a result, the handshake era as requests of their own; the requests and
their answers are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.mcp.errors import InvalidParams

CAPABILITIES = ("elicitation", "roots", "sampling")
"""The capabilities by which a client declares what it can be asked for; a session remembers no other."""
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
}


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a client.

    Attributes:
        method: ``elicitation/create``, ``sampling/createMessage`` or ``roots/list``.
        params: the parameters of the request.
    """

    method: str
    params: Mapping[str, Any]

    @property
    def capability(self) -> str:
        """What the client must have declared."""
        return self.method.partition("/")[0]

    def as_json(self) -> dict[str, Any]:
        """The request without JSON-RPC around it."""
        return {"method": self.method, "params": dict(self.params)}

    def check(self, answer: Any, field: str) -> dict[str, Any]:
        """Return an answer if it is a valid one to this question.

        Args:
            answer: as the client sent it.
            field: what an error calls it.

        Raises:
            InvalidParams: it is no answer to this question.
        """
        if not isinstance(answer, dict):
            raise InvalidParams(f"{field} must be an object.")
        if self.method == "elicitation/create":
            _check_form(answer, self.params.get("requestedSchema", {}), field)
        elif self.method == "roots/list" and not isinstance(answer.get("roots"), list):
            raise InvalidParams(f"{field}.roots must be an array.")
        elif self.method == "sampling/createMessage" and not isinstance(answer.get("content"), dict | list):
            raise InvalidParams(f"{field}.content must be an object or an array.")
        return answer


def elicitation(message: str, properties: Mapping[str, Any], *required: str) -> Question:
    """Ask a person to fill in a form.

    Args:
        message: what is asked.
        properties: JSON Schema of each field; fields are texts, numbers, booleans or choices.
        required: the fields that must be filled in.
    """
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return Question("elicitation/create", {"message": message, "requestedSchema": schema})


def _check_form(answer: dict[str, Any], schema: Mapping[str, Any], field: str) -> None:
    if answer.get("action") not in ("accept", "decline", "cancel"):
        raise InvalidParams(f"{field}.action must be accept, decline or cancel.")
    if answer["action"] != "accept":
        return
    content = answer.get("content")
    if not isinstance(content, dict):
        raise InvalidParams(f"{field}.content must be an object.")
    for name in schema.get("required", ()):
        if name not in content:
            raise InvalidParams(f"{field}.content.{name} is missing.")
    for name, property_schema in schema.get("properties", {}).items():
        if name in content:
            _check_value(content[name], property_schema, f"{field}.content.{name}")


def _check_value(value: Any, schema: Mapping[str, Any], field: str) -> None:
    kind = schema.get("type", "string")
    types = _TYPES.get(kind, (object,))
    # bool is a subclass of int.
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "boolean"):
        raise InvalidParams(f"{field} must be of type {kind}.")
    allowed = _choices(schema)
    if allowed is not None and value not in allowed:
        raise InvalidParams(f"{field} must be one of {', '.join(map(str, allowed))}.")
    if isinstance(value, list):
        items = schema.get("items", {})
        for item in value:
            _check_value(item, {"type": "string"} | dict(items), f"{field}[]")


def _choices(schema: Mapping[str, Any]) -> list[Any] | None:
    if "enum" in schema:
        return list(schema["enum"])
    titled: list[dict[str, Any]] | None = schema.get("oneOf") or schema.get("anyOf")
    return [choice["const"] for choice in titled] if titled else None
