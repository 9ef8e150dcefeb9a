"""What a referee and the site say to each other about a message to a player that dials out (ruling, section 13)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

SCHEME = "inbox"
"""The scheme of the address of an agent that has no ``contact_endpoint``."""
DIALS_OUT = ("poll", "websocket")
"""Values of ``delivery`` of agents that fetch their messages."""
DELIVER_PATH = "/inbox/deliver"
KEY_HEADER = "X-Inbox-Key"
"""The key of the seat, from ``start_match``."""
LIMIT_HEADER = "X-Inbox-Limit"
"""Seconds for which the referee waits for the answer."""
OUTCOME_HEADER = "X-Inbox-Outcome"
GRACE_HEADER = "X-Inbox-Grace"
"""Seconds within which the player must have taken the message, else it counts as not connected."""

PATH_HEADER = "X-Inbox-Path"
"""The path at which the player's server is asked, if it is another than that of its address."""
SERVER_HEADERS = "mcp-"
"""The beginning, in lower case, of the names of headers that a referee sends for the player's server."""


def as_called(*, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """The fields beside a message's body that tell a relay how to call the player's server; empty ones are left out.

    Args:
        path: the path at which the server is asked; empty for the path of its address.
        headers: the headers of the call; those that do not begin with SERVER_HEADERS are left out. Names in any case.
    """
    lower_case = {name.lower(): value for name, value in headers.items()}
    server_headers = {name: value for name, value in lower_case.items() if name.startswith(SERVER_HEADERS) and value}
    return ({"path": path} if path else {}) | ({"headers": server_headers} if server_headers else {})


class Way(StrEnum):
    """The way of an answer that was not the reply to a POST at the agent's address."""

    INBOX = "inbox"
    """A JSON-RPC response at the inbox, without HTTP status and headers."""
    BRIDGE = "bridge"
    """The HTTP reply of the agent's server, which a relay such as ``league bridge`` handed on."""


class Outcome(StrEnum):
    """What became of a message to an agent that dials out."""

    ANSWERED = "answered"
    NOT_CONNECTED = "not_connected"
    SILENT = "silent"
    LOST = "lost"
    """The message was handed over and not answered, and the line on which it went is gone."""
    TOO_LARGE = "too_large"
    """The answer, encoded as the site encodes JSON, is larger than the limit."""
