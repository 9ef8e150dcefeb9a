"""The headers and path that an inbox adds to a message, for a program that relays it to a server."""

from __future__ import annotations

import pytest

from league_sdk import bridge
from league_sdk.dialects.session import STATELESS_VERSION, Session
from league_sdk.protocol.inbox import SERVER_HEADERS, as_called


@pytest.mark.parametrize("session", [Session("s1"), Session(version=STATELESS_VERSION)])
def test_every_header_of_a_session_reaches_a_relayed_server(session: Session) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "choose_parity", "arguments": {}}}
    _body, headers = session.prepared(call)
    assert len(headers) > 1
    sent = headers | {"Authorization": "Bearer x", "Content-Type": "application/json"}
    assert as_called(path="", headers={name.title(): value for name, value in sent.items()}) == {"headers": headers}
    assert bridge.MCP_HEADER_PREFIX == SERVER_HEADERS


def test_only_a_path_and_the_headers_of_a_session_are_added() -> None:
    assert as_called(path="", headers={"Content-Type": "application/json"}) == {}
    assert as_called(path="/mcp/", headers={}) == {"path": "/mcp/"}
