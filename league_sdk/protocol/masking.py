"""Replaces network addresses in texts that agents and referees wrote, before the public reads them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address
from typing import Any

MASK = "[address]"
_PLAIN = (int, float, bool, type(None))
_ADDRESS = re.compile(
    r"(?:https?|wss?):(?:\\?/){2}[^\s\"'<>\\]+"
    r"|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)(?::\d{1,5})?"
    r"|(?<![\w.-])(?:localhost|(?:[\w-]{1,63}\.){1,9}[a-z][\w-]{0,62}):\d{2,5}(?!\d)",
    re.IGNORECASE,
)
_LIKE_IPV6 = re.compile(r"(?<![\w:.])[0-9a-f:]{4,39}(?![\w:])", re.IGNORECASE)
"""May also match a time of day; :func:`_masked` checks whether it is an address."""


def without_addresses(value: Any) -> Any:
    """A text, or a JSON value with all texts in it, with addresses replaced by :data:`MASK`.

    These are URLs, IP addresses (but the shortest, such as ``::1``), and host names with a port.
    """
    kind = type(value)
    if kind is str:
        return _mask(value)
    if kind is dict:
        # Most values are texts and numbers: a call for each takes longer than looking at them here.
        return {
            _mask(name): _mask(item) if type(item) is str else item if type(item) in _PLAIN else without_addresses(item)
            for name, item in value.items()
        }
    if isinstance(value, Mapping):
        return {without_addresses(name): without_addresses(item) for name, item in value.items()}
    return [without_addresses(item) for item in value] if isinstance(value, (list, tuple)) else value


def _mask(text: str) -> str:
    if ":" not in text and "." not in text:
        # No address is without both.
        return text
    return _LIKE_IPV6.sub(_masked, _ADDRESS.sub(MASK, text))


def _masked(match: re.Match[str]) -> str:
    if match[0].count(":") < 2:
        return match[0]
    try:
        IPv6Address(match[0])
    except AddressValueError:
        return match[0]
    return MASK
