"""One value, one text: JSON with sorted keys, no spaces and unescaped UTF-8 (ruling, section 12). Pure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode
MAX_DEPTH = 60
"""Objects and lists within each other; no event of ours comes near it."""


def canonical(value: Any) -> bytes:
    """The one way to write a value that digests are made of.

    Objects have their keys in the order of code points; between members there is no space; text is UTF-8 without
    escapes beyond those that JSON demands. A float is refused, as languages write it in different ways: :func:`plain`
    makes text of it.

    Args:
        value: objects with text keys, lists, text, integers, true, false, null.

    Raises:
        ValueError: something else is in it, text that UTF-8 cannot hold, or it is nested too deeply; says what.
    """
    _refuse(value, MAX_DEPTH)
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        raise ValueError("a text holds half of a surrogate pair, which UTF-8 cannot hold") from None


def sha256_of(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON, as 64 lower-case hex digits.

    Raises:
        ValueError: as :func:`canonical`.
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def plain(value: Any) -> Any:
    """A value as :func:`canonical` takes it, and the same before a database stored it and after.

    A float becomes an integer when it is whole (a database may give ``1.0`` back as ``1``), else the shortest text
    that reads as the same number. A tuple becomes a list, a key becomes text, and a lone surrogate becomes U+FFFD.
    What is nested deeper than :data:`MAX_DEPTH` is left out: an event is never refused for what somebody sent.
    """
    # An event has a few levels of its own around this.
    return _plain(value, MAX_DEPTH - 10)


def _plain(value: Any, left: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        # Of a large one the shortest digits, not those of the binary number: PostgreSQL keeps those that it is sent.
        return int(Decimal(repr(value))) if value.is_integer() else repr(value)
    if left == 0:
        return None
    if isinstance(value, Mapping):
        return {_text(str(name)): _plain(item, left - 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, left - 1) for item in value]
    return _text(str(value))


def _text(text: str) -> str:
    text = str(text)
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _refuse(value: Any, left: int) -> None:
    if value is None or isinstance(value, (str, int)):
        return
    if left == 0:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValueError(f"a key is {type(name).__name__}; keys must be text")
            _refuse(item, left - 1)
    elif isinstance(value, list):
        for item in value:
            _refuse(item, left - 1)
    else:
        raise ValueError(f"a value is {type(value).__name__}; only objects, lists, text and integers are taken")
