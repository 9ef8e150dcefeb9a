"""Registration at POST /mcp: the whole answer, and who an agent is (004 8.3, 8.4; ruling sections 8 and 9)."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from agents_registry.models import Agent, AgentToken
from agents_registry.registering import credentials
from league_sdk.protocol import tokens
from matches.league import opening
from matches.models import Check
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
DEFAULT = settings.LEAGUE_DEFAULT_ID


ADDRESS_EXPECTED = 'the URL your agent listens at; or "delivery": "poll" if it fetches its messages'


def player_answer(player_id: str = "P01", league_id: str = DEFAULT, **changes: Any) -> dict[str, Any]:
    """The answer to an accepted player (004 8.4.2)."""
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_RESPONSE",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "conversation_id": "conv-player-alpha-reg-001",
        "auth_token": "<token>",
        "league_id": league_id,
        "status": "ACCEPTED",
        "player_id": player_id,
        "league_token": "<token>",
        "inbox": {"poll_url": "http://testserver/inbox", "websocket_url": "ws://testserver/ws/inbox"},
        "reason": None,
        "rejection_reason": None,
    } | changes


def test_player_is_registered_as_004_8_4_shows(client: Client) -> None:
    make.open_league(DEFAULT)
    reply = wire.post(client, wire.request("register_player", wire.player_request(), rpc_id=7)).json()
    assert wire.plain(reply) == {"jsonrpc": "2.0", "id": 7, "result": player_answer()}
    result = reply["result"]
    agent = Agent.objects.get()
    assert (agent.league_id, agent.code, agent.state, agent.endpoint) == (
        DEFAULT,
        "P01",
        "REGISTERED",
        "http://localhost:8101/mcp",
    )
    assert result["auth_token"] != result["league_token"]
    assert result["league_token"] == credentials.league_token(agent)
    assert [one.sha256 for one in AgentToken.objects.all()] == [tokens.digest(result["auth_token"])]


def test_referee_is_registered_as_004_8_3_shows(client: Client) -> None:
    reply = wire.post(client, wire.request("register_referee", wire.referee_request())).json()
    assert wire.plain(reply) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocol": "league.v2",
            "message_type": "REFEREE_REGISTER_RESPONSE",
            "sender": "league_manager:LM01",
            "timestamp": "<time>",
            "conversation_id": "conv-ref-alpha-reg-001",
            "auth_token": "<token>",
            "league_id": DEFAULT,
            "status": "ACCEPTED",
            "referee_id": "REF01",
            "league_token": "<token>",
            "inbox": player_answer()["inbox"],
            "reason": None,
            "rejection_reason": None,
        },
    }
    second = wire.ask(client, "register_referee", wire.referee_request("Referee Beta", port=8002))
    assert second["referee_id"] == "REF02"


@pytest.mark.parametrize(
    "missing", ["protocol", "message_type", "sender", "timestamp", "conversation_id", "version", "game_types"]
)
def test_a_registration_without_a_field_is_accepted(client: Client, missing: str) -> None:
    make.open_league(DEFAULT)
    params = wire.player_request()
    params.pop(missing, None)
    params["player_meta"].pop(missing, None)
    answer = wire.plain(wire.ask(client, "register_player", params))
    assert answer | {"conversation_id": ""} == player_answer(conversation_id="")


@pytest.mark.parametrize("timestamp", ["yesterday", 5, "2025-01-15T10:05:00+02:00"])
def test_an_odd_timestamp_does_not_keep_a_player_out(client: Client, timestamp: Any) -> None:
    make.open_league(DEFAULT)
    answer = wire.ask(client, "register_player", wire.player_request(timestamp=timestamp))
    assert wire.plain(answer) == player_answer()


@pytest.mark.parametrize(
    ("changes", "meta", "field", "seen", "expected"),
    [
        ({"player_meta": None}, None, "player_meta", "null", "an object with display_name and contact_endpoint"),
        ({"sender": None}, {"display_name": " \u200f "}, "player_meta.display_name", '" \\u200f "', "a name to show"),
        ({}, {"contact_endpoint": ""}, "player_meta.contact_endpoint", '""', ADDRESS_EXPECTED),
        ({}, {"contact_endpoint": None}, "player_meta.contact_endpoint", "null", ADDRESS_EXPECTED),
    ],
)
def test_a_registration_needs_a_name_and_an_address(
    client: Client, changes: dict[str, Any], meta: dict[str, Any] | None, field: str, seen: str, expected: str
) -> None:
    make.open_league(DEFAULT)
    params = wire.player_request()
    params["player_meta"] |= meta or {}
    data = wire.refused(client, "register_player", params | changes)
    assert data["error_code"] == "E003"
    assert data["context"] == {"field": field, "seen": seen, "expected": expected}
    assert Agent.objects.count() == 0


# Identity -----------------------------------------------------------------------------------------


def register(client: Client, *, caller: str = "127.0.0.1", **changes: Any) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(**changes), caller=caller)


def test_registering_again_from_the_same_machine_gives_the_same_player_a_fresh_token(client: Client) -> None:
    make.open_league(DEFAULT)
    first, second = register(client), register(client)
    assert (first["player_id"], second["player_id"]) == ("P01", "P01")
    assert first["auth_token"] != second["auth_token"]
    assert first["league_token"] == second["league_token"]
    for answer in (first, second):
        assert credentials.authenticate(answer["auth_token"]).code == "P01"


def test_registering_again_with_the_token_works_from_anywhere(client: Client) -> None:
    make.open_league(DEFAULT)
    first = register(client, caller="192.0.2.7", endpoint="http://192.0.2.7:8101/mcp")
    again = register(client, caller="192.0.2.8", endpoint="http://192.0.2.7:8101/mcp", auth_token=first["auth_token"])
    assert wire.plain(again) == player_answer()
    assert Agent.objects.count() == 1


@pytest.mark.parametrize("token", ["", None, "tok_" + "0" * 32, "its league_token", "the token of another"])
def test_registering_again_without_proof_is_rejected_as_l003(client: Client, token: str | None) -> None:
    make.open_league(DEFAULT)
    first = register(client, caller="192.0.2.7", endpoint="http://192.0.2.7:8101/mcp")
    other = register(client, name="Beta", port=8102)
    token = {"its league_token": first["league_token"], "the token of another": other["auth_token"]}.get(
        str(token), token
    )
    answer = register(client, caller="192.0.2.8", endpoint="http://192.0.2.7:8101/mcp", auth_token=token)
    reason = (
        "P01 is registered under this name and address. To register it again, send its auth_token, or register "
        "from its own machine, or ask the instructor to let it in."
    )
    rejected = player_answer(
        status="REJECTED", player_id=None, reason=reason, rejection_reason=reason, legacy_code="L003"
    )
    del rejected["auth_token"], rejected["league_token"], rejected["inbox"]
    assert wire.plain(answer) == rejected
    assert AgentToken.objects.count() == 2


def test_the_instructor_can_let_an_agent_register_again_once(client: Client) -> None:
    make.open_league(DEFAULT)
    register(client, caller="192.0.2.7", endpoint="http://192.0.2.7:8101/mcp")
    Agent.objects.update(readmit=True)
    from_elsewhere = {"caller": "192.0.2.8", "endpoint": "http://192.0.2.7:8101/mcp"}
    statuses = [register(client, **from_elsewhere)["status"] for _ in range(2)]
    assert statuses == ["ACCEPTED", "REJECTED"]


def test_the_same_name_at_another_address_is_another_player(client: Client) -> None:
    make.open_league(DEFAULT)
    ids = [register(client, port=port)["player_id"] for port in (8101, 8102, 8103)]
    assert ids == ["P01", "P02", "P03"]
    names = list(Agent.objects.order_by("pk").values_list("display_name", flat=True))
    assert names == ["Agent Alpha", "Agent Alpha (2)", "Agent Alpha (3)"]


@pytest.mark.parametrize(
    "spelling", ["http://localhost:8101/mcp/", "http://127.0.0.1:8101/mcp", "HTTP://LocalHost:8101/mcp"]
)
def test_another_spelling_of_the_address_is_the_same_player(client: Client, spelling: str) -> None:
    make.open_league(DEFAULT)
    assert [register(client)["player_id"], register(client, endpoint=spelling)["player_id"]] == ["P01", "P01"]


def test_a_known_player_comes_back_after_the_schedule_is_made(client: Client) -> None:
    make.open_league(DEFAULT)
    for port in (8101, 8102):
        register(client, port=port)
    opening.close_registration(league_id=DEFAULT)
    for named in ({}, {"league_id": DEFAULT}):
        assert wire.plain(register(client, **named)) == player_answer()
    stranger = register(client, name="Stranger", port=8103, league_id=DEFAULT)
    assert (stranger["status"], stranger["reason"]) == ("REJECTED", f"Registration for {DEFAULT} is closed.")


@pytest.mark.parametrize(
    ("caller", "endpoint", "asks"),
    [
        ("127.0.0.1", "http://localhost:8101/mcp", True),
        ("192.0.2.7", "http://192.0.2.7:8101/mcp", True),
        # It says that it is on its own machine, and is called there.
        ("192.0.2.7", "http://localhost:8101/mcp", True),
        ("192.0.2.7", "http://127.0.0.2:8101/mcp", True),
        ("192.0.2.7", "http://192.0.2.80:8101/mcp", False),
        ("192.0.2.7", "http://victim.example/mcp", False),
    ],
)
def test_a_registration_has_only_the_callers_own_address_checked(
    client: Client, caller: str, endpoint: str, asks: bool, django_capture_on_commit_callbacks: Any
) -> None:
    make.open_league(DEFAULT)
    with django_capture_on_commit_callbacks(execute=True):
        wire.ask(client, "register_player", wire.player_request(endpoint=endpoint), caller=caller)
    assert [check.asked_by for check in Check.objects.all()] == ["registration"] * asks


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_the_address_of_an_unknown_proxy_proves_nothing(client: Client, header: str) -> None:
    make.open_league(DEFAULT)
    seen = {"endpoint": "http://192.0.2.7:8101/mcp"}
    register(client, caller="192.0.2.7", **seen)
    again = client.post(
        "/mcp",
        wire.request("register_player", wire.player_request(**seen)),
        content_type="application/json",
        headers={header: "for=192.0.2.8"},
        REMOTE_ADDR="192.0.2.7",
    ).json()["result"]
    assert (again["status"], again["legacy_code"]) == ("REJECTED", "L003")


# Referees -----------------------------------------------------------------------------------------


def enlist(client: Client, *, caller: str = "127.0.0.1", **changes: Any) -> dict[str, Any]:
    return wire.ask(client, "register_referee", wire.referee_request(**changes), caller=caller)


def test_a_referees_id_is_fixed_by_name_and_port(client: Client) -> None:
    key = settings.LEAGUE_REFEREE_KEY
    first = enlist(client, code=key)
    moved = enlist(client, code=key, caller="192.0.2.9", endpoint="http://192.0.2.9:8001/mcp")
    other_port = enlist(client, code=key, port=8002)
    assert [one["referee_id"] for one in (first, moved, other_port)] == ["REF01", "REF01", "REF02"]
    assert Agent.objects.get(code="REF01").endpoint == "http://192.0.2.9:8001/mcp"


def test_a_referees_name_and_port_cannot_be_taken_over_from_another_machine(client: Client) -> None:
    enlist(client, code=settings.LEAGUE_REFEREE_KEY)
    answer = enlist(client, caller="192.0.2.9", endpoint="http://192.0.2.9:8001/mcp")
    assert (answer["status"], answer["referee_id"], answer["legacy_code"]) == ("REJECTED", None, "L003")
    assert Agent.objects.get().endpoint == "http://localhost:8001/mcp"


def test_a_referee_that_registers_again_loses_its_matches(client: Client) -> None:
    made = make.running_league()
    enlist(client, name="Referee 1", code=settings.LEAGUE_REFEREE_KEY)
    states = made.states()
    assert (states["R1M1"], states["R1M2"]) == ("READY", "READY")


def test_an_id_that_was_asked_for_in_vain_is_accepted_as_sender(client: Client) -> None:
    """Half of real agents go on using an id of their own; the token says whose it is."""
    make.open_league("fall")
    wire.ask(client, "register_player", wire.player_request("Alpha", port=8101, player_id="P01"))
    second = wire.ask(client, "register_player", wire.player_request("Beta", port=8102, player_id="P01"))
    assert second["player_id"] == "P02"
    fields = {"auth_token": second["auth_token"]}
    stats = wire.ask(client, "get_player_stats", fields | {"sender": "player:P01"})
    assert stats["data"]["player_id"] == "P02"
    assert wire.refused(client, "get_player_stats", fields | {"sender": "player:P03"})["error_code"] == "E012"
