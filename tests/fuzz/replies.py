"""Random answers of an agent under check: correct answers with errors put in, and bodies that are not answers."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.notes import Code, note
from league_sdk.transport.client import Broken, CallFailed, NotReached, Reply, TimedOut
from tests.fuzz.messages import ODD, nested, paths_in

STAMP = "2025-01-15T10:05:00Z"
TOKEN = "tok_" + "b" * 32
STATUSES = [*[200] * 12, 0, 100, 201, 202, 204, 301, 307, 400, 401, 404, 405, 409, 422, 429, 500, 502, 503, 599, 999]
KINDS = [
    "application/json",
    "application/json; charset=utf-8",
    "text/html",
    "",
    "\x00",
    "text/event-stream",
    "x" * 3000,
]
NAMES = [
    *("accept", "accepted", "parity_choice", "choice", "move", "status", "error", "error_code", "message_type", "type"),
    *("player_id", "sender", "auth_token", "match_id", "conversation_id", "timestamp", "protocol", "data", "payload"),
    *("result", "id", "jsonrpc", "params", "content", "structuredContent", "isError", "tools", "detail", "retry_after"),
    *(
        "envelope",
        "message",
        "success",
        "referee_id",
        "league_id",
        "reason",
        "choices",
        "game_result",
        "winner",
        "score",
    ),
]


def correct_answer(body: Any) -> Any:
    """The answer of a correct agent of any role to a decoded request."""
    if not isinstance(body, Mapping):
        return rpc.error(None, -32600, "no", None)
    params = body.get("params")
    fields = params if isinstance(params, Mapping) else body
    head = {"protocol": "league.v2", "timestamp": STAMP, "conversation_id": fields.get("conversation_id")}
    own = head | {"sender": "player:P01", "player_id": "P01", "auth_token": TOKEN, "match_id": fields.get("match_id")}
    known: dict[Any, Any] = {
        "GAME_INVITATION": own | {"message_type": "GAME_JOIN_ACK", "arrival_timestamp": STAMP, "accept": True},
        "CHOOSE_PARITY_CALL": own | {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"},
        "GAME_MOVE_CALL": own | {"message_type": "GAME_MOVE_RESPONSE", "move_data": {"choice": 1}},
        "LEAGUE_REGISTER_REQUEST": head
        | {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "ACCEPTED", "player_id": "P07", "auth_token": TOKEN},
        "REFEREE_REGISTER_REQUEST": head
        | {
            "message_type": "REFEREE_REGISTER_RESPONSE",
            "status": "ACCEPTED",
            "referee_id": "REF7",
            "auth_token": TOKEN,
        },
        "LEAGUE_QUERY": head | {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": {"standings": []}},
        "START_MATCH": {"accepted": True},
    }
    if body.get("method") == "tools/list":
        tools = [{"name": "choose_parity", "inputSchema": {"properties": {"match_id": {"type": "string"}}}}]
        return rpc.result(body.get("id"), {"tools": tools})
    return rpc.result(body.get("id"), known.get(fields.get("message_type"), {"status": "received"}))


def odd(rng: random.Random) -> Any:
    """One of ``ODD``, sometimes nested."""
    value = copy.deepcopy(rng.choice(ODD))
    return nested(value, rng.choice([1, 2, 5, 30, 200])) if rng.random() < 0.1 else value


def damaged(rng: random.Random, body: Any) -> Any:
    """A body with up to four errors put in, or sometimes one of ``ODD`` in its place."""
    if rng.random() < 0.1:
        return odd(rng)
    for _ in range(rng.randint(1, 4)):
        where = paths_in(body) if isinstance(body, (dict, list)) else []
        if not where:
            return body
        *path, last = rng.choice(where)
        holder = body
        for key in path:
            holder = holder[key]
        what = rng.random()
        if what < 0.3:
            del holder[last]
        elif what < 0.7:
            holder[last] = odd(rng)
        elif what < 0.8:
            holder[last] = nested(holder[last], rng.choice([1, 2, 3]))
        elif isinstance(holder, dict):
            holder[rng.choice(NAMES)] = odd(rng)
    return body


def encoded(rng: random.Random, body: Any) -> bytes:
    """A body as bytes: mostly its JSON, sometimes corrupted, random or empty."""
    raw = json.dumps(body).encode() if rng.random() < 0.5 else json.dumps(body, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )  # fmt: skip
    how = rng.random()
    if how < 0.05:
        return rng.randbytes(rng.randrange(60))
    if how < 0.1:
        at = rng.randrange(len(raw) + 1)
        return raw[:at] + rng.randbytes(rng.randrange(4)) + raw[at + 1 :]
    return raw if how < 0.98 else b""


def reply(rng: random.Random, body: Any) -> Reply:
    """A faulty HTTP reply to a decoded request."""
    raw = encoded(rng, damaged(rng, correct_answer(body)))
    decoded, problem = None, ""
    if raw.strip():
        try:
            decoded = rpc.loads(raw)
        except NotJson as error:
            problem = error.message
    headers = {"content-type": rng.choice(KINDS)}
    if rng.random() < 0.05:
        headers[rng.choice(["retry-after", "mcp-session-id", "location"])] = str(rng.choice(ODD))
    text = raw[:2000].decode("utf-8", "replace") if problem else ""
    return Reply(rng.choice(STATUSES), decoded, problem, 0.0, headers, text)


def failure(rng: random.Random) -> CallFailed:
    """An exception, as of a request that gets no reply."""
    kind = rng.choice([TimedOut, NotReached, Broken])
    return kind(note(Code.NOT_IN_TIME), connected=kind is not NotReached)


class FaultyTransport:
    """Replaces the transport of a check: answers each request itself, some of them wrongly.

    Args:
        rng: draws the answers.
        share: the share of requests that are answered wrongly.
    """

    def __init__(self, rng: random.Random, share: float) -> None:
        self._rng = rng
        self._share = share
        self.sent = 0
        self.last: Any = None

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Like :meth:`league_sdk.transport.client.Client.post`, without a network."""
        self.sent += 1
        rng = self._rng
        if rng.random() < self._share / 40:
            raise failure(rng)
        body = message if isinstance(message, (dict, list)) else _decoded(message)
        if rng.random() < self._share:
            self.last = reply(rng, body)
        else:
            self.last = Reply(
                200, json.loads(json.dumps(correct_answer(body))), "", 0.0, {"content-type": "application/json"}
            )
        return self.last

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> None:
        """Do nothing: there are no sessions to end."""

    def under_same_policy(self, agent_type: str) -> FaultyTransport:
        """Returns itself, because it applies no policy."""
        return self

    async def aclose(self) -> None:
        """Do nothing: there are no connections to close."""


def _decoded(message: Any) -> Any:
    try:
        return json.loads(message) if isinstance(message, bytes) else None
    except ValueError:
        return None
