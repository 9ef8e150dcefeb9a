"""Which program is behind an address: what must not be in two matches at once (ruling, section 8).

For http it is the IP address and the port, whatever the path; for https the host name and the port, to which the
certificate binds whoever answers. Behind a host that the instructor has marked as a gateway the path counts, too. What
a name leads to is looked up before each match, and the referee of that match calls exactly what was found: a name that
leads elsewhere a moment later does not bring a second match to somebody's program.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.db import transaction
from django.utils import timezone

from agents_registry.addresses import LOOPBACK_NAMES, one_path, plain_ip
from agents_registry.models import Agent, Gateway
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.transport import machine
from league_sdk.transport.names import NAMES
from league_sdk.transport.targets import Target, Unreadable, read_target

THIS_MACHINE = "127.0.0.1"
"""One spelling for the loopback, whatever its number, and for the addresses by which others see this machine."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is behind an endpoint.

    Attributes:
        keys: each of them must be in one match only; a name may lead to several addresses.
        addresses: the IP addresses that the endpoint's name, or its IP address, leads to; empty when to none.
    """

    keys: frozenset[str]
    addresses: tuple[str, ...]


def in_play(agent: Agent) -> frozenset[str]:
    """What a player occupies that is in a match: what was found when the match was given out, and the player itself."""
    # A match that was given out before this was written down: by its address alone.
    keys = agent.program.split() or program(agent.endpoint, (), frozenset()).keys
    return frozenset({*keys, f"agent:{agent.pk}"})


def found(agent: Agent, gateways: frozenset[str], tell: Callable[[], None]) -> Program | None:
    """What is behind a player's endpoint now; None while its name is being looked up.

    Args:
        agent: the player.
        gateways: of :func:`gateways`.
        tell: called in another thread when the name has been looked up.
    """
    return found_at(agent.endpoint, gateways, tell)


def found_at(endpoint: str, gateways: frozenset[str], tell: Callable[[], None]) -> Program | None:
    """What is behind an address now; None while its name is being looked up. The arguments are those of :func:`found`.

    Args:
        endpoint: the address.
    """
    target = _read(endpoint)
    addresses = NAMES.addresses(target.host, tell) if target is not None and _is_looked_up(target) else ()
    return None if addresses is None else program(endpoint, addresses, gateways)


def program(endpoint: str, addresses: Iterable[str], gateways: frozenset[str]) -> Program:
    """What is behind an endpoint.

    Args:
        endpoint: the address.
        addresses: what its name leads to, where it has one that is looked up. One that leads nowhere counts itself.
        gateways: the hosts whose paths count.
    """
    target = _read(endpoint)
    if target is None:
        return Program(frozenset({endpoint}), ())
    known = tuple(addresses) if _is_looked_up(target) else (target.host,) if target.ip is not None else ()
    hosts = {_one_spelling(host) for host in known or (target.host,)}
    path = one_path(target.path) if not gateways.isdisjoint({*hosts, _one_spelling(target.host)}) else ""
    return Program(frozenset(f"{host}|{target.number}{path}" for host in hosts), known)


def pins(*agents: Agent) -> dict[str, dict[str, list[str]]]:
    """For the endpoint policy of a match: the names of its players, each with the addresses that were found for it."""
    named = {agent: looked_up(agent.endpoint) for agent in agents if agent.program}
    pinned = {host: agent.addresses.split() for agent, host in named.items() if host}
    return {"pinned": pinned} if pinned else {}


def looked_up(endpoint: str) -> str:
    """The name in an address that is looked up before it is called; empty when there is none."""
    target = _read(endpoint)
    return target.host if target is not None and _is_looked_up(target) else ""


def note(agent: Agent, seen: Program) -> None:
    """Write down what is behind a player's endpoint, as a match is given out.

    Changes: the agent's row, if it said something else.

    Args:
        agent: the player; the instance is brought up to date as well.
        seen: what was found.
    """
    keys, addresses = " ".join(sorted(seen.keys)), " ".join(seen.addresses)
    if (agent.program, agent.addresses) != (keys, addresses):
        agent.program, agent.addresses = keys, addresses
        Agent.objects.filter(pk=agent.pk).update(program=keys, addresses=addresses)


def gateways() -> frozenset[str]:
    """READ: the hosts that the instructor has marked as gateways, in the spelling of the keys."""
    return frozenset(Gateway.objects.values_list("host", flat=True))


def mark_gateway(*, host: object, gateway: bool) -> str:
    """Mark a host as a gateway to many programs, so that paths on it count; or as one program's own machine again.

    Changes: the list of gateways. Matches that are given out from now on follow it.

    Args:
        host: a name or an IP address, without port and path.
        gateway: whether it is one.

    Returns the host in the one spelling in which it is kept.

    Raises:
        InvalidFormat: this is no host.
    """
    expected = "a host name or an IP address, such as gateway.example or 192.168.1.5"
    text = host.strip().strip("[]").lower() if isinstance(host, str) else ""
    target = _read(f"http://[{text}]/" if ":" in text else f"http://{text}/")
    if target is None or target.port is not None or target.path != "/" or target.query:
        raise InvalidFormat("This is not a host.", field="host", seen=host, expected=expected)
    kept = _one_spelling(target.host)
    with transaction.atomic():
        if gateway:
            Gateway.objects.get_or_create(host=kept, defaults={"marked_at": timezone.now()})
        else:
            Gateway.objects.filter(host=kept).delete()
    return kept


def sharing(agents: Iterable[Agent]) -> dict[int, list[Agent]]:
    """READ: by primary key, the others of these agents that are on the same machine as one; who is alone is left out.

    A name counts as far as it was looked up for a match; before that it stands for itself.
    """
    given = list(agents)
    at: dict[str, list[Agent]] = {}
    hosts = {agent.pk: _hosts(agent) for agent in given}
    for agent in given:
        for host in hosts[agent.pk]:
            at.setdefault(host, []).append(agent)
    shared = {
        agent.pk: {other.pk: other for host in hosts[agent.pk] for other in at[host] if other.pk != agent.pk}
        for agent in given
    }
    return {pk: list(others.values()) for pk, others in shared.items() if others}


def _hosts(agent: Agent) -> set[str]:
    target = _read(agent.endpoint)
    return {_one_spelling(one) for one in agent.addresses.split() or ([target.host] if target is not None else [])}


def _is_looked_up(target: Target) -> bool:
    """Whether an endpoint has a name that might lead elsewhere the next time; of https the certificate sees to that."""
    return target.scheme == "http" and target.ip is None and _one_spelling(target.host) != THIS_MACHINE


def _read(endpoint: str) -> Target | None:
    try:
        return read_target(endpoint)
    except Unreadable:
        return None


@lru_cache(maxsize=4096)
def _one_spelling(host: str) -> str:
    if host in LOOPBACK_NAMES or machine.is_own_name(host):
        return THIS_MACHINE
    try:
        address = ipaddress.ip_address(plain_ip(host))
    except ValueError:
        return host
    return THIS_MACHINE if address.is_loopback or machine.is_own(address) else str(address)
