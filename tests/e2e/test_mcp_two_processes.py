"""A client of MCP whose requests come to two web processes in turn has one session (decision 43)."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.scaled import WebProcess, scaled_site
from tests.e2e.site import Player, wait_for
from tests.league_sdk.mcp.talking import handshake_body

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(240)]


class Client:
    """A client of the handshake era without a token."""

    def __init__(self) -> None:
        self.http = httpx.Client(timeout=20, trust_env=False)
        self.head = {"Accept": "application/json, text/event-stream"}

    def ask(self, web: WebProcess, method: str, **params: Any) -> httpx.Response:
        answer = self.http.post(f"{web.url}/mcp", json=handshake_body(method, **params), headers=self.head)
        if session := answer.headers.get("mcp-session-id"):
            self.head |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        return answer


def test_a_session_goes_on_at_every_web_process(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site, _redis = stack.enter_context(scaled_site(tmp_path))
        one, other = site.start_web(2)
        client = Client()
        stack.callback(client.http.close)
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert client.ask(one, "initialize", **about).status_code == 200
        for web in (other, one, other):
            assert client.ask(web, "tools/list").json()["result"]["tools"]
        uris = [row["uri"] for row in client.ask(other, "resources/list").json()["result"]["resources"]]
        standings = next(uri for uri in uris if "standings" in uri)
        with client.http.stream("GET", f"{other.url}/mcp", headers=client.head) as stream:
            assert stream.status_code == 200
            # The subscription comes to the process that has no stream. Each player that registers changes the table.
            assert client.ask(one, "resources/subscribe", uri=standings).status_code == 200
            stack.callback(Player(one, "Ada", tmp_path).close)
            told = next(json.loads(line[5:]) for line in stream.iter_lines() if line.startswith("data:"))
            assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", standings)
        assert client.http.delete(f"{one.url}/mcp", headers=client.head).status_code == 204
        wait_for("it is over at the other process", lambda: client.ask(other, "ping").status_code == 404)
        assert client.ask(one, "ping").status_code == 404
