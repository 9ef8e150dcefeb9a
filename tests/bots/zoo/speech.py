"""Traits of bots: formats of timestamps, of refusals and of replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.bots import words
from tests.bots.words import LEAGUE_END, ROUND, ROUND_END, TABLE

BROADCASTS = frozenset({ROUND, TABLE, ROUND_END, LEAGUE_END})
ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "league_id")


@dataclass(frozen=True)
class Reply:
    """An HTTP reply: ``body`` is sent as JSON, ``text`` as it is; ``posts`` are the callbacks (URL and body) with it;
    with ``hangs_up`` the connection is closed instead. ``verdict`` and ``kind`` are for the log and the tests."""

    status: int = 200
    body: Any = None
    text: str | None = None
    location: str = ""
    verdict: str = "understood"
    kind: str = ""
    posts: tuple[tuple[str, dict[str, Any]], ...] = ()
    hangs_up: bool = False


@dataclass(frozen=True)
class Incoming:
    """A message that a bot has understood: its message_type, its fields in one dict, and the whole body."""

    kind: str
    fields: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rpc_id(self) -> Any:
        return self.body.get("id")


# -- timestamps -------------------------------------------------------------------------------------------


def zulu_fractions() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def zulu_millis() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def offset() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def compact() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def naive_local() -> str:
    return datetime.now().isoformat()


def no_stamp() -> None:
    return None


# -- refusals ---------------------------------------------------------------------------------------------

Refusal = Callable[[Any, str], Reply]


def rpc_error(code: int, status: int = 200) -> Refusal:
    """A JSON-RPC error of this code, under this HTTP status."""

    def refuse(rpc_id: Any, why: str) -> Reply:
        return Reply(status, words.rpc_error(code, why, rpc_id))

    return refuse


def success(**fields: Any) -> Refusal:
    """A JSON-RPC result with these fields, although the message was not understood."""

    def refuse(rpc_id: Any, why: str) -> Reply:
        return Reply(200, words.rpc_result(dict(fields), rpc_id))

    return refuse


def bare(status: int = 200, **fields: Any) -> Refusal:
    """A body of these fields without JSON-RPC, under this HTTP status."""

    def refuse(rpc_id: Any, why: str) -> Reply:
        return Reply(status, dict(fields))

    return refuse


def server_error(rpc_id: Any, why: str) -> Reply:
    """What a framework answers when a handler raises."""
    return Reply(500, text="Internal Server Error")


def unprocessable(rpc_id: Any, why: str) -> Reply:
    """What FastAPI answers when a body does not fit its model."""
    return Reply(422, {"detail": [{"type": "value_error", "loc": ["body"], "msg": why}]})


def tool_error(rpc_id: Any, why: str) -> Reply:
    """What an MCP server answers for a tool it does not have."""
    content = [{"type": "text", "text": why}]
    return Reply(200, words.rpc_result({"content": content, "isError": True}, rpc_id))


# -- shapes of a reply ------------------------------------------------------------------------------------

Shape = Callable[[dict[str, Any], Any], Any]


in_result = words.rpc_result


def null_error(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": fields, "error": None, "id": rpc_id}


def bare_body(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return fields


def in_text(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return in_result({"content": [{"type": "text", "text": json.dumps(fields)}]}, rpc_id)


def split(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message, split into envelope and payload."""
    return {
        "envelope": {name: value for name, value in fields.items() if name in ENVELOPE},
        "payload": {name: value for name, value in fields.items() if name not in ENVELOPE},
    }


def in_envelope_and_payload(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return in_result(split(fields), rpc_id)


def in_data(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return in_result({"status": "success", "data": fields}, rpc_id)


def bare_data(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return {"status": "success", "data": fields}


def as_request(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": fields.get("message_type", "response"), "params": fields, "id": rpc_id}


def in_success(fields: dict[str, Any], rpc_id: Any) -> dict[str, Any]:
    return in_result({"success": True, **fields}, rpc_id)
