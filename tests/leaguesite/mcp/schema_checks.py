"""Checks what a tool of the league manager answers against its schema."""

from __future__ import annotations

from typing import Any

from leaguesite.mcp.answers import SCHEMAS
from tests.league_sdk.mcp import schema_checks


def assert_fits(name: str, answer: Any, *, strict: bool = False) -> None:
    """Check the structured content of a tool's result against the tool's schema.

    Args:
        strict: refuse fields that the schema does not name, too, except in messages, whose models allow more.

    Raises:
        ValidationError: the answer does not fit.
    """
    refusal = isinstance(answer, dict) and answer.get("message_type") == "LEAGUE_ERROR"
    schema_checks.assert_fits(SCHEMAS[name], answer, refusal=refusal, strict=strict)
