"""Players behind one address and port are played one after the other, until the instructor marks a gateway."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.bots.scripted import Result, listening, params_of, reply_to
from tests.e2e.site import Site, wait_for
from tests.e2e.test_desk import at_the_desk, click, expect_message, screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
LEAGUE = "behind"
PATHS = ("/a", "/b", "/c", "/d")
PATIENCE_S = 30.0
SETTINGS = {"join_timeout_s": 30, "move_timeout_s": 30}


class Gateway:
    """One port with an agent under each path; no agent chooses before the test allows it.

    Attributes:
        matches: the matches whose players were asked for their choice.
        may_choose: once it is set, the agents choose.
    """

    def __init__(self) -> None:
        self.matches: set[str] = set()
        self.may_choose = threading.Event()

    def __call__(self, body: Any) -> Result:
        params = params_of(body)
        if params.get("message_type") == "GAME_INVITATION":
            return reply_to(params, "GAME_JOIN_ACK", accept=True)
        if params.get("message_type") == "CHOOSE_PARITY_CALL":
            self.matches.add(str(params["match_id"]))
            self.may_choose.wait(PATIENCE_S)
            return reply_to(params, "CHOOSE_PARITY_RESPONSE", parity_choice="even")
        return {"status": "ok"}


@contextmanager
def behind_one_port() -> Iterator[tuple[Gateway, int]]:
    """A gateway that listens, and its port."""
    gateway = Gateway()
    with listening(gateway) as server:
        try:
            yield gateway, server.port
        finally:
            gateway.may_choose.set()


def register(site: Site, port: int) -> None:
    """Register a player under each path of the gateway."""
    for path in PATHS:
        message = {"name": f"Agent {path}", "endpoint": f"http://127.0.0.1:{port}{path}", "league_id": LEAGUE}
        assert site.http.post("/register", json=message).json()["player_id"]


@pytest.mark.long
def test_an_instructor_lets_the_matches_behind_one_port_run_at_once(tmp_path: Path, browser: Browser) -> None:
    site = Site(tmp_path / "data", "--no-demo")
    try:
        with behind_one_port() as (gateway, port):
            site.create(LEAGUE, **SETTINGS)
            register(site, port)
            with at_the_desk(browser, site, LEAGUE, "projector") as page:
                shared = page.locator("#desk-shared")
                # Before the round the desk says that its matches will wait for each other, and offers a remedy.
                expect(shared).to_contain_text(f"P01, P02, P03, P04 answer at 127.0.0.1, port {port}")
                click(page, "Close registration and make the schedule")
                expect(shared).to_contain_text("2 matches of round 1 in a row")
                site.post(f"/leagues/{LEAGUE}/start")
                wait_for("a match is played", lambda: gateway.matches)
                [first] = gateway.matches
                [other] = {"R1M1", "R1M2"} - {first}
                # While its players think, the other match of the round waits.
                expect(page.locator(f"#open-{other}")).to_contain_text(f"waits for {first}")
                states = {one["match_id"]: one["state"] for one in site.get(f"/leagues/{LEAGUE}/matches")}
                assert states[other] == "READY"
                assert gateway.matches == {first}
                screenshot(page, "desk-shared")

                click(page, "Mark 127.0.0.1 as a gateway")
                expect_message(page, "127.0.0.1 is marked as a gateway")
                wait_for("the other match is played, too", lambda: gateway.matches == {first, other})
                # No player of the first match has chosen yet, so it is still in play.
                states = {one["match_id"]: one["state"] for one in site.get(f"/leagues/{LEAGUE}/matches")}
                assert states[first] != "FINISHED"
                expect(page.locator("#desk-shared")).to_have_count(0)
                expect(page.locator("#desk-gateways")).to_contain_text("127.0.0.1")
                screenshot(page, "desk-gateways")
                gateway.may_choose.set()
                expect(page.locator(".desk-now")).to_contain_text("Round 1 is over")

                click(page, "127.0.0.1 is not a gateway")
                expect_message(page, "127.0.0.1 is not a gateway any more")
                expect(page.locator("#desk-gateways")).to_have_count(0)
                expect(page.locator("#desk-shared")).to_contain_text("2 matches of round 2 in a row")
            assert site.get("/gateways") == []
    finally:
        site.close()
