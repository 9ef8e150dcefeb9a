"""Parsers of the ways of speaking: each takes a decoded body and returns its message, or None if not understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.bots.words import CHAPTER_8, CHOOSE, ERROR, INVITE, OVER, ROUND, ROUND_END, TABLE
from tests.bots.zoo.speech import Incoming

PARITY_CHOOSE = {("parity_choose" if kind == CHOOSE else name): kind for name, kind in CHAPTER_8.items()}
TYPES = {kind: kind for kind in CHAPTER_8.values()}
TYPES_002 = {
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


class Parser(Protocol):
    """Understands one way of speaking."""

    def parse(self, body: Mapping[str, Any]) -> Incoming | None: ...

    def result_of(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The result of a call that carries no message, such as tools/list; None if it is unknown."""


class MessagesOnly:
    """A parser for a bot that answers only calls which carry a message."""

    def result_of(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """None for every call: the bot knows no call without a message."""
        return None


def params_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The params object of a JSON-RPC request; None if there is none."""
    params = body.get("params")
    if body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str) or not isinstance(params, Mapping):
        return None
    return params


@dataclass(frozen=True)
class ByMethod(MessagesOnly):
    """Tells messages apart by their method only."""

    names: Mapping[str, str]

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        params = params_of(body)
        kind = self.names.get(str(body.get("method")))
        return None if params is None or kind is None else Incoming(kind, params, body)


@dataclass(frozen=True)
class ByType(MessagesOnly):
    """Tells messages apart by message_type only; the message is at ``path`` in the params of a JSON-RPC request, whose
    method must be one of ``methods`` if there are any."""

    types: Mapping[str, str]
    path: tuple[str, ...] = ()
    methods: frozenset[str] = frozenset()

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        value: Any = params_of(body)
        if self.methods and body.get("method") not in self.methods:
            return None
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping):
            return None
        kind = self.types.get(str(value.get("message_type")))
        return None if kind is None else Incoming(kind, value, body)


@dataclass(frozen=True)
class EnvelopeAndPayload(MessagesOnly):
    """Takes ``{envelope, payload}`` in params: reads the type from the envelope, ids of the match from the payload."""

    method: str = "league.handle"
    types: Mapping[str, str] = field(default_factory=lambda: TYPES)

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        params = params_of(body)
        if params is None or body.get("method") != self.method:
            return None
        envelope, payload = params.get("envelope"), params.get("payload")
        if not isinstance(envelope, Mapping) or not isinstance(payload, Mapping):
            return None
        kind = self.types.get(str(envelope.get("message_type")))
        return None if kind is None else Incoming(kind, {**_without_match(envelope), **payload}, body)


def _without_match(envelope: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in envelope.items() if name not in ("match_id", "player_id", "game_id")}


@dataclass(frozen=True)
class Flat(MessagesOnly):
    """Takes the body as the message; refuses JSON-RPC."""

    types: Mapping[str, str]

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        kind = self.types.get(str(body.get("message_type")))
        return None if kind is None or "jsonrpc" in body else Incoming(kind, body, body)


@dataclass(frozen=True)
class Envelope002(MessagesOnly):
    """Takes 002's ``message_id``, ``type`` and ``payload`` as the body, or as JSON-RPC params if ``in_params``."""

    in_params: bool = False
    types: Mapping[str, str] = field(default_factory=lambda: TYPES_002)

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        value: Any = params_of(body) if self.in_params else body
        if not isinstance(value, Mapping) or (not self.in_params and "jsonrpc" in body):
            return None
        needed = ("message_id", "type", "sender", "timestamp")
        if value.get("protocol") != "league.v2" or not all(isinstance(value.get(n), str) for n in needed):
            return None
        kind, payload = self.types.get(value["type"]), value.get("payload")
        if kind is None or not isinstance(payload, Mapping):
            return None
        outer = {name: value[name] for name in (*needed, "protocol")}
        return Incoming(kind, {**outer, "auth_token": value.get("auth_token"), **payload}, body)


@dataclass(frozen=True)
class Tools:
    """Takes ``tools/call`` as an MCP server; ``tools/list`` has the names of its tools."""

    tools: Mapping[str, str]
    described: Mapping[str, str]

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        params = params_of(body)
        if params is None or body.get("method") != "tools/call":
            return None
        kind = self.tools.get(str(params.get("name")))
        arguments: Any = params.get("arguments")
        return None if kind is None or not isinstance(arguments, Mapping) else Incoming(kind, arguments, body)

    def result_of(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The results of the handshake, of ``tools/list`` and of ``ping``."""
        method = body.get("method")
        if method == "initialize":
            server = {"name": "zoo", "version": "1.0"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
        if method == "tools/list":
            return {"tools": [self._tool(name) for name in self.tools]}
        return {} if method == "ping" else None

    def _tool(self, name: str) -> dict[str, Any]:
        # The schema that a framework would derive from the signature of a function.
        schema = {
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in ARGUMENTS.items()},
            "required": ["match_id"],
        }
        return {"name": name, "description": self.described.get(name, ""), "inputSchema": schema}


def handle_message(types: Mapping[str, str] = TYPES, methods: Iterable[str] = ("handle_message",)) -> ByType:
    """A parser that takes the message in ``params.message``, under one of these methods only."""
    return ByType(types, path=("message",), methods=frozenset(methods))
