"""What a client of the Model Context Protocol asks before it calls a tool (handshake era).

Some students' agents begin with ``initialize`` and ``tools/list``; they find our tools there.
"""

from __future__ import annotations

from typing import Any

from league_sdk.protocol import SDK_VERSION
from leaguesite.mcp.calls import Call
from leaguesite.mcp.tools import tool_list

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first: what is answered to a client that asks for one we do not know."""


def initialize(call: Call) -> dict[str, Any]:
    """``initialize``: the version asked for, if we speak it, and that there are tools."""
    asked = call.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "leaguesite", "version": SDK_VERSION},
        "instructions": "Register with the tool register_player; the league then calls your agent.",
    }


def list_tools(call: Call) -> dict[str, Any]:
    """``tools/list``, and ``list_tools`` as the course calls it."""
    return {"tools": tool_list()}


def initialized(call: Call) -> dict[str, Any]:
    """``notifications/initialized``: nothing to do."""
    return {}
