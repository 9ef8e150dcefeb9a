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
"""How headers begin that a referee sends for the player's server, in lower case."""


def as_called(*, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """What a message says, beside its body, to a program that relays it to a server; only what there is.

    Args:
        path: at which the server is asked; empty for that of its address.
        headers: the headers of the call; those that do not begin with SERVER_HEADERS are left out. Names in any case.
    """
    held = {name.lower(): value for name, value in headers.items()}
    server_headers = {name: value for name, value in held.items() if name.startswith(SERVER_HEADERS) and value}
    return ({"path": path} if path else {}) | ({"headers": server_headers} if server_headers else {})


class Way(StrEnum):
    """The way of an answer that was not the reply to a POST at the agent's address."""

    INBOX = "inbox"
    """A JSON-RPC response at the inbox, without HTTP status and headers."""
    BRIDGE = "bridge"
    """The HTTP reply of its server, which a program that relays handed on."""


class Outcome(StrEnum):
    """What became of a message to an agent that dials out."""

    ANSWERED = "answered"
    NOT_CONNECTED = "not_connected"
    SILENT = "silent"
    LOST = "lost"
    """It was handed over and not answered, and the line on which it went is gone."""
    TOO_LARGE = "too_large"
    """The answer, encoded as the site encodes JSON, is larger than the limit."""
