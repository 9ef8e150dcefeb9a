"""What 004 chapter 8 (and the field lists of chapter 4) show of every message, field by field.

Part of the strict player ``chapter8.py``; the standard library only, nothing of this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

Rule = tuple[str, Callable[[Any], bool]]
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
ERROR_NAMES = {  # 004 table 6
    "E001": "TIMEOUT_ERROR", "E003": "MISSING_REQUIRED_FIELD", "E004": "INVALID_PARITY_CHOICE",
    "E005": "PLAYER_NOT_REGISTERED", "E009": "CONNECTION_ERROR", "E011": "AUTH_TOKEN_MISSING",
    "E012": "AUTH_TOKEN_INVALID", "E018": "PROTOCOL_VERSION_MISMATCH", "E021": "INVALID_TIMESTAMP",
}  # fmt: skip


def now() -> datetime:
    """The current time in UTC, in whole seconds as in timestamps."""
    return datetime.now(UTC).replace(microsecond=0)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_stamp(value: Any) -> bool:
    if not isinstance(value, str) or not STAMP.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def matching(pattern: str) -> Rule:
    return f"a string like {pattern}", lambda v: isinstance(v, str) and re.fullmatch(pattern, v) is not None


def one_of(*values: Any) -> Rule:
    return f"one of {values}", lambda v: any(v is w or (isinstance(v, str) and v == w) for w in values)


TEXT: Rule = ("a non-empty string", lambda v: isinstance(v, str) and v != "")
COUNT: Rule = ("an integer from 0", lambda v: is_whole(v) and v >= 0)
POSITIVE: Rule = ("an integer from 1", lambda v: is_whole(v) and v >= 1)
POSITIVE_OR_NULL: Rule = ("an integer from 1, or null", lambda v: v is None or (is_whole(v) and v >= 1))
LIST: Rule = ("an array", lambda v: isinstance(v, list))
OBJECT: Rule = ("an object", lambda v: isinstance(v, dict))
UTC_STAMP: Rule = ("YYYY-MM-DDTHH:MM:SSZ", is_stamp)
UTC_STAMP_OR_NULL: Rule = ("YYYY-MM-DDTHH:MM:SSZ or null", lambda v: v is None or is_stamp(v))
URL = matching(r"http://[^/\s]+/\S*")
MANAGER = matching(r"league_manager(:LM\d\d)?")
REFEREE = matching(r"referee:REF\d{2,}")
PLAYER = matching(r"P\d{2,}")
PLAYER_OR_NULL: Rule = ("P01 or null", lambda v: v is None or PLAYER[1](v))
MATCH = matching(r"R\d+M\d+")
EVEN_ODD = one_of("even_odd")
DRAWN: Rule = ("1 to 10, or null", lambda v: v is None or (is_whole(v) and 1 <= v <= 10))

ENVELOPE: dict[str, Rule] = {"protocol": one_of("league.v2"), "timestamp": UTC_STAMP, "conversation_id": TEXT}
ANNOUNCED: dict[str, Rule] = {
    "match_id": MATCH, "game_type": EVEN_ODD, "player_A_id": PLAYER, "player_B_id": PLAYER,
    "referee_endpoint": URL,
}  # fmt: skip
ROW: dict[str, Rule] = {
    "rank": POSITIVE, "player_id": PLAYER, "display_name": TEXT, "played": COUNT, "wins": COUNT,
    "draws": COUNT, "losses": COUNT, "points": COUNT,
}  # fmt: skip
FINAL_ROW: dict[str, Rule] = {"rank": POSITIVE, "player_id": PLAYER, "points": COUNT}
SHAPES: dict[str, tuple[str, Rule, dict[str, Rule]]] = {
    "notify_round": ("ROUND_ANNOUNCEMENT", MANAGER, {
        "league_id": TEXT, "round_id": POSITIVE, "matches": LIST,
    }),
    "handle_game_invitation": ("GAME_INVITATION", REFEREE, {
        "auth_token": TEXT, "league_id": TEXT, "round_id": POSITIVE, "match_id": MATCH, "game_type": EVEN_ODD,
        "role_in_match": one_of("PLAYER_A", "PLAYER_B"), "opponent_id": PLAYER,
    }),
    "choose_parity": ("CHOOSE_PARITY_CALL", REFEREE, {
        "auth_token": TEXT, "match_id": MATCH, "player_id": PLAYER, "game_type": EVEN_ODD,
        "deadline": UTC_STAMP, "context": OBJECT, "context.opponent_id": PLAYER,
        "context.round_id": POSITIVE,
        "context.your_standings": OBJECT, "context.your_standings.wins": COUNT,
        "context.your_standings.losses": COUNT, "context.your_standings.draws": COUNT,
    }),
    "notify_match_result": ("GAME_OVER", REFEREE, {
        "auth_token": TEXT, "match_id": MATCH, "game_type": EVEN_ODD, "game_result": OBJECT,
        "game_result.status": one_of("WIN", "DRAW", "TECHNICAL_LOSS"),
        "game_result.winner_player_id": PLAYER_OR_NULL,
        "game_result.drawn_number": DRAWN,
        "game_result.number_parity": one_of("even", "odd", None), "game_result.choices": OBJECT,
        "game_result.reason": TEXT,
    }),
    "notify_game_error": ("GAME_ERROR", REFEREE, {
        "match_id": MATCH, "error_code": matching(r"E\d{3}"), "error_description": TEXT,
        "affected_player": PLAYER, "action_required": one_of("CHOOSE_PARITY_RESPONSE", "GAME_JOIN_ACK"),
        "retry_count": COUNT, "max_retries": COUNT, "consequence": TEXT, "retry_info": OBJECT,
        "retry_info.retry_count": COUNT, "retry_info.max_retries": COUNT,
        "retry_info.next_retry_at": UTC_STAMP_OR_NULL,
    }),
    "update_standings": ("LEAGUE_STANDINGS_UPDATE", MANAGER, {
        "league_id": TEXT, "round_id": POSITIVE, "standings": LIST,
    }),
    "notify_round_completed": ("ROUND_COMPLETED", MANAGER, {
        "league_id": TEXT, "round_id": POSITIVE, "matches_played": COUNT, "matches_completed": COUNT,
        "next_round_id": POSITIVE_OR_NULL, "summary": OBJECT, "summary.total_matches": COUNT,
        "summary.wins": COUNT, "summary.draws": COUNT, "summary.technical_losses": COUNT,
    }),
    "notify_league_completed": ("LEAGUE_COMPLETED", MANAGER, {
        "league_id": TEXT, "total_rounds": POSITIVE, "total_matches": POSITIVE, "champion": OBJECT,
        "champion.player_id": PLAYER, "champion.display_name": TEXT, "champion.points": COUNT,
        "final_standings": LIST,
    }),
}  # fmt: skip
RESPONSE: dict[str, Rule] = ENVELOPE | {
    "message_type": one_of("LEAGUE_REGISTER_RESPONSE"), "sender": MANAGER, "status": one_of("ACCEPTED"),
    "player_id": PLAYER, "auth_token": TEXT, "league_id": TEXT, "reason": one_of(None),
}  # fmt: skip


def misfits(value: Any, rules: Mapping[str, Rule], where: str = "") -> list[dict[str, Any]]:
    """The fields of an object that are missing or break their rule; dots in a path go into nested objects."""
    wrong = []
    for path, (expected, fits) in rules.items():
        holder: Any = value
        *parents, name = path.split(".")
        for parent in parents:
            holder = holder.get(parent) if isinstance(holder, dict) else None
        if not isinstance(holder, dict):
            if not parents:
                wrong.append({"deviation": "not an object", "field": where or path, "expected": expected})
        elif name not in holder:
            wrong.append({"deviation": "field is missing", "field": where + path, "expected": expected})
        elif not fits(holder[name]):
            wrong.append(
                {
                    "deviation": "field is wrong",
                    "field": where + path,
                    "seen": holder[name],
                    "expected": expected,
                }
            )
    return wrong
