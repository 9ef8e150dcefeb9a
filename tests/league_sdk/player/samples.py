"""Messages of 004 chapter 8, as the player's tests send them."""

from typing import Any

TOKEN, LEAGUE_TOKEN = "tok_" + "a" * 32, "tok_" + "b" * 32
ACCEPTED = {
    "status": "ACCEPTED", "player_id": "P01", "auth_token": TOKEN, "league_token": LEAGUE_TOKEN,
    "league_id": "league_2025_even_odd", "reason": None,
}  # fmt: skip


def message(message_type: str, **fields: Any) -> dict[str, Any]:
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": "referee:REF01",
        "timestamp": "2025-01-15T10:15:00Z",
        "conversation_id": "conv-r1m1-001",
        "match_id": "R1M1",
        **fields,
    }


INVITATION = message(
    "GAME_INVITATION", auth_token=LEAGUE_TOKEN, league_id="league_2025_even_odd", round_id=1,
    game_type="even_odd", role_in_match="PLAYER_A", opponent_id="P02",
)  # fmt: skip
CHOICE = message(
    "CHOOSE_PARITY_CALL", auth_token=LEAGUE_TOKEN, player_id="P01", game_type="even_odd",
    context={"opponent_id": "P02", "round_id": 1, "your_standings": {"wins": 0, "losses": 0, "draws": 0}},
    deadline="2025-01-15T10:15:35Z",
)  # fmt: skip
OVER = message(
    "GAME_OVER", auth_token=LEAGUE_TOKEN, game_type="even_odd",
    game_result={
        "status": "WIN", "winner_player_id": "P01", "drawn_number": 7, "number_parity": "odd",
        "choices": {"P01": "odd", "P02": "even"}, "reason": "P01 chose odd, number was 7 (odd)",
    },
)  # fmt: skip
