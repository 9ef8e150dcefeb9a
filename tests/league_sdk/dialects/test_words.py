"""The names of messages and fields, with words joined in any way and with prefixes."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import words
from league_sdk.dialects.words import message_type_of, unwrap
from league_sdk.protocol.messages import METHODS, MessageType


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((method, kind) for kind, method in METHODS.items()),
        *((str(kind), kind) for kind in MessageType),
        ("GAME_INVITE", MessageType.GAME_INVITATION),
        ("MATCH_RESULT", MessageType.MATCH_RESULT_REPORT),
        ("MOVE_RESPONSE", MessageType.GAME_MOVE_RESPONSE),
        ("GAME_INVITE_RESPONSE", MessageType.GAME_JOIN_ACK),
        ("handle_game_join_ack", MessageType.GAME_JOIN_ACK),
        ("submit_parity_choice", MessageType.CHOOSE_PARITY_RESPONSE),
        ("League-Register", MessageType.LEAGUE_REGISTER_REQUEST),
        ("registerPlayer", MessageType.LEAGUE_REGISTER_REQUEST),
        ("RegisterPlayer", MessageType.LEAGUE_REGISTER_REQUEST),
        ("league.register_player", MessageType.LEAGUE_REGISTER_REQUEST),
        ("league_manager.registerPlayer", MessageType.LEAGUE_REGISTER_REQUEST),
        ("mcp-join-league", MessageType.LEAGUE_REGISTER_REQUEST),
        ("player.register", MessageType.LEAGUE_REGISTER_REQUEST),
        ("registerReferee", MessageType.REFEREE_REGISTER_REQUEST),
        ("referee/handleGameJoinAck", MessageType.GAME_JOIN_ACK),
        ("chooseParityResponse", MessageType.CHOOSE_PARITY_RESPONSE),
        ("submitChoice", MessageType.CHOOSE_PARITY_RESPONSE),
        ("reportMatchResult", MessageType.MATCH_RESULT_REPORT),
        ("leagueQuery", MessageType.LEAGUE_QUERY),
    ],
)
def test_message_type_of_reads_names_joined_in_any_way(name: str, kind: str) -> None:
    assert message_type_of(name) == kind


@pytest.mark.parametrize(
    "name", ["", "_", "handle", "league", "handle_handle", "ping", "get_standings", 5, None, "x" * 81]
)
def test_message_type_of_ignores_other_names(name: object) -> None:
    assert message_type_of(name) is None


def test_message_type_of_confuses_no_two_names() -> None:
    """Names are compared without case and separators; two names that are then equal mean the same message."""
    assert {name: message_type_of(name) for name in words._BY_NAME} == words._BY_NAME


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"messageType": "GAME_JOIN_ACK", "matchId": "R1M1"},
            {"messageType": "GAME_JOIN_ACK", "message_type": "GAME_JOIN_ACK", "matchId": "R1M1", "match_id": "R1M1"},
        ),
        ({"payload": {"parityChoice": "odd"}}, {"parityChoice": "odd", "parity_choice": "odd"}),
        ({"MATCH_ID": "R1M1"}, {"MATCH_ID": "R1M1", "match_id": "R1M1"}),
        ({"match-id": "R1M1"}, {"match-id": "R1M1", "match_id": "R1M1"}),
        ({"matchId": "R1M2", "match_id": "R1M1"}, {"matchId": "R1M2", "match_id": "R1M1"}),
        ({"player_A": 1, "URL": 2, "x" * 50 + "Y": 3}, {"player_A": 1, "URL": 2, "url": 2, "x" * 50 + "Y": 3}),
    ],
)
def test_unwrap_reads_other_cases_as_snake_case(value: dict[str, Any], expected: dict[str, Any]) -> None:
    assert unwrap(value) == expected
