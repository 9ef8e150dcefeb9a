"""Agents that refuse a request for a rate limit (ruling, section 12). No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

TOO_MANY_REQUESTS = 429
_RATE_LIMIT = re.compile(r"too many requests|rate.?limit")
_RETRY_AFTER = frozenset({"retryafter", "retryafters", "retryafterseconds"})
"""Names of the field with the seconds to wait, lower-case letters only."""
_MAX_DEPTH = 4
_MAX_FIELDS = 12


def is_about_a_rate(status: int, body: Any) -> bool:
    """Whether a refusal (HTTP status and decoded JSON) is for a rate limit; only refusals may be passed."""
    if status == TOO_MANY_REQUESTS:
        return True
    return any(
        _seconds(value) is not None
        if name in _RETRY_AFTER
        else isinstance(value, str) and _RATE_LIMIT.search(value[:500].lower()) is not None
        for name, value in _fields(body)
    )


def wait_s(body: Any, headers: Mapping[str, str]) -> float | None:
    """The seconds after which a rate-limiting agent wants to be asked again; None if it does not say.

    Args:
        headers: the headers of the HTTP reply, names in lower case.
    """
    values = [headers.get("retry-after"), *(value for name, value in _fields(body) if name in _RETRY_AFTER)]
    return next((seconds for value in values if (seconds := _seconds(value)) is not None), None)


def _fields(body: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Names and values of an error, at every depth down to a limit; a value outside an object has an empty name."""
    if not isinstance(body, (Mapping, list)):
        yield "", body
    elif isinstance(body, list) and depth < _MAX_DEPTH:
        for item in body[:_MAX_FIELDS]:
            yield from _fields(item, depth + 1)
    elif isinstance(body, Mapping) and depth < _MAX_DEPTH:
        for name, value in list(body.items())[:_MAX_FIELDS]:
            yield re.sub(r"[^a-z]", "", str(name)[:40].lower()), value
            if isinstance(value, (Mapping, list)):
                yield from _fields(value, depth + 1)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        # A date, or prose.
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
