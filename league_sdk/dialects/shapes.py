"""Outbound: every way of putting a message to an agent, by name (ruling, section 3).

A shape is a method name and the clothes around the message. All carry the same facts; which one an
agent understands is found out by trying (:mod:`league_sdk.dialects.hunt`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from league_sdk.dialects.words import LEGACY_TYPES
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import METHODS, MessageType

Message = Mapping[str, Any]
_METHODS: dict[str, str] = {str(kind): method for kind, method in METHODS.items()}
_ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token")


@dataclass(frozen=True, slots=True)
class Shape:
    """One way of speaking.

    Attributes:
        name: as it is remembered and shown.
        method: the method for a message type; empty when none is sent.
        wrap: makes the body from message and JSON-RPC id.
    """

    name: str
    method: Callable[[str], str]
    wrap: Callable[[Message, int], dict[str, Any]]


def canonical_method(message_type: str) -> str:
    """Chapter 8's method for a message type; one that has none stands for itself."""
    return _METHODS.get(message_type, message_type)


def _parity_choose(message_type: str) -> str:
    return "parity_choose" if message_type == MessageType.CHOOSE_PARITY_CALL else canonical_method(message_type)


def _camel(message_type: str) -> str:
    head, *humps = canonical_method(message_type).lower().split("_")
    return head + "".join(hump.capitalize() for hump in humps)


def _plain(method: Callable[[str], str]) -> Callable[[Message, int], dict[str, Any]]:
    return lambda message, rpc_id: rpc.call(method(message["message_type"]), message, rpc_id)


def _nested(method: str, change: Callable[[Message], Message] = dict) -> Callable[[Message, int], dict[str, Any]]:
    def wrap(message: Message, rpc_id: int) -> dict[str, Any]:
        changed = dict(change(message))
        # Some read params.message, some params itself: both are there.
        return rpc.call(method, changed | {"message": changed}, rpc_id)

    return wrap


def _tool(message: Message, rpc_id: int) -> dict[str, Any]:
    name = canonical_method(message["message_type"])
    return rpc.call("tools/call", {"name": name, "arguments": dict(message)}, rpc_id)


def _league_handle(message: Message, rpc_id: int) -> dict[str, Any]:
    head = {name: message[name] for name in _ENVELOPE if name in message}
    rest = {name: value for name, value in message.items() if name not in _ENVELOPE}
    return rpc.call("league.handle", {"envelope": head, "payload": rest}, rpc_id)


def legacy_message(message: Message) -> dict[str, Any]:
    """002's envelope and vocabulary around the same facts, which stay beside it."""
    kind = LEGACY_TYPES.get(message["message_type"], message["message_type"])
    rest = {name: value for name, value in message.items() if name not in _ENVELOPE}
    if "auth_token" in message:
        rest["auth_token"] = message["auth_token"]
    return {
        **message,
        "message_id": str(uuid.uuid4()),
        "type": kind,
        "message_type": kind,
        "correlation_id": message.get("conversation_id"),
        "payload": rest,
    }


def _legacy(message: Message, rpc_id: int) -> dict[str, Any]:
    changed = legacy_message(message)
    return rpc.call(changed["type"], changed, rpc_id)


def _constant(name: str) -> Callable[[str], str]:
    return lambda _: name


def _legacy_type(message_type: str) -> str:
    return LEGACY_TYPES.get(message_type, message_type)


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("canonical", canonical_method, _plain(canonical_method)),
        Shape("message_type", str, _plain(str)),
        Shape("parity_choose", _parity_choose, _plain(_parity_choose)),
        Shape("tools_call", _constant("tools/call"), _tool),
        # The agent's own names, from its tools/list; until they are known the canonical ones.
        Shape("tools_list", _constant("tools/call"), _tool),
        Shape("tools_methods", canonical_method, _plain(canonical_method)),
        Shape("handle_message", _constant("handle_message"), _nested("handle_message")),
        Shape("protocol_message", _constant("protocol/message"), _nested("protocol/message", legacy_message)),
        Shape("protocol_canonical", _constant("protocol/message"), _nested("protocol/message")),
        Shape("handle_legacy", _constant("handle_message"), _nested("handle_message", legacy_message)),
        Shape("league_handle", _constant("league.handle"), _league_handle),
        Shape("flat", _constant(""), lambda message, _: dict(message)),
        Shape("legacy", _legacy_type, _legacy),
        Shape("legacy_flat", _constant(""), lambda message, _: legacy_message(message)),
        Shape("mcp_message", _constant("mcp_message"), _nested("mcp_message")),
        Shape("message", _constant("message"), _nested("message")),
        Shape("camel", _camel, _plain(_camel)),
    )
}
"""In the order in which they are tried with an agent that nothing is known of."""

CANONICAL = "canonical"
LIKELY: dict[str, tuple[str, ...]] = {
    "canonical": ("canonical", "parity_choose"),
    "parity_choose": ("parity_choose", "canonical"),
    "tools_call": ("tools_call", "tools_list", "protocol_message", "protocol_canonical"),
    "tools_list": ("tools_list", "tools_call"),
    "tools_methods": ("tools_methods", "tools_list"),
    "handle_message": ("handle_message", "handle_legacy"),
    "handle_legacy": ("handle_legacy", "handle_message"),
    "protocol_message": ("protocol_message", "protocol_canonical"),
    "protocol_canonical": ("protocol_canonical", "protocol_message"),
    "legacy": ("legacy", "legacy_flat"),
    "legacy_flat": ("legacy_flat", "legacy"),
    "flat": ("flat", "message_type", "legacy_flat"),
}
"""What to try first with an agent that speaks in that shape otherwise; the rest of :data:`SHAPES` follows."""


def order(dialect: str, spoken: Mapping[str, str], message_type: str) -> list[str]:
    """The names of the shapes to try for a message, most likely first.

    Args:
        dialect: how the agent registered.
        spoken: by message type, what it was seen to understand.
        message_type: of the message to send.
    """
    known = [spoken[message_type]] if message_type in spoken else []
    # One that takes its invitations in some way takes its other messages so, too.
    others = [shape for kind, shape in spoken.items() if kind != message_type]
    near = [name for shape in (*known, *others, dialect) for name in LIKELY.get(shape, (shape,))]
    names = [*known, *others, *near, *SHAPES]
    return [name for name in dict.fromkeys(names) if name in SHAPES]


def signature(shape: str, message_type: str) -> tuple[str, str]:
    """What tells two shapes apart on the wire: some differ for some messages only."""
    family = "plain" if shape in ("canonical", "message_type", "parity_choose", "tools_methods", "camel") else shape
    return family, SHAPES[shape].method(message_type)


OF_TOOLS = ("tools_list", "tools_methods")
"""The shapes that use an agent's own names: as tools, and as methods."""


WHOLE = ("params", "message", "envelope", "payload", "request", "data", "body")
"""Arguments of a tool that stand for a whole message."""


def with_tools(
    shape: str,
    message: Message,
    rpc_id: int,
    tool: str,
    takes: Sequence[str] | None,
    texts: Collection[str] = (),
) -> dict[str, Any]:
    """A call of the agent's own tool.

    Args:
        shape: as a tool, or as a method of that name.
        message: what to say.
        rpc_id: of the request.
        tool: the tool's name.
        takes: its argument names, when its schema names them; None sends every field.
        texts: which of these are texts: a whole message goes into one as JSON.
    """
    arguments: dict[str, Any] = dict(message)
    if shape == "tools_methods":
        return rpc.call(tool, arguments, rpc_id)
    if takes is not None:
        wanted = [name for name in takes if name in message]
        # A single argument that is no field of ours can only be the message.
        whole = [name for name in takes if name in WHOLE or (len(takes) == 1 and not wanted)]
        arguments = {name: message[name] for name in wanted}
        arguments |= {name: rpc.dumps(message).decode() if name in texts else dict(message) for name in whole}
    return rpc.call("tools/call", {"name": tool, "arguments": arguments}, rpc_id)
