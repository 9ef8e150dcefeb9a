"""What MCP wants of a player that is called through its tools: versions, sessions, the list of its tools, its results.

A player that is called by methods is asked nothing of this, and its report says nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from league_sdk.conformance import mcp_forms
from league_sdk.conformance.exchange import CALL_TOOL, Exchange
from league_sdk.conformance.line import Line
from league_sdk.conformance.mcp_forms import INITIALIZE
from league_sdk.conformance.talk import Talk
from league_sdk.dialects import session, shapes
from league_sdk.dialects.discovery import DISCOVER, LIMIT_S, discover
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.sentences import Sentence, _, say
from league_sdk.transport.client import CallFailed, Reply

MAX_NAMED = 10
"""Tools that are named in a report."""


@dataclass(slots=True)
class _Server:
    """What a player answered as a server of MCP.

    Attributes:
        memory: what it was found to be, as the league finds it.
        exchanges: the last of each method.
        session_id: as it gave it, whatever that is; None without.
    """

    memory: Memory
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    session_id: str | None = None

    @property
    def is_stateless(self) -> bool:
        """Whether it is called without a session."""
        return self.memory.session is not None and self.memory.session.is_stateless

    def result(self, method: str) -> Mapping[str, Any] | None:
        """The result that it gave to a method; None if it gave none."""
        exchange = self.exchanges.get(method)
        came = exchange.came if exchange is not None else None
        result = came.get("result") if isinstance(came, Mapping) else None
        return result if isinstance(result, Mapping) else None


def is_through_tools(shape: str, kind: str) -> bool:
    """Whether a message type is sent as a call of a tool of MCP in this shape."""
    return shapes.SHAPES[shape].method(kind) == CALL_TOOL


async def check_mcp(talk: Talk) -> Memory | None:
    """Judge a player that was called through its tools as a server of MCP; do nothing with another.

    Returns what was found out of it; None of another.

    Raises:
        Stopped: the time of the check is used up, or the player is due in a match.
    """
    if not any(is_through_tools(shape, kind) for kind, shape in talk.line.memory.spoken.items()):
        return None
    server = await _discover(talk.line)
    _judge_greeting(talk, server)
    if server.memory.mcp:
        _judge_session(talk, server)
        _judge_list(talk, server)
        _judge_tools(talk, server)
    _judge_result(talk, server)
    talk.line.check_alive()
    return server.memory


async def _discover(line: Line) -> _Server:
    """Find out what a player is, as the league finds it."""
    server = _Server(Memory(stays=line.memory.stays))

    async def post(body: Any, *, limit_s: float, headers: Mapping[str, str] | None) -> Reply:
        reply, exchange = await line.post(body, holder=server.memory, limit_s=limit_s, headers=headers)
        server.exchanges[str(body["method"])] = exchange
        if body["method"] == INITIALIZE:
            server.session_id = reply.headers.get(session.ID_HEADER)
        return reply

    # Of one that did not answer in time it stays unknown what it is: whoever calls it next may ask it again.
    with suppress(CallFailed):
        await discover(post, server.memory, line.next_id, limit_s=LIMIT_S)
    line.keep(server.memory)
    return server


def _judge_greeting(talk: Talk, server: _Server) -> None:
    """Judge whether a client of MCP can connect, and in which version."""
    version = server.memory.mcp or ""
    first = DISCOVER if server.memory.session is None or server.is_stateless else INITIALIZE
    evidence = server.exchanges.get(first) or server.exchanges.get(INITIALIZE)
    talk.verdicts.decide("mcp.version", version, evidence, version=version)
    # One that is known by a list of versions beside an error has no result to be judged.
    for method in (first, INITIALIZE):
        result = server.result(method)
        if result is not None:
            wrong = mcp_forms.wrong_greeting(method, result)
            talk.verdicts.decide("mcp.greeting", wrong is None, server.exchanges[method], wrong=wrong)
            return


def _judge_session(talk: Talk, server: _Server) -> None:
    """Judge the session of a server that gave one."""
    if server.session_id is None:
        return
    listed = server.exchanges.get(LIST_TOOLS)
    wrong: Sentence | None = None
    if server.memory.session is not None and not server.memory.session.id:
        why = _("Its Mcp-Session-Id was {seen}: MCP allows visible ASCII characters only, so it is called without it")
        wrong = say(why, seen=seen_text(server.session_id))
    elif listed is not None and session.is_wanted(listed.status or 0, listed.came):
        wrong = say(_("It refused the session that it had just given: {said}"), said=listed.in_words())
    talk.verdicts.decide("mcp.session", wrong is None, listed, wrong=wrong)


def _judge_list(talk: Talk, server: _Server) -> None:
    """Judge whether clients of MCP can read the list of its tools."""
    result = server.result(LIST_TOOLS)
    if result is not None:
        wrong = mcp_forms.wrong_list(result, stateless=server.is_stateless)
        talk.verdicts.decide("mcp.list", wrong is None, server.exchanges[LIST_TOOLS], wrong=wrong)


def _judge_tools(talk: Talk, server: _Server) -> None:
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


def _judge_result(talk: Talk, server: _Server) -> None:
    """Judge the first answer of one of its tools."""
    answer = talk.first_answer
    if answer is None or not answer.calls_tool:
        return
    params = answer.sent.get("params")
    name = params.get("name") if isinstance(params, Mapping) else None
    tools = (server.result(LIST_TOOLS) or {}).get("tools")
    named = [tool for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, Mapping)]
    tool = next((tool for tool in named if tool.get("name") == name), {})
    result = answer.came.get("result") if isinstance(answer.came, Mapping) else None
    # It was found out after this answer, and may have been called in another version before.
    called_in = talk.line.memory.session
    stateless = called_in is not None and called_in.is_stateless
    wrong = mcp_forms.wrong_result(result, tool, stateless=stateless)
    talk.verdicts.decide("mcp.results", wrong is None, answer, wrong=wrong)
