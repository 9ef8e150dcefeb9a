"""READS: agents behind one address and port, whose matches wait for each other (ruling, section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agents_registry import programs
from agents_registry.models import Agent


@dataclass(frozen=True, slots=True)
class Shared:
    """Several agents that count as one program.

    Attributes:
        agents: in the order in which they were given.
        host: where they are, in the spelling of the keys: a name or an IP address; several with a comma between.
        port: its port.
        to_mark: the hosts that have to be marked as gateways to tell the agents apart; empty when their paths are one
            and the same, or count already.
    """

    agents: tuple[Agent, ...]
    host: str
    port: int
    to_mark: tuple[str, ...]


def shared(agents: Iterable[Agent], gateways: frozenset[str]) -> list[Shared]:
    """Which of these agents count as one program, as far as is known without looking up names.

    Args:
        agents: of one league, or of several.
        gateways: of :func:`programs.gateways`.
    """
    behind: dict[str, list[Agent]] = {}
    for agent in agents:
        for key in sorted(programs.known(agent, gateways)):
            behind.setdefault(key, []).append(agent)
    # A name with several addresses is one line.
    alike: dict[tuple[int, ...], list[str]] = {}
    together: dict[tuple[int, ...], list[Agent]] = {}
    for key, found in behind.items():
        if len(found) > 1:
            who = tuple(agent.pk for agent in found)
            alike.setdefault(who, []).append(key)
            together[who] = found
    return [_one(together[who], keys) for who, keys in alike.items()]


def _one(agents: list[Agent], keys: list[str]) -> Shared:
    places = [programs.place(key).partition("|") for key in keys]
    given = [programs.named(agent.endpoint) for agent in agents]
    names = {host for host, _ in given}
    hosts = tuple(sorted(names)) if len(names) == 1 else tuple(sorted({host for host, _, _ in places}))
    one_program = len({path for _, path in given}) == 1 or any(key != programs.place(key) for key in keys)
    return Shared(tuple(agents), ", ".join(hosts), int(places[0][2] or 0), () if one_program else hosts)


def is_at(agent: Agent, host: str) -> bool:
    """Whether an agent answers at a host, as far as is known without looking up its name.

    Args:
        agent: the agent.
        host: a name or an IP address, of :func:`programs.read_host`.
    """
    hosts = {key.partition("|")[0] for key in programs.known(agent, frozenset())}
    return host in {*hosts, programs.named(agent.endpoint)[0]}


def sharing(agents: Iterable[Agent], most: int) -> dict[int, tuple[list[Agent], int]]:
    """READ: by primary key, the others of these agents that are on the same machine as one; who is alone is left out.

    A name counts as far as it was looked up for a match; before that it stands for itself.

    Args:
        agents: who is compared; a whole class may be on one machine.
        most: how many others are named.

    Returns the first others, and how many there are in all.
    """
    given = list(agents)
    at: dict[str, list[Agent]] = {}
    hosts = {agent.pk: programs.hosts_of(agent) for agent in given}
    for agent in given:
        for host in hosts[agent.pk]:
            at.setdefault(host, []).append(agent)
    shared = {}
    for agent in given:
        groups = [at[host] for host in hosts[agent.pk]]
        number = len({other.pk for group in groups for other in group} if len(groups) > 1 else groups[0]) - 1
        # One more than are named may be the agent itself.
        near = {other.pk: other for group in groups for other in group[: most + 1] if other.pk != agent.pk}
        if number:
            shared[agent.pk] = (list(near.values())[:most], number)
    return shared
