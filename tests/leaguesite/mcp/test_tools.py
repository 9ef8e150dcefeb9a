"""``create_schedule`` for the instructor, and the list of tools (004 2.6, 8.11.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from leaguesite.mcp import methods
from leaguesite.mcp.tools import tool_list
from matches.models import League
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
KEY = "the-key-of-this-test"
EXPECTED = "the instructor's API key"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_API_KEY", KEY)


def by_token(client: Client, **params: Any) -> dict[str, Any]:
    return wire.ask(client, "create_schedule", {"auth_token": KEY} | params)


def by_header(client: Client, **params: Any) -> dict[str, Any]:
    body = wire.request("create_schedule", params)
    answer = client.post("/mcp", body, content_type="application/json", headers={"Authorization": f"Bearer {KEY}"})
    return answer.json()["result"]


def as_a_tool(client: Client, **params: Any) -> dict[str, Any]:
    call = {"name": "create_schedule", "arguments": {"auth_token": KEY} | params}
    return wire.ask(client, "tools/call", call)["structuredContent"]


@pytest.mark.parametrize("ask", [by_token, by_header, as_a_tool])
@pytest.mark.parametrize("named", [{"league_id": "fall"}, {}], ids=["named", "the only open one"])
def test_it_closes_registration_and_shows_the_rounds(
    client: Client, ask: Callable[..., dict[str, Any]], named: dict[str, str]
) -> None:
    make.setting(players=3)
    answer = ask(client, **named)
    assert (League.objects.get().state, League.objects.get().rounds.count()) == ("SCHEDULED", 3)
    rounds = answer.pop("rounds")
    pairs = [[sorted((one["player_A_id"], one["player_B_id"])) for one in played["matches"]] for played in rounds]
    assert pairs == [
        [["P01", "P02"]],
        [["P01", "P03"]],
        [["P02", "P03"]],
    ]
    assert [played["bye"] for played in rounds] == ["P03", "P02", "P01"]
    del answer["conversation_id"]
    assert wire.plain(answer) == {
        "protocol": "league.v2",
        "message_type": "SCHEDULE_CREATED",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "league_id": "fall",
        "status": "SCHEDULED",
        "total_rounds": 3,
        "total_matches": 3,
    }


def test_at_a_leagues_own_address(client: Client) -> None:
    make.setting(players=2)
    make.open_league("other")
    answer = wire.ask(client, "create_schedule", {"auth_token": KEY}, path="/leagues/fall/mcp")
    assert (answer["league_id"], answer["total_matches"]) == ("fall", 1)


@pytest.mark.parametrize(
    ("params", "code", "field", "expected"),
    [
        ({}, "E011", "auth_token", EXPECTED),
        ({"auth_token": ""}, "E011", "auth_token", EXPECTED),
        ({"auth_token": "guess"}, "E012", "auth_token", EXPECTED),
        ({"auth_token": [KEY]}, "E012", "auth_token", EXPECTED),
        ({"auth_token": KEY, "league_id": "nowhere"}, "E014", "league_id", "a league id"),
        ({"auth_token": KEY, "league_id": 7}, "E014", "league_id", "a league id"),
        ({"auth_token": KEY, "league_id": "x" * 100}, "E014", "league_id", "a league id"),
        ({"auth_token": KEY}, "E003", "league_id", "the league to be scheduled"),
    ],
)
def test_refused(client: Client, params: dict[str, Any], code: str, field: str, expected: str) -> None:
    make.setting(players=2)
    make.open_league("other")
    data = wire.refused(client, "create_schedule", params)
    context = data["context"]
    assert (data["error_code"], context["field"], context["expected"]) == (code, field, expected)
    assert {league.state for league in League.objects.all()} == {"REGISTRATION"}
    assert KEY not in str(data)


def test_a_players_token_is_no_key(client: Client) -> None:
    place = make.setting(players=2)
    assert wire.refused(client, "create_schedule", {"auth_token": place.players[0].token})["error_code"] == "E012"


def test_what_the_league_refuses_is_a_sentence(client: Client) -> None:
    make.open_league("fall")
    make.join("Alone", "fall")
    data = wire.refused(client, "create_schedule", {"auth_token": KEY})
    assert data["message"] == "Fall has 1 of at least 2 players: wait until more have registered."
    make.join("Another", "fall", port=8102)
    by_token(client)
    data = wire.refused(client, "create_schedule", {"auth_token": KEY, "league_id": "fall"})
    assert data["message"] == "The schedule of Fall is made already: start the next round."


def test_every_tool_has_a_name_a_description_and_a_schema(client: Client) -> None:
    tools = wire.ask(client, "list_tools", {})["tools"]
    assert tools == tool_list() == wire.ask(client, "tools/list", {})["tools"]
    assert [sorted(one) for one in tools] == [["description", "inputSchema", "name"]] * len(tools)
    assert {one["inputSchema"]["type"] for one in tools} == {"object"}
    for one in tools:
        assert set(one["inputSchema"]["required"]) <= set(one["inputSchema"]["properties"]), one["name"]


def test_the_list_is_complete_and_every_tool_in_it_can_be_called(client: Client) -> None:
    handshake = {"initialize", "notifications/initialized", "tools/list"}
    names = {one["name"] for one in tool_list()}
    assert names == set(methods.PUBLIC_NAMES) - handshake
    for name in names:
        reply = wire.post(client, wire.request("tools/call", {"name": name, "arguments": {}})).json()
        refusal = reply.get("error", {}).get("code")
        assert refusal != -32601, name
