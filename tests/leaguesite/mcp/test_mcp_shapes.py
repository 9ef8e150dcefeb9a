"""Registration in every shape, answered in the same; the handshake of MCP; callbacks that reach us."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import credentials
from league_sdk.protocol import rpc
from matches.conducting import parcels
from matches.models import Delivery
from tests import factories as make
from tests import wire
from tests.league_sdk.dialects.test_inbound import REGISTRATIONS
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def token_of(reply: Any) -> str:
    """The token, where each kind of agent looks for it."""
    body = reply.get("result", reply)
    if "content" in body:
        body = json.loads(body["content"][0]["text"])
    return str(body.get("payload", body).get("auth_token") or body["auth_token"])


@pytest.mark.parametrize(
    ("name", "path"),
    sampled(product(REGISTRATIONS, ["/mcp", "/mcp/", "/leagues/fall/mcp", "/leagues/fall/mcp/"]), every=9),
)
def test_every_shape_registers_and_is_answered_alike(client: Client, name: str, path: str) -> None:
    make.open_league("fall")
    body, shape = REGISTRATIONS[name]
    reply = wire.post(client, body, path)
    assert reply.status_code == 200
    agent = Agent.objects.get(kind="player")
    assert (agent.league_id, agent.code, agent.name, agent.dialect) == ("fall", "P01", "Alpha", shape)
    request = wire.request("get_player_stats", {"auth_token": token_of(reply.json()), "sender": "player:P01"})
    assert wire.post(client, request).json()["result"]["data"]["player_id"] == "P01"


@pytest.mark.parametrize(
    ("body", "path"),
    # Every third of them has each path once.
    sampled(
        product(
            [
                {"name": "Alpha", "endpoint": "http://localhost:8101/mcp"},
                {"display_name": "Alpha", "callback_url": "http://localhost:8101"},
                {"request_id": "r-1", "data": {"player_name": "Alpha", "endpoint_url": "http://localhost:8101/mcp"}},
            ],
            ["/register", "/register/", "/leagues/fall/register", "/register_player", "/api/register"],
        ),
        every=3,
    ),
)
def test_register_takes_a_small_body(client: Client, body: dict[str, Any], path: str) -> None:
    make.open_league("fall")
    reply = wire.post(client, body, path)
    answer = reply.json()
    assert (reply.status_code, answer["status"], answer["player_id"]) == (200, "ACCEPTED", "P01")
    if "data" in body:
        assert (answer["request_id"], answer["data"]["auth_token"]) == ("r-1", answer["auth_token"])
    agent = Agent.objects.get(kind="player")
    # An agent that wraps its registration in ``data`` is first called with the message wrapped in the same way.
    dialect = "data_envelope" if "data" in body else "canonical"
    assert (agent.league_id, agent.endpoint, agent.dialect) == ("fall", "http://localhost:8101/mcp", dialect)


@pytest.mark.parametrize("name", ["flat", "002", "tools/call", "chapter 8"])
def test_a_refusal_has_the_shape_of_the_request(client: Client, name: str) -> None:
    make.open_league("fall")
    body = json.loads(json.dumps(REGISTRATIONS[name][0]).replace("contact_endpoint", "somewhere"))
    reply = wire.post(client, body).json()
    part = reply
    if name == "chapter 8":
        part = reply["error"]["data"]
    elif name == "tools/call":
        assert reply["result"]["isError"] is True
        part = json.loads(reply["result"]["content"][0]["text"])
    assert (part["error_code"], Agent.objects.count()) == ("E003", 0)


def test_a_rejection_has_the_shape_of_the_request(client: Client) -> None:
    make.open_league("fall", registration_code="sesame")
    reply = wire.post(client, REGISTRATIONS["tools/call"][0], "/leagues/fall/mcp").json()["result"]
    assert (reply["isError"], json.loads(reply["content"][0]["text"])["status"]) == (False, "REJECTED")


@pytest.mark.parametrize("path", ["/leagues/fall/mcp?code=sesame", "/leagues/fall/register?code=sesame"])
def test_the_code_may_stand_in_the_address(client: Client, path: str) -> None:
    make.open_league("fall", registration_code="sesame")
    params = wire.player_request()
    body = params if "register" in path else wire.request("register_player", params)
    reply = wire.post(client, body, path).json()
    assert reply.get("result", reply)["status"] == "ACCEPTED"


def test_the_handshake_finds_our_tools_and_one_of_them_registers(client: Client) -> None:
    make.open_league("fall")
    hello = wire.ask(client, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
    assert (hello["protocolVersion"], hello["capabilities"]["tools"]) == ("2025-06-18", {"listChanged": False})
    ready = wire.post(client, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (ready.status_code, ready.content) == (202, b"")
    tools = {tool["name"]: tool for tool in wire.ask(client, "tools/list", {})["tools"]}
    assert {"display_name", "player_meta"} < set(tools["register_player"]["inputSchema"]["properties"])
    reply = wire.post(client, REGISTRATIONS["tools/call"][0]).json()
    assert token_of(reply).startswith("tok_")


def test_an_unknown_version_gets_the_newest_we_speak(client: Client) -> None:
    assert wire.ask(client, "initialize", {"protocolVersion": "1999-01-01"})["protocolVersion"] == "2025-11-25"


def test_an_unknown_tool_is_answered_with_an_error_result(client: Client) -> None:
    reply = wire.post(client, wire.request("tools/call", {"name": "no_such_tool", "arguments": {}})).json()
    assert (reply["result"]["isError"], reply["result"]["structuredContent"]["error_code"]) == (True, "E002")


# Callbacks that reach the league manager ------------------------------------------------------------------

PICK = {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "parity_choice": "odd"}


def relayed() -> list[dict[str, Any]]:
    return [
        {"to": delivery.agent.code, **delivery.broadcast.payload}
        for delivery in Delivery.objects.filter(broadcast__message_type="CHOOSE_PARITY_RESPONSE").order_by("pk")
    ]


def test_an_answer_that_reaches_us_goes_to_the_referee_of_the_match(client: Client) -> None:
    made = make.running_league(players=2)
    player, referee = made.players[0], made.referees[0]
    reply = wire.ask(client, "CHOOSE_PARITY_RESPONSE", PICK | {"auth_token": player.token, "sender": "player:me"})
    assert (reply["status"], reply["match_id"]) == ("RECEIVED", "R1M1")
    (found,) = relayed()
    assert (found["to"], found["relayed_for"], found["parity_choice"]) == ("REF01", "P01", "odd")
    assert "auth_token" not in found
    bodies = [rpc.loads(one.body) for one in parcels.parcels_of([], timezone.now())[referee.agent.pk]]
    (sent,) = [body for body in bodies if body["method"] == "CHOOSE_PARITY_RESPONSE"]
    assert (sent["params"]["relayed_for"], sent["params"]["parity_choice"]) == ("P01", "odd")
    assert sent["params"]["auth_token"] == credentials.league_token(referee.agent)


@pytest.mark.parametrize(("token", "code"), [(None, "E011"), ("tok_" + "0" * 32, "E012"), ("its league_token", "E012")])
def test_an_answer_sent_to_the_league_manager_needs_the_auth_token(
    client: Client, token: str | None, code: str
) -> None:
    made = make.running_league(players=2)
    if token == "its league_token":
        token = credentials.league_token(made.players[0].agent)
    refused = wire.refused(client, "CHOOSE_PARITY_RESPONSE", PICK | ({"auth_token": token} if token else {}))
    assert (refused["error_code"], relayed()) == (code, [])


def test_an_answer_to_an_unknown_match_is_refused(client: Client) -> None:
    made = make.running_league(players=2)
    answer = {"match_id": "R9M9", "accept": True, "auth_token": made.players[0].token}
    assert (wire.refused(client, "GAME_JOIN_ACK", answer)["error_code"], relayed()) == ("E001", [])


# The root address, and tokens in a header ------------------------------------------------------------------


def test_an_agent_may_post_to_the_root_address(client: Client) -> None:
    make.open_league("fall")
    reply = Client(enforce_csrf_checks=True).post(
        "/", json.dumps(wire.request("register_player", wire.player_request())), content_type="application/json"
    )
    assert reply.json()["result"]["status"] == "ACCEPTED"
    assert client.get("/").templates[0].name == "leagues/index.html"


def test_a_token_may_stand_in_the_header(client: Client) -> None:
    made = make.league("fall", players=1)
    body = json.dumps(wire.request("get_player_stats", {"sender": "player:P01"}))
    bearer = {"Authorization": f"Bearer {made.players[0].token}"}
    reply = client.post("/mcp", body, content_type="application/json", headers=bearer).json()
    assert reply["result"]["data"]["player_id"] == "P01"


def test_a_header_without_an_agents_token_is_ignored(client: Client) -> None:
    make.league("fall", players=1)
    body = json.dumps(wire.request("get_standings", {"league_id": "fall"}))
    reply = client.post("/mcp", body, content_type="application/json", headers={"Authorization": "Bearer some-key"})
    assert reply.json()["result"]["success"] is True
