"""The message types of league.v2 and the methods they travel under (ruling, section 3)."""

from __future__ import annotations

from enum import StrEnum


class MessageType(StrEnum):
    REFEREE_REGISTER_REQUEST = "REFEREE_REGISTER_REQUEST"
    REFEREE_REGISTER_RESPONSE = "REFEREE_REGISTER_RESPONSE"
    LEAGUE_REGISTER_REQUEST = "LEAGUE_REGISTER_REQUEST"
    LEAGUE_REGISTER_RESPONSE = "LEAGUE_REGISTER_RESPONSE"
    ROUND_ANNOUNCEMENT = "ROUND_ANNOUNCEMENT"
    ROUND_COMPLETED = "ROUND_COMPLETED"
    LEAGUE_COMPLETED = "LEAGUE_COMPLETED"
    GAME_INVITATION = "GAME_INVITATION"
    GAME_JOIN_ACK = "GAME_JOIN_ACK"
    CHOOSE_PARITY_CALL = "CHOOSE_PARITY_CALL"
    CHOOSE_PARITY_RESPONSE = "CHOOSE_PARITY_RESPONSE"
    GAME_MOVE_CALL = "GAME_MOVE_CALL"
    GAME_MOVE_RESPONSE = "GAME_MOVE_RESPONSE"
    GAME_OVER = "GAME_OVER"
    MATCH_RESULT_REPORT = "MATCH_RESULT_REPORT"
    LEAGUE_STANDINGS_UPDATE = "LEAGUE_STANDINGS_UPDATE"
    LEAGUE_ERROR = "LEAGUE_ERROR"
    GAME_ERROR = "GAME_ERROR"
    LEAGUE_QUERY = "LEAGUE_QUERY"
    LEAGUE_QUERY_RESPONSE = "LEAGUE_QUERY_RESPONSE"


METHODS: dict[MessageType, str] = {
    MessageType.REFEREE_REGISTER_REQUEST: "register_referee",
    MessageType.LEAGUE_REGISTER_REQUEST: "register_player",
    MessageType.MATCH_RESULT_REPORT: "report_match_result",
    MessageType.LEAGUE_QUERY: "league_query",
    MessageType.ROUND_ANNOUNCEMENT: "notify_round",
    MessageType.GAME_INVITATION: "handle_game_invitation",
    MessageType.CHOOSE_PARITY_CALL: "choose_parity",
    MessageType.GAME_MOVE_CALL: "make_move",
    MessageType.GAME_OVER: "notify_match_result",
    MessageType.GAME_ERROR: "notify_game_error",
    MessageType.LEAGUE_STANDINGS_UPDATE: "update_standings",
    MessageType.ROUND_COMPLETED: "notify_round_completed",
    MessageType.LEAGUE_COMPLETED: "notify_league_completed",
}
"""The canonical method of every message that is sent as a request."""

START_MATCH = "start_match"
START_MATCHES = "start_matches"
REPORT_PROGRESS = "report_progress"
WRAPPER_METHOD = "mcp_message"
"""004 5.11.2: a method for any message; the message type inside says which it is."""

BY_METHOD: dict[str, MessageType] = {method: kind for kind, method in METHODS.items()}

QUERY_TYPES: dict[str, str] = {
    "get_standings": "GET_STANDINGS",
    "get_schedule": "GET_SCHEDULE",
    "get_next_match": "GET_NEXT_MATCH",
    "get_player_stats": "GET_PLAYER_STATS",
    "get_games": "GET_GAMES",
}
"""The query type of every tool that asks directly (004 4.9.1, 8.11; GET_GAMES: 3.8.4)."""

ROLES = ("PLAYER_A", "PLAYER_B")
