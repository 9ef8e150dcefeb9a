"""``error_style``: in a league that wants it, every refusal of the league is a result (004 8.10.1)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from django.test import Client

from matches.models import League
from tests import factories as make
from tests import wire
from tests.leaguesite.mcp.test_mcp_errors import RAW, World
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
OF_JSON_RPC = {-32700, -32600, -32601}
BY_TOKEN = "progress of a player"
"""Names no league; the player's token does."""


@pytest.fixture
def world() -> World:
    made = make.running_league("fall", players=2, error_style="result")
    make.open_league("other")
    return World(made)


def names_the_league(body: Any) -> bool:
    params = body.get("params") if isinstance(body, dict) else None
    return isinstance(params, dict) and params.get("league_id") == "fall"


CASES = [name for name, (body, code, *_) in RAW.items() if not isinstance(body, bytes) and code not in OF_JSON_RPC]


@pytest.mark.parametrize("name", sampled(CASES, every=8))
def test_every_refusal_of_the_league_that_was_meant_is_a_result(client: Client, world: World, name: str) -> None:
    body, code, error_code, field = RAW[name]
    body = body(world) if callable(body) else body
    answer = wire.post(client, body)
    reply = answer.json()
    if not names_the_league(body) and name != BY_TOKEN:
        # Which league was meant is not known: JSON-RPC's own way.
        assert (sorted(reply), reply["error"]["code"]) == (["error", "id", "jsonrpc"], code)
        return
    assert (answer.status_code, sorted(reply), reply["id"]) == (200, ["id", "jsonrpc", "result"], 1)
    fields = reply["result"]
    assert (fields["message_type"], fields["error_code"], fields["context"].get("field")) == (
        "LEAGUE_ERROR",
        error_code,
        field,
    )
    assert wire.TOKEN.findall(answer.content.decode()) == []


def test_most_cases_name_the_league(world: World) -> None:
    bodies = [body(world) if callable(body) else body for body, *_ in (RAW[name] for name in CASES)]
    assert sum(names_the_league(body) for body in bodies) > 30


@pytest.mark.parametrize(
    ("dressed", "method", "params", "error_code"),
    sampled(
        (dressed, *request)
        for dressed, request in product(
            ["method", "tool", "mcp_message"],
            [
                ("register_player", {"player_meta": {}}, "E003"),
                ("register_player", {"protocol": "league.v9"}, "E018"),
                ("get_player_stats", {"player_id": "P77"}, "E005"),
                ("create_schedule", {"auth_token": "guess"}, "E012"),
                ("report_match_result", {}, "E003"),
            ],
        )
    ),
)
def test_a_refusal_at_the_leagues_own_address_is_a_result_in_every_shape(
    client: Client, world: World, method: str, params: dict[str, Any], error_code: str, dressed: str
) -> None:
    kinds = {"register_player": "LEAGUE_REGISTER_REQUEST", "report_match_result": "MATCH_RESULT_REPORT"}
    body = {
        "method": wire.request(method, params),
        "tool": wire.request("tools/call", {"name": method, "arguments": params}),
        "mcp_message": wire.request("mcp_message", {"message_type": kinds.get(method, method)} | params),
    }[dressed]
    reply = wire.post(client, body, "/leagues/fall/mcp").json()
    assert (sorted(reply), reply["result"]["error_code"]) == (["id", "jsonrpc", "result"], error_code)
    assert reply["result"].get("isError") is (True if dressed == "tool" else None)


def test_a_rejected_registration_is_a_result_in_both_styles(client: Client, world: World) -> None:
    results = {}
    for league_id in ("fall", "other"):
        League.objects.filter(pk=league_id).update(state="RUNNING")
        params = wire.player_request("Late", port=8900, league_id=league_id)
        results[league_id] = wire.ask(client, "register_player", params)["status"]
    assert results == {"fall": "REJECTED", "other": "REJECTED"}
