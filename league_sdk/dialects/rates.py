"""An agent that refuses a request because there were too many (ruling, section 12). No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

TOO_MANY_REQUESTS = 429
_SAYS_SO = re.compile(r"too many requests|rate.?limit")
_WAITS = frozenset({"retryafter", "retryafters", "retryafterseconds"})
"""Names of the field that says after how many seconds to come again, without what stands between the words."""
_DEEPEST = 4
_MOST_FIELDS = 12


def is_about_a_rate(status: int, body: Any) -> bool:
    """Whether a refusal is one for a rate. What is no refusal is not asked about.

    Args:
        status: the HTTP status.
        body: the decoded JSON of the refusal, None when there was none.
    """
    if status == TOO_MANY_REQUESTS:
        return True
    return any(_seconds(said) is not None if name in _WAITS else _in_words(said) for name, said in _fields(body))


def wait_s(body: Any, headers: Mapping[str, str]) -> float | None:
    """After how many seconds such an agent wants to be asked again; None when it does not say.

    Args:
        body: the decoded JSON of the refusal.
        headers: of the HTTP answer, names in lower case.
    """
    said = [headers.get("retry-after"), *(value for name, value in _fields(body) if name in _WAITS)]
    return next((seconds for one in said if (seconds := _seconds(one)) is not None), None)


def _in_words(said: Any) -> bool:
    return isinstance(said, str) and _SAYS_SO.search(said[:500].lower()) is not None


def _fields(body: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Names and values, as deep as errors are; a text that is no object's has no name."""
    if not isinstance(body, (Mapping, list)):
        yield "", body
    elif isinstance(body, list) and depth < _DEEPEST:
        for one in body[:_MOST_FIELDS]:
            yield from _fields(one, depth + 1)
    elif isinstance(body, Mapping) and depth < _DEEPEST:
        for name, value in list(body.items())[:_MOST_FIELDS]:
            yield re.sub(r"[^a-z]", "", str(name)[:40].lower()), value
            if isinstance(value, (Mapping, list)):
                yield from _fields(value, depth + 1)


def _seconds(said: Any) -> float | None:
    if isinstance(said, bool) or not isinstance(said, (int, float, str)):
        return None
    try:
        seconds = float(said)
    except (ValueError, OverflowError):
        # A date, or a sentence.
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
