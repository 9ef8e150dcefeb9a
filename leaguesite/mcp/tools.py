"""The league manager's tools: names, schemas and hints (ruling, section 3; 004 2.6, 8.11.2).

``list_tools`` shows them to agents, and the registry of MCP offers them (:mod:`leaguesite.mcp.offering`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.rules.registry import games
from leaguesite.inbox.answering import MAX_RESPONSES, MAX_WAIT_S
from leaguesite.mcp import answers, instructing
from leaguesite.mcp.calls import Call

_TEXT = {"type": "string"}
_ENVELOPE = {
    "protocol": {"type": "string", "const": "league.v2"},
    "sender": {"type": "string", "description": "type:id, such as player:P01; left out, the owner of the token"},
    "timestamp": {"type": "string", "description": "YYYY-MM-DDTHH:MM:SSZ, in UTC; left out, now"},
    "conversation_id": {"type": "string", "description": "left out, a new one"},
}
_TOKEN = {
    "auth_token": {"type": "string", "description": "from your registration; or send it as Authorization: Bearer"}
}
_LEAGUE = {"league_id": {"type": "string", "description": "when you mean another than your own"}}
_PLAYER = {"player_id": {"type": "string", "description": "when you mean another than yourself"}}
_RESPONSE = {
    "type": "object",
    "properties": {"id": {"type": "integer", "description": "of the request"}, "result": {"type": "object"}},
    "required": ["id"],
    "description": "a JSON-RPC response; its result is the message with which your agent answers",
}
_WAIT = {"type": "number", "minimum": 0, "maximum": MAX_WAIT_S, "description": "how long; left out, 25"}
_PART = {
    "limit": {"type": "integer", "minimum": 1, "description": "how many rows at most"},
    "cursor": {"type": "string", "description": "next_cursor of the part before"},
}


def _about(kind: str) -> dict[str, Any]:
    """What an agent says of itself, flat or in its meta."""
    flat = {
        "display_name": {"type": "string", "description": "the name on the table"},
        "contact_endpoint": {
            "type": "string",
            "description": "where you listen, http://…/mcp; left out if you fetch your messages",
        },
        "delivery": {
            "enum": ["push", "poll", "websocket"],
            "description": "poll or websocket: you fetch your messages",
        },
        "version": _TEXT,
        "game_types": {"type": "array", "items": {"enum": sorted(games())}},
        "registration_code": {"type": "string", "description": "if the instructor gave you one"},
    }
    meta = {"type": "object", "properties": flat, "description": "the same fields, as the course's documents have them"}
    return flat | {f"{kind}_meta": meta}


_TOOLS: tuple[DeclaredTool, ...] = (
    DeclaredTool(
        "register_player",
        "Register a player",
        "Register a player (LEAGUE_REGISTER_REQUEST): gives a player_id and the auth_token for your other calls.",
        _about("player") | _LEAGUE | _TOKEN | _ENVELOPE,
        writes=True,
    ),
    DeclaredTool(
        "register_referee",
        "Register a referee",
        "Register a referee (REFEREE_REGISTER_REQUEST). It judges once the instructor lets it.",
        _about("referee") | _TOKEN | _ENVELOPE,
        writes=True,
    ),
    DeclaredTool(
        "report_match_result",
        "Report a result",
        "Report a match that you judged (MATCH_RESULT_REPORT). A match counts once.",
        _TOKEN | _LEAGUE | {"match_id": _TEXT, "result": {"type": "object"}} | _ENVELOPE,
        ("match_id", "result"),
        writes=True,
    ),
    DeclaredTool(
        "report_progress",
        "Report progress",
        "Report the progress of the matches that you judge, at least every quarter of the lease: by default every 2 s.",
        _TOKEN | {"matches": {"type": "array", "items": {"type": "object"}}} | _ENVELOPE,
        ("matches",),
        writes=True,
    ),
    DeclaredTool(
        "league_query",
        "Ask the league",
        "Ask the league (LEAGUE_QUERY): standings, schedule, next match, statistics, games.",
        {
            "query_type": {
                "enum": ["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_GAMES"],
            },
            "query_params": {"type": "object"},
        }
        | _TOKEN
        | _LEAGUE
        | _ENVELOPE,
        ("query_type",),
    ),
    DeclaredTool("get_standings", "Standings", "The table as it is now.", _TOKEN | _LEAGUE | _PART),
    DeclaredTool("get_schedule", "Schedule", "Every round with its matches.", _TOKEN | _LEAGUE | _PART),
    DeclaredTool("get_next_match", "Next match", "A player's next match.", _TOKEN | _LEAGUE | _PLAYER),
    DeclaredTool(
        "get_player_stats",
        "Statistics of a player",
        "A player's results so far.",
        _TOKEN | _LEAGUE | _PLAYER,
    ),
    DeclaredTool("get_games", "Games", "The games that can be played here, with their rules modules."),
    DeclaredTool("list_games", "Games", "The same as get_games."),
    DeclaredTool("list_leagues", "Leagues", "The leagues of this site: ids, names, games and states."),
    DeclaredTool(
        "check_agent",
        "Check your agent",
        "Have your agent called with every message of a match, as the league would, and read what it does well and "
        "what to mend. Without check_id you ask for a check; with the check_id of the answer you read how far it is.",
        _TOKEN | {"check_id": {"type": "string", "description": "from an earlier answer: read that check"}},
        writes=True,
        repeatable=False,
    ),
    DeclaredTool(
        "practice_match",
        "Play a practice match",
        "Have your agent play an agent of the house, outside any league: nothing of it counts. Without practice_id you "
        "ask for a practice match; with the practice_id of the answer you read how it goes and what was said.",
        _TOKEN
        | {
            "practice_id": {"type": "string", "description": "from an earlier answer: read that practice match"},
            "opponent": {"type": "string", "enum": ["easy", "medium", "hard"], "description": "medium if left out"},
            "game_type": {"type": "string", "description": "one that you play; that of your league if left out"},
            "second": {"type": "boolean", "description": "the house agent is PLAYER_A, who begins in games with turns"},
        },
        writes=True,
        repeatable=False,
    ),
    DeclaredTool(
        "next_message",
        "Next message",
        "Wait for the messages of your inbox: the JSON-RPC requests that the league and referees have for your agent. "
        "Answer each before its deadline, with submit_response or by `responses` of the next call.",
        _TOKEN
        | {
            "wait_s": _WAIT,
            "after": {"type": "string", "description": "`next` of the answer before: what you have is not sent again"},
            "responses": {"type": "array", "items": _RESPONSE, "maxItems": MAX_RESPONSES},
        },
        writes=True,
        repeatable=False,
    ),
    DeclaredTool(
        "submit_response",
        "Submit a response",
        "Answer a message of your inbox: a JSON-RPC response with the id of its request.",
        _TOKEN | {"response": _RESPONSE},
        ("response",),
        writes=True,
    ),
    DeclaredTool(
        "play",
        "Play",
        "Play as a person: while it waits (25 s at most) it accepts your invitations, and asks you for each move. "
        "Call it again and again, until `call_again` is false. Register without contact_endpoint first. "
        "Needs a client with elicitation.",
        _TOKEN | {"wait_s": _WAIT},
        writes=True,
        repeatable=False,
    ),
    *instructing.TOOLS,
    DeclaredTool("ping", "Ping", "Whether the league manager answers."),
    DeclaredTool("list_tools", "Tools", "This list."),
)
TOOLS = tuple(replace(tool, output_schema=answers.SCHEMAS[tool.name]) for tool in _TOOLS)
"""Each with the schema of its answer."""


def list_tools(call: Call) -> dict[str, Any]:
    """Every tool with name, description and inputSchema: ``list_tools`` of the course."""
    return {"tools": [tool.as_listed for tool in TOOLS]}
