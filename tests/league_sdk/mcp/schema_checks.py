"""Compares what a tool answers with its schema."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

OPEN = {"Refusal"}
"""Parts that ``strict`` does not close: a refusal may have more fields than its schema names."""


def assert_fits(schema: Mapping[str, Any], answer: Any, *, refusal: bool, strict: bool = False) -> None:
    """Assert that the structured content of a tool fits its ``outputSchema``.

    Args:
        schema: the schema of the tool.
        answer: its structured content.
        refusal: whether the tool has refused the call.
        strict: refuse fields that the schema does not name, too; messages of the protocol and refusals may have some.

    Raises:
        ValidationError: it does not fit.
    """
    part = "Refusal" if refusal else "Answer"
    # The errors of a part say more than those of the whole.
    _validator({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}, strict).validate(answer)
    _validator(schema, strict).validate(answer)


def _validator(schema: Mapping[str, Any], strict: bool) -> Draft202012Validator:
    schema = copy.deepcopy(dict(schema))
    if strict:
        of_message = "allOf" in schema["$defs"]["Answer"]
        for one, defined in schema["$defs"].items():
            if "properties" in defined and one not in OPEN and not of_message:
                defined.setdefault("additionalProperties", False)
    return Draft202012Validator(schema)
