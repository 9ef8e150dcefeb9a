"""READS: agents with one host and port, whose matches must wait for each other (ruling, section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from agents_registry.addresses import programs
from agents_registry.models import Agent


@dataclass(frozen=True, slots=True)
class Shared:
    """Several agents that count as one program.

    Attributes:
        host: their name or IP address, spelled as in the keys; several are separated by commas.
        to_mark: the hosts to mark as gateways so that the agents are told apart by their paths; empty if they have
            one path, or the paths count already.
    """

    agents: tuple[Agent, ...]
    host: str
    port: int
    to_mark: tuple[str, ...]


def shared(agents: Iterable[Agent], gateways: frozenset[str]) -> list[Shared]:
    """Which of these agents count as one program, as far as is known without looking up names."""
    behind: dict[str, list[Agent]] = {}
    for agent in agents:
        for key in sorted(programs.known(agent, gateways)):
            behind.setdefault(key, []).append(agent)
    # Agents that have several keys in common, as a name with several addresses has, are listed once.
    keys_of: dict[tuple[Agent, ...], list[str]] = {}
    for key, sharers in behind.items():
        if len(sharers) > 1:
            keys_of.setdefault(tuple(sharers), []).append(key)
    return [_shared(sharers, keys) for sharers, keys in keys_of.items()]


def _shared(agents: tuple[Agent, ...], keys: list[str]) -> Shared:
    places = [programs.place(key).partition("|") for key in keys]
    hosts, paths = (
        set(parts) for parts in zip(*(programs.host_and_path(agent.endpoint) for agent in agents), strict=True)
    )
    if len(hosts) > 1:
        hosts = {host for host, _, _ in places}
    told_apart = len(paths) > 1 and not programs.is_behind_gateway(keys)
    return Shared(agents, ", ".join(sorted(hosts)), int(places[0][2] or 0), tuple(sorted(hosts)) if told_apart else ())


def is_at(agent: Agent, host: str) -> bool:
    """Whether an agent answers at a host (of :func:`programs.read_host`), as far as is known without a look-up."""
    hosts = {key.partition("|")[0] for key in programs.known(agent, frozenset())}
    return host in {*hosts, programs.host_and_path(agent.endpoint)[0]}


def sharing(agents: Iterable[Agent], max_named: int) -> dict[int, tuple[list[Agent], int]]:
    """READ: for each agent that is not alone on its machine, its first ``max_named`` neighbours and the number of all.

    A name counts as what it resolved to for its last match; before that, as itself. Keyed by primary key.
    """
    hosts = {agent: programs.hosts_of(agent) for agent in agents}
    on_host: dict[str, list[Agent]] = {}
    for agent, names in hosts.items():
        for name in names:
            on_host.setdefault(name, []).append(agent)
    neighbours_of = {}
    for agent, names in hosts.items():
        groups = [on_host[name] for name in names]
        # A whole class may be on one machine: only where there are several hosts are the agents counted one by one.
        number = len(groups[0] if len(groups) == 1 else set(chain(*groups))) - 1
        # One more than are listed: the agent itself may be among them.
        neighbours = [other for group in groups for other in group[: max_named + 1] if other != agent]
        if number > 0:
            neighbours_of[agent.pk] = (list(dict.fromkeys(neighbours))[:max_named], number)
    return neighbours_of
