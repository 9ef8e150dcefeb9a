"""An impostor registers under the name and port of a referee of the site before the site has that referee."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.bots import words
from tests.e2e.site import Site, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_the_site_refuses_an_impostor_once_its_own_referee_has_registered(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
    try:
        port = site.referee_port + 1
        meta = words.meta("Referee 2", f"http://127.0.0.1:{port}/mcp")
        body = words.rpc("register_referee", words.registration("referee", "early", "conv-early", meta))
        impostor = httpx.post(f"{site.url}/mcp", json=body, trust_env=False).json()["result"]
        site.stop()
        site.options = ("--no-demo", "--referees", "2")
        site.start()

        sender, token = f"referee:{impostor['referee_id']}", impostor["auth_token"]
        heartbeat = words.message("report_progress", sender, "conv-early", auth_token=token, matches=[])
        call = words.rpc("report_progress", heartbeat)

        def refused() -> bool:
            answer = httpx.post(f"{site.url}/mcp", json=call, trust_env=False).json()
            return answer.get("error", {}).get("data", {}).get("error_code") == "E012"

        wait_for("the impostor's token is refused", refused, 20)
        assert site.stop() == 0
    finally:
        site.close()
