"""What a server of MCP's stateless version wants repeated in headers, and how a value is written in one. No I/O.

A property of a tool's ``inputSchema`` may carry ``x-mcp-header``: its value then goes into ``Mcp-Param-NAME``, too. A
tool whose annotations are not as MCP says is not called at all.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from league_sdk.dialects.arguments import Argument

_PREFIX = "mcp-param-"
_TYPES = ("string", "integer", "boolean")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,60}", re.ASCII)
_ENCODED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)
MAX_VALUE_CHARS = 2000
"""A longer value goes into no header: most servers refuse a request whose headers are much longer."""


def is_sound(arguments: Sequence[Argument]) -> bool:
    """Whether the annotations of a tool's arguments are as MCP says: a name that a header can have and that no other
    argument has, on a text, a whole number or a truth value."""
    annotated = list(_annotated(arguments))
    names = {str(one.header).lower() for one in annotated}
    fits = all(_TOKEN.fullmatch(str(one.header)) and one.type in _TYPES for one in annotated)
    return fits and len(names) == len(annotated)


def mirrored(arguments: Sequence[Argument], values: Mapping[str, Any]) -> dict[str, str]:
    """The headers that repeat the values of a call.

    Args:
        arguments: the arguments of the tool; annotations that are not sound have no header.
        values: the value of each argument, by name. A value that is None or missing has no header.
    """
    headers: dict[str, str] = {}
    for one in arguments:
        value = values.get(one.name)
        if isinstance(value, Mapping):
            headers |= mirrored(one.inside, value)
        elif one.header and isinstance(value, str | int) and _TOKEN.fullmatch(one.header):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if len(text) <= MAX_VALUE_CHARS:
                headers[_PREFIX + one.header.lower()] = as_header(text)
    return headers


def as_header(value: str) -> str:
    """A text as a header's value: encoded unless it is plain ASCII that no server reads as anything else."""
    if value.isascii() and (value.isprintable() and value == value.strip()) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _annotated(arguments: Sequence[Argument]) -> Iterator[Argument]:
    for one in arguments:
        if one.header is not None:
            yield one
        yield from _annotated(one.inside)
