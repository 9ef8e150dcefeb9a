"""What MCP wants of a player that is called through its tools: versions, the list of its tools, arguments, results.

A player that is called by methods is asked nothing of this, and its report says nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.conformance.exchange import Exchange, Line
from league_sdk.conformance.talk import Talk
from league_sdk.dialects import shapes
from league_sdk.dialects.discovery import DISCOVER, discover
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.transport.client import CallFailed, Reply

DISCOVERY_S = 3.0
"""Seconds for finding out what a player is, as the league takes."""
TOOLS_CALL = "tools/call"
INITIALIZE = "initialize"
MAX_NAMED = 10
"""Tools that are named in a report."""


def is_through_tools(shape: str, kind: str) -> bool:
    """Whether a message type is sent as a call of a tool of MCP in this shape."""
    return shapes.SHAPES[shape].method(kind) == TOOLS_CALL


async def check_mcp(talk: Talk) -> Memory | None:
    """Judge a player that was called through its tools as a server of MCP; do nothing with another.

    Returns what was found out of it; None of another.

    Raises:
        Stopped: the time of the check is used up, or the player is due in a match.
    """
    if not any(is_through_tools(shape, kind) for kind, shape in talk.line.memory.spoken.items()):
        return None
    found, exchanges = await _found(talk.line)
    asked = exchanges.get(DISCOVER) if found.session is None or found.session.is_stateless else None
    talk.verdicts.decide("mcp.version", found.mcp, asked or exchanges.get(INITIALIZE), version=found.mcp)
    if found.mcp:
        _judge_tools(talk, found, exchanges.get(LIST_TOOLS))
    if talk.first_answer is not None and _is_tool_called(talk.first_answer):
        talk.verdicts.decide("mcp.results", talk.first_answer.tool_result is not None, talk.first_answer)
    talk.line.check_alive()
    return found


async def _found(line: Line) -> tuple[Memory, dict[str, Exchange]]:
    """What a player is as a server of MCP, found as the league finds it; and the exchanges, the last of each method."""
    memory, exchanges = Memory(stays=line.memory.stays), dict[str, Exchange]()

    async def post(body: Any, *, limit_s: float, headers: Mapping[str, str] | None) -> Reply:
        reply, exchange = await line.post(body, holder=memory, limit_s=limit_s, headers=headers)
        exchanges[str(body["method"])] = exchange
        return reply

    try:
        await discover(post, memory, line.next_id, limit_s=DISCOVERY_S)
    except CallFailed:
        memory.mcp = memory.mcp or ""
    line.keep(memory)
    return memory, exchanges


def _judge_tools(talk: Talk, found: Memory, listed: Exchange | None) -> None:
    """Judge which tools there are for the messages of a match, and whether their arguments can be filled."""
    match = talk.league.match(ROLES[0])
    messages = {
        MessageType.GAME_INVITATION: talk.league.invitation(match),
        talk.league.game.call_message: talk.league.move_call(match),
        MessageType.GAME_OVER: talk.league.game_over(match, "CANCELLED"),
    }
    missing = next((kind for kind in messages if kind not in found.own), None)
    names = ", ".join(list(found.tools or {})[:MAX_NAMED])
    facts = {"kind": missing, "wanted": shapes.canonical_method(missing)} if missing is not None else {"tools": names}
    talk.verdicts.decide("mcp.tools", missing is None, listed, **facts)
    for kind, message in messages.items():
        _body, unfilled = found.own[kind].call("tools_list", message, 0) if kind in found.own else ({}, ())
        if unfilled:
            named = {"tool": found.own[kind].name, "argument": unfilled[0], "kind": kind}
            talk.verdicts.decide("mcp.arguments", False, listed, **named)
            return
    talk.verdicts.decide("mcp.arguments", True, listed)


def _is_tool_called(exchange: Exchange) -> bool:
    return isinstance(exchange.sent, Mapping) and exchange.sent.get("method") == TOOLS_CALL
