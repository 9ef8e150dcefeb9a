"""The exchange that answers every request in the shape it came in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league_sdk.dialects.exchange import AnyDialect
from league_sdk.protocol.dispatch import Post

TOKEN = "tok_" + "1" * 32
PLAIN = {"jsonrpc": "2.0", "method": "get_standings", "params": {"league_id": "fall"}, "id": 5}
TOOL = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "get_standings", "arguments": {}}, "id": "a"}


@pytest.mark.parametrize(
    ("body", "within"),
    [(PLAIN, lambda reply: reply["result"]), (TOOL, lambda reply: reply["result"]["structuredContent"])],
    ids=["plain", "tool"],
)
def test_an_answer_has_the_shape_of_its_question(body: dict[str, Any], within: Any) -> None:
    exchange = AnyDialect()
    incoming = exchange.read(Post(json.dumps(body).encode(), "application/json", f"Bearer {TOKEN}"))
    assert (incoming.name, incoming.message["auth_token"]) == ("get_standings", TOKEN)
    exchange.answer({"standings": []})
    reply = json.loads(exchange.reply.body)
    assert (reply["id"], within(reply)) == (body["id"], {"standings": []})


def test_a_name_and_an_address_are_a_registration_where_the_server_says_so() -> None:
    flat = json.dumps({"name": "Ada", "endpoint": "http://127.0.0.1:8101/mcp"}).encode()
    exchange = AnyDialect()
    exchange.registers = True
    assert exchange.read(Post(flat, "application/json")).name == "LEAGUE_REGISTER_REQUEST"
