"""A player on fastmcp 4, which refuses unknown arguments: tools with their own names, models, and bare answers.

A tool requires the argument `mood`, which is a field of no message: the league sends it empty.
"""

from typing import Literal

from fastmcp import FastMCP
from pydantic import BaseModel
from student import PORT, join_the_league, record_call

mcp = FastMCP("FastMcp4")


class Standings(BaseModel):
    wins: int
    losses: int
    draws: int


class Row(BaseModel):
    player_id: str
    points: int


@mcp.tool
def receive_invitation(match_id: str, opponent: str) -> bool:
    """Called when somebody invites us to a game."""
    record_call("receive_invitation", match_id=match_id, opponent=opponent)
    return True


@mcp.tool
def pick_parity(match_id: str, standings: Standings, mood: str) -> Literal["even", "odd"]:
    """Pick even or odd."""
    record_call("pick_parity", match_id=match_id, standings=standings.model_dump(), mood=mood)
    return "odd" if standings.wins % 2 else "even"


@mcp.tool
def game_over(match_id: str, winner: str | None, drawn_number: int | None) -> str:
    """The result of a game."""
    record_call("game_over", match_id=match_id, winner=winner, drawn_number=drawn_number)
    return "thanks"


@mcp.tool
def new_round(round_id: int) -> str:
    """A new round was announced."""
    record_call("new_round", round_id=round_id)
    return "thanks"


@mcp.tool
def standings_table(standings: list[Row]) -> str:
    """The new table."""
    record_call("standings_table", standings=[row.model_dump() for row in standings])
    return "thanks"


@mcp.tool
def end_of_round(round_id: int) -> str:
    """A round has ended."""
    record_call("end_of_round", round_id=round_id)
    return "thanks"


@mcp.tool
def league_completed(champion: Row) -> str:
    """The league has ended with this champion."""
    record_call("league_completed", champion=champion.model_dump())
    return "thanks"


if __name__ == "__main__":
    join_the_league("FastMcp4")
    mcp.run(transport="http", host="127.0.0.1", port=PORT, show_banner=False)
