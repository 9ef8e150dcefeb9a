"""Reading requests of every shape (ruling, sections 2 and 3), and answering in the same shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.dialects import inbound
from league_sdk.protocol.errors import InvalidFormat, LeagueError, MissingField, NotARequest

META = {"display_name": "Alpha", "contact_endpoint": "http://localhost:8101/mcp"}
REGISTER = {"message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:alpha", "player_meta": META}
ANSWER = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_REGISTER_RESPONSE",
    "sender": "league_manager:LM01",
    "timestamp": "2025-01-15T10:05:00Z",
    "conversation_id": "conv-1",
    "auth_token": "the token",
    "status": "ACCEPTED",
    "player_id": "P01",
}
RPC_FIELDS: dict[str, Any] = {"jsonrpc": "2.0", "id": 3}


def call(method: str, params: Any) -> dict[str, Any]:
    return RPC_FIELDS | {"method": method, "params": params}


ENVELOPE = {"message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:alpha"}
LEGACY = {
    "protocol": "league.v2",
    "message_id": "0f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "type": "PLAYER_REGISTER_REQUEST",
    "sender": "player:alpha",
    "timestamp": "2025-01-01T00:00:00.000Z",
    "payload": {"player_meta": META},
}
REGISTRATIONS: dict[str, tuple[dict[str, Any], str]] = {  # by name: the body, and the shape that it has
    "chapter 8": (call("register_player", REGISTER), "canonical"),
    "message type": (call("LEAGUE_REGISTER_REQUEST", REGISTER), "message_type"),
    "002's type": (call("PLAYER_REGISTER_REQUEST", REGISTER), "message_type"),
    "league_register": (call("league_register", REGISTER), "canonical"),
    "tools/call": (call("tools/call", {"name": "register_player", "arguments": REGISTER}), "tools_call"),
    "tools/call, params": (
        call("tools/call", {"name": "register_player", "arguments": {"params": REGISTER}}),
        "tools_call",
    ),
    "handle_message": (call("handle_message", {"message": REGISTER}), "handle_message"),
    "handle_message, flat": (call("handle_message", REGISTER), "handle_message"),
    "protocol/message": (call("protocol/message", {"message": REGISTER}), "protocol_message"),
    "league.handle": (
        call("league.handle", {"envelope": ENVELOPE, "payload": {"player_meta": META}}),
        "league_handle",
    ),
    "mcp_message": (call("mcp_message", REGISTER), "mcp_message"),
    "a method of its own": (call("do_register", REGISTER), "canonical"),
    "flat": (REGISTER, "flat"),
    "002": (LEGACY, "legacy_flat"),
    "002 in JSON-RPC": (call("PLAYER_REGISTER_REQUEST", LEGACY), "legacy"),
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_read_understands_a_registration_of_every_shape(name: str) -> None:
    body, shape = REGISTRATIONS[name]
    incoming = inbound.read(body)
    assert (incoming.shape, incoming.name) == (shape, "LEAGUE_REGISTER_REQUEST")
    assert (incoming.message["player_meta"], incoming.message["sender"]) == (META, "player:alpha")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"name": "Alpha", "endpoint": "http://localhost:8101"}, "LEAGUE_REGISTER_REQUEST"),
        ({"request_id": "r1", "data": {"name": "Alpha"}}, "LEAGUE_REGISTER_REQUEST"),
        ({"name": "R", "agent_type": "referee"}, "REFEREE_REGISTER_REQUEST"),
        ({"referee_meta": {"display_name": "R"}}, "REFEREE_REGISTER_REQUEST"),
        ({"message_type": "REFEREE_REGISTER_REQUEST"}, "REFEREE_REGISTER_REQUEST"),
    ],
)
def test_read_takes_a_small_body_at_register(body: dict[str, Any], kind: str) -> None:
    incoming = inbound.read(body, register=True)
    assert (incoming.shape, incoming.name, incoming.rpc) == ("register", kind, False)


def test_read_takes_json_rpc_at_register_for_json_rpc() -> None:
    assert inbound.read(call("register_player", REGISTER), register=True).shape == "canonical"


PATH_OF_MESSAGE: dict[str, tuple[str, ...]] = {  # in the reply to each shape
    "chapter 8": ("result",),
    "message type": ("result",),
    "tools/call": ("result", "structuredContent"),
    "handle_message": ("result",),
    "protocol/message": ("result",),
    "league.handle": ("result", "payload"),
    "mcp_message": ("result",),
    "flat": (),
    "002": (),
    "002 in JSON-RPC": ("result",),
}


@pytest.mark.parametrize("name", PATH_OF_MESSAGE)
def test_reply_puts_the_token_where_the_sender_of_each_shape_looks(name: str) -> None:
    part: Any = inbound.reply(inbound.read(REGISTRATIONS[name][0]), ANSWER)
    if PATH_OF_MESSAGE[name]:
        assert (part["jsonrpc"], part["id"]) == ("2.0", 3)
    for step in PATH_OF_MESSAGE[name]:
        part = part[step]
    assert (part["auth_token"], part["player_id"], part["status"]) == ("the token", "P01", "ACCEPTED")


def test_reply_to_a_tool_call_holds_the_message_as_text_too() -> None:
    incoming = inbound.read(REGISTRATIONS["tools/call"][0])
    result = inbound.reply(incoming, ANSWER)["result"]
    assert json.loads(result["content"][0]["text"]) == ANSWER
    assert (result["isError"], result["auth_token"]) == (False, "the token")


def test_reply_to_a_002_request_has_the_002_envelope() -> None:
    reply = inbound.reply(inbound.read(LEGACY), ANSWER)
    assert (reply["type"], reply["correlation_id"]) == ("PLAYER_REGISTER_RESPONSE", LEGACY["message_id"])
    assert reply["payload"] == {"status": "ACCEPTED", "player_id": "P01", "auth_token": "the token"}
    assert (reply["auth_token"], "jsonrpc" in reply) == ("the token", False)


def test_reply_repeats_the_request_id_of_a_register_body() -> None:
    incoming = inbound.read({"request_id": "r1", "data": {"name": "Alpha"}}, register=True)
    reply = inbound.reply(incoming, ANSWER)
    assert (reply["request_id"], reply["data"], reply["auth_token"]) == ("r1", ANSWER, "the token")


ERROR = {"message_type": "LEAGUE_ERROR", "error_code": "E003", "message": "display_name is missing."}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("chapter 8", ("error", "data")),
        ("handle_message", ("error", "data")),
        ("tools/call", ("result", "structuredContent")),
        ("flat", ()),
        ("002", ()),
    ],
)
def test_refuse_has_the_shape_of_the_request(name: str, path: tuple[str, ...]) -> None:
    part: Any = inbound.refuse(
        inbound.read(REGISTRATIONS[name][0]), code=-32602, sentence="display_name is missing.", data=ERROR
    )
    for step in path:
        part = part[step]
    assert part["error_code"] == "E003"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (None, NotARequest),
        ([], NotARequest),
        ([REGISTER], NotARequest),
        ({}, NotARequest),
        ({"jsonrpc": "2.0", "id": 1}, NotARequest),
        ({"player_meta": META}, NotARequest),
        ({"jsonrpc": "1.0", "method": "ping"}, NotARequest),
        (call("handle_message", {}), MissingField),
        (call("handle_message", {"message": "x"}), MissingField),
        (call("tools/call", {}), MissingField),
        (call("tools/call", {"name": "ping", "arguments": [1]}), InvalidFormat),
        (call("register_player", [1]), InvalidFormat),
    ],
)
def test_read_refuses_bodies_that_are_not_requests(body: Any, error: type[LeagueError]) -> None:
    with pytest.raises(error):
        inbound.read(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["jsonrpc", "method", "params", "id", "message", "message_type", "type", "payload", "envelope", "name",
             "arguments", "data", "request_id", "sender"]
        ),
        inner | st.sampled_from(["tools/call", "handle_message", "league.handle", "2.0", "LEAGUE_QUERY"]),
        max_size=5,
    ),
    max_leaves=15,
)  # fmt: skip


@given(body=JSON, register=st.booleans())
def test_any_json_is_read_or_refused(body: Any, register: bool) -> None:
    try:
        incoming = inbound.read(body, register=register)
    except LeagueError as error:
        assert error.error_code in ("E002", "E003")
    else:
        assert isinstance(incoming.name, str)
        json.dumps(inbound.reply(incoming, ANSWER))
        json.dumps(inbound.refuse(incoming, code=-32602, sentence="x", data=ERROR))


@pytest.mark.parametrize("tool", sorted(inbound.TOOLS))
def test_read_takes_a_known_tool_for_that_tool_whatever_type_is_inside(tool: str) -> None:
    incoming = inbound.read(call(tool, {"message_type": "LEAGUE_QUERY", "sender": "player:P01"}))
    assert incoming.name == tool


@pytest.mark.parametrize("method", ["choose_parity", "CHOOSE_PARITY_CALL", "make_move", "handle_game_invitation"])
def test_read_recognises_an_answer_sent_under_the_method_of_the_question(method: str) -> None:
    answer = {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "parity_choice": "odd"}
    assert inbound.read(call(method, answer)).name == "CHOOSE_PARITY_RESPONSE"
    assert inbound.read(call("tools/call", {"name": method, "arguments": answer})).name == "CHOOSE_PARITY_RESPONSE"
    name = inbound.read(call(method, {"message_type": "LEAGUE_QUERY", "sender": "player:P01"})).name
    assert name == inbound.read(call(method, {})).name


def test_read_recognises_an_answer_posted_as_a_json_rpc_response() -> None:
    answer = {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "accept": True}
    incoming = inbound.read({"jsonrpc": "2.0", "id": 7, "result": answer})
    assert (incoming.name, incoming.message) == ("GAME_JOIN_ACK", answer)
    assert inbound.reply(incoming, ANSWER) == {"jsonrpc": "2.0", "id": 7, "result": ANSWER}
