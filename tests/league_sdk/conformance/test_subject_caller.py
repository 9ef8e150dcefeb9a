"""How the check sends a request to an agent."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from league_sdk.conformance.subject_caller import PIECES, SubjectCaller
from league_sdk.dialects.hunt import Memory
from league_sdk.transport.client import Client
from tests.bots.base import listening
from tests.paths import sample


async def test_a_slow_request_is_sent_in_pieces_with_its_length() -> None:
    pieces: list[bytes] = []
    lengths: list[int | None] = []

    async def serve(request: web.Request) -> web.Response:
        lengths.append(request.content_length)
        pieces.extend([piece async for piece in request.content.iter_any()])
        return web.json_response({"jsonrpc": "2.0", "result": {"accept": True}, "id": 1001})

    client = Client(agent_type="check")
    async with listening(serve) as url:
        caller = SubjectCaller(url, client, memory=Memory(), overall_s=10)
        exchange = await caller.ask(sample("GAME_INVITATION"), limit_s=5, slowly=True)
    await caller.aclose()
    await client.aclose()
    assert (exchange.answered, len(pieces), lengths) == (True, PIECES, [len(b"".join(pieces))])


async def send_messages(serve: Any, *names: str) -> tuple[list[bool], list[str]]:
    """Send messages to an agent; whether each was answered, and the User-Agent of each request."""
    callers: list[str] = []

    async def noting(request: web.Request) -> web.StreamResponse:
        callers.append(request.headers["User-Agent"].partition("/")[0])
        return await serve(request)

    client = Client(agent_type="check")
    async with listening(noting) as url:
        caller = SubjectCaller(url, client, memory=Memory(), overall_s=10)
        answered = [(await caller.ask(sample(name), limit_s=5)).answered for name in names]
        await caller.aclose()
    await client.aclose()
    return answered, callers


async def test_what_a_match_sends_comes_from_a_referee_over_connections_of_its_own() -> None:
    peers: list[object] = []

    async def serve(request: web.Request) -> web.Response:
        peers.append(request.transport)
        return web.json_response({"jsonrpc": "2.0", "result": {"accept": True}, "id": 1001})

    names = ("GAME_INVITATION", "LEAGUE_STANDINGS_UPDATE", "GAME_OVER", "ROUND_COMPLETED")
    assert await send_messages(serve, *names) == ([True] * 4, ["referee", "check", "referee", "check"])
    assert (peers[0], peers[1]) == (peers[2], peers[3])
    assert peers[0] is not peers[1]


async def test_an_agent_that_closes_the_connection_on_an_unknown_method_is_asked_in_the_next_way() -> None:
    async def serve(request: web.Request) -> web.Response:
        body = await request.json()
        if body.get("method") != "GAME_INVITATION":
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"jsonrpc": "2.0", "result": {"accept": True}, "id": body["id"]})

    answered, callers = await send_messages(serve, "GAME_INVITATION")
    assert answered == [True]
    assert len(callers) > 1


async def test_a_check_leaves_no_session_open() -> None:
    open_sessions: set[str] = set()
    verbs: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        session = request.headers.get("Mcp-Session-Id", "")
        verbs.append(request.method)
        if request.method == "DELETE":
            open_sessions.discard(session)
            return web.Response()
        body = await request.json()
        if body["method"] == "initialize":
            open_sessions.add("s1")
            agreed = {"protocolVersion": "2025-06-18", "capabilities": {}}
            reply = {"jsonrpc": "2.0", "id": body["id"], "result": agreed}
            return web.json_response(reply, headers={"Mcp-Session-Id": "s1"})
        if session not in open_sessions:
            refused = {"code": -32600, "message": "Missing session ID"}
            return web.json_response({"jsonrpc": "2.0", "id": None, "error": refused}, status=400)
        return web.json_response({"jsonrpc": "2.0", "result": {"accept": True}, "id": body.get("id")})

    assert await send_messages(serve, "GAME_INVITATION") == ([True], ["referee"] * 4 + ["check"])
    assert (verbs[-1], open_sessions) == ("DELETE", set())
