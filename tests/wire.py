"""Messages to the site's endpoint as document 004 has them in chapter 8, and their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.test import Client

STAMP = "2025-01-15T10:05:00Z"
TOKEN = re.compile(r"tok_[0-9a-f]{32}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def request(method: str, params: Any, rpc_id: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": rpc_id}


def post(client: Client, body: Any, path: str = "/mcp", caller: str = "127.0.0.1") -> Any:
    """POST a body (JSON unless bytes) as an agent at ``caller`` would."""
    raw = body if isinstance(body, bytes) else json.dumps(body)
    return client.post(path, raw, content_type="application/json", REMOTE_ADDR=caller)


def ask(client: Client, method: str, params: Any, path: str = "/mcp", caller: str = "127.0.0.1") -> dict[str, Any]:
    """The ``result`` of a call that must succeed."""
    answer = post(client, request(method, params), path, caller)
    reply = answer.json()
    assert (answer.status_code, sorted(reply)) == (200, ["id", "jsonrpc", "result"]), reply
    return reply["result"]


def refused(client: Client, method: str, params: Any, path: str = "/mcp", caller: str = "127.0.0.1") -> dict[str, Any]:
    """The ``error.data`` of a call that must be refused, with its context as :func:`context_of` gives it."""
    answer = post(client, request(method, params), path, caller)
    reply = answer.json()
    assert (answer.status_code, sorted(reply)) == (200, ["error", "id", "jsonrpc"]), reply
    data: dict[str, Any] = reply["error"]["data"]
    return data | {"context": context_of(data)}


def context_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The context of a LEAGUE_ERROR without the second names of 004 8.10.1, which must say the same."""
    context = dict(data["context"])
    assert context.pop("expected_format", None) == context.get("expected")
    assert context.pop("action", None) == data["original_message_type"]
    return context


def plain(value: Any) -> Any:
    """A message with its timestamps and tokens, which differ from run to run, replaced."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, str):
        return value
    return _MOMENT.sub("<time>", TOKEN.sub("<token>", value))


def player_request(name: str = "Agent Alpha", *, port: int = 8101, **changes: Any) -> dict[str, Any]:
    """The params of 004 8.4.1; ``endpoint``, ``games``, ``code`` and ``delivery`` (which leaves the address out)
    go into the meta, the rest into the envelope."""
    meta: dict[str, Any] = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": changes.pop("games", ["even_odd"]),
        "contact_endpoint": changes.pop("endpoint", f"http://localhost:{port}/mcp"),
    }
    if "delivery" in changes:
        del meta["contact_endpoint"]
        meta["delivery"] = changes.pop("delivery")
    if "code" in changes:
        meta["registration_code"] = changes.pop("code")
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:alpha",
        "timestamp": STAMP,
        "conversation_id": "conv-player-alpha-reg-001",
        "player_meta": meta,
    } | changes


def referee_request(name: str = "Referee Alpha", *, port: int = 8001, **changes: Any) -> dict[str, Any]:
    """The params of 004 8.3.1; ``endpoint``, ``room``, ``progress``, ``code`` and (only with a code) ``seals`` go into
    the meta, the rest into the envelope."""
    meta: dict[str, Any] = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": changes.pop("endpoint", f"http://localhost:{port}/mcp"),
        "max_concurrent_matches": changes.pop("room", 2),
    }
    if "code" in changes:
        meta["registration_code"] = changes.pop("code")
        meta["seals"] = changes.pop("seals", True)
    if "progress" in changes:
        meta["sends_progress"] = changes.pop("progress")
    return {
        "protocol": "league.v2",
        "message_type": "REFEREE_REGISTER_REQUEST",
        "sender": "referee:alpha",
        "timestamp": STAMP,
        "conversation_id": "conv-ref-alpha-reg-001",
        "referee_meta": meta,
    } | changes
