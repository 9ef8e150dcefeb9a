"""States and arrows: agents (004 2.8, ruling section 8), leagues, rounds, matches (004 3.3), results."""

from enum import StrEnum

import pytest

from league_sdk.protocol.messages import BY_METHOD, METHODS, QUERY_TYPES, MessageType
from league_sdk.protocol.states import (
    AGENT_ARROWS,
    IN_PLAY,
    LEAGUE_ARROWS,
    PROGRESS_ORDER,
    AgentState,
    LeagueState,
    MatchState,
    ResultStatus,
    RoundState,
)


def test_the_arrows_of_an_agent() -> None:
    assert {str(state): sorted(targets) for state, targets in AGENT_ARROWS.items()} == {
        "INIT": ["REGISTERED", "SHUTDOWN"],  # register; error
        "REGISTERED": ["ACTIVE", "SHUTDOWN", "SUSPENDED"],  # league_start; error; timeout
        "ACTIVE": ["SHUTDOWN", "SUSPENDED"],  # the league's end; timeout
        "SUSPENDED": ["ACTIVE", "SHUTDOWN"],  # recover; max_fail
        "SHUTDOWN": ["REGISTERED"],  # registering again
    }


def test_the_arrows_of_a_league() -> None:
    assert {str(state): sorted(targets) for state, targets in LEAGUE_ARROWS.items()} == {
        "REGISTRATION": ["SCHEDULED", "STOPPED"],
        "SCHEDULED": ["RUNNING", "STOPPED"],
        "RUNNING": ["COMPLETED", "STOPPED"],
        "COMPLETED": ["STOPPED"],
        "STOPPED": [],
    }


@pytest.mark.parametrize(
    ("states", "names"),
    [
        (AgentState, "INIT REGISTERED ACTIVE SUSPENDED SHUTDOWN"),
        (LeagueState, "REGISTRATION SCHEDULED RUNNING COMPLETED STOPPED"),
        (RoundState, "PENDING ANNOUNCING RUNNING COMPLETED"),
        (
            MatchState,
            "PENDING READY ASSIGNED WAITING_FOR_PLAYERS COLLECTING_CHOICES DRAWING_NUMBER FINISHED HELD",
        ),
        (ResultStatus, "WIN DRAW TECHNICAL_LOSS CANCELLED"),
    ],
)
def test_states_are_called_what_the_documents_call_them(states: type[StrEnum], names: str) -> None:
    assert [str(state) for state in states] == names.split()
    assert [state.name for state in states] == names.split()


def test_a_match_in_play_goes_forward_along_004_3_3() -> None:
    names = ["ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"]
    assert [str(state) for state in PROGRESS_ORDER] == names
    assert set(IN_PLAY) == set(PROGRESS_ORDER)


def test_the_messages_of_table_11_and_the_generic_pair() -> None:
    assert sorted(MessageType) == sorted(
        [
            "REFEREE_REGISTER_REQUEST", "REFEREE_REGISTER_RESPONSE", "LEAGUE_REGISTER_REQUEST",
            "LEAGUE_REGISTER_RESPONSE", "ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED",
            "GAME_INVITATION", "GAME_JOIN_ACK", "CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE", "GAME_OVER",
            "MATCH_RESULT_REPORT", "LEAGUE_STANDINGS_UPDATE", "LEAGUE_ERROR", "GAME_ERROR", "LEAGUE_QUERY",
            "LEAGUE_QUERY_RESPONSE", "GAME_MOVE_CALL", "GAME_MOVE_RESPONSE",
        ]
    )  # fmt: skip


def test_the_methods_of_chapter_8() -> None:
    assert {str(kind): method for kind, method in METHODS.items()} == {
        "REFEREE_REGISTER_REQUEST": "register_referee",
        "LEAGUE_REGISTER_REQUEST": "register_player",
        "MATCH_RESULT_REPORT": "report_match_result",
        "LEAGUE_QUERY": "league_query",
        "ROUND_ANNOUNCEMENT": "notify_round",
        "GAME_INVITATION": "handle_game_invitation",
        "CHOOSE_PARITY_CALL": "choose_parity",
        "GAME_MOVE_CALL": "make_move",
        "GAME_OVER": "notify_match_result",
        "GAME_ERROR": "notify_game_error",
        "LEAGUE_STANDINGS_UPDATE": "update_standings",
        "ROUND_COMPLETED": "notify_round_completed",
        "LEAGUE_COMPLETED": "notify_league_completed",
    }
    assert {method: METHODS[kind] for method, kind in BY_METHOD.items()} == {name: name for name in METHODS.values()}


def test_the_query_tools_stand_for_the_query_types_of_004_4_9_1() -> None:
    four = ("get_standings", "get_schedule", "get_next_match", "get_player_stats")
    assert {name: QUERY_TYPES[name] for name in four} == {name: name.upper() for name in four}
