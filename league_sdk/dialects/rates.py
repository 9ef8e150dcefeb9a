"""Temporary refusals: agents that want to be asked again later, most of them for a rate limit (ruling, section 12).

No I/O.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from league_sdk.protocol import own_words

TEMPORARY = frozenset({429, 502, 503, 504})
"""HTTP statuses; they may also stand as the code of an error in the body."""
_STATUSES = frozenset({"code", "status", "statuscode"})
_RETRY_AFTER = {"retryafter": 1.0, "retryafters": 1.0, "retryafterseconds": 1.0, "retryafterms": 0.001}
"""Names of the field with the time to wait, lower-case letters only, and the seconds in its unit."""
_RATE = re.compile(r"too many requests|rate.?limit|quota exceeded|temporarily unavailable|overloaded")
_TIME = r"(\d{1,9}(?:\.\d{1,9})?)(?: ?(?:s|sec[a-z]*)\b|(?! ?[a-z]))"
_AFTER = re.compile(rf"\b(?:retry|try again|wait) ?(?:after|in|for)? ?{_TIME}")
_MAX_DEPTH = 4
_MAX_FIELDS = 12


def is_temporary(status: int, body: Any, headers: Mapping[str, str]) -> bool:
    """Whether a refusal (HTTP status, decoded JSON, headers with names in lower case) says: not now.

    A message or method that is unknown stays unknown, even if an agent says so with HTTP 503. Only refusals may be
    passed.
    """
    if status != 429 and isinstance(body, Mapping) and own_words.says_only_unknown(body, own_words.words_of(body)):
        return False
    return status in TEMPORARY or "retry-after" in headers or any(_is_temporary(*field) for field in _fields(body))


def _is_temporary(name: str, value: Any) -> bool:
    """Whether a field of a refusal says: not now."""
    if name in _RETRY_AFTER:
        return _seconds(value) is not None
    if isinstance(value, str):
        return _RATE.search(value[:500].lower()) is not None or _AFTER.search(value[:500].lower()) is not None
    return name in _STATUSES and isinstance(value, int) and value in TEMPORARY


def wait_s(body: Any, headers: Mapping[str, str]) -> float | None:
    """The seconds after which an agent that refused for the moment wants to be asked again; None if it does not say.

    Args:
        body: the decoded JSON, or the text of a body that is not JSON.
        headers: the headers of the HTTP reply, names in lower case.
    """
    fields = list(_fields(body))
    wanted = [_seconds(headers.get("retry-after")), _until(headers)]
    wanted += [_seconds(value, _RETRY_AFTER[name]) for name, value in fields if name in _RETRY_AFTER]
    texts = [value[:500].lower() for _name, value in fields if isinstance(value, str)]
    wanted += [float(said[1]) for text in texts if (said := _AFTER.search(text))]
    return next((seconds for seconds in wanted if seconds is not None), None)


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


def _seconds(value: Any, unit_s: float = 1.0) -> float | None:
    """The seconds that a number or a text such as "3" or "3s" means; None for anything else."""
    if isinstance(value, str) and (written := re.fullmatch(_TIME, value.strip().lower())):
        value = float(written[1])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = float(value) * unit_s
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(headers: Mapping[str, str]) -> float | None:
    """The seconds until the HTTP date in Retry-After, by the clock of its sender if it says what time it is there."""
    try:
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (parsedate_to_datetime(headers.get("retry-after", "")) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):
        # A year, hour or zone of twenty digits overflows.
        return None
