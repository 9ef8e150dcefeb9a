"""A player that is an MCP server with a session: greeted once, greeted again when it has forgotten us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from league_sdk.dialects import session
from league_sdk.judging.referee import Referee
from league_sdk.transport.client import Reply
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.test_player_line import INVITATION, seat
from tests.league_sdk.judging.test_player_line import ask as asking


class Server:
    """Instead of the HTTP client: a server that wants a session."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.sessions: set[str] = set()
        self.methods: list[str] = []
        self.stubborn = stubborn

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        self.methods.append(str(message.get("method")))
        if message.get("method") == "initialize":
            held = f"s{self.methods.count('initialize')}"
            self.sessions.add(held)
            result = {"protocolVersion": "2025-03-26"}
            return Reply(
                200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, "", 0, {"mcp-session-id": held}
            )
        if self.stubborn or (headers or {}).get("mcp-session-id") not in self.sessions:
            return Reply(
                404, {"jsonrpc": "2.0", "id": "x", "error": {"code": -32001, "message": "Session not found"}}, "", 0
            )
        if self.methods[-1].startswith("notifications/"):
            return Reply(202, None, "", 0)
        return Reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"accept": True}}, "", 0)

    async def aclose(self) -> None:
        self.sessions.clear()


async def test_a_session_is_opened_kept_and_opened_again(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    ask = await asking(referee, stage, monkeypatch, server)
    heard = await ask(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)
    opening = ["handle_game_invitation", "initialize", "notifications/initialized", "handle_game_invitation"]
    assert (heard.message, server.methods) == ({"accept": True}, opening)
    await ask(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)
    assert server.methods[4:] == ["handle_game_invitation"]
    server.sessions.clear()
    assert (await ask(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)).message == {"accept": True}
    assert server.methods[5:] == opening


async def test_a_server_that_takes_no_session_is_not_greeted_for_ever(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(stubborn=True)
    ask = await asking(referee, stage, monkeypatch, server)
    heard = await ask(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)
    assert (heard.error_code, server.methods.count("initialize")) == ("E002", session.MOST_SESSIONS)
