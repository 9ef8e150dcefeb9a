"""Inbound requests in every shape, and answers in the same (ruling, sections 2 and 3).

:func:`read` finds which message a body carries; :func:`reply` and :func:`refuse` dress the answer
as the question was dressed, because that is where its sender will look for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from league_sdk.dialects.shapes import legacy_message
from league_sdk.dialects.words import ANSWERS, LEGACY_TYPES, message_type_of, unwrap
from league_sdk.protocol import messages, rpc
from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.messages import BY_METHOD, MessageType

REGISTER_PATH = "register"
"""What :attr:`Inbound.shape` says of a POST to ``/register``."""
WRAPPER_METHODS = {
    "handle_message": "handle_message",
    "protocol/message": "protocol_message",
    "league.handle": "league_handle",
    "mcp_message": "mcp_message",
    "message": "message",
    "send_message": "message",
    "process_message": "message",
    "receive_message": "message",
}
"""Methods that say nothing; the message type inside decides. With the shape each stands for."""
_OTHER_TOOLS = ("ping", "list_tools", "create_schedule", "get_match_state", "get_player_state")
TOOLS = frozenset({*messages.QUERY_TYPES, *_OTHER_TOOLS})
"""Tools that may be called as methods, whatever message type stands inside."""
_CALLS = (MessageType.GAME_INVITATION, MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
_HEAD = ("protocol", "message_type", "sender", "timestamp", "conversation_id")


@dataclass(frozen=True, slots=True)
class Inbound:
    """A request as it came.

    Attributes:
        shape: how it was dressed: a name of :data:`league_sdk.dialects.shapes.SHAPES`, or ``register``.
        name: the message type it carries, or the method or tool it names when that is none.
        message: the fields, unwrapped.
        id: the JSON-RPC id.
        notification: no answer is expected.
        rpc: whether there was JSON-RPC around it.
        request_id: of ``/register`` bodies that have an envelope of their own.
    """

    shape: str
    name: str
    message: dict[str, Any]
    id: Any = None
    notification: bool = False
    rpc: bool = True
    request_id: Any = None

    @property
    def plain(self) -> bool:
        """Whether a successful answer is the message itself as the ``result``, and nothing of it stands twice."""
        return self.rpc and self.shape not in (REGISTER_PATH, "legacy", "legacy_flat", "league_handle", "tools_call")


def read(body: Any, *, register: bool = False) -> Inbound:
    """Read a decoded body.

    Args:
        body: the JSON.
        register: it came to ``/register``, where a name and an address are enough.

    Raises:
        NotARequest: it is no request in any shape.
        InvalidFormat, MissingField: a wrapper without its message.
    """
    if isinstance(body, dict) and "method" not in body:
        if "jsonrpc" not in body and (register or _type_in(body)):
            return _flat(body, register)
        result = body.get("result")
        if isinstance(result, Mapping) and _type_in(result):
            # An answer that is posted as the response it would have been.
            return replace(_flat(dict(result), False), shape="canonical", id=rpc.request_id(body), rpc=True)
    request = rpc.read_request(body)
    if request.method == "tools/call":
        return _tool(request)
    if request.method in WRAPPER_METHODS:
        return _wrapped(request)
    message = unwrap(request.params)
    named = message_type_of(request.method)
    shape = "canonical"
    if named is None:
        inside = message_type_of(message.get("message_type"))
        # What a method of its own carries is told by the type inside; tools stand for themselves.
        name = inside if inside and "sender" in message and request.method not in TOOLS else request.method
    else:
        name = _meant(named, message)
        if request.method not in BY_METHOD and request.method.isupper():
            shape = "message_type"
    if _is_legacy(request.params):
        shape = "legacy"
    return Inbound(shape, name, message, request.id, request.notification)


def _meant(named: str, message: Mapping[str, Any]) -> str:
    """What a method or tool stands for; some send their answer under the name of what they were asked."""
    inside = message_type_of(message.get("message_type"))
    return inside if named in _CALLS and inside in ANSWERS else named


def _type_in(body: Mapping[str, Any]) -> bool:
    return isinstance(unwrap(body).get("message_type"), str)


def _is_legacy(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("payload"), Mapping) and isinstance(message.get("type"), str)


def _flat(body: dict[str, Any], register: bool) -> Inbound:
    message = unwrap(body)
    named = message_type_of(message.get("message_type"))
    if register:
        if named != MessageType.REFEREE_REGISTER_REQUEST:
            roles = (message.get("agent_type"), message.get("role"), message.get("type"))
            referee = "referee_meta" in message or "referee" in roles
            named = MessageType.REFEREE_REGISTER_REQUEST if referee else MessageType.LEAGUE_REGISTER_REQUEST
        return Inbound(REGISTER_PATH, str(named), message, rpc=False, request_id=body.get("request_id"))
    shape = "legacy_flat" if _is_legacy(body) else "flat"
    return Inbound(shape, str(named or message["message_type"]), message, rpc=False)


def _tool(request: rpc.Request) -> Inbound:
    name = request.params.get("name")
    if not isinstance(name, str) or not name:
        raise MissingField("params.name is missing.", field="params.name", seen=name, expected="the name of a tool")
    arguments = request.params.get("arguments")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise InvalidFormat(
            "params.arguments must be an object.", field="params.arguments", seen=arguments, expected="an object"
        )
    message = unwrap(arguments)
    known = _meant(message_type_of(name) or name, message)
    return Inbound("tools_call", known, message, request.id, request.notification)


def _wrapped(request: rpc.Request) -> Inbound:
    message = unwrap(request.params)
    kind = message.get("message_type")
    expected = "the type of the message inside"
    if kind in (None, ""):
        raise MissingField(f"{request.method} carries no message_type.", field="message_type", expected=expected)
    if not isinstance(kind, str):
        raise InvalidFormat("message_type must be a string.", field="message_type", seen=kind, expected=expected)
    shape = WRAPPER_METHODS[request.method]
    return Inbound(shape, message_type_of(kind) or kind, message, request.id, request.notification)


def with_bearer(inbound: Inbound, header: str) -> None:
    """Take a token from ``Authorization: Bearer tok_…`` for a message that holds none.

    Args:
        inbound: what came.
        header: the header's value.
    """
    scheme, _space, token = header.partition(" ")
    if scheme.lower() == "bearer" and token.startswith("tok_") and not inbound.message.get("auth_token"):
        inbound.message["auth_token"] = token.strip()


def outbound_shape(inbound: Inbound) -> str:
    """The shape to try first towards whoever sent this."""
    return "canonical" if inbound.shape == REGISTER_PATH else inbound.shape


def reply(inbound: Inbound, message: dict[str, Any]) -> dict[str, Any]:
    """A successful answer, dressed as the request was."""
    shape = inbound.shape
    if shape == REGISTER_PATH:
        if inbound.request_id is None:
            return message
        return {**message, "request_id": inbound.request_id, "data": message}
    if shape in ("legacy", "legacy_flat"):
        # 002 calls the response to its own registration by its own name; the fields stay readable flat, too.
        changed = legacy_message(message) if message.get("message_type") in LEGACY_TYPES else _legacy_as_is(message)
        message = changed | {"correlation_id": _their_id(inbound)}
    elif shape == "league_handle":
        head = {name: message[name] for name in _HEAD if name in message}
        rest = {name: value for name, value in message.items() if name not in _HEAD}
        message = {**message, "envelope": head, "payload": rest}
    elif shape == "tools_call":
        message = tool_result(message, is_error=False)
    return rpc.result(inbound.id, message) if inbound.rpc else message


def _legacy_as_is(message: dict[str, Any]) -> dict[str, Any]:
    return legacy_message(message) if "message_type" in message else message


def _their_id(inbound: Inbound) -> Any:
    given = inbound.message.get("message_id", inbound.message.get("correlation_id"))
    return given if isinstance(given, str) and len(given) <= 200 else None


def tool_result(message: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    """A result of ``tools/call``: the message as text and as structure, and flat for those who look there."""
    text = json.dumps(message, ensure_ascii=False)
    return {
        **message,
        "content": [{"type": "text", "text": text}],
        "structuredContent": message,
        "isError": is_error,
    }


def refuse(inbound: Inbound, *, code: int, sentence: str, data: dict[str, Any]) -> dict[str, Any]:
    """An error, dressed as the request was: without JSON-RPC it is the LEAGUE_ERROR itself.

    Args:
        inbound: what is refused.
        code: the JSON-RPC code.
        sentence: the short message.
        data: the whole LEAGUE_ERROR.
    """
    if inbound.rpc:
        if inbound.shape == "tools_call":
            # Input and league errors of a tool are results (MCP); the error's fields are in it all the same.
            return rpc.result(inbound.id, tool_result(data, is_error=True))
        return rpc.error(inbound.id, code, sentence, data)
    if inbound.shape == REGISTER_PATH and inbound.request_id is not None:
        return {**data, "request_id": inbound.request_id, "status": "ERROR", "error": sentence, "data": data}
    if inbound.shape == "legacy_flat":
        return legacy_message(data) | {"correlation_id": _their_id(inbound), "status": "ERROR", "error": sentence}
    return {**data, "status": "ERROR", "error": sentence}
