"""A player on version 1 of MCP's Python SDK, with sessions and event streams.

Each tool takes ``params``, as in 004 chapter 5.
"""

import random
from datetime import datetime

from mcp.server.fastmcp import FastMCP
from student import PORT, join_the_league, record_call

mcp = FastMCP("Python1", port=PORT)


@mcp.tool()
def handle_game_invitation(params: dict) -> dict:
    """Accept the invitation."""
    record_call("handle_game_invitation", **params)
    now = datetime.now().isoformat()
    return {"message_type": "GAME_JOIN_ACK", "match_id": params["match_id"], "arrival_timestamp": now, "accept": True}


@mcp.tool()
def choose_parity(params: dict) -> dict:
    """Random strategy."""
    record_call("choose_parity", **params)
    return {
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "match_id": params["match_id"],
        "player_id": params["player_id"],
        "parity_choice": random.choice(["even", "odd"]),
    }


@mcp.tool()
def notify_match_result(params: dict) -> dict:
    """Log result for learning."""
    record_call("notify_match_result", **params)
    return {"status": "ok"}


@mcp.tool()
def notify_round(params: dict) -> dict:
    record_call("notify_round", **params)
    return {"status": "ok"}


@mcp.tool()
def update_standings(params: dict) -> dict:
    record_call("update_standings", **params)
    return {"status": "ok"}


@mcp.tool()
def notify_round_completed(params: dict) -> dict:
    record_call("notify_round_completed", **params)
    return {"status": "ok"}


@mcp.tool()
def notify_league_completed(params: dict) -> dict:
    record_call("notify_league_completed", **params)
    return {"status": "ok"}


if __name__ == "__main__":
    join_the_league("Python1")
    mcp.run(transport="streamable-http")
