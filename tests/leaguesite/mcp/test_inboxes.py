"""``next_message`` and ``submit_response``: the inbox as tools (ruling, section 13)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from agents_registry.models import Agent
from agents_registry.registering import credentials
from leaguesite.inbox import answering
from leaguesite.inbox.admission import LineCounts
from matches.inbox.hub import hub
from tests import factories as make
from tests.league_sdk.mcp.talking import handshake_body, stateless
from tests.leaguesite.inbox.test_views import CHOOSE, JSON, registered, seat, waiting
from tests.leaguesite.serving.asgi import Answer, answer_of, begin, send
from tests.matches.agent_server import Agents
from tests.matches.observing.test_metrics import metric_value

pytestmark = pytest.mark.django_db(transaction=True)
EVEN = {"parity_choice": "even"}


@pytest.fixture
def here() -> Agents:
    return Agents()


def tool(name: str, token: str, **arguments: Any) -> tuple[str, str, bytes, dict[str, str]]:
    """The arguments of ``send()`` for a tool call without a session, as in the newer versions of MCP."""
    body, headers = stateless("tools/call", name=name, arguments=arguments)
    return "POST", "/mcp", json.dumps(body).encode(), headers | _headers(token)


def _headers(token: str) -> dict[str, str]:
    return {"content_type": JSON} | ({"authorization": f"Bearer {token}"} if token else {})


async def result(name: str, token: str, **arguments: Any) -> dict[str, Any]:
    *parts, headers = tool(name, token, **arguments)
    answer = await send(*parts, **headers)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json["result"]
    return found


async def call(name: str, token: str, **arguments: Any) -> dict[str, Any]:
    found = await result(name, token, **arguments)
    assert not found["isError"], found
    structured: dict[str, Any] = found["structuredContent"]
    return structured


async def refusal(name: str, token: str, **arguments: Any) -> dict[str, Any]:
    found = await result(name, token, **arguments)
    assert found["isError"], found
    structured: dict[str, Any] = found["structuredContent"]
    return structured


async def waiting_tool(token: str, **arguments: Any) -> ApplicationCommunicator:
    """A call of ``next_message`` that waits."""
    *parts, headers = tool("next_message", token, **arguments)
    talk = await begin(*parts, **headers)
    while not hub.lines():  # noqa: ASYNC110 - the hub has no event for a new line
        await asyncio.sleep(0)
    return talk


def asking(headers: dict[str, str]) -> asyncio.Task[Answer]:
    """A referee asks for a choice."""
    return asyncio.create_task(send("POST", "/inbox/deliver", json.dumps(CHOOSE).encode(), **headers))


def response(message: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": EVEN, "id": message["request"]["id"]}


async def test_a_referees_message_is_fetched_and_answered_by_tools(here: Agents) -> None:
    token, headers = await seat(here)
    referee = asking(headers)
    found = await call("next_message", token)
    [message] = found["messages"]
    assert message["request"] == CHOOSE | {"id": message["request"]["id"]}
    assert message["cursor"] == found["next"]
    assert await call("submit_response", token, response=response(message)) == {"accepted": 1, "not_awaited": []}
    assert (await referee).json == {"jsonrpc": "2.0", "result": EVEN, "id": 1001}
    again = await call("submit_response", token, response=response(message))
    assert again == {"accepted": 0, "not_awaited": [message["request"]["id"]]}


async def test_responses_may_come_with_the_call_for_the_next_message(here: Agents) -> None:
    token, headers = await seat(here)
    referee = asking(headers)
    found = await call("next_message", token)
    responses = [response(found["messages"][0])]
    then = await call("next_message", token, wait_s=0, after=found["next"], responses=responses)
    assert then == {"messages": [], "next": "0", "accepted": 1, "not_awaited": []}
    assert (await referee).json["result"] == EVEN


async def test_a_waiting_message_is_offered_until_the_caller_sends_its_cursor(here: Agents) -> None:
    token, headers = await seat(here)
    referee = asking(headers)
    found = await call("next_message", token)
    known = await call("next_message", token, wait_s=0, after=found["next"])
    assert (known["messages"], known["next"]) == ([], found["next"])
    for lost in (None, "", "garbage"):
        offered = await call("next_message", token, wait_s=0, after=lost)
        assert [one["request"] for one in offered["messages"]] == [found["messages"][0]["request"]]
    await call("submit_response", token, response=response(found["messages"][0]))
    await referee


async def test_a_caller_that_breaks_off_ends_its_line_and_loses_nothing(here: Agents) -> None:
    token, headers = await seat(here)
    talk = await waiting_tool(token)
    await talk.send_input({"type": "http.disconnect"})
    await talk.wait()
    assert hub.lines() == []
    referee = asking(headers)
    [message] = (await call("next_message", token))["messages"]
    await call("submit_response", token, response=response(message))
    assert (await referee).json["result"] == EVEN


async def counted(here: Agents, outcome: str) -> float:
    """How many calls of ``next_message`` were answered so."""
    labels = {"message_type": "next_message", "outcome": outcome}
    return await here.in_db(lambda: metric_value("league_agent_calls_total", **labels))


@pytest.mark.parametrize("protocol", ["MCP", "league.v2"])
async def test_a_refusal_while_the_answer_waits_is_counted_and_logged(
    here: Agents, caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    token = (await registered(here))["auth_token"]
    caplog.set_level("INFO", "leaguesite.mcp.telemetry")
    caplog.clear()
    answered, refused = await counted(here, "ok"), await counted(here, "E002")
    if protocol == "MCP":
        await refusal("next_message", token, wait_s=-1)
    else:
        params = {"auth_token": token, "wait_s": -1}
        body = {"jsonrpc": "2.0", "method": "next_message", "params": params, "id": 3}
        await send("POST", "/mcp", json.dumps(body).encode(), content_type=JSON)
    assert (await counted(here, "ok"), await counted(here, "E002")) == (answered, refused + 1)
    assert [record.getMessage() for record in caplog.records] == ["next_message was refused"]


async def test_a_call_whose_caller_breaks_off_is_not_counted(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    before = await counted(here, "ok")
    talk = await waiting_tool(token)
    await talk.send_input({"type": "http.disconnect"})
    await talk.wait()
    assert await counted(here, "ok") == before
    await call("next_message", token, wait_s=0)
    assert await counted(here, "ok") == before + 1


async def test_a_waiting_call_occupies_no_thread(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    talk = await waiting_tool(token)
    ping = json.dumps({"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}).encode()
    assert (await send("POST", "/mcp", ping, content_type=JSON)).json["result"] == {"status": "ok"}
    await call("next_message", token, wait_s=0)
    await answer_of(talk)


@pytest.mark.parametrize("first", ["tool", "poll"])
async def test_tools_and_polls_take_each_other_over(here: Agents, first: str) -> None:
    token = (await registered(here))["auth_token"]
    older = await (waiting_tool(token) if first == "tool" else waiting(token))
    if first == "tool":
        await send("GET", "/inbox?wait=0", authorization=f"Bearer {token}")
        lost = (await answer_of(older)).json["result"]
        assert lost["isError"]
        assert "took over" in lost["structuredContent"]["message"]
    else:
        await call("next_message", token, wait_s=0)
        assert (await answer_of(older)).status == 409


async def test_an_answer_to_anothers_message_counts_for_nobody(here: Agents) -> None:
    token, headers = await seat(here)
    other = (await here.in_db(lambda: make.player("Other", port=8190))).token
    referee = asking(headers)
    [message] = (await call("next_message", token))["messages"]
    stolen = await call("submit_response", other, response=response(message) | {"result": {"parity_choice": "odd"}})
    assert stolen == {"accepted": 0, "not_awaited": [message["request"]["id"]]}
    assert (await call("next_message", other, wait_s=0))["messages"] == []
    await call("submit_response", token, response=response(message))
    assert (await referee).json["result"] == EVEN


@pytest.mark.parametrize("name", ["next_message", "submit_response"])
@pytest.mark.parametrize(("token", "code"), [("", "E011"), ("tok_" + "0" * 32, "E012")])
async def test_nobody_reads_an_inbox_without_a_valid_token(here: Agents, name: str, token: str, code: str) -> None:
    await registered(here)
    data = await refusal(name, token, response={"id": 1}, wait_s=0)
    assert data["error_code"] == code
    assert hub.lines() == []


async def test_a_token_that_was_revoked_reads_nothing(here: Agents) -> None:
    member = await here.in_db(lambda: make.league(players=2).players[0])
    await here.in_db(lambda: credentials.revoke_tokens(agent_ids=[member.agent.pk]))
    assert (await refusal("next_message", member.token, wait_s=0))["error_code"] == "E012"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"wait_s": -1}, "wait_s"),
        ({"wait_s": True}, "wait_s"),
        ({"after": 7}, "after"),
        ({"responses": [{}]}, "responses"),
        ({"responses": [{"id": 1}] * 65}, "responses"),
        *(
            pytest.param({field: value}, field, marks=pytest.mark.exhaustive)
            for field, value in (
                ("wait_s", []),
                ("wait_s", "soon"),
                ("after", ["0"]),
                ("responses", 5),
                ("responses", [5]),
            )
        ),
    ],
)
async def test_invalid_arguments_are_refused_and_take_over_no_line(
    here: Agents, arguments: dict[str, Any], field: str
) -> None:
    token = (await registered(here))["auth_token"]
    talk = await waiting(token)
    [line] = hub.lines()
    data = await refusal("next_message", token, **arguments)
    assert (data["error_code"], data["context"]["field"]) == ("E002", field)
    assert hub.lines() == [line]
    await send("GET", "/inbox?wait=0", authorization=f"Bearer {token}")
    await answer_of(talk)


@pytest.mark.parametrize("sent", [None, "", 5, "even", [], {}, {"result": EVEN}])
async def test_an_invalid_response_is_refused(here: Agents, sent: Any) -> None:
    token = (await registered(here))["auth_token"]
    assert (await refusal("submit_response", token, response=sent))["error_code"] in ("E002", "E003")


async def test_a_call_without_a_free_line_takes_no_response(here: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    token, headers = await seat(here)
    referee = asking(headers)
    [message] = (await call("next_message", token))["messages"]
    with monkeypatch.context() as full:
        full.setattr(answering, "OPEN_LINES", LineCounts(max_lines=0))
        data = await refusal("next_message", token, responses=[response(message)])
    assert (data["error_code"], data["context"]["retry_after_s"]) == ("E009", 5)
    assert (await call("submit_response", token, response=response(message)))["accepted"] == 1
    await referee


async def test_a_waiting_call_ends_when_the_process_ends(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    talk = await waiting_tool(token)
    hub.close()
    assert (await answer_of(talk)).json["result"]["structuredContent"] == {"messages": [], "next": "0"}


async def test_clients_of_the_handshake_era_and_of_the_course_fetch_messages_too(here: Agents) -> None:
    token, headers = await seat(here)
    params = {"name": "next_message", "arguments": {"auth_token": token, "wait_s": 0}}
    version = {"mcp_protocol_version": "2025-11-25", "content_type": JSON}
    answer = await send("POST", "/mcp", json.dumps(handshake_body("tools/call", **params)).encode(), **version)
    assert answer.json["result"]["messages"] == answer.json["result"]["structuredContent"]["messages"] == []
    referee = asking(headers)
    body = {"jsonrpc": "2.0", "method": "next_message", "params": {"auth_token": token}, "id": 3}
    [message] = (await send("POST", "/mcp", json.dumps(body).encode(), content_type=JSON)).json["result"]["messages"]
    body = {"jsonrpc": "2.0", "method": "submit_response", "params": {"response": response(message)}, "id": 4}
    receipt = await send("POST", "/mcp", json.dumps(body).encode(), **_headers(token))
    assert receipt.json["result"] == {"accepted": 1, "not_awaited": []}
    assert (await referee).json["result"] == EVEN
    refused = await send("POST", "/mcp", json.dumps(body | {"params": {"response": {}}}).encode(), **_headers(token))
    assert refused.json["error"]["data"]["error_code"] == "E002"


async def test_a_page_of_another_site_and_a_wrong_header_wait_for_nothing(here: Agents) -> None:
    token = (await registered(here))["auth_token"]
    *parts, headers = tool("next_message", token)
    assert (await send(*parts, **headers | {"origin": "https://evil.example"})).status == 403
    assert (await send(*parts, **headers | {"mcp_name": "ping"})).status == 400
    assert hub.lines() == []


async def test_a_client_that_registers_by_a_tool_is_sent_plain_messages(here: Agents) -> None:
    await here.in_db(lambda: make.open_league("fall"))
    entry = await call("register_player", "", display_name="Ada", delivery="poll")
    agent = await here.in_db(Agent.objects.get)
    assert (agent.code, agent.dialect) == (entry["player_id"], "canonical")
    listens = await call("register_player", "", display_name="Bob", contact_endpoint="http://127.0.0.1:8107/mcp")
    assert (await here.in_db(lambda: Agent.objects.get(code=listens["player_id"]))).dialect == "tools_call"
