"""The league manager as an MCP server over real sockets: clients, with a session or without, are told of changes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from league_sdk.mcp.listening import MAX_LISTENERS_PER_CALLER
from league_sdk.mcp.versions import META
from tests.e2e.site import PATIENCE_S, ROOT, Site, site_with_players
from tests.league_sdk.mcp.talking import handshake_body, stateless

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "league_2025_even_odd"
BOTH = "application/json, text/event-stream"


def _head(**headers: str) -> dict[str, str]:
    return {"Accept": BOTH} | {name.replace("_", "-"): value for name, value in headers.items()}


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    return (json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:"))


def test_clients_of_both_eras_are_told_of_a_league_as_it_is_played(tmp_path: Path) -> None:
    uri = f"league://{LEAGUE}/standings"
    with (
        site_with_players(tmp_path, 2) as (site, _players),
        httpx.Client(timeout=PATIENCE_S, trust_env=False) as client,
    ):
        address = f"{site.url}/mcp"
        hello = client.post(
            address,
            json=handshake_body("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t"}),
            headers=_head(),
        )
        session = _head(mcp_session_id=hello.headers["mcp-session-id"], mcp_protocol_version="2025-11-25")
        body, headers = stateless("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
        with (
            client.stream("POST", address, json=body, headers=_head(**headers)) as listening,
            client.stream("GET", address, headers=session) as notifications,
        ):
            events, messages = _events(listening.iter_lines()), _events(notifications.iter_lines())
            assert next(events)["method"] == "notifications/subscriptions/acknowledged"
            client.post(address, json=handshake_body("resources/subscribe", uri=uri), headers=session)
            site.play_to_the_end(LEAGUE)

            update = next(events)
            assert (update["method"], update["params"]["uri"]) == ("notifications/resources/updated", uri)
            assert update["params"]["_meta"] == {f"{META}subscriptionId": 7}
            assert next(messages) == {
                "jsonrpc": "2.0",
                "method": "notifications/resources/updated",
                "params": {"uri": uri},
            }

            body, headers = stateless("resources/read", uri=uri)
            contents = client.post(address, json=body, headers=_head(**headers)).json()["result"]["contents"]
            assert json.loads(contents[0]["text"])["standings"] == site.get(f"/leagues/{LEAGUE}/standings")
            # The streams end when the site stops, within its time limit for stopping.
            assert site.stop() == 0
            assert [message for message in events if "result" in message] == [
                {"jsonrpc": "2.0", "id": 7, "result": {"resultType": "complete", "_meta": {f"{META}subscriptionId": 7}}}
            ]


def test_the_script_in_the_documentation_reads_the_table(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    with site_with_players(tmp_path, 2) as (site, _players):
        site.play_to_the_end(LEAGUE)
        address = "http://localhost:8000/mcp"
        assert script.count(address) == 1
        ran = subprocess.run(
            [sys.executable, "-c", script.replace(address, f"{site.url}/mcp")],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [(row["rank"], row["display_name"], row["points"]) for row in site.get(f"/leagues/{LEAGUE}/standings")]
        assert ran.stdout.splitlines() == [f"{LEAGUE} COMPLETED", *(" ".join(map(str, row)) for row in rows)]


def test_streams_that_stay_open_leave_room_for_others(tmp_path: Path) -> None:
    few_files = ("/bin/sh", "-c", 'ulimit -Sn 128; exec "$0" "$@"', sys.executable, "manage.py")
    body, headers = stateless("subscriptions/listen", notifications={})
    site = Site(tmp_path / "data", command=few_files)
    limits = httpx.Limits(max_connections=None)
    with ExitStack() as open_streams:
        open_streams.callback(site.close)
        client = open_streams.enter_context(httpx.Client(timeout=PATIENCE_S, trust_env=False, limits=limits))
        for _ in range(MAX_LISTENERS_PER_CALLER):
            stream = client.stream("POST", f"{site.url}/mcp", json=body, headers=_head(**headers))
            assert open_streams.enter_context(stream).status_code == 200
        assert client.post(f"{site.url}/mcp", json=body, headers=_head(**headers)).status_code == 503
        assert site.http.get("/health").status_code == 200
