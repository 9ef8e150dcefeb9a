"""The stateless era: what is checked and in which order, results, questions, streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league_sdk.mcp.states import TTL_S
from league_sdk.mcp.versions import META
from tests.league_sdk.mcp.talking import Talk, events, stateless

CAN_FILL_IN: dict[str, Any] = {"elicitation": {}}


async def test_discovery_tells_versions_capabilities_and_who_answers() -> None:
    answer = await Talk().stateless("server/discover")
    assert answer.status == 200
    assert answer.result == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {
            "completions": {},
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
            "logging": {},
        },
        "instructions": "For tests.",
        "_meta": {f"{META}serverInfo": {"name": "tests", "title": "Tests", "version": "1"}},
        "ttlMs": 60_000,
        "cacheScope": "public",
    }


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"meta": {f"{META}protocolVersion": 7}}, 400, -32602),
        ({"meta": {f"{META}clientCapabilities": []}}, 400, -32602),
        ({"headers": {"mcp_protocol_version": "2027-01-01"}}, 400, -32020),
        ({"headers": {"mcp_method": "tools/LIST"}}, 400, -32020),
        ({"headers": {"mcp_name": "refuse"}}, 400, -32020),
        ({"headers": {"mcp_name": "=?base64?!!?="}}, 400, -32020),
        (
            {"meta": {f"{META}protocolVersion": "2027-01-01"}, "headers": {"mcp_protocol_version": "2027-01-01"}},
            400,
            -32022,
        ),
        ({"method": "tools/burn", "headers": {"mcp_method": "tools/burn"}}, 404, -32601),
        ({"method": "initialize", "headers": {"mcp_method": "initialize"}}, 404, -32601),
        ({"method": "resources/subscribe", "headers": {"mcp_method": "resources/subscribe"}}, 404, -32601),
        ({"params": {"name": "nothing"}, "headers": {"mcp_name": "nothing"}}, 400, -32602),
        ({"params": {"name": "echo", "arguments": [1]}}, 400, -32602),
        ({"params": {"name": "echo", "inputResponses": None}}, 400, -32602),
        ({"params": {"name": "echo", "requestState": "forged"}}, 400, -32602),
    ],
)
async def test_each_wrong_request_has_its_status_and_code(change: dict[str, Any], status: int, code: int) -> None:
    params = change.get("params", {"name": "echo"})
    body, headers = stateless("tools/call", meta=change.get("meta"), **params)
    body["method"] = change.get("method", body["method"])
    answer = await Talk().send(body, **headers | change.get("headers", {}))
    assert (answer.status, answer.code, answer.body["id"]) == (status, code, 7)


@pytest.mark.parametrize("missing", ["mcp_protocol_version", "mcp_method", "mcp_name"])
async def test_each_header_is_needed(missing: str) -> None:
    body, headers = stateless("tools/call", name="echo")
    del headers[missing]
    answer = await Talk().send(body, **headers)
    assert (answer.status, answer.code) == (400, -32020)


async def test_a_name_in_another_script_is_decoded_from_its_header_and_compared() -> None:
    talk = Talk()
    resources = talk.server.registry.resources
    resources[0] = replace(resources[0], uri="test://שלום")
    body, headers = stateless("resources/read", uri="test://שלום")
    headers["mcp_name"] = "=?base64?dGVzdDovL9ep15zXlded?="
    assert (await talk.send(body, **headers)).result["contents"] == [{"uri": "test://שלום", "text": "{}"}]


@pytest.mark.parametrize(
    ("arguments", "header", "status"),
    [
        ({"region": "eu"}, {"mcp_param_region": "eu"}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"mcp_param_region": "us"}, 400),
        ({}, {"mcp_param_region": "eu"}, 400),
        ({}, {}, 200),
        ({"region": True}, {"mcp_param_region": "true"}, 200),
    ],
)
async def test_a_header_that_a_schema_asks_for_has_to_repeat_the_argument(
    arguments: Any, header: dict[str, str], status: int
) -> None:
    body, headers = stateless("tools/call", name="headed", arguments=arguments)
    assert (await Talk().send(body, **headers | header)).status == status


async def test_a_tool_that_refuses_is_a_result_and_one_that_fails_is_an_error_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = await Talk().stateless("tools/call", name="refuse")
    assert refused.result["isError"] is True
    assert refused.result["content"] == [{"type": "text", "text": "Not today."}]
    assert refused.result["structuredContent"] == {"day": "Sunday"}
    failed = await Talk().stateless("tools/call", name="fail")
    assert (failed.status, failed.code) == (500, -32603)
    assert "secret" not in str(failed.body)
    assert "a secret" in caplog.text


async def test_structured_content_is_written_as_text_as_well() -> None:
    answer = await Talk().stateless("tools/call", name="echo", arguments={"a": "ä"})
    assert answer.result["content"] == [{"type": "text", "text": '{"arguments":{"a":"ä"},"principal":"P01"}'}]


async def test_without_a_progress_token_or_log_level_only_the_answer_is_sent() -> None:
    answer = await Talk().stateless("tools/call", name="steps")
    assert (answer.before, answer.result["content"]) == ([], [{"type": "text", "text": "done"}])


async def test_progress_and_lines_of_the_level_that_was_asked_for_come_before_the_answer() -> None:
    answer = await Talk().stateless(
        "tools/call", name="steps", meta={"progressToken": "t", f"{META}logLevel": "warning"}
    )
    assert [(one["method"], one["params"]) for one in answer.before] == [
        ("notifications/progress", {"progressToken": "t", "progress": 1, "total": 2, "message": "half"}),
        ("notifications/message", {"level": "warning", "logger": "server", "data": "a warning"}),
    ]
    assert answer.result["content"] == [{"type": "text", "text": "done"}]


async def test_a_client_that_reads_no_streams_gets_the_answer_alone() -> None:
    body, headers = stateless("tools/call", name="steps", meta={"progressToken": "t"})
    answer = await Talk().send(body, **headers | {"accept": "application/json"})
    assert (answer.before, answer.result["content"][0]["text"]) == ([], "done")


async def test_notifications_are_accepted_and_responses_are_not() -> None:
    body, headers = stateless("notifications/cancelled")
    del body["id"]
    assert (await Talk().send(body, **headers)).status == 202
    answer = await Talk().send({"jsonrpc": "2.0", "id": 1, "result": {}}, **headers)
    assert (answer.status, answer.code) == (400, -32600)


# Questions ------------------------------------------------------------------------------------


async def _asked(talk: Talk) -> dict[str, Any]:
    answer = await talk.stateless("tools/call", name="greet", capabilities=CAN_FILL_IN)
    assert answer.result["resultType"] == "input_required"
    assert answer.result["inputRequests"]["who"]["method"] == "elicitation/create"
    return dict(answer.result)


async def _answer(talk: Talk, state: Any, value: Any, **params: Any) -> Any:
    responses = {"who": value}
    call = {"name": "greet", "requestState": state, "inputResponses": responses} | params
    return await talk.stateless("tools/call", capabilities=CAN_FILL_IN, **call)


ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}


async def test_a_question_is_answered_in_a_second_call() -> None:
    talk = Talk()
    state = (await _asked(talk))["requestState"]
    answer = await _answer(talk, state, ACCEPTED)
    assert answer.result["content"] == [{"type": "text", "text": "accept {'name': 'Ada'}"}]


async def test_a_state_is_good_for_one_use() -> None:
    talk = Talk()
    state = (await _asked(talk))["requestState"]
    await _answer(talk, state, ACCEPTED)
    assert (await _answer(talk, state, ACCEPTED)).code == -32602


async def test_a_state_belongs_to_its_call_its_caller_and_its_time() -> None:
    talk = Talk()
    state = (await _asked(talk))["requestState"]
    assert (await _answer(talk, state, ACCEPTED, arguments={"other": 1})).code == -32602
    talk.principal = "P02"
    assert (await _answer(talk, state, ACCEPTED)).code == -32602
    talk.principal = "P01"
    talk.clock.seconds += TTL_S + 1
    assert (await _answer(talk, state, ACCEPTED)).code == -32602
    talk.clock.seconds -= 1
    assert (await _answer(talk, state, ACCEPTED)).status == 200


@pytest.mark.parametrize(
    "value",
    [12345, None, {}, {"action": "burn"}, {"action": "accept"}, {"action": "accept", "content": {}},
     {"action": "accept", "content": {"name": 7}}],
)  # fmt: skip
async def test_a_malformed_answer_to_a_question_is_refused(value: Any) -> None:
    talk = Talk()
    state = (await _asked(talk))["requestState"]
    assert (await _answer(talk, state, value)).code == -32602


async def test_answers_without_their_state_are_asked_for_again() -> None:
    answer = await Talk().stateless(
        "tools/call", name="greet", capabilities=CAN_FILL_IN, inputResponses={"who": ACCEPTED}
    )
    assert answer.result["resultType"] == "input_required"


async def test_a_question_without_a_state_may_be_answered_before_it_is_asked() -> None:
    call = {"name": "open", "capabilities": CAN_FILL_IN}
    reply = await Talk().stateless("tools/call", **call)
    assert "requestState" not in reply.result
    responses = {"who": {"action": "decline"}, "unknown": 7}
    answer = await Talk().stateless("tools/call", **call, inputResponses=responses)
    assert answer.result["content"] == [{"type": "text", "text": "decline"}]


async def test_a_client_that_cannot_ask_its_user_is_told_what_it_needs() -> None:
    answer = await Talk().stateless("tools/call", name="greet")
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.body["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}


# Streams --------------------------------------------------------------------------------------


async def _listen(talk: Talk, **notifications: Any) -> Any:
    body, headers = stateless("subscriptions/listen", notifications=notifications)
    reply = await talk.server.handle(talk.request(body, **headers))
    assert reply.body is not None and not isinstance(reply.body, bytes)
    assert reply.headers["X-Accel-Buffering"] == "no"
    return events(reply.body)


async def test_a_stream_begins_with_what_will_be_told_and_tells_that_alone() -> None:
    talk = Talk()
    stream = await _listen(talk, toolsListChanged=True, resourceSubscriptions=["test://one", "test://none"])
    begun = await anext(stream)
    assert begun["method"] == "notifications/subscriptions/acknowledged"
    assert begun["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["test://one"]}
    talk.server.listeners.list_changed("prompts")
    talk.server.listeners.updated(["test://many/1/part", "test://one"])
    notification = await anext(stream)
    assert (notification["method"], notification["params"]["uri"]) == ("notifications/resources/updated", "test://one")
    assert notification["params"]["_meta"] == {f"{META}subscriptionId": 7}
    talk.server.close()
    assert (await anext(stream))["result"] == {"resultType": "complete", "_meta": {f"{META}subscriptionId": 7}}
    assert [message async for message in stream] == []
    assert len(talk.server.listeners) == 0


async def test_a_client_that_does_not_read_its_stream_costs_no_more_than_one_message_of_a_kind() -> None:
    talk = Talk()
    stream = await _listen(talk, resourceSubscriptions=["test://one"], promptsListChanged=True)
    for _ in range(1_000):
        talk.server.listeners.updated(["test://one"])
        talk.server.listeners.list_changed("prompts")
    talk.server.close()
    assert len([message async for message in stream]) == 4


@pytest.mark.parametrize(
    "notifications", [None, [], {"resourceSubscriptions": "test://one"}, {"resourceSubscriptions": [1]}]
)
async def test_a_malformed_filter_is_refused(notifications: Any) -> None:
    answer = await Talk().stateless("subscriptions/listen", notifications=notifications)
    assert (answer.status, answer.code) == (400, -32602)


async def test_a_stream_that_nobody_began_to_read_is_told_nothing_any_more() -> None:
    talk = Talk()
    body, headers = stateless("subscriptions/listen", notifications={"toolsListChanged": True})
    reply = await talk.server.handle(talk.request(body, **headers))
    assert len(talk.server.listeners) == 1
    # A client that has gone before the headers of the answer were sent.
    assert reply.body is not None and not isinstance(reply.body, bytes)
    await reply.body.aclose()
    assert len(talk.server.listeners) == 0
