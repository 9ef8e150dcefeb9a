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
