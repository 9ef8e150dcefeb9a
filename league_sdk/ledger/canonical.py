"""Canonical JSON, so that equal values have equal digests (ruling, section 12). Pure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode
MAX_DEPTH = 60
"""The deepest nesting of objects and lists that is accepted; events of the site are far below it."""


def canonical(value: Any) -> bytes:
    """Write a value as canonical JSON, from which digests are made.

    Keys are sorted by code points, there are no spaces, and text is UTF-8 with only the escapes that JSON requires.
    A float is refused, because programming languages write floats in different ways; :func:`plain` replaces it by text.

    Args:
        value: objects with text keys, lists, text, integers, true, false, null.

    Raises:
        ValueError: it contains another type or text that is not valid UTF-8, or is nested too deeply; the text says
            which.
    """
    _refuse(value, MAX_DEPTH)
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        raise ValueError("a text contains a lone surrogate, which UTF-8 cannot encode") from None


def sha256_of(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON, as 64 lower-case hex digits.

    Raises:
        ValueError: as :func:`canonical`.
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def plain(value: Any) -> Any:
    """Convert a value to one that :func:`canonical` accepts; the result is the same before and after database storage.

    A whole float becomes an integer (a database may return ``1.0`` as ``1``), another float the shortest text that
    reads as the same number. A tuple becomes a list, a key becomes text, and a surrogate becomes three U+FFFD.
    Objects and lists more than 50 levels deep become null: an event is never refused for what an agent sent.
    """
    # The event around this value has a few levels of its own.
    return _plain(value, MAX_DEPTH - 10)


def _plain(value: Any, levels_left: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        # Use the shortest decimal digits of a large float, not its exact binary value: PostgreSQL stores the former.
        return int(Decimal(repr(value))) if value.is_integer() else repr(value)
    if levels_left == 0:
        return None
    if isinstance(value, Mapping):
        return {_text(str(name)): _plain(item, levels_left - 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, levels_left - 1) for item in value]
    return _text(str(value))


def _text(text: str) -> str:
    text = str(text)
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _refuse(value: Any, levels_left: int) -> None:
    """Raise ValueError for a value that has no canonical JSON."""
    if value is None or isinstance(value, (str, int)):
        return
    if levels_left == 0:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValueError(f"a key is {type(name).__name__}; keys must be text")
            _refuse(item, levels_left - 1)
    elif isinstance(value, list):
        for item in value:
            _refuse(item, levels_left - 1)
    else:
        raise ValueError(f"a value is {type(value).__name__}; only objects, lists, text and integers are taken")
