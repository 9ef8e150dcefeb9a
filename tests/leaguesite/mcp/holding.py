"""Holds what a tool of the league manager answers against its schema."""

from __future__ import annotations

from typing import Any

from leaguesite.mcp.answers import SCHEMAS
from tests.league_sdk.mcp import holding


def hold(name: str, answer: Any, *, strict: bool = False) -> None:
    """Hold the structured content of a tool against its schema.

    Args:
        strict: refuse fields that it does not name, too; not in messages, whose models allow them.

    Raises:
        ValidationError: it does not fit.
    """
    refusal = isinstance(answer, dict) and answer.get("message_type") == "LEAGUE_ERROR"
    holding.hold(SCHEMAS[name], answer, refusal=refusal, strict=strict)
