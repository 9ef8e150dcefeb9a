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
from leaguesite.inbox.answering import InboxCaller
from leaguesite.mcp.calls import Call, Held

HELD = frozenset({"next_message", "submit_response", "play"})
"""Tools that need the event loop."""


def next_message(call: Call) -> Held:
    """Wait for messages of the agent's inbox; responses in the same call are taken first.

    Returns an answer that waits and then has the messages with their cursors and deadlines, as the long poll does.

    Raises:
        InvalidFormat, TooOften, TakenOver: as :func:`answering.poll` raises them, while the answer waits.
    """
    return Held(partial(_poll, call.params, inbox_caller(call)))


def submit_response(call: Call) -> Held:
    """Take the agent's response to a message of its inbox.

    Raises:
        MissingField: the call has no response.
        InvalidFormat: the response is not a JSON-RPC response; raised while the answer waits.
    """
    response = call.params.get("response")
    if response in (None, ""):
        raise MissingField(
            "response is missing.", field="response", expected="a JSON-RPC response with the id of the message"
        )
    return Held(partial(_take, inbox_caller(call).agent, response))


async def _poll(arguments: dict[str, Any], caller: InboxCaller, context: Context | None) -> dict[str, Any]:
    # Some programs send an empty list if they have no responses.
    responses = arguments.get("responses") or None
    return await answering.poll(
        caller, wait=arguments.get("wait_s"), after=arguments.get("after"), name="wait_s", responses=responses
    )


async def _take(agent: int, response: Any, context: Context | None) -> dict[str, Any]:
    return answering.take(agent, response)


def inbox_caller(call: Call) -> InboxCaller:
    """The agent whose token a call has, as the caller of its own inbox."""
    if call.agent is None:
        raise TypeError("the methods of an inbox need an auth_token")
    return InboxCaller(call.agent.pk, call.source.caller.ip, tokens.digest(call.params["auth_token"]))
