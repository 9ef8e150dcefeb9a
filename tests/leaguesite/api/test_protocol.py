"""The protocol as data: what the index says, and that every schema it links to is there."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from league_sdk.protocol import schemas
from league_sdk.protocol.errors import LEGACY_NAMES, NAMES
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from leaguesite.api.protocol import range_in_words


@pytest.fixture
def index(client: Client) -> dict[str, Any]:
    answer = client.get("/api/protocol/")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    fields: dict[str, Any] = answer.json()
    return fields


def test_the_index_names_protocol_and_versions(index: dict[str, Any]) -> None:
    assert {name: index[name] for name in ("protocol", "protocol_version", "minimum_protocol_version")} == {
        "protocol": "league.v2",
        "protocol_version": "2.1.0",
        "minimum_protocol_version": "2.0.0",
    }
    assert index["query_types"] == ["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_GAMES"]


def test_the_index_says_how_every_message_travels(index: dict[str, Any]) -> None:
    lines = {line["message_type"]: line for line in index["messages"]}
    assert list(lines) == list(schemas.MODELS)
    assert sorted(set(MessageType) - set(lines)) == []
    assert lines["CHOOSE_PARITY_CALL"] == {
        "message_type": "CHOOSE_PARITY_CALL",
        "sender": ["referee"],
        "receiver": ["player"],
        "method": "choose_parity",
        "answer": "CHOOSE_PARITY_RESPONSE",
        "clause": "004 4.5.1",
        "summary": "A player is asked for even or odd and has 30 seconds.",
        "schema": "/api/protocol/CHOOSE_PARITY_CALL",
    }
    assert lines["GAME_JOIN_ACK"]["method"] is None


def test_the_index_has_every_code_and_every_setting(index: dict[str, Any]) -> None:
    codes = {line["error_code"]: line for line in index["error_codes"]}
    assert {code: line["error_name"] for code, line in codes.items()} == NAMES
    assert codes["E004"] == {
        "error_code": "E004",
        "error_name": "INVALID_PARITY_CHOICE",
        "retryable": False,
        "json_rpc_codes": [-32602],
        "legacy_code": "G001",
    }
    assert {line["code"]: line["name"] for line in index["legacy_codes"]} == LEGACY_NAMES
    defaults = {line["name"]: line["default"] for line in index["league_settings"]}
    assert defaults == LeagueSettings().model_dump()
    ranges = {line["name"]: line["range"] for line in index["league_settings"]}
    assert {name: ranges[name] for name in ("join_timeout_s", "max_players", "no_show", "auto_advance")} == {
        "join_timeout_s": "more than 0 to 3600",
        "max_players": "from 2 to 10000",
        "no_show": "technical_loss or cancel",
        "auto_advance": "true or false",
    }
    assert [name for name, words in ranges.items() if not words] == []


def test_a_setting_that_may_be_absent_says_so() -> None:
    properties = LeagueSettings.model_json_schema()["properties"]
    assert range_in_words(properties["registration_code"]) == "a text of at most 64 characters, or none"
    assert range_in_words(properties["hold_s"]) == "more than 0 to 86400, or none"


def test_every_link_of_the_index_leads_to_a_schema(client: Client, index: dict[str, Any]) -> None:
    for line in index["messages"]:
        answer = client.get(line["schema"])
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/schema+json")
        assert answer.json() == schemas.json_schema(line["message_type"])


@pytest.mark.parametrize("name", ["GAME_NEVER", "game_over", "GAME_OVER%00", "x" * 500])
def test_an_unknown_message_is_404_and_names_the_known_ones(client: Client, name: str) -> None:
    answer = client.get(f"/api/protocol/{name}")
    shown = name.replace("%00", "\x00")[:64]
    there = ", ".join(schemas.MODELS)
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": f"There is no message {shown}. There are: {there}.", "field": None},
    )


def test_the_protocol_pages_cost_no_query(client: Client, django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        client.get("/api/protocol/")
        client.get("/api/protocol/GAME_OVER")
