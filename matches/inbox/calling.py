"""Call an agent: through its inbox while it has a line, else at its address."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from agents_registry.models import Agent
from league_sdk.protocol import notes, rpc
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import SCHEME, Outcome, as_called
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.notes import Code
from league_sdk.transport.client import Caller, NotReached, Reply
from league_sdk.transport.relayed import league_away, lost, not_connected, reply_of, unanswered
from matches.inbox.hub import hub
from matches.inbox.lines import NotAnswered, NotConnected, Offer, SiteStalled, Terms
from matches.observing import metrics
from storage import clock


async def hand_over(agent: int, message: dict[str, Any], terms: Terms) -> tuple[Outcome, dict[str, Any]]:
    """Put a JSON-RPC request into an agent's inbox and wait for the outcome.

    Returns the outcome, and the agent's JSON-RPC response; empty if it did not answer.

    Raises:
        SiteStalled: it did not answer while a process of the site stood still.
    """
    response: dict[str, Any] = {}
    try:
        response = await hub.ask(agent, message, terms)
        outcome = Outcome.ANSWERED
    except NotConnected:
        outcome = Outcome.NOT_CONNECTED
    except NotAnswered as error:
        outcome = Outcome.LOST if error.lost else Outcome.SILENT
    except SiteStalled:
        metrics.INBOX_MESSAGES.labels("stalled").inc()
        raise
    metrics.INBOX_MESSAGES.labels(outcome.value).inc()
    return outcome, response


def deadline(offer: Offer) -> dict[str, Any]:
    """The time at which the caller of an offer stops waiting, in the fields that the agent gets."""
    ends = clock.now() + timedelta(seconds=offer.left_s)
    return {"deadline": stamp(ends), "seconds_left": round(offer.left_s, 3)}


CONNECT_GRACE_S = LeagueSettings().connect_grace_s
"""The grace of messages that the league manager itself sends to agents."""


@dataclass(frozen=True, slots=True)
class AgentInboxCaller:
    """Calls one agent for the league manager, through its inbox and through nothing else.

    Attributes:
        agent: the agent's primary key.
        grace_s: within how many seconds it must take a message, else it is not connected; at most half of the limit.
        confirm: a message that was not answered counts as not reached if the line on which it went is gone.
    """

    agent: int
    grace_s: float = CONNECT_GRACE_S
    confirm: bool = False

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a JSON-RPC request and return the reply, as :meth:`Client.post` does.

        Args:
            url: for an agent without an address ``inbox:`` with the path at which its server is asked.
            message: an object, or the bytes of one.

        Raises:
            TimedOut: E001, it took the message and did not answer.
            NotReached: E009, it was not connected, its bridge could not reach its server, or with ``confirm`` the
                message was handed over and the line is gone. With the cause LEAGUE a process of the site stood still.
            Broken: E009.
        """
        target = urlsplit(url)
        request = rpc.loads(message) if isinstance(message, bytes) else message
        http = as_called(path=target.path if target.scheme == SCHEME else "", headers=headers or {})
        terms = Terms(limit_s, min(self.grace_s, limit_s / 2), http, confirm=self.confirm)
        asked_at = time.monotonic()
        try:
            outcome, response = await hand_over(self.agent, request, terms)
        except SiteStalled as stalled:
            raise league_away(stalled.what, connected=stalled.taken) from None
        if outcome is Outcome.ANSWERED:
            return await reply_of(response, time.monotonic() - asked_at)
        if outcome is Outcome.LOST:
            raise lost()
        raise not_connected() if outcome is Outcome.NOT_CONNECTED else unanswered()

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> None:
        """Do nothing: an inbox takes JSON-RPC requests only. The agent's server ends its session after a while."""

    def under_same_policy(self, agent_type: str) -> AgentInboxCaller:
        """The same caller: an agent that dials out has one inbox, whoever calls it."""
        return self

    async def aclose(self) -> None:
        """Do nothing: the line belongs to the agent."""


_PERHAPS_THERE = (Code.OTHER_JSON, Code.NOT_IN_TIME)
"""Findings of a call after which an agent may yet be at the address: one that knows no pings, or a slow one."""


def has_line_only(agent: Agent) -> bool:
    """Whether an agent is reached over its line and not at its address: the last call there found no agent.

    Such an address names nothing. Behind routers of their own two agents may both be 192.168.1.5:8101: they are two
    programs, and neither is called there.
    """
    if not agent.call_found or not hub.dials_out(agent.pk):
        return False
    found = notes.read(agent.call_found)
    return not (isinstance(found, notes.Note) and found.code in _PERHAPS_THERE)


async def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class AgentCaller:
    """Calls one agent for the league manager: through its inbox while the agent dials out, else at its address.

    Attributes:
        client: calls addresses.
        agent: the agent's primary key.
        grace_s: as that of an :class:`AgentInboxCaller`; None: :data:`CONNECT_GRACE_S`, or less if the agent has an
            address.
        may_call: whether the address of an agent without a line may be called now.
        confirm: as that of an :class:`AgentInboxCaller`.
    """

    client: Caller
    agent: int
    grace_s: float | None = None
    may_call: Callable[[], Awaitable[bool]] = _always
    confirm: bool = False

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a JSON-RPC request and return the reply, as :meth:`Client.post` does.

        Raises:
            TimedOut: E001.
            NotReached, Broken: E009.
        """
        has_address = urlsplit(url).scheme != SCHEME
        if has_address and not hub.dials_out(self.agent) and await self.may_call():
            return await self.client.post(url, message, limit_s=limit_s, headers=headers)
        grace_s = self.grace_s
        if grace_s is None:
            # An agent with an address is called there if its line is gone: less time is spent on waiting for the line.
            grace_s = min(CONNECT_GRACE_S, limit_s / 4) if has_address else CONNECT_GRACE_S
        asked_at = time.monotonic()
        try:
            return await AgentInboxCaller(self.agent, grace_s, self.confirm).post(
                url, message, limit_s=limit_s, headers=headers
            )
        except NotReached as error:
            left_s = limit_s - (time.monotonic() - asked_at)
            # With the cause LEAGUE the agent may have the message: it is not called at its address as well.
            may_have_it = error.connected or error.cause is Cause.LEAGUE
            if left_s <= 0 or not has_address or may_have_it or not await self.may_call():
                raise
        return await self.client.post(url, message, limit_s=left_s, headers=headers)

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> int | None:
        """Like :meth:`league_sdk.transport.client.Client.delete`; does nothing for an agent that dials out."""
        if urlsplit(url).scheme == SCHEME or hub.dials_out(self.agent):
            return None
        return await self.client.delete(url, headers, limit_s=limit_s)

    def under_same_policy(self, agent_type: str) -> AgentCaller:
        """A caller of the same agent that sends under another agent type."""
        return replace(self, client=self.client.under_same_policy(agent_type))

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.aclose()
