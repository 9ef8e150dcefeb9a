"""What a hostile client can make a server keep, and what it can take from other clients."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from league_sdk.mcp import listening
from league_sdk.mcp.errors import SessionGone
from league_sdk.mcp.registry import MAX_URI_CHARS
from league_sdk.mcp.requests import MAX_ID_CHARS, HttpRequest, run_at_once
from league_sdk.mcp.sessions import Sessions
from tests.league_sdk.mcp.talking import Talk, handshake_body, stateless

LONG_URI = f"test://many/{'x' * MAX_URI_CHARS}/part"


@pytest.mark.parametrize("rpc_id", ["x" * (MAX_ID_CHARS + 1), 10**MAX_ID_CHARS], ids=["text", "number"])
async def test_a_long_id_is_refused_because_every_message_of_a_stream_would_repeat_it(rpc_id: Any) -> None:
    body, headers = stateless("subscriptions/listen", notifications={})
    for sent, sent_headers in ((body | {"id": rpc_id}, headers), (handshake_body("ping", rpc_id=rpc_id), {})):
        answer = await Talk().send(sent, **sent_headers)
        assert (answer.status, answer.code) == (400, -32600)


async def test_no_session_and_no_stream_remembers_a_long_address() -> None:
    talk = Talk()
    session = await talk.session()
    for method in ("resources/subscribe", "resources/read"):
        assert (await talk.send(handshake_body(method, uri=LONG_URI), mcp_session_id=session)).code == -32602
    body, headers = stateless("subscriptions/listen", notifications={"resourceSubscriptions": [LONG_URI]})
    reply = await talk.server.handle(talk.request(body, **headers))
    assert not isinstance(reply.body, bytes | None)
    assert b"x" * 100 not in await anext(reply.body)


async def test_a_session_remembers_no_capability_that_means_nothing_here() -> None:
    talk = Talk()
    session = await talk.session(elicitation={"form": ["x"] * 1_000}, junk=[[]] * 1_000)
    assert talk.sessions.get(session, talk.caller).capabilities == {"elicitation": {}}


# Others' sessions and streams -------------------------------------------------------------------


async def _open_stream(talk: Talk, session: str) -> Any:
    reply = await talk.server.handle(talk.request(b"", method="GET", mcp_session_id=session))
    assert not isinstance(reply.body, bytes | None)
    return reply.body


async def test_the_caller_with_the_most_sessions_loses_its_own_and_those_without_a_stream_first() -> None:
    talk = Talk(caller="other", max_sessions=4)
    known = [talk.sessions.get(await talk.session(), "other")]
    talk.caller = "crowd"
    streaming, oldest = await talk.session(), await talk.session()
    await _open_stream(talk, streaming)
    for session in (streaming, oldest):
        talk.sessions.get(session, "crowd").log_level = "debug"
    newer = [await talk.session() for _ in range(2)]
    talk.caller = "late"
    await talk.session()
    assert len(talk.sessions) == 4
    assert talk.sessions.get(streaming, "crowd").log_level == "debug"
    # A session that was forgotten goes on with nothing that was in it, in the place of another one of its caller.
    assert talk.sessions.get(oldest, "crowd").log_level is None
    assert talk.sessions.get(known[0].id, "other") is known[0]
    assert newer
    talk.server.close()


async def test_the_caller_with_the_most_streams_loses_its_own_oldest() -> None:
    talk = Talk(caller="other", listeners=listening.Listeners(max_listeners=3))
    streams = [await _open_stream(talk, await talk.session())]
    talk.caller = "crowd"
    streams += [await _open_stream(talk, await talk.session()) for _ in range(2)]
    talk.caller = "late"
    streams.append(await _open_stream(talk, await talk.session()))
    reading = [asyncio.ensure_future(anext(stream, b"ended")) for stream in streams]
    await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
    assert [one.done() for one in reading] == [False, True, False, False]
    talk.server.listeners.list_changed("tools")
    assert [b"list_changed" in part for part in await asyncio.gather(*reading)] == [True, False, True, True]
    talk.server.close()


def test_sessions_are_opened_and_ended_in_several_threads_at_once() -> None:
    opened = Sessions(b"key", lambda: 0.0)

    def opens(caller: int) -> int:
        lost_sessions = 0
        for _ in range(1_500):
            session = opened.open(str(caller), "2025-11-25", {})
            try:
                opened.end(session.id, session.caller)
            except SessionGone:
                lost_sessions += 1
        return lost_sessions

    for _ in range(500):
        opened.open("idle", "2025-11-25", {})
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            assert sum(threads.map(opens, range(3))) == 0
    finally:
        sys.setswitchinterval(before)
    assert len(opened) == 500


async def test_other_work_goes_on_between_the_notifications_of_listeners() -> None:
    order: list[str] = []
    listeners = listening.Listeners()
    for name in ("first", "second"):
        one_uri = listening.Filter(uris={"test://one"})
        listeners.add(one_uri, name, lambda method, params, name=name: order.append(name), order.clear)
    telling = asyncio.create_task(listeners.updated_in_turn(["test://one"]))
    await asyncio.sleep(0)
    order.append("other work")
    await telling
    assert order == ["first", "other work", "second"]


# Answers ------------------------------------------------------------------------------------------


async def test_what_waits_for_a_stream_is_sent_in_one_part() -> None:
    talk = Talk()
    stream = await _open_stream(talk, await talk.session())
    for kind in ("tools", "prompts"):
        talk.server.listeners.list_changed(kind)  # type: ignore[arg-type]
    assert (await anext(stream)).count(b"data: ") == 2
    talk.server.close()


def test_a_client_that_accepts_streams_only_gets_an_answer_made_at_once_as_a_stream() -> None:
    body, headers = stateless("tools/call", name="echo", arguments={"a": 1})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = HttpRequest("POST", named | {"accept": "text/event-stream"}, at_once=True, decoded=body)
    reply = run_at_once(Talk().server.handle(request))
    assert reply.headers["Content-Type"] == "text/event-stream"
    assert isinstance(reply.body, bytes)
    assert json.loads(reply.body.partition(b"data: ")[2])["result"]["structuredContent"]["arguments"] == {"a": 1}
