"""A player that is an MCP server with sessions: one is opened, and another when the server has forgotten it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from league_sdk.dialects import session
from league_sdk.dialects.kept import IDLE_S
from league_sdk.dialects.session import STATELESS_VERSION
from league_sdk.transport.client import Reply
from tests.league_sdk.judging.called_agent import INVITATION, P01, Agent, ask, caller_of, ok, reply

FORGOTTEN = reply(404, {"jsonrpc": "2.0", "id": "x", "error": {"code": -32001, "message": "Session not found"}})


class Server(Agent):
    """A server that wants a session; a stubborn one accepts none."""

    def __init__(self, *, stubborn: bool = False) -> None:
        super().__init__(self.reply)
        self.sessions: set[str] = set()
        self.stubborn = stubborn

    def reply(self, body: dict[str, Any]) -> Reply:
        if body.get("method") == "initialize":
            session_id = f"s{self.methods.count('initialize')}"
            self.sessions.add(session_id)
            answer = {
                "jsonrpc": "2.0",
                "id": body["id"],
                "result": {"protocolVersion": "2025-03-26", "capabilities": {}},
            }
            return Reply(200, answer, "", 0, {"mcp-session-id": session_id})
        if self.stubborn or self.headers.get("mcp-session-id") not in self.sessions:
            return FORGOTTEN
        return reply(202, None) if str(body.get("method")).startswith("notifications/") else ok({"accept": True})


async def test_a_session_is_opened_kept_and_opened_again() -> None:
    server = Server()
    caller = caller_of(server)
    opening = ["handle_game_invitation", "initialize", "notifications/initialized", "handle_game_invitation"]
    assert ((await ask(caller, INVITATION)).message, server.methods) == ({"accept": True}, opening)
    await ask(caller, INVITATION)
    assert server.methods[4:] == ["handle_game_invitation"]
    server.sessions.clear()
    assert (await ask(caller, INVITATION)).message == {"accept": True}
    assert server.methods[5:] == opening


async def test_a_server_that_is_known_to_want_a_session_gets_one_before_the_first_call() -> None:
    server = Server()
    caller = caller_of(server)
    known = replace(P01, learned={"session": True, "mcp": "2025-03-26"})
    assert (await ask(caller, INVITATION, seat=known)).message == {"accept": True}
    assert server.methods == ["initialize", "notifications/initialized", "handle_game_invitation"]
    assert caller.learned(known) == {}


async def test_a_server_that_is_known_to_take_stateless_calls_gets_them() -> None:
    server = Agent(lambda _: ok({"accept": True}))
    caller = caller_of(server)
    tool = {"name": "join", "arguments": [["match_id", "string", True, []]]}
    known = {"spoken": {"GAME_INVITATION": "tools_list"}, "learned": {"mcp": STATELESS_VERSION}}
    known["learned"]["own"] = {"GAME_INVITATION": tool}
    await ask(caller, INVITATION, seat=replace(P01, **known))
    assert (server.methods, server.headers["mcp-name"]) == (["tools/call"], "join")
    assert server.posted[0][1]["params"]["arguments"] == {"match_id": "R1M1"}


async def test_sessions_are_ended_when_a_referee_stops() -> None:
    server = Server()
    caller = caller_of(server)
    await ask(caller, INVITATION)
    await caller.aclose()
    assert server.deleted == [(P01.endpoint, "s1")]


async def test_a_session_is_not_ended_during_a_call_that_takes_long() -> None:
    server = Server()
    caller = caller_of(server)
    await ask(caller, INVITATION)
    server.seconds = IDLE_S + 100
    thinking = asyncio.create_task(ask(caller, INVITATION, limit_s=IDLE_S + 200))
    await server.clock.sleep(IDLE_S + 50)
    await caller._sessions.end_idle()
    assert server.deleted == []
    assert (await thinking).message == {"accept": True}
    await server.clock.sleep(IDLE_S)
    await caller._sessions.end_idle()
    assert server.deleted == [(P01.endpoint, "s1")]


async def test_a_server_that_accepts_no_session_is_not_asked_for_ever() -> None:
    server = Server(stubborn=True)
    result = await ask(caller_of(server), INVITATION)
    assert (result.error_code, server.methods.count("initialize")) == ("E002", session.MAX_USELESS_SESSIONS)
