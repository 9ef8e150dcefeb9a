"""The protocol versions, and which era a request belongs to.

Two eras are alive. In the handshake era a client calls ``initialize`` first and keeps a session; in the stateless era
every request carries version and capabilities in ``params._meta``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

STATELESS_VERSIONS = ("2026-07-28",)
"""Newest first; what ``server/discover`` lists."""
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first; the first is offered to a client that asks for one that is not spoken."""
DEFAULT_HANDSHAKE_VERSION = "2025-03-26"
"""The version of a request without the version header."""

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
SESSION_HEADER = "mcp-session-id"
PARAM_HEADER = "mcp-param-"

META = "io.modelcontextprotocol/"
META_VERSION = f"{META}protocolVersion"
META_CAPABILITIES = f"{META}clientCapabilities"
META_LOG_LEVEL = f"{META}logLevel"
META_SERVER = f"{META}serverInfo"
META_SUBSCRIPTION = f"{META}subscriptionId"


class Era(Enum):
    """A way of speaking MCP."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


_FAMILIES = frozenset(
    {"completion", "logging", "notifications", "prompts", "resources", "server", "subscriptions", "tools"}
)
"""The part before the slash in the names of methods that only MCP has."""


def era_of(body: Any, headers: Mapping[str, str]) -> Era | None:
    """The era of a request; None if nothing shows that it is MCP.

    What shows it: a version in ``params._meta``, the header of MCP's version, method or session, or a method of MCP. A
    server that speaks league.v2 at the same path asks :func:`is_mcp` instead, because course clients send methods of
    MCP, too.

    Args:
        body: the decoded body.
        headers: the request's headers by their names in lower case.
    """
    message = body if isinstance(body, Mapping) else {}
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    version = headers.get(VERSION_HEADER)
    if isinstance(meta, Mapping) and META_VERSION in meta:
        return Era.STATELESS
    if version is not None and not is_dated_before_stateless(version):
        return Era.STATELESS
    method = message.get("method")
    if method == "server/discover" or (version is None and METHOD_HEADER in headers):
        return Era.STATELESS
    if version is not None or SESSION_HEADER in headers:
        return Era.HANDSHAKE
    family, slash, _rest = method.partition("/") if isinstance(method, str) else ("", "", "")
    return Era.HANDSHAKE if (family in _FAMILIES and slash) or method in ("initialize", "ping") else None


_COURSE_METHODS = ("tools/call", "ping")
"""Methods that course clients send without anything else of MCP: they are answered as league.v2."""


def is_mcp(body: Any, headers: Mapping[str, str]) -> bool:
    """Whether a request is MCP and not league.v2, at a server that speaks both at one path.

    Args:
        body: its decoded body; None if it could not be decoded.
        headers: by their names in lower case, or a mapping that finds a name in any case.
    """
    era = era_of(body, headers)
    if era is not Era.HANDSHAKE or VERSION_HEADER in headers or SESSION_HEADER in headers:
        return era is not None
    return body.get("method") not in _COURSE_METHODS


def is_dated_before_stateless(version: str) -> bool:
    """Whether a version names the handshake era: a date before the first stateless version, known or not."""
    parts = version.split("-")
    dated = len(version) == 10 and len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts)
    return dated and version < STATELESS_VERSIONS[-1]
