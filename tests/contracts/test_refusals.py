"""All servers refuse an invalid request with the same HTTP status and the same code (ruling, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents_registry.addresses.callers import Caller
from league_sdk.dialects.exchange import AnyDialect
from league_sdk.judging.door import http as door_http
from league_sdk.player import server as player_server
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Post
from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite.mcp.calls import Source
from leaguesite.mcp.dispatcher import Answering


class Unregistered:
    """A referee that has not registered yet."""

    referee_id = ""


SERVERS: dict[str, Callable[[], Exchange[Any]]] = {
    "league manager": lambda: Answering(Source(Caller("127.0.0.1"))),
    "referee": lambda: door_http.Answering(Unregistered()),  # type: ignore[arg-type]
    "player": player_server._Answering,
    "check": AnyDialect,
}
REFUSED = {
    "too large": (Post(b" " * (MAX_BODY_BYTES + 1)), 413, -32600),
    "another content type": (Post(b"{}", "text/plain"), 200, -32600),
    "a compressed body": (Post(b"\x1f\x8b", content_encoding="gzip"), 200, -32600),
    "no JSON": (Post(b"{"), 200, -32700),
    "not UTF-8": (Post(b"\xff\xfe{\x00"), 200, -32700),
    "a key twice": (Post(b'{"method": "a", "method": "b"}'), 200, -32700),
    "nested too deeply": (Post(b"[" * 5000 + b"]" * 5000), 200, -32700),
    "a batch": (Post(b"[]"), 200, -32600),
    "no object": (Post(b"17"), 200, -32600),
    "another version": (Post(b'{"jsonrpc": "1.0", "method": "ping", "id": 1}'), 200, -32600),
    "no method": (Post(b'{"jsonrpc": "2.0", "id": 1}'), 200, -32600),
    "an id of a wrong type": (Post(b'{"jsonrpc": "2.0", "method": "ping", "id": [1]}'), 200, -32600),
    "params that are a list": (Post(b'{"jsonrpc": "2.0", "method": "ping", "params": [1], "id": 1}'), 200, -32602),
}
"""By what is wrong: the request, and the HTTP status and JSON-RPC code of the refusal."""


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", REFUSED)
def test_every_server_refuses_an_invalid_request_with_the_same_codes(server: str, name: str) -> None:
    post, status, code = REFUSED[name]
    exchange = SERVERS[server]()
    with exchange.guarded():
        exchange.read(post)
        pytest.fail("the invalid request was read")
    assert isinstance(exchange.reply.body, bytes)
    reply = rpc.loads(exchange.reply.body)
    assert (exchange.reply.status, reply["error"]["code"], reply["error"]["data"]["error_code"]) == (
        status,
        code,
        "E002",
    )
