"""The league manager as an MCP server: tools with few arguments, resources, and what stays league.v2."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from agents_registry.rate_limits.attempts import STRANGERS, attempts
from league_sdk.mcp.sessions import MAX_SESSIONS
from league_sdk.mcp.versions import META
from leaguesite.mcp import mounting
from tests import factories as make
from tests import wire
from tests.league_sdk.mcp.talking import handshake_body, stateless
from tests.leaguesite.mcp.schema_checks import assert_fits

pytestmark = pytest.mark.django_db
ADA = {"display_name": "Ada", "contact_endpoint": "http://127.0.0.1:8101/mcp"}


def post(client: Client, body: Any, token: str = "", path: str = "/mcp", **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    return client.post(path, json.dumps(body), content_type="application/json", headers=named | bearer)


def ask(client: Client, method: str, token: str = "", path: str = "/mcp", **params: Any) -> dict[str, Any]:
    """The result of a request of MCP's stateless era (from 2026-07-28 on, without a session)."""
    body, headers = stateless(method, **params)
    answer = post(client, body, token, path, **headers)
    assert answer.status_code == 200, answer.content
    result: dict[str, Any] = answer.json()["result"]
    assert result["_meta"][f"{META}serverInfo"]["name"] == "leaguesite"
    if method == "tools/call":
        assert_fits(params["name"], result["structuredContent"])
    return result


def leave_room(number: int) -> None:
    """Open sessions, each of another caller, until so many more may be open."""
    opened = mounting.server.sessions
    for caller in range(MAX_SESSIONS - number - len(opened)):
        opened.open(f"caller {caller}", "2025-11-25", {})


def call(client: Client, name: str, token: str = "", **arguments: Any) -> dict[str, Any]:
    """The structured content of a tool's result, which must be no refusal."""
    result = ask(client, "tools/call", token, name=name, arguments=arguments)
    assert not result["isError"], result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    structured: dict[str, Any] = result["structuredContent"]
    return structured


def test_an_agent_registers_with_a_name_and_an_address(client: Client) -> None:
    make.open_league("fall")
    answer = call(client, "register_player", **ADA)
    assert (answer["status"], answer["player_id"], answer["league_id"]) == ("ACCEPTED", "P01", "fall")
    agent = Agent.objects.get()
    assert (agent.display_name, agent.endpoint) == ("Ada", ADA["contact_endpoint"])


def test_a_query_needs_only_its_type_and_a_token_in_the_authorization_header(client: Client) -> None:
    made = make.league(players=2)
    token = made.players[0].token
    answer = call(client, "league_query", token, query_type="GET_STANDINGS")
    assert [row["player_id"] for row in answer["data"]["standings"]] == ["P01", "P02"]
    refused = ask(client, "tools/call", name="league_query", arguments={"query_type": "GET_STANDINGS"})
    assert (refused["isError"], refused["structuredContent"]["error_code"]) == (True, "E011")


def test_get_standings_answers_with_the_message_of_the_standings(client: Client) -> None:
    made = make.running_league(players=2)
    make.finish_round(made)
    answer = call(client, "get_standings", made.players[0].token)
    assert (answer["message_type"], answer["sender"]) == ("LEAGUE_STANDINGS_UPDATE", "league_manager:LM01")
    assert [row["points"] for row in answer["standings"]] == [3, 0]


@pytest.mark.parametrize("name", ["no_such_tool", "LEAGUE_QUERY", "report", "initialize", "CHOOSE_PARITY_RESPONSE"])
def test_only_tools_that_are_listed_can_be_called(client: Client, name: str) -> None:
    body, headers = stateless("tools/call", name=name, arguments={})
    answer = post(client, body, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


def test_a_registration_with_wrong_or_unsupported_headers_changes_nothing(client: Client) -> None:
    make.open_league("fall")
    body, headers = stateless("tools/call", name="register_player", arguments=ADA)
    for wrong in ({"mcp_protocol_version": "2099-01-01"}, {"mcp_method": "tools/list"}, {"mcp_name": "ping"}):
        assert post(client, body, **headers | wrong).status_code == 400
    newer = stateless(
        "tools/call", name="register_player", arguments=ADA, meta={f"{META}protocolVersion": "2099-01-01"}
    )
    answer = post(client, newer[0], **headers | {"mcp_protocol_version": "2099-01-01"})
    assert answer.json()["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}
    assert not Agent.objects.exists()


@pytest.mark.parametrize("headers", [{}, stateless("tools/call")[1], {"mcp_protocol_version": "2025-06-18"}])
def test_a_call_from_a_page_of_another_site_is_403_and_changes_nothing(client: Client, headers: dict[str, str]) -> None:
    make.open_league("fall")
    body = handshake_body("tools/call", name="register_player", arguments=ADA)
    answer = post(client, body, **headers, origin="https://evil.example")
    assert answer.status_code == 403
    assert not Agent.objects.exists()


# Resources ------------------------------------------------------------------------------------


def read(client: Client, uri: str, token: str = "", path: str = "/mcp") -> dict[str, Any]:
    contents = ask(client, "resources/read", token, path, uri=uri)["contents"]
    assert [(one["uri"], one["mimeType"]) for one in contents] == [(uri, "application/json")]
    found: dict[str, Any] = json.loads(contents[0]["text"])
    return found


def test_every_resource_that_is_listed_can_be_read(client: Client) -> None:
    made = make.running_league(players=2)
    make.finish_round(made)
    listed = [one["uri"] for one in ask(client, "resources/list")["resources"]]
    templates = [one["uriTemplate"] for one in ask(client, "resources/templates/list")["resourceTemplates"]]
    assert listed == ["league://standings"]
    known = {"{id}": "fall", "{match_id}": "R1M1", "{player_id}": "P01"}
    for template in templates:
        uri = template
        for name, value in known.items():
            uri = uri.replace(name, value)
        assert read(client, uri)["league_id"] == "fall", uri


def test_the_standings_without_a_league_are_those_of_the_tokens_or_the_addresss_league(client: Client) -> None:
    made = make.league("fall", players=2)
    make.league("other", players=3)
    assert read(client, "league://standings", made.players[0].token)["league_id"] == "fall"
    assert read(client, "league://standings", path="/leagues/other/mcp")["league_id"] == "other"


def test_the_resource_of_a_match_shows_no_address(client: Client) -> None:
    made = make.running_league(players=2)
    make.finish_round(made)
    found = read(client, "league://fall/matches/R1M1")
    assert (found["match_id"], found["result"]["winner_player_id"]) == ("R1M1", "P01")
    assert "127.0.0.1" not in json.dumps(found)


def test_the_standings_resource_shows_no_result_after_a_freeze(client: Client) -> None:
    made = make.league_before_freeze()
    make.next_round(made)
    before = read(client, "league://fall/standings")
    make.finish_round(made)
    after = read(client, "league://fall/standings")
    assert after == before
    assert {row["played"] for row in after["standings"]} == {1}


@pytest.mark.parametrize(
    "uri",
    ["league://nowhere/standings", "league://fall/matches/R9M9", "league://fall/players/P09/history", "league://fall",
     "league://fall/matches/%00", "league://%00/standings", "http://127.0.0.1/", "league://" + "x" * 200 + "/rounds"],
)  # fmt: skip
def test_a_uri_that_leads_to_nothing_is_refused_and_named(client: Client, uri: str) -> None:
    make.league(players=2)
    body, headers = stateless("resources/read", uri=uri)
    answer = post(client, body, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)
    assert answer.json()["error"]["data"] == {"uri": uri}


def test_the_league_in_a_uri_template_is_completed(client: Client) -> None:
    make.open_league("fall")
    make.open_league("spring")
    reference = {"type": "ref/resource", "uri": "league://{id}/standings"}
    answer = ask(client, "completion/complete", ref=reference, argument={"name": "id", "value": "fa"})
    assert answer["completion"]["values"] == ["fall"]


def test_every_prompt_names_the_resource_or_page_to_read(client: Client) -> None:
    filled = {"language": "Go", "match_id": "R1M1", "player_id": "P01"}
    for prompt in ask(client, "prompts/list")["prompts"]:
        arguments = {one["name"]: filled[one["name"]] for one in prompt["arguments"] if one["required"]}
        messages = ask(client, "prompts/get", name=prompt["name"], arguments=arguments)["messages"]
        words = messages[0]["content"]["text"]
        assert "league://" in words or "/protocol.md" in words, prompt["name"]


# Clients of MCP and of league.v2 ----------------------------------------------------------------------


def test_a_client_of_the_handshake_era_has_a_session_and_the_answers_of_its_era(client: Client) -> None:
    make.open_league("fall")
    hello = post(client, handshake_body("initialize", protocolVersion="2025-11-25", capabilities={}))
    session = {"mcp_session_id": hello.headers["Mcp-Session-Id"], "mcp_protocol_version": "2025-11-25"}
    ready = post(client, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
    assert (ready.status_code, ready.content) == (202, b"")
    assert post(client, handshake_body("ping"), **session).json()["result"] == {}
    answer = post(client, handshake_body("tools/call", name="register_player", arguments=ADA), **session).json()[
        "result"
    ]
    assert "resultType" not in answer
    assert (answer["isError"], answer["structuredContent"]["player_id"]) == (False, "P01")
    unknown = post(client, handshake_body("tools/call", name="no_such_tool"), **session)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (200, -32602)
    reply = post(client, handshake_body("ping"), **session | {"mcp_session_id": "gone"})
    assert reply.status_code == 404


def test_a_client_without_mcp_headers_is_answered_as_in_league_v2(client: Client) -> None:
    assert wire.ask(client, "ping", {}) == {"status": "ok"}
    unknown = wire.post(client, wire.request("protocol/message", {"message_type": "NONE"}))
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (200, -32601)
    assert wire.post(client, b"{").json()["error"]["data"]["error_code"] == "E002"


def test_an_unreadable_body_with_mcp_headers_is_refused_as_mcp_does(client: Client) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    answer = client.post("/mcp", b"{", content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32700, None)


def test_http_methods_but_post_are_refused(client: Client) -> None:
    for method in (client.get, client.delete, client.put):
        answer = method("/mcp")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert client.get("/mcp", headers={"Mcp-Session-Id": "gone", "Accept": "text/event-stream"}).status_code == 404


def test_a_caller_that_reads_too_often_is_told_to_wait(client: Client) -> None:
    body, headers = stateless("tools/list")
    assert post(client, body, **headers).status_code == 200
    while attempts.count_call(STRANGERS, "127.0.0.1") is None:
        pass
    last = post(client, body, **headers)
    assert int(last.headers["Retry-After"]) > 0
    assert (last.status_code, last.json()["error"]["code"]) == (429, -32000)
