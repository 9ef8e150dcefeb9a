"""``next_message`` and ``submit_response``: the inbox of an agent as tools, for programs that are MCP clients.

It is the inbox of the long poll (ruling, section 13): the same lines, cursors, limits and takeovers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from league_sdk.mcp.context import Context
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import MissingField
from leaguesite.inbox import answering
from leaguesite.inbox.answering import Who
from leaguesite.mcp.calls import Call, Held

HELD = frozenset({"next_message", "submit_response", "play"})
"""Tools that need the event loop."""


def next_message(call: Call) -> Held:
    """Wait for messages of the agent's inbox; responses that come along are taken first.

    Returns what waits: it gives the messages with their cursors and deadlines, as the long poll does.

    Raises:
        InvalidFormat, TooOften, TakenOver: as :func:`answering.poll` raises them, when it waits.
    """
    return Held(partial(_poll, call.params, who_asks(call)))


def submit_response(call: Call) -> Held:
    """Take the agent's response to a message of its inbox.

    Raises:
        MissingField: there is none.
        InvalidFormat: it is none; when it is taken.
    """
    response = call.params.get("response")
    if response in (None, ""):
        raise MissingField(
            "response is missing.", field="response", expected="a JSON-RPC response with the id of the message"
        )
    return Held(partial(_take, who_asks(call).agent, response))


async def _poll(asked: dict[str, Any], who: Who, context: Context | None) -> dict[str, Any]:
    # A program with nothing to bring sends an empty list.
    bring = asked.get("responses") or None
    return await answering.poll(who, wait=asked.get("wait_s"), after=asked.get("after"), name="wait_s", bring=bring)


async def _take(agent: int, response: Any, context: Context | None) -> dict[str, Any]:
    return answering.take(agent, response)


def who_asks(call: Call) -> Who:
    """Whose inbox a call is about: that of the owner of its token."""
    if call.agent is None:
        raise TypeError("the methods of an inbox need an auth_token")
    return Who(call.agent.pk, call.source.caller.ip, tokens.digest(call.params["auth_token"]))
