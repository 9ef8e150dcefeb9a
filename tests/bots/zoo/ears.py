"""What bots listen to: from a decoded body to the message in it, or None when it is not understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.bots.words import CHAPTER_8, CHOOSE, ERROR, INVITE, OVER, ROUND, ROUND_END, TABLE
from tests.bots.zoo.speech import Heard

PARITY_CHOOSE = {("parity_choose" if kind == CHOOSE else name): kind for name, kind in CHAPTER_8.items()}
TYPES = {kind: kind for kind in CHAPTER_8.values()}
SEED_002 = {
    "GAME_INVITE": INVITE,
    "MOVE_REQUEST": CHOOSE,
    "GAME_RESULT": OVER,
    "GAME_ERROR": ERROR,
    "ROUND_ANNOUNCEMENT": ROUND,
    "ROUND_END": ROUND_END,
    "LEAGUE_STANDINGS_UPDATE": TABLE,
}
ARGUMENTS = {
    "match_id": "string",
    "game_id": "string",
    "league_id": "string",
    "round_id": "integer",
    "player_id": "string",
    "sender": "string",
    "timestamp": "string",
    "deadline": "string",
    "auth_token": "string",
    "conversation_id": "string",
    "referee_endpoint": "string",
    "game_invitation": "object",
    "parity_context": "object",
    "game_result": "object",
}
MIXED_WORDS = {"GAME_INVITE": INVITE, CHOOSE: CHOOSE, OVER: OVER, ERROR: ERROR, ROUND: ROUND}


class Ear(Protocol):
    """Understands one way of speaking."""

    def hear(self, body: Mapping[str, Any]) -> Heard | None: ...

    def chat(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The result for calls that carry no message, such as tools/list."""


class Silent:
    def chat(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Only messages are understood."""
        return None


def params_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The params object of a JSON-RPC request, None when it is none."""
    params = body.get("params")
    if body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str) or not isinstance(params, Mapping):
        return None
    return params


@dataclass(frozen=True)
class ByMethod(Silent):
    """Looks at the method only."""

    names: Mapping[str, str]

    def hear(self, body: Mapping[str, Any]) -> Heard | None:
        params = params_of(body)
        kind = self.names.get(str(body.get("method")))
        return None if params is None or kind is None else Heard(kind, params, body)


@dataclass(frozen=True)
class ByType(Silent):
    """Looks at the message_type of the message only, which stands at ``path`` of a JSON-RPC request."""

    types: Mapping[str, str]
    path: tuple[str, ...] = ()
    methods: frozenset[str] = frozenset()

    def hear(self, body: Mapping[str, Any]) -> Heard | None:
        found: Any = params_of(body)
        if self.methods and body.get("method") not in self.methods:
            return None
        for name in self.path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return None
        kind = self.types.get(str(found.get("message_type")))
        return None if kind is None else Heard(kind, found, body)


@dataclass(frozen=True)
class EnvelopeAndPayload(Silent):
    """``{envelope, payload}``: the type is read from the envelope, everything about a match from the payload."""

    method: str = "league.handle"
    types: Mapping[str, str] = field(default_factory=lambda: TYPES)

    def hear(self, body: Mapping[str, Any]) -> Heard | None:
        params = params_of(body)
        if params is None or body.get("method") != self.method:
            return None
        envelope, payload = params.get("envelope"), params.get("payload")
        if not isinstance(envelope, Mapping) or not isinstance(payload, Mapping):
            return None
        kind = self.types.get(str(envelope.get("message_type")))
        return None if kind is None else Heard(kind, {**_without_match(envelope), **payload}, body)


def _without_match(envelope: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in envelope.items() if name not in ("match_id", "player_id", "game_id")}


@dataclass(frozen=True)
class Flat(Silent):
    """The message is the body; anything with JSON-RPC around it is not a message."""

    types: Mapping[str, str]

    def hear(self, body: Mapping[str, Any]) -> Heard | None:
        kind = self.types.get(str(body.get("message_type")))
        return None if kind is None or "jsonrpc" in body else Heard(kind, body, body)


@dataclass(frozen=True)
class Envelope002(Silent):
    """002: ``message_id``, ``type`` and ``payload``, with or without JSON-RPC around them as told."""

    in_params: bool = False

    def hear(self, body: Mapping[str, Any]) -> Heard | None:
        found: Any = params_of(body) if self.in_params else body
        if not isinstance(found, Mapping) or (not self.in_params and "jsonrpc" in body):
            return None
        needed = ("message_id", "type", "sender", "timestamp")
        if found.get("protocol") != "league.v2" or not all(isinstance(found.get(n), str) for n in needed):
            return None
        kind, payload = SEED_002.get(found["type"]), found.get("payload")
        if kind is None or not isinstance(payload, Mapping):
            return None
        outer = {name: found[name] for name in (*needed, "protocol")}
        return Heard(kind, {**outer, "auth_token": found.get("auth_token"), **payload}, body)


@dataclass(frozen=True)
class Tools:
    """An MCP server: ``tools/call`` with names of its own, which ``tools/list`` tells."""

    tools: Mapping[str, str]
    described: Mapping[str, str]

    def hear(self, body: Mapping[str, Any]) -> Heard | None:
        params = params_of(body)
        if params is None or body.get("method") != "tools/call":
            return None
        kind = self.tools.get(str(params.get("name")))
        arguments: Any = params.get("arguments")
        return None if kind is None or not isinstance(arguments, Mapping) else Heard(kind, arguments, body)

    def chat(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The handshake and the list of tools."""
        method = body.get("method")
        if method == "initialize":
            server = {"name": "zoo", "version": "1.0"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        if method == "tools/list":
            return {"tools": [self._tool(name) for name in self.tools]}
        return {} if method == "ping" else None

    def _tool(self, name: str) -> dict[str, Any]:
        # As a framework derives it from the arguments of a function.
        schema = {
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in ARGUMENTS.items()},
            "required": ["match_id"],
        }
        return {"name": name, "description": self.described.get(name, ""), "inputSchema": schema}


def handle_message(types: Mapping[str, str] = TYPES, methods: Iterable[str] = ("handle_message",)) -> ByType:
    """The message in ``params.message``, under one of these methods only."""
    return ByType(types, path=("message",), methods=frozenset(methods))
