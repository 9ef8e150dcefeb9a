"""A minimal server that answers LEAGUE_QUERY with the table: FastAPI on uvicorn, four SQL statements and a loop.

``python -m tests.bench.minimal PORT DATABASE``. It reads the same rows as the site, and has
nothing else that the site has: no dialects, no limits, no corrections, no freeze, no log.
"""

from __future__ import annotations

import sqlite3
import sys
from datetime import UTC, datetime
from hashlib import sha256
from operator import itemgetter
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Call(BaseModel):
    """A JSON-RPC request."""

    jsonrpc: str
    method: str
    params: dict[str, Any]
    id: int


def application(database: sqlite3.Connection) -> FastAPI:
    """The application; its only route is ``/mcp``."""
    app = FastAPI()

    @app.post("/mcp")
    async def mcp(call: Call) -> dict[str, Any]:
        params = call.params
        token = sha256(params["auth_token"].encode()).hexdigest()
        owner = "SELECT a.* FROM agents_registry_agent a JOIN agents_registry_agenttoken t ON t.agent_id = a.id"
        if database.execute(f"{owner} WHERE t.sha256 = ?", (token,)).fetchone() is None:
            return {"jsonrpc": "2.0", "error": {"code": -32001, "message": "no such token"}, "id": call.id}
        league = params["league_id"]
        database.execute("SELECT * FROM matches_league WHERE league_id = ?", (league,)).fetchone()
        data = {"standings": standings(database, league)}
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_QUERY_RESPONSE",
            "sender": "league_manager:LM01",
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "conversation_id": params["conversation_id"],
            "league_id": league,
            "query_type": params["query_type"],
            "success": True,
            "data": data,
            "error": None,
        }
        return {"jsonrpc": "2.0", "result": message, "id": call.id}

    return app


def standings(database: sqlite3.Connection, league: str) -> list[dict[str, Any]]:
    """The table, computed from the finished matches."""
    players = "SELECT id, code, display_name FROM agents_registry_agent WHERE league_id = ? AND kind = 'player'"
    counted = ("played", "wins", "draws", "losses", "technical_losses", "points")
    rows: dict[int, dict[str, Any]] = {
        pk: {"rank": 0, "tied_rank": 0, "player_id": code, "display_name": name} | dict.fromkeys(counted, 0)
        for pk, code, name in database.execute(players, (league,))
    }
    finished = (
        "SELECT player_a_id, player_b_id, status, winner_id FROM matches_match WHERE league_id = ? AND status != ''"
    )
    for first, second, status, winner in database.execute(finished, (league,)):
        for pk in (first, second):
            row = rows[pk]
            row["played"] += 1
            if status == "DRAW":
                row["draws"] += 1
                row["points"] += 1
            elif winner == pk:
                row["wins"] += 1
                row["points"] += 3
            else:
                row["losses"] += 1
                row["technical_losses"] += status == "TECHNICAL_LOSS"
    merit = itemgetter("points", "wins", "draws")
    table = sorted(rows.values(), key=itemgetter("player_id"))
    table.sort(key=merit, reverse=True)
    firsts: dict[Any, int] = {}
    for rank, row in enumerate(table, start=1):
        row["rank"], row["tied_rank"] = rank, firsts.setdefault(merit(row), rank)
    return table


if __name__ == "__main__":
    connection = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True, check_same_thread=False)
    uvicorn.run(application(connection), host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
