"""The names of messages and fields, however they are joined and whatever stands before them."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import words
from league_sdk.dialects.words import message_type_of, unwrap
from league_sdk.protocol.messages import MessageType


@pytest.mark.parametrize(
    ("name", "kind"),
    [
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
def test_names_that_are_joined_otherwise(name: str, kind: str) -> None:
    assert message_type_of(name) == kind


@pytest.mark.parametrize(
    "name", ["", "_", "handle", "league", "handle_handle", "ping", "get_standings", 5, None, "x" * 81]
)
def test_names_of_nothing(name: object) -> None:
    assert message_type_of(name) is None


def test_no_two_names_run_together() -> None:
    """Without what joins its words each name still means what it meant."""
    assert {name: message_type_of(name) for name in words._BY_NAME} == words._BY_NAME


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"messageType": "GAME_JOIN_ACK", "matchId": "R1M1"},
            {"messageType": "GAME_JOIN_ACK", "message_type": "GAME_JOIN_ACK", "matchId": "R1M1", "match_id": "R1M1"},
        ),
        ({"payload": {"parityChoice": "odd"}}, {"parityChoice": "odd", "parity_choice": "odd"}),
        ({"matchId": "R1M2", "match_id": "R1M1"}, {"matchId": "R1M2", "match_id": "R1M1"}),
        ({"player_A": 1, "URL": 2, "x" * 50 + "Y": 3}, {"player_A": 1, "URL": 2, "x" * 50 + "Y": 3}),
    ],
)
def test_humps_are_read_as_underscores(value: dict[str, Any], expected: dict[str, Any]) -> None:
    assert unwrap(value) == expected
