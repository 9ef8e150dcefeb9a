"""The handshake era: sessions, their streams, and what is asked of a client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from league_sdk.mcp.listening import MAX_URIS
from league_sdk.mcp.sessions import IDLE_S, LIFETIME_S
from tests.league_sdk.mcp.talking import Talk, events, handshake_body

TYPED = {"name": "id", "value": "pa"}


@pytest.mark.parametrize(
    ("version", "agreed"), [("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), (None, "2025-11-25")]
)
async def test_the_version_asked_for_is_agreed_on_or_the_newest_is_offered(version: Any, agreed: str) -> None:
    answer = await Talk().send(handshake_body("initialize", protocolVersion=version, capabilities={}))
    assert answer.result["protocolVersion"] == agreed
    assert answer.result["serverInfo"]["name"] == "tests"
    assert 32 < len(answer.headers["mcp-session-id"]) < 256


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("ping", {}, {}),
        ("logging/setLevel", {"level": "error"}, {}),
        ("resources/subscribe", {"uri": "test://many/7/part"}, {}),
        ("resources/unsubscribe", {"uri": "test://many/7/part"}, {}),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "test://many/{id}/part"}, "argument": TYPED},
            {"completion": {"values": ["paris", "park"], "total": 2, "hasMore": False}},
        ),
        ("prompts/get", {"name": "explain", "arguments": {"topic": "draws"}},
         {"description": "For tests.", "messages": [{"role": "user", "content": {"type": "text", "text": "draws"}}]}),
        ("resources/read", {"uri": "test://many/a%20b/part"},
         {"contents": [{"uri": "test://many/a%20b/part", "text": '{"id": "a b"}'}]}),
    ],
)  # fmt: skip
async def test_methods_answer_in_a_session(method: str, params: dict[str, Any], result: dict[str, Any]) -> None:
    talk = Talk()
    answer = await talk.send(handshake_body(method, **params), mcp_session_id=await talk.session())
    assert (answer.status, answer.result) == (200, result)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "nothing"}),
        ("tools/list", {"cursor": "2"}),
        ("prompts/get", {"name": "explain"}),
        ("prompts/get", {"name": "explain", "arguments": {"topic": 7}}),
        ("resources/read", {"uri": "test://many/gone/part"}),
        ("resources/read", {"uri": 7}),
        ("resources/subscribe", {"uri": "test://none"}),
        ("resources/subscribe", {"uri": "test://still"}),
        ("logging/setLevel", {"level": "loud"}),
        ("completion/complete", {"ref": {"type": "ref/tool"}, "argument": {"name": "a", "value": "b"}}),
    ],
)
async def test_wrong_parameters_are_an_error_of_json_rpc_on_http_200(method: str, params: dict[str, Any]) -> None:
    talk = Talk()
    answer = await talk.send(handshake_body(method, **params), mcp_session_id=await talk.session())
    assert (answer.status, answer.code) == (200, -32602)


async def test_a_client_without_a_session_may_call_but_not_subscribe() -> None:
    talk = Talk()
    assert (await talk.send(handshake_body("tools/list"))).result["tools"][0]["name"] == "echo"
    assert (await talk.send(handshake_body("resources/subscribe", uri="test://one"))).code == -32602


@pytest.mark.parametrize("version", ["2020-01-01", "2025-12-01"])
async def test_a_header_that_names_no_version_of_mcp_is_refused(version: str) -> None:
    answer = await Talk().send(handshake_body("tools/list"), mcp_protocol_version=version)
    assert (answer.status, answer.code) == (400, -32600)


async def test_an_unknown_session_is_404_so_that_its_client_begins_again() -> None:
    talk = Talk()
    for method in ("POST", "GET", "DELETE"):
        answer = await talk.send(
            handshake_body("tools/list"), method=method, mcp_session_id="none", mcp_protocol_version="2025-11-25"
        )
        assert answer.status == 404


async def test_a_deleted_session_is_gone() -> None:
    talk = Talk()
    session = await talk.session()
    assert (await talk.send(b"", method="DELETE", mcp_session_id=session)).status == 204
    assert (await talk.send(handshake_body("ping"), mcp_session_id=session)).status == 404


# Questions ------------------------------------------------------------------------------------


async def _asked(talk: Talk, session: str) -> tuple[Any, Any]:
    """The question of the tool ``greet``, and the stream on which its answer will come."""
    reply = await talk.server.handle(talk.request(handshake_body("tools/call", name="greet"), mcp_session_id=session))
    assert not isinstance(reply.body, bytes | None)
    stream = events(reply.body)
    return await anext(stream), stream


async def test_a_question_is_a_request_on_the_stream_and_its_answer_a_post() -> None:
    talk = Talk()
    session = await talk.session(elicitation={})
    question, stream = await _asked(talk, session)
    assert question["method"] == "elicitation/create"
    accepted = {"action": "accept", "content": {"name": "Ada"}}
    posted = await talk.send({"jsonrpc": "2.0", "id": question["id"], "result": accepted}, mcp_session_id=session)
    assert (posted.status, posted.body) == (202, None)
    assert (await anext(stream))["result"]["content"][0]["text"] == "accept {'name': 'Ada'}"


@pytest.mark.parametrize(
    "response", [{"error": {"code": -1, "message": "no"}}, {"result": {"action": "accept", "content": {"name": 7}}}]
)
async def test_an_invalid_answer_is_an_error_of_the_tool(response: dict[str, Any]) -> None:
    talk = Talk()
    session = await talk.session(elicitation={})
    question, stream = await _asked(talk, session)
    await talk.send({"jsonrpc": "2.0", "id": question["id"]} | response, mcp_session_id=session)
    assert (await anext(stream))["result"]["isError"] is True


async def test_nobody_answers_in_the_session_of_another() -> None:
    talk = Talk()
    session, other = await talk.session(elicitation={}), await talk.session(elicitation={})
    question, stream = await _asked(talk, session)
    forged = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}
    assert (await talk.send(forged, mcp_session_id=other)).status == 202
    assert (await talk.send(forged | {"result": {"action": "decline"}}, mcp_session_id=session)).status == 202
    assert (await anext(stream))["result"]["content"][0]["text"] == "decline None"


async def test_a_client_that_cannot_ask_its_user_is_told_so() -> None:
    talk = Talk()
    session = await talk.session()
    answer = await talk.send(handshake_body("tools/call", name="greet"), mcp_session_id=session)
    assert answer.code == -32021
    without_session = await talk.send(handshake_body("tools/call", name="greet"))
    assert without_session.code == -32021


async def test_a_cancelled_request_ends() -> None:
    talk = Talk()
    session = await talk.session(elicitation={})
    _question, stream = await _asked(talk, session)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    assert (await talk.send(cancelled, mcp_session_id=session)).status == 202
    assert (await anext(stream))["error"]["message"] == "The request was cancelled."


async def test_log_messages_are_sent_only_after_their_level_was_set() -> None:
    talk = Talk()
    session = await talk.session()
    call = handshake_body("tools/call", name="steps")
    assert (await talk.send(call, mcp_session_id=session)).before == []
    await talk.send(handshake_body("logging/setLevel", level="debug"), mcp_session_id=session)
    answer = await talk.send(call, mcp_session_id=session)
    assert [line["params"]["data"] for line in answer.before] == ["a detail", "a warning"]


# The stream of GET ------------------------------------------------------------------------------


async def _stream(talk: Talk, session: str) -> Any:
    reply = await talk.server.handle(talk.request(b"", method="GET", mcp_session_id=session))
    assert not isinstance(reply.body, bytes | None)
    return events(reply.body)


async def test_a_session_is_told_of_what_it_subscribed_to_and_of_changed_lists() -> None:
    talk = Talk()
    session = await talk.session()
    stream = await _stream(talk, session)
    await talk.send(handshake_body("resources/subscribe", uri="test://one"), mcp_session_id=session)
    talk.server.listeners.updated(["test://one", "test://many/1/part"])
    talk.server.listeners.list_changed("prompts")
    assert (await anext(stream))["params"] == {"uri": "test://one"}
    assert (await anext(stream))["method"] == "notifications/prompts/list_changed"
    await talk.send(handshake_body("resources/unsubscribe", uri="test://one"), mcp_session_id=session)
    talk.server.listeners.updated(["test://one"])
    talk.server.close()
    assert [message async for message in stream] == []


async def test_a_newer_stream_ends_the_older() -> None:
    talk = Talk()
    session = await talk.session()
    older = await _stream(talk, session)
    newer = await _stream(talk, session)
    assert [message async for message in older] == []
    talk.server.listeners.list_changed("tools")
    assert (await anext(newer))["method"] == "notifications/tools/list_changed"
    assert len(talk.server.listeners) == 1


async def test_the_subscriptions_of_a_session_are_limited() -> None:
    talk = Talk()
    session = await talk.session()
    for number in range(MAX_URIS):
        await talk.send(handshake_body("resources/subscribe", uri=f"test://many/{number}/part"), mcp_session_id=session)
    answer = await talk.send(handshake_body("resources/subscribe", uri="test://one"), mcp_session_id=session)
    assert answer.code == -32602
    again = await talk.send(handshake_body("resources/subscribe", uri="test://many/0/part"), mcp_session_id=session)
    assert again.result == {}


# Limits of sessions ------------------------------------------------------------------------------


async def test_an_idle_session_is_forgotten_and_one_with_a_stream_is_not() -> None:
    talk = Talk()
    idle, streaming = await talk.session(), await talk.session()
    stream = await _stream(talk, streaming)
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    talk.clock.seconds += IDLE_S + 1
    await talk.session()
    assert len(talk.sessions) == 2
    # It goes on, but for what was said in it.
    assert (await talk.send(handshake_body("ping"), mcp_session_id=idle)).status == 200
    assert (await talk.send(handshake_body("ping"), mcp_session_id=streaming)).status == 200
    talk.clock.seconds += LIFETIME_S
    assert (await talk.send(handshake_body("ping"), mcp_session_id=idle)).status == 404
    talk.server.close()
    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_the_work_for_a_stream_that_nobody_began_to_read_is_stopped() -> None:
    talk = Talk()
    session, others = await talk.session(elicitation={}), asyncio.all_tasks()
    reply = await talk.server.handle(talk.request(handshake_body("tools/call", name="greet"), mcp_session_id=session))
    assert reply.body is not None and not isinstance(reply.body, bytes)
    await reply.body.aclose()
    await asyncio.gather(*asyncio.all_tasks() - others, return_exceptions=True)
    assert talk.sessions.get(session, talk.caller).asked == {}
