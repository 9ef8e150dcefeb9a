"""What MCP wants of a session that a server gave: it is taken, it lives beyond one call, and DELETE ends it.

A server need not give any, and need not let clients end one: it says so with 405.
"""

from __future__ import annotations

import time

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.mcp.server import Server
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects import session
from league_sdk.dialects.discovery import LIMIT_S
from league_sdk.dialects.kept import END_S
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.sentences import Sentence, _, say
from league_sdk.transport.client import CallFailed

GONE, NOT_ALLOWED = 404, 405
_FORGOTTEN = _(
    "It took one call of its session, and refused the next: {said}. Keep a session until DELETE ends it, or give none"
)
_REPLACED = _(
    "It gave another session with a later answer, and refused the one of initialize: {said}. Give a session with the "
    "answer to initialize only, and keep it"
)
_ANOTHER = _(
    "A later answer had another Mcp-Session-Id than initialize gave, {seen}: some clients take that one. Give a "
    "session with the answer to initialize only"
)
_UNKNOWN = _("It did not answer {method} in time: whether its session is over is not known.")


async def check_session(verdicts: Verdicts, server: Server) -> None:
    """Judge the session of a server that gave one, with at most three requests within :data:`LIMIT_S` seconds.

    Args:
        server: as clients of the handshake era see it; its tools were listed once in its session.

    Raises:
        Stopped: the time of the check is used up, or the agent is due in a match.
    """
    if server.session_id is None:
        return
    end, first = time.monotonic() + LIMIT_S, server.exchanges.get(LIST_TOOLS)
    wrong = _wrong_id(server) or _wrong_first(first)
    took_first_call = wrong is None and server.result(LIST_TOOLS) is not None
    if took_first_call:
        wrong = await _wrong_next(server, end)
    verdicts.decide("mcp.session", wrong is None, server.exchanges.get(LIST_TOOLS), wrong=wrong)
    if took_first_call and wrong is None:
        await _check_end(verdicts, server, end)


def _wrong_id(server: Server) -> Sentence | None:
    if server.memory.session is None or server.memory.session.id:
        return None
    why = _("Its Mcp-Session-Id was {seen}: MCP allows visible ASCII characters only, so it is called without it")
    return say(why, seen=seen_text(server.session_id))


def _wrong_first(listed: Exchange | None) -> Sentence | None:
    if listed is None or not session.is_wanted(listed.status or 0, listed.response_body):
        return None
    return say(_("It refused the session that it had just given: {said}"), said=listed.in_words())


async def _wrong_next(server: Server, end: float) -> Sentence | None:
    """What is wrong with a session that has taken one call, when it is called again."""
    try:
        again = await server.call(server.memory.session, LIST_TOOLS, {}, _left_s(end))
    except CallFailed as error:
        why = _("It answered one call of its session, and not the next: {problem}. Keep a session until DELETE ends it")
        return say(why, problem=error.problem)
    other = server.other_id
    if again.status == GONE or session.is_wanted(again.status or 0, again.response_body):
        return say(_FORGOTTEN if other is None else _REPLACED, said=again.in_words())
    return None if other is None else say(_ANOTHER, seen=seen_text(other))


async def _check_end(verdicts: Verdicts, server: Server, end: float) -> None:
    """Judge whether DELETE ends the session; whatever comes, it is not used any more."""
    ended_session, memory = server.memory.session, server.memory
    if ended_session is None or ended_session.way:
        # It was given over a line of the agent's own, on which there is no DELETE.
        return
    status = await server.caller.delete(ended_session, limit_s=min(END_S, _left_s(end)))
    memory.session, memory.wants_session = None, True
    # The memory has no session now: the caller forgets the one that it had noted, and sends no second DELETE.
    server.caller.end_session_later(memory)
    if status is None:
        verdicts.skip("mcp.session_end", say(_UNKNOWN, method="DELETE"))
    elif status == NOT_ALLOWED:
        ended = say(_("It takes no DELETE (HTTP 405), as MCP allows: it ends sessions by itself."))
        verdicts.decide("mcp.session_end", True, ended=ended)
    elif not 200 <= status < 300:
        why = _("DELETE was answered with HTTP {status}. Better answer 405 if you do not let clients end a session")
        verdicts.decide("mcp.session_end", False, wrong=say(why, status=status))
    else:
        await _judge_afterwards(verdicts, server, ended_session, status, end)


async def _judge_afterwards(
    verdicts: Verdicts, server: Server, ended_session: session.Session, deleted: int, end: float
) -> None:
    """Judge a call with a session that DELETE has ended."""
    try:
        after = await server.call(ended_session, LIST_TOOLS, {}, _left_s(end))
    except CallFailed:
        verdicts.skip("mcp.session_end", say(_UNKNOWN, method=LIST_TOOLS))
        return
    ended = say(_("After DELETE a call with it is answered with HTTP 404."))
    why = _(
        "DELETE was answered with HTTP {deleted}, and a call with that session afterwards with HTTP {status}. Better "
        "answer it with 404, by which clients know that they have to begin anew"
    )
    wrong = say(why, deleted=deleted, status=after.status)
    verdicts.decide("mcp.session_end", after.status == GONE, after, ended=ended, wrong=wrong)


def _left_s(end: float) -> float:
    return max(0.001, end - time.monotonic())
