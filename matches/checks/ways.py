"""READS: by which way an agent is checked: at its address, or over its own line if its league would use that now."""

from __future__ import annotations

from dataclasses import dataclass

from agents_registry.addresses.reading import Address, line_key
from agents_registry.models import Agent
from matches.inbox.hub import hub
from matches.models import LINES, Check, CheckWay


@dataclass(frozen=True, slots=True)
class Target:
    """What a check calls.

    Attributes:
        endpoint: the address; ``inbox://`` for an agent that has none.
        key: whom the report tells of: all agents at this address, or the one agent of this line.
        address: host and port; two checks of one address never run at once. The part before the bar is its place
            (:func:`matches.checks.turns.place_of`).
        way: one of :data:`matches.models.LINES`; empty for the agent's address; or that of the check.
    """

    endpoint: str
    key: str
    address: str
    way: str


def of_agent(agent: Agent) -> Target:
    """What a check of an agent calls now."""
    # The database knows the lines also while this process hears nothing of them, as when it has just started.
    way = hub.way(agent.pk) or agent.dials_out_now or (CheckWay.INBOX.value if agent.is_inbox_only else "")
    if way:
        return Target(agent.endpoint, line_key(agent.pk), _machine(agent), way)
    address = registered(agent)
    return Target(address.url, address.key, address.machine, "")


def of_check(check: Check) -> Target:
    """What a check calls now: an address that somebody gave, or its agent by the way that the agent has."""
    agent = check.agent
    if agent is None or agent.kind != check.role or check.way == CheckWay.ADDRESS:
        return claimed(check)
    return of_agent(agent)


def queued_as(check: Check, address: Address) -> Target:
    """What a new check calls, as far as it is known: the way is decided when the check begins.

    Args:
        address: that was given, or that its agent is registered with.
    """
    agent = check.agent
    if agent is not None and agent.is_inbox_only:
        return Target(agent.endpoint, line_key(agent.pk), _machine(agent), check.way)
    return Target(address.url, address.key, address.machine, check.way)


def claimed(check: Check) -> Target:
    """What a running check calls."""
    return Target(check.endpoint, check.endpoint_key, check.address, check.way)


def registered(agent: Agent) -> Address:
    """The address that an agent is registered with."""
    return Address(url=agent.endpoint, key=agent.endpoint_key, notes=())


def place_address(agent: Agent) -> str:
    """The address whose place a check of an agent counts for."""
    return _machine(agent) if agent.is_inbox_only else registered(agent).machine


def _machine(agent: Agent) -> str:
    """A line has no host and no port: its place is where the agent registered from."""
    return f"{agent.registered_from or 'inbox'}|inbox:{agent.pk}"


def is_line(way: str) -> bool:
    """Whether a check of this way goes to the agent's inbox."""
    return way in LINES
