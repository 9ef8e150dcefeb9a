"""What an agent answers as a server of MCP, and the judgements that are the same for players and referees.

MCP has two eras: in the handshake era a session begins with ``initialize``; the newer, stateless era has no sessions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.mcp import forms
from league_sdk.conformance.mcp.forms import INITIALIZE
from league_sdk.conformance.subject_caller import SubjectCaller
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects import session
from league_sdk.dialects.discovery import DISCOVER, LIMIT_S, discover
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.session import Session
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol import rpc
from league_sdk.transport.client import CallFailed, Reply


@dataclass(slots=True)
class Server:
    """What an agent answered as a server of MCP.

    Attributes:
        caller: sends the check's requests to the agent.
        memory: what its discovery, which is also the league's, found out about it.
        exchanges: the last exchange of each method.
        session_id: as it gave it with its answer to ``initialize``, whatever that is; None without.
        other_id: a session id that came with a later answer, and is another; None without.
    """

    caller: SubjectCaller
    memory: Memory
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    session_id: str | None = None
    other_id: str | None = None

    @property
    def is_stateless(self) -> bool:
        """Whether it is called without a session."""
        return self.memory.session is not None and self.memory.session.is_stateless

    def result(self, method: str) -> Mapping[str, Any] | None:
        """The result that it gave to a method; None if it gave none."""
        exchange = self.exchanges.get(method)
        body = exchange.response_body if exchange is not None else None
        result = body.get("result") if isinstance(body, Mapping) else None
        return result if isinstance(result, Mapping) else None

    def listed(self, name: str) -> Mapping[str, Any]:
        """A tool as it lists it; empty if it does not."""
        tools = (self.result(LIST_TOOLS) or {}).get("tools")
        named = [tool for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, Mapping)]
        return next((tool for tool in named if tool.get("name") == name), {})

    async def post(self, body: Any, *, limit_s: float, headers: Mapping[str, str] | None) -> Reply:
        """Send a body, and keep the exchange.

        Raises:
            Stopped: the time of the check is used up, or the agent is due in a match.
            CallFailed: no answer came.
        """
        reply, exchange = await self.caller.post(body, session_in=self.memory, limit_s=limit_s, headers=headers)
        self.exchanges[str(body["method"])] = exchange
        session_id = reply.headers.get(session.ID_HEADER)
        if body["method"] == INITIALIZE:
            self.session_id, self.other_id = session_id, None
        elif session_id is not None and self.session_id is not None and session_id != self.session_id:
            self.other_id = session_id
        return reply

    async def call(self, agreed: Session | None, method: str, params: Mapping[str, Any], limit_s: float) -> Exchange:
        """Send a request, in a session or stateless.

        The headers of a stateless one repeat the arguments for which the server's list of tools asks that.

        Raises:
            Stopped, CallFailed: as :meth:`post`.
        """
        send = session.sender(self.post, limit_s=limit_s, now=time.monotonic, mirror=self.memory.mirrored)
        await send(rpc.call(method, params, self.caller.next_id()), agreed)
        return self.exchanges[method]


async def find_out(caller: SubjectCaller) -> Server:
    """Find out what an agent is, by the same discovery as the league.

    Raises:
        Stopped: as :meth:`Server.post`.
    """
    server = Server(caller, Memory(behind_gateway=caller.memory.behind_gateway))
    # A server that did not answer in time stays unknown: a referee or the conductor may find out when it calls.
    with suppress(CallFailed):
        await discover(server.post, server.memory, caller.next_id, limit_s=LIMIT_S)
    caller.end_session_later(server.memory)
    return server


async def in_each_era(server: Server) -> tuple[Server, ...]:
    """The server in each era that it serves; the handshake era, if it serves that, is the last.

    Raises:
        Stopped: as :meth:`Server.post`.
    """
    if not server.is_stateless:
        return (server,)
    # The handshake era repeats no arguments in headers.
    other = Server(server.caller, Memory(behind_gateway=server.memory.behind_gateway))
    send = session.sender(other.post, limit_s=LIMIT_S, now=time.monotonic)
    with suppress(CallFailed):
        opened = await session.open_session(send, server.caller.next_id)
        if opened is not None and not opened.is_stateless:
            other.memory.session = opened
            server.caller.end_session_later(other.memory)
            await send(rpc.call(LIST_TOOLS, {}, server.caller.next_id()), opened)
    return (server,) if other.memory.session is None else (server, other)


def judge_greeting(verdicts: Verdicts, servers: Sequence[Server]) -> None:
    """Judge whether clients of MCP can connect: the first answers of a server, in each era that it serves."""
    # A server recognised by the list of versions in its error has no result to be judged.
    greetings = [
        (server.exchanges[method], forms.wrong_greeting(method, result))
        for server in servers
        for method in (DISCOVER, INITIALIZE)
        if (result := server.result(method)) is not None
        and (method == INITIALIZE or server.memory.session is None or server.is_stateless)
    ]
    if greetings:
        exchange, wrong = next((greeting for greeting in greetings if greeting[1] is not None), greetings[0])
        verdicts.decide("mcp.greeting", wrong is None, exchange, wrong=wrong)


def judge_list(verdicts: Verdicts, servers: Sequence[Server]) -> None:
    """Judge whether clients of MCP can read the list of its tools, in each era that it serves."""
    lists = [
        (server.exchanges[LIST_TOOLS], forms.wrong_list(result, stateless=server.is_stateless))
        for server in servers
        if (result := server.result(LIST_TOOLS)) is not None
    ]
    if lists:
        exchange, wrong = next((tools for tools in lists if tools[1] is not None), lists[0])
        verdicts.decide("mcp.list", wrong is None, exchange, wrong=wrong)
