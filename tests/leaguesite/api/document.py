"""The OpenAPI document as tests hold answers against it: strictly, with no field that it does not name."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

import jsonschema

from leaguesite.api.routes import api

_FORMATS = jsonschema.FormatChecker(formats=())


@_FORMATS.checks("date-time", raises=ValueError)
def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@cache
def strict() -> dict[str, Any]:
    """The document, made strict: a schema allows only the fields that it names, unless it says otherwise."""
    document: dict[str, Any] = copy.deepcopy(dict(api.get_openapi_schema()))
    for schema in document["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    for operations_of_path in document["paths"].values():
        for operation in operations_of_path.values():
            # The statuses are numbers as ninja makes them, and texts once the document was served as JSON.
            operation["responses"] = {int(status): described for status, described in operation["responses"].items()}
    return document


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation of every operation."""
    for path, found in strict()["paths"].items():
        for method, operation in found.items():
            yield method.upper(), path, operation


def operation_of(method: str, path: str) -> tuple[str, dict[str, Any]]:
    """The path and operation that a request is for; if several fit, the one with the fewest placeholders."""
    fitting = [
        (where, operation)
        for verb, where, operation in operations()
        if verb == method and re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(where)), path)
    ]
    assert fitting, f"no operation of the document is {method} {path}"
    return min(fitting, key=lambda pair: pair[0].count("{"))


def schema_of(operation: dict[str, Any], status: int, media: str = "application/json") -> dict[str, Any]:
    """The schema of the answer with a status."""
    responses = operation["responses"]
    assert status in responses, f"{status} is not among {sorted(responses)} of {operation['operationId']}"
    schema: dict[str, Any] = responses[status]["content"][media]["schema"]
    return schema


def assert_fits(schema: dict[str, Any], answer: Any) -> None:
    """Check an answer against a schema of the document.

    Raises:
        ValidationError: the answer does not fit the schema.
    """
    whole = {**schema, "components": strict()["components"]}
    jsonschema.Draft202012Validator(whole, format_checker=_FORMATS).validate(answer)


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the one that it refers to."""
    if "$ref" not in schema:
        return schema
    resolved: dict[str, Any] = strict()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return resolved
