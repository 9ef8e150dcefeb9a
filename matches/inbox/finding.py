"""What a call at an agent's address found: an agent, nobody, a router's page or another program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.protocol.faults import OWN_SIDE, Cause
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.transport.client import Caller, CallFailed, Reply, TimedOut

_OF_AGENTS, _OF_REPLIES = {"jsonrpc", "protocol", "message_type"}, {"result", "error"}
"""An answer is an agent's if it has a field of the first set, or an id and a field of the second."""
_PAGE = ("text/html", "application/xhtml+xml")


def found_by(outcome: Reply | CallFailed, *, rpc: bool = True) -> Note | str | None:
    """What a call found in place of an agent.

    Args:
        outcome: the outcome of a ping.
        rpc: it was asked in JSON-RPC, as its agent had registered.

    Returns an empty text for an agent; None if the call was not made at the agent's address, or failed on our side.
    """
    if outcome.way:
        return None
    if isinstance(outcome, CallFailed):
        return None if outcome.cause in OWN_SIDE else _failed(outcome)
    if not outcome.problem and isinstance(outcome.body, dict | list):
        # An agent need not know pings: an error is a reply, too.
        return "" if not rpc or _is_reply(outcome.body) else note(Code.OTHER_JSON, status=outcome.status)
    is_page = outcome.headers.get("content-type", "").lower().startswith(_PAGE)
    return note(Code.WEB_PAGE if is_page else Code.NO_AGENT, status=outcome.status)


class Hindered(Exception):
    """Something of the site's own was away while an agent was called: nothing was found out about the agent.

    Attributes:
        what: what was away.
    """

    def __init__(self, what: Note | str) -> None:
        super().__init__(str(what))
        self.what = what


class FirstCall:
    """A check's way to its agent: it remembers what its first call found, which is a ping (004 5.12.2).

    A failure of our own is no outcome of a call. It ends the check.

    Attributes:
        found: as :func:`found_by`; None before that call.
    """

    def __init__(self, caller: Caller) -> None:
        self.found: Note | str | None = None
        self._caller, self._has_called = caller, False

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Like :meth:`league_sdk.transport.client.Client.post`.

        Raises:
            Hindered: our own side failed.
        """
        is_first, self._has_called = not self._has_called, True
        try:
            reply = await self._caller.post(url, message, limit_s=limit_s, headers=headers)
        except CallFailed as error:
            if error.cause in OWN_SIDE:
                raise Hindered(error.problem) from error
            self.found = found_by(error) if is_first else self.found
            raise
        self.found = found_by(reply) if is_first else self.found
        return reply

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> int | None:
        """Like :meth:`league_sdk.transport.client.Client.delete`."""
        return await self._caller.delete(url, headers, limit_s=limit_s)

    def under_same_policy(self, agent_type: str) -> Caller:
        """Like :meth:`league_sdk.transport.client.Client.under_same_policy`."""
        return FirstCall(self._caller.under_same_policy(agent_type))

    async def aclose(self) -> None:
        """Like :meth:`league_sdk.transport.client.Client.aclose`."""
        await self._caller.aclose()


def _is_reply(body: Any) -> bool:
    """Whether JSON is a JSON-RPC reply, also of an agent that leaves a part of it out, or a message of the league."""
    if isinstance(body, list):
        return any(map(_is_reply, body))
    if not isinstance(body, dict):
        return False
    return bool(body.keys() & _OF_AGENTS) or ("id" in body and bool(body.keys() & _OF_REPLIES))


def _failed(error: CallFailed) -> Note | str:
    if isinstance(error, TimedOut):
        in_time = {Cause.DEADLINE: Code.NOT_IN_TIME, Cause.NAME_LOOKUP: Code.SILENT_NAME_SERVER}
        return note(in_time.get(error.cause, Code.NO_CONNECTION_IN_TIME))
    return error.detail
