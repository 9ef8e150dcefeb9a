"""What MCP wants of a player that is called through its tools: versions, sessions, the list of its tools, its results.

A player that is called by methods is asked nothing of this, and its report says nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from league_sdk.conformance.exchange import CALL_TOOL
from league_sdk.conformance.mcp import forms
from league_sdk.conformance.mcp.forms import INITIALIZE
from league_sdk.conformance.mcp.server import Server, find_out, in_each_era, judge_greeting, judge_list
from league_sdk.conformance.mcp.sessions import check_session
from league_sdk.conformance.talk import Talk
from league_sdk.dialects import shapes
from league_sdk.dialects.discovery import DISCOVER
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import ROLES, MessageType

MAX_NAMED = 10
"""Tools that are named in a report."""


def is_through_tools(shape: str, kind: str) -> bool:
    """Whether a message type is sent as a call of a tool of MCP in this shape."""
    return shapes.SHAPES[shape].method(kind) == CALL_TOOL


async def check_mcp(talk: Talk) -> Memory | None:
    """Judge a player that was called through its tools as a server of MCP; do nothing with another.

    Returns what was found out about the player; None if it was not called through tools.

    Raises:
        Stopped: the time of the check is used up, or the player is due in a match.
    """
    if not any(is_through_tools(shape, kind) for kind, shape in talk.caller.memory.spoken.items()):
        return None
    server = await find_out(talk.caller)
    _judge_version(talk, server)
    if server.memory.mcp:
        servers = await in_each_era(server)
        judge_greeting(talk.verdicts, servers)
        judge_list(talk.verdicts, servers)
        _judge_tools(talk, server)
        await check_session(talk.verdicts, servers[-1])
    else:
        judge_greeting(talk.verdicts, [server])
    _judge_result(talk, server)
    talk.caller.check_alive()
    return server.memory


def _judge_version(talk: Talk, server: Server) -> None:
    """Judge whether a client of MCP can connect, and in which version."""
    version = server.memory.mcp or ""
    first = DISCOVER if server.memory.session is None or server.is_stateless else INITIALIZE
    evidence = server.exchanges.get(first) or server.exchanges.get(INITIALIZE)
    talk.verdicts.decide("mcp.version", version, evidence, version=version)


def _judge_tools(talk: Talk, server: Server) -> None:
    """Judge which tools there are for the messages of a match, and whether their arguments can be filled."""
    own, listed = server.memory.own, server.exchanges.get(LIST_TOOLS)
    match = talk.league.match(ROLES[0])
    messages = {
        MessageType.GAME_INVITATION: talk.league.invitation(match),
        talk.league.game.call_message: talk.league.move_call(match),
        MessageType.GAME_OVER: talk.league.game_over(match, "CANCELLED"),
    }
    missing = next((kind for kind in messages if kind not in own), None)
    names = ", ".join(map(seen_text, list(server.memory.tools or {})[:MAX_NAMED]))
    facts = {"kind": missing, "wanted": shapes.canonical_method(missing)} if missing is not None else {"tools": names}
    talk.verdicts.decide("mcp.tools", missing is None, listed, **facts)
    for kind, message in messages.items():
        _body, unfilled = own[kind].call("tools_list", message, 0) if kind in own else ({}, ())
        if unfilled:
            # Names are the agent's own words: quoted, so that they cannot pass for ours.
            named = {"tool": seen_text(own[kind].name), "argument": seen_text(unfilled[0]), "kind": kind}
            talk.verdicts.decide("mcp.arguments", False, listed, **named)
            return
    talk.verdicts.decide("mcp.arguments", True, listed)


def _judge_result(talk: Talk, server: Server) -> None:
    """Judge the first answer of the check, if a tool gave it."""
    answer = talk.first_answer
    if answer is None or not answer.calls_tool:
        return
    params = answer.sent.get("params")
    name = params.get("name") if isinstance(params, Mapping) else None
    tool = server.listed(name) if isinstance(name, str) else {}
    result = answer.response_body.get("result") if isinstance(answer.response_body, Mapping) else None
    # Which MCP it speaks was found out only after this answer, which may have come in another version.
    called_in = talk.caller.memory.session
    stateless = called_in is not None and called_in.is_stateless
    wrong = forms.wrong_result(result, tool, stateless=stateless)
    talk.verdicts.decide("mcp.results", wrong is None, answer, wrong=wrong)
