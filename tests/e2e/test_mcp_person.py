"""People who play by clicking in an MCP host, without or with a session: the tool ``play`` asks them for each move."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.mcp_tools import Tools
from tests.e2e.site import PATIENCE_S, Site
from tests.league_sdk.mcp.talking import BOTH, handshake_body, stateless

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "league_2025_even_odd"
CLICK = {"action": "accept", "content": {"move": "odd"}}
CAN_ASK = {"elicitation": {}}


class Person(ABC):
    """A person at an MCP host.

    Args:
        site: where the person registers.
        name: the name of the player.
    """

    def __init__(self, site: Site, name: str) -> None:
        stranger = Tools(site.url)
        self.token = stranger.call("register_player", display_name=name, delivery="poll")["auth_token"]
        stranger.close()
        head = {"Authorization": f"Bearer {self.token}", "Accept": BOTH}
        self.http = httpx.Client(base_url=site.url, headers=head, timeout=PATIENCE_S, trust_env=False)
        self.questions: list[str] = []
        self.events: list[str] = []

    def play(self) -> None:
        """Call the tool until the league is over."""
        again = True
        while again:
            result = self.call_once()
            assert not result["isError"], result
            content = result["structuredContent"]
            self.events += [event["message_type"] for event in content["events"] if "message_type" in event]
            again = content["call_again"]

    def click(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question."""
        assert question["requestedSchema"]["properties"]["move"]["enum"] == ["even", "odd"]
        self.questions.append(question["message"])
        return CLICK

    @abstractmethod
    def call_once(self) -> dict[str, Any]:
        """Call the tool once, answer its questions, and return its result."""


class PersonWithoutSession(Person):
    """At a host of 2026-07-28: a question ends the call, and the answer comes with the next one."""

    def call_once(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        while True:
            body, headers = stateless("tools/call", name="play", arguments={}, capabilities=CAN_ASK, **more)
            head = {name.replace("_", "-"): value for name, value in headers.items()}
            reply = self.http.post("/mcp", json=body, headers=head)
            assert reply.status_code == 200, reply.text
            result: dict[str, Any] = reply.json()["result"]
            if result["resultType"] == "complete":
                return result
            answers = {name: self.click(one["params"]) for name, one in result["inputRequests"].items()}
            more = {"inputResponses": answers, "requestState": result["requestState"]}


class PersonWithSession(Person):
    """At a host of 2025-11-25: questions come on the stream of the call."""

    def __init__(self, site: Site, name: str) -> None:
        super().__init__(site, name)
        who = {"protocolVersion": "2025-11-25", "capabilities": CAN_ASK, "clientInfo": {"name": "t", "version": "1"}}
        opened = self.http.post("/mcp", json=handshake_body("initialize", **who))
        self._session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        self.http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=self._session)

    def call_once(self) -> dict[str, Any]:
        body = handshake_body("tools/call", name="play", arguments={})
        with self.http.stream("POST", "/mcp", json=body, headers=self._session) as stream:
            if stream.headers["content-type"].startswith("application/json"):
                whole: dict[str, Any] = json.loads(stream.read())["result"]
                return whole
            for line in stream.iter_lines():
                message = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
                if message.get("method") == "elicitation/create":
                    answer = {"jsonrpc": "2.0", "id": message["id"], "result": self.click(message["params"])}
                    assert self.http.post("/mcp", json=answer, headers=self._session).status_code == 202
                elif "result" in message:
                    result: dict[str, Any] = message["result"]
                    return result
        raise AssertionError("the stream ended without a result")


def test_people_of_both_eras_play_a_league_by_clicking(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo")
    try:
        people = [
            kind(site, f"Person {n}") for n, kind in enumerate((PersonWithoutSession, PersonWithSession) * 2, start=1)
        ]
        with ThreadPoolExecutor(len(people)) as pool:
            games = [pool.submit(person.play) for person in people]
            site.play_to_the_end(LEAGUE)
            for game in games:
                game.result(timeout=PATIENCE_S)
        for person in people:
            assert len(person.questions) == 3
            assert all("your move, within" in question for question in person.questions)
            assert person.events.count("GAME_OVER") == 3
            assert person.events[-1] == "LEAGUE_COMPLETED"
            person.http.close()
        matches = site.get(f"/leagues/{LEAGUE}/matches")
        assert [(match["attempt"], match["status"] in ("WIN", "DRAW")) for match in matches] == [(1, True)] * 6
        assert site.stop() == 0
    finally:
        site.close()
