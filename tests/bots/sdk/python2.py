"""A player on version 2 of MCP's Python SDK: the tools of 004 chapter 8 with flat, typed arguments."""

import random

from mcp.server import MCPServer
from student import PORT, join_the_league, record_call

mcp = MCPServer("Python2")


@mcp.tool()
def handle_game_invitation(match_id: str, round_id: int, opponent_id: str, game_type: str = "even_odd") -> dict:
    """Receive a game invitation."""
    record_call("handle_game_invitation", match_id=match_id, round_id=round_id, opponent_id=opponent_id)
    return {"message_type": "GAME_JOIN_ACK", "match_id": match_id, "accept": True}


@mcp.tool()
def choose_parity(match_id: str, player_id: str, context: dict) -> dict:
    """Choose "even" or "odd"."""
    record_call("choose_parity", match_id=match_id, player_id=player_id, context=context)
    choice = random.choice(["even", "odd"])
    return {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": match_id, "parity_choice": choice}


@mcp.tool()
def notify_match_result(match_id: str, game_result: dict) -> dict:
    """Receive a game result."""
    record_call("notify_match_result", match_id=match_id, game_result=game_result)
    return {"status": "ok"}


@mcp.tool()
def notify_round(round_id: int, matches: list[dict]) -> dict:
    """A round was announced."""
    record_call("notify_round", round_id=round_id, matches=matches)
    return {"status": "ok"}


@mcp.tool()
def update_standings(standings: list[dict]) -> dict:
    """The standings have changed."""
    record_call("update_standings", standings=standings)
    return {"status": "ok"}


@mcp.tool()
def notify_round_completed(round_id: int, matches_completed: int, next_round_id: int | None = None) -> dict:
    """A round is over."""
    record_call("notify_round_completed", round_id=round_id, matches_completed=matches_completed)
    return {"status": "ok"}


@mcp.tool()
def notify_league_completed(champion: dict, final_standings: list[dict]) -> dict:
    """The league is over."""
    record_call("notify_league_completed", champion=champion, final_standings=final_standings)
    return {"status": "ok"}


if __name__ == "__main__":
    join_the_league("Python2")
    mcp.run(transport="streamable-http", port=PORT)
