"""A session goes on at every process that has the key, and at no other caller's request (decision 43)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from league_sdk.mcp.sessions import LIFETIME_S
from tests.league_sdk.mcp.talking import Talk, events, handshake_body


@pytest.fixture
def processes() -> tuple[Talk, Talk]:
    """Two processes of one site, each of which hears at once what the other tells."""
    one, other = Talk(), Talk()
    for talk in (one, other):
        talk.sessions.tell_others = lambda message: [each.sessions.hear(message) for each in (one, other)]
    return one, other


async def status_of(talk: Talk, session: str, method: str = "ping", **params: Any) -> int:
    return (await talk.send(handshake_body(method, **params), mcp_session_id=session)).status


async def test_every_process_serves_a_session_that_one_has_opened(processes: tuple[Talk, Talk]) -> None:
    session = await processes[0].session()
    for talk in (*processes, *processes):
        assert await status_of(talk, session, "tools/list") == 200


async def test_a_question_of_one_process_is_answered_through_the_other(processes: tuple[Talk, Talk]) -> None:
    one, other = processes
    session = await one.session(elicitation={})
    # The first request with it comes to the process that has not seen it: that one knows what was declared.
    reply = await other.server.handle(other.request(handshake_body("tools/call", name="greet"), mcp_session_id=session))
    assert not isinstance(reply.body, bytes | None)
    stream = events(reply.body)
    question = await anext(stream)
    answer = {"action": "accept", "content": {"name": "Ada"}}
    posted = await one.send({"jsonrpc": "2.0", "id": question["id"], "result": answer}, mcp_session_id=session)
    assert posted.status == 202
    assert (await anext(stream))["result"]["content"][0]["text"] == "accept {'name': 'Ada'}"


async def test_a_request_of_one_process_is_cancelled_through_the_other(processes: tuple[Talk, Talk]) -> None:
    one, other = processes
    session = await one.session(elicitation={})
    reply = await one.server.handle(one.request(handshake_body("tools/call", name="greet"), mcp_session_id=session))
    assert not isinstance(reply.body, bytes | None)
    stream = events(reply.body)
    await anext(stream)
    await other.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}, mcp_session_id=session
    )
    assert (await anext(stream))["error"]["message"] == "The request was cancelled."


async def test_a_stream_tells_what_was_subscribed_to_at_another_process(processes: tuple[Talk, Talk]) -> None:
    one, other = processes
    session = await one.session()
    # Before the stream is there, and after it.
    await status_of(one, session, "resources/subscribe", uri="test://one")
    reply = await other.server.handle(other.request(b"", method="GET", mcp_session_id=session))
    assert not isinstance(reply.body, bytes | None)
    stream = events(reply.body)
    await status_of(one, session, "resources/subscribe", uri="test://many/1/part")
    other.server.listeners.updated(["test://one"])
    other.server.listeners.updated(["test://many/1/part"])
    told = [(await anext(stream))["params"]["uri"] for _ in range(2)]
    assert told == ["test://one", "test://many/1/part"]
    await status_of(one, session, "resources/unsubscribe", uri="test://one")
    await status_of(one, session, "logging/setLevel", level="error")
    known = other.sessions.get(session, other.caller)
    assert (known.wanted.uris, known.log_level) == ({"test://many/1/part"}, "error")
    # DELETE at one process ends it, and its stream, at both.
    waiting = asyncio.ensure_future(anext(stream))
    assert (await one.send(b"", method="DELETE", mcp_session_id=session)).status == 204
    with pytest.raises(StopAsyncIteration):
        await waiting
    for talk in processes:
        assert await status_of(talk, session) == 404
        assert (await talk.send(b"", method="DELETE", mcp_session_id=session)).status == 404


async def test_a_session_belongs_to_its_caller_and_to_a_day(processes: tuple[Talk, Talk]) -> None:
    one, other = processes
    session = await one.session()
    other.caller = "agent 7"
    assert await status_of(other, session) == 404
    one.clock.seconds += LIFETIME_S + 1
    assert await status_of(one, session) == 404


@pytest.mark.parametrize(
    "change", [lambda one: one[:-1], lambda one: f"e30.{one[-32:]}", lambda one: "\udcff" + one, str.upper]
)
async def test_an_id_that_was_changed_is_no_session(change: Any) -> None:
    talk = Talk()
    assert await status_of(talk, change(await talk.session(elicitation={}))) == 404


async def test_answers_to_nothing_are_told_nobody() -> None:
    talk, told = Talk(), list[Any]()
    talk.sessions.tell_others = told.append
    session = await talk.session()
    for number in (7, "ask-1", "x" * 1000):
        await talk.send({"jsonrpc": "2.0", "id": number, "result": {}}, mcp_session_id=session)
    assert told == []


async def test_a_session_that_began_without_a_token_goes_on_with_one(processes: tuple[Talk, Talk]) -> None:
    """An agent registers in it, and shows the token that it got from then on."""
    one = processes[0]
    one.principal, one.caller = "", "10.0.0.1/24"
    session = await one.session()
    for talk in processes:
        talk.principal, talk.caller = "P07", "agent 7"
        assert await status_of(talk, session) == 200


@pytest.mark.parametrize("uri", [[], {"a": 1}, None, 5], ids=["list", "object", "none", "number"])
async def test_what_is_no_address_disturbs_no_other_process(processes: tuple[Talk, Talk], uri: Any) -> None:
    one, other = processes
    session = await one.session()
    await status_of(one, session, "resources/unsubscribe", uri=uri)
    other.sessions.hear({"session": session, "caller": other.caller, "unsubscribe": uri})
    assert await status_of(other, session, "tools/list") == 200


async def test_what_is_large_is_told_to_no_other_process() -> None:
    talk, told = Talk(), list[Any]()
    talk.sessions.tell_others = told.append
    session = await talk.session()
    answer = {"jsonrpc": "2.0", "id": "ask-0123456789abcdef", "result": {"content": "x" * 5000}}
    await talk.send(answer, mcp_session_id=session)
    for number in ("x" * 5000, 10**30, 1.5):
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        await talk.send(cancelled, mcp_session_id=session)
    assert told == []
