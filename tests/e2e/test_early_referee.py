"""Somebody registers under the name and port of a referee that a site does not have yet; then it is started with it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.e2e.site import Site, wait_for

pytestmark = pytest.mark.e2e


def test_who_came_before_a_referee_of_the_site_is_nobody_once_it_is_there(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
    try:
        port = site._referee_port + 1
        meta = {"display_name": "Referee 2", "version": "1.0.0", "game_types": ["even_odd"]}
        meta["contact_endpoint"] = f"http://127.0.0.1:{port}/mcp"
        asked = {"message_type": "REFEREE_REGISTER_REQUEST", "protocol": "league.v2", "referee_meta": meta}
        body = {"jsonrpc": "2.0", "method": "register_referee", "params": asked, "id": 1}
        early = httpx.post(f"{site.url}/mcp", json=body, trust_env=False).json()["result"]
        site.stop()
        site._options = ("--no-demo", "--referees", "2")
        site.start()

        beat = {"protocol": "league.v2", "message_type": "report_progress", "timestamp": "2025-01-15T10:05:00Z"}
        beat |= {"sender": f"referee:{early['referee_id']}", "conversation_id": "c", "auth_token": early["auth_token"]}
        call = {"jsonrpc": "2.0", "method": "report_progress", "params": beat | {"matches": []}, "id": 2}

        def refused() -> bool:
            answer = httpx.post(f"{site.url}/mcp", json=call, trust_env=False).json()
            return answer.get("error", {}).get("data", {}).get("error_code") == "E012"

        wait_for("the early one is nobody", refused, 20)
        assert site.stop() == 0
    finally:
        site.close()
