"""The answers of agents that dial out, read as the reply to an HTTP call (ruling, section 13).

Such an agent answers with a JSON-RPC response. A program that relays for a server, such as ``league bridge``, hands on
the server's HTTP reply as it came, in the field ``http``: so a referee judges it as if it had called the server itself.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from league_sdk.protocol.calls import Broken, NotReached, Reply, TimedOut
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.own_words import clean_words
from league_sdk.transport.replies import receive

RELAYED = "http"
"""The field of an answer with {status, headers, body or base64}, or {problem, sent} if no reply came."""
_LEAGUE_AWAY = "the league manager, which hands messages to this agent, could not be reached or stood still"


async def reply_of(response: Mapping[str, Any], elapsed_s: float) -> Reply:
    """The reply to an HTTP call that an agent's answer stands for.

    Args:
        response: what the agent sent to its inbox.
        elapsed_s: seconds since it was asked.

    Raises:
        NotReached: E009, a relay could not reach its server.
        Broken: E009, the server broke the connection off, its reply is too large, or what the relay says of it cannot
            be read.
    """
    http = response.get(RELAYED)
    if not isinstance(http, Mapping):
        return Reply(200, response, "", elapsed_s, {"content-type": "application/json"}, way=Way.INBOX)
    if isinstance(http.get("problem"), str):
        kind = Broken if http.get("sent") is True else NotReached
        # A relay is its owner's program: that its server never got the message is a claim, and no evidence.
        why = f"its bridge says: {clean_words(http['problem'])}"
        raise kind(why, connected=True, cause=Cause.CONNECT, way=Way.BRIDGE)
    status, headers = http.get("status"), http.get("headers")
    if not isinstance(status, int) or not 100 <= status <= 999 or not isinstance(headers, Mapping):
        raise _unreadable()
    try:
        raw_headers = [(str(name).encode(), str(value).encode()) for name, value in headers.items()]
        received = await receive(status, old_http=False, raw_headers=raw_headers, parts=_once(_raw(http)))
    except Broken as error:
        error.way = Way.BRIDGE
        raise
    except (zlib.error, binascii.Error, ValueError):
        raise _unreadable() from None
    return replace(received.reply(elapsed_s, more_behind=False), way=Way.BRIDGE)


def not_connected() -> NotReached:
    """E009: nobody took the message in time."""
    return NotReached(note(Code.NOT_DIALLED_IN), connected=False, cause=Cause.CONNECT, way=Way.INBOX)


def unanswered() -> TimedOut:
    """E001: the agent took the message and did not answer in time."""
    return TimedOut(note(Code.TAKEN_UNANSWERED), connected=True, cause=Cause.DEADLINE, way=Way.INBOX)


def lost() -> NotReached:
    """E009: the message was handed over, and perhaps lost with the line on which it went."""
    return NotReached(note(Code.TAKEN_UNANSWERED), connected=True, cause=Cause.DEADLINE, way=Way.INBOX)


def league_away(what: Note | str = _LEAGUE_AWAY, *, connected: bool = False) -> NotReached:
    """E009: the league manager could not be called, or one of its processes stood still.

    Args:
        what: what was away, if it is known.
        connected: the agent has the message. If not, nobody knows whether it was connected.
    """
    return NotReached(what, connected=connected, cause=Cause.LEAGUE, way=Way.INBOX)


def too_large() -> Broken:
    """E009: the agent's answer is larger than :data:`MAX_ANSWER_BYTES`, so it is not read."""
    return Broken(f"the answer is larger than {MAX_ANSWER_BYTES} bytes", connected=True, way=Way.INBOX)


def _unreadable() -> Broken:
    return Broken("what its bridge says of the reply cannot be read", connected=True, way=Way.BRIDGE)


def _raw(http: Mapping[str, Any]) -> bytes:
    body, packed = http.get("body"), http.get("base64")
    if isinstance(packed, str):
        return base64.b64decode(packed, validate=True)
    return body.encode() if isinstance(body, str) else b""


async def _once(raw: bytes) -> AsyncIterator[bytes]:
    yield raw
