"""The headers that repeat a part of the body in the stateless era, so that proxies need not read bodies."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from league_sdk.mcp.errors import HeaderMismatch
from league_sdk.mcp.registry import Registry
from league_sdk.mcp.requests import Message
from league_sdk.mcp.versions import METHOD_HEADER, NAME_HEADER, PARAM_HEADER, VERSION_HEADER

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter of each method that the header Mcp-Name repeats."""
_ENCODED = ("=?base64?", "?=")


def check_version(headers: Mapping[str, str], version: str) -> None:
    """Check that the version header says what ``_meta`` says.

    Raises:
        HeaderMismatch: it is missing or says something else.
    """
    _check("MCP-Protocol-Version", headers.get(VERSION_HEADER), version)


def check_names(headers: Mapping[str, str], message: Message) -> None:
    """Check Mcp-Method and Mcp-Name.

    Raises:
        HeaderMismatch: one is missing or says something else.
    """
    _check("Mcp-Method", headers.get(METHOD_HEADER), message.method)
    field = NAMED_BY.get(message.method)
    named = message.params.get(field) if field is not None else None
    if isinstance(named, str):
        _check("Mcp-Name", headers.get(NAME_HEADER), named)


def check_arguments(headers: Mapping[str, str], message: Message, registry: Registry) -> None:
    """Check the headers that a tool's schema asks for by ``x-mcp-header``.

    Raises:
        HeaderMismatch: one is missing or says something else.
    """
    tool = registry.tools.get(str(message.params.get("name"))) if message.method == "tools/call" else None
    if tool is None:
        return
    arguments = message.params.get("arguments")
    values = arguments if isinstance(arguments, Mapping) else {}
    for name, schema in tool.input_schema.get("properties", {}).items():
        header = schema.get("x-mcp-header") if isinstance(schema, Mapping) else None
        if header is None:
            continue
        sent = headers.get(PARAM_HEADER + header.lower())
        value = values.get(name)
        if value is not None or sent is not None:
            _check(f"Mcp-Param-{header}", sent, None if value is None else _as_text(value))


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _check(header: str, sent: str | None, expected: str | None) -> None:
    if sent is None:
        raise HeaderMismatch(f"The header {header} is missing.")
    if decoded(sent, header) != expected:
        raise HeaderMismatch(f"The header {header} does not say what the body says.")


def decoded(sent: str, header: str) -> str:
    """The text of a header's value, which may be encoded as ``=?base64?…?=``.

    Raises:
        HeaderMismatch: what stands between is not Base64 of UTF-8.
    """
    value = sent.strip(" \t")
    start, end = _ENCODED
    if not (value.startswith(start) and value.endswith(end) and len(value) >= len(start) + len(end)):
        return value
    try:
        return base64.b64decode(value[len(start) : -len(end)], validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise HeaderMismatch(f"The header {header} is not valid Base64.") from None
