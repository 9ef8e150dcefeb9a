"""Read inbound requests of every shape, and answer in the same shape (ruling, sections 2 and 3).

:func:`read` finds which message a body carries; :func:`reply` and :func:`refuse` give the answer the shape of the
request, because its sender looks for it there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from league_sdk.dialects.shapes import legacy_message
from league_sdk.dialects.words import ANSWERS, LEGACY_TYPES, READY, message_type_of, unwrap
from league_sdk.protocol import messages, rpc
from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.messages import BY_METHOD, MessageType

REGISTER_PATH = "register"
""":attr:`Inbound.shape` of a POST to ``/register``."""
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
"""Methods that do not name the message, each with its shape; the message type inside decides."""
TOOLS = frozenset(
    {*messages.QUERY_TYPES, "ping", "list_tools", "get_match_state", "get_player_state"}
    | {"create_league", "create_schedule", "start_round", "pause", "resume", "freeze", "replay_match"}
    | {"check_agent", "practice_match", "next_message", "submit_response", "play"}
)
"""Tools that may be called as methods, whatever message type is inside."""
_KNOWN_WORDS = frozenset({*map(str, MessageType), *LEGACY_TYPES.values(), READY})
_CALLS = (MessageType.GAME_INVITATION, MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
_ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")


@dataclass(frozen=True, slots=True)
class Inbound:
    """A request, read.

    Attributes:
        shape: a name of :data:`league_sdk.dialects.shapes.SHAPES`, or ``register``.
        name: the message type it carries; for other requests their method or tool.
        message: the fields, unwrapped.
        id: the JSON-RPC id.
        notification: no answer is expected.
        rpc: whether it was JSON-RPC.
        request_id: the id of a ``/register`` body with an envelope of its own.
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
        """Whether a successful answer is the message itself as the ``result``, without copies of its fields."""
        return self.rpc and self.shape not in (REGISTER_PATH, "legacy", "legacy_flat", "league_handle", "tools_call")


def read(body: Any, *, register: bool = False) -> Inbound:
    """Read a decoded JSON body.

    Args:
        register: it came to ``/register``, where a name and an address are enough.

    Raises:
        NotARequest: it is no request of any shape.
        InvalidFormat, MissingField: a wrapper without its message.
    """
    if isinstance(body, dict) and "method" not in body:
        if "jsonrpc" not in body and (register or _type_in(body)):
            return _flat(body, register)
        result = body.get("result")
        if isinstance(result, Mapping) and _type_in(result):
            # A player posts its answer as the JSON-RPC response that it would have been.
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
        # An unknown method is read by the message type inside; a known tool is that tool.
        name = inside if inside and "sender" in message and request.method not in TOOLS else request.method
    else:
        name = _meant(named, message)
        if request.method not in BY_METHOD and request.method.isupper():
            shape = "message_type"
    if _is_legacy(request.params):
        shape = "legacy"
    return Inbound(shape, name, message, request.id, request.notification)


def _meant(named: str, message: Mapping[str, Any]) -> str:
    """The message type of a method or tool; some agents answer under the method of the question."""
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
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, Mapping):
        field = "params.arguments"
        raise InvalidFormat(f"{field} must be an object.", field=field, seen=arguments, expected="an object")
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
    """Put the token of an ``Authorization: Bearer tok_…`` header into a message that has none."""
    scheme, _space, token = header.partition(" ")
    if scheme.lower() == "bearer" and token.startswith("tok_") and not inbound.message.get("auth_token"):
        inbound.message["auth_token"] = token.strip()


def outbound_shape(inbound: Inbound) -> str:
    """The shape to try first in calls to the sender of this request."""
    if inbound.shape == REGISTER_PATH:
        return "canonical" if inbound.request_id is None else "data_envelope"
    return inbound.shape


def reply(inbound: Inbound, message: dict[str, Any]) -> dict[str, Any]:
    """A successful answer, in the shape of the request."""
    shape = inbound.shape
    message = _with_expected_type(inbound, message)
    if shape == REGISTER_PATH:
        if inbound.request_id is None:
            return message
        return {**message, "request_id": inbound.request_id, "data": message}
    if shape in ("legacy", "legacy_flat"):
        # The answer to a query has no message type, and none of the old protocol's (002) envelope either.
        changed = legacy_message(message) if "message_type" in message else message
        message = changed | {"correlation_id": _their_id(inbound)}
    elif shape == "league_handle":
        envelope = {name: message[name] for name in _ENVELOPE if name in message}
        rest = {name: value for name, value in message.items() if name not in _ENVELOPE}
        message = {**message, "envelope": envelope, "payload": rest}
    elif shape == "tools_call":
        message = tool_result(message, is_error=False)
    return rpc.result(inbound.id, message) if inbound.rpc else message


def _with_expected_type(inbound: Inbound, message: dict[str, Any]) -> dict[str, Any]:
    """The answer with the type that a sender with a message type of its own expects.

    The answer to its REGISTER_PLAYER_REQUEST is REGISTER_PLAYER_RESPONSE.
    """
    word = inbound.message.get("message_type")
    if "message_type" not in message or not isinstance(word, str) or not word.endswith("_REQUEST"):
        return message
    if word in _KNOWN_WORDS or message_type_of(word) != inbound.name:
        return message
    return {**message, "message_type": word.removesuffix("_REQUEST") + "_RESPONSE"}


def _their_id(inbound: Inbound) -> Any:
    message_id = inbound.message.get("message_id", inbound.message.get("correlation_id"))
    return message_id if isinstance(message_id, str) and len(message_id) <= 200 else None


def tool_result(message: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    """A result of ``tools/call``: the message as text, as structured content, and as fields of the result."""
    content = [{"type": "text", "text": json.dumps(message, ensure_ascii=False)}]
    return {**message, "content": content, "structuredContent": message, "isError": is_error}


def refuse(inbound: Inbound, *, code: int, sentence: str, data: dict[str, Any]) -> dict[str, Any]:
    """An error, in the shape of the request: without JSON-RPC it is the LEAGUE_ERROR itself.

    Args:
        code: the JSON-RPC code.
        sentence: the short message.
        data: the whole LEAGUE_ERROR.
    """
    if inbound.rpc:
        if inbound.shape == "tools_call":
            # In MCP a tool reports wrong input and its own errors as a result.
            return rpc.result(inbound.id, tool_result(data, is_error=True))
        return rpc.error(inbound.id, code, sentence, data)
    if inbound.shape == REGISTER_PATH and inbound.request_id is not None:
        return {**data, "request_id": inbound.request_id, "status": "ERROR", "error": sentence, "data": data}
    if inbound.shape == "legacy_flat":
        return legacy_message(data) | {"correlation_id": _their_id(inbound), "status": "ERROR", "error": sentence}
    return {**data, "status": "ERROR", "error": sentence}
