"""Which program is behind an address: a program must not be in two matches at once (ruling, section 8).

A program is known by its keys. For http a key is the IP address and the port, whatever the path; for https the host
name and the port, as the certificate proves the name. Behind a host that the instructor has marked as a gateway the
path counts, too. Names are looked up before each match, and the referee of the match calls exactly the addresses that
were found: a name that changes a moment later does not bring a second match to somebody else's program.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from agents_registry.addresses.reading import LOOPBACK_NAMES, inbox_url, one_path, plain_ip
from agents_registry.models import Agent, Gateway
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.transport import machine
from league_sdk.transport.names import NAMES
from league_sdk.transport.targets import Target, find_target
from storage import clock

THIS_MACHINE = "127.0.0.1"
"""Stands in keys for all loopback addresses and for all other addresses of this machine."""
ANY_PATH = "//"
"""In a key, stands after host and port for every path there. A normalised path never contains two slashes."""
MAX_ESCAPES = 3
"""How often a gateway and the servers behind it may unescape a path."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is behind an endpoint.

    Attributes:
        keys: each must be in one match only; there are several if the name has several addresses.
        addresses: the IP addresses of the endpoint; empty if there are none.
    """

    keys: frozenset[str]
    addresses: tuple[str, ...]


def in_play(agent: Agent, gateways: frozenset[str], tell: Callable[[], None]) -> frozenset[str] | None:
    """What a player in a match keeps from other matches; None while its name is being looked up.

    The name of a player in a match is unknown only if the match was started by a version that did not store programs.

    Changes: the row of such a player, once the name is known.

    Args:
        gateways: the result of :func:`gateways`, as they are marked now.
        tell: called in another thread when the name has been looked up.
    """
    if not agent.program:
        program = find(agent.endpoint, gateways, tell)
        if program is None:
            return None
        note(agent, program)
    return taken(agent, known(agent, gateways))


def taken(agent: Agent, keys: Iterable[str]) -> frozenset[str]:
    """What a player in a match keeps from other matches: the program with these keys behind it, and itself."""
    return held(keys) | {oneself(agent.pk)}


def needed(agent: Agent, keys: Iterable[str]) -> frozenset[str]:
    """What no match in play may keep (:func:`taken`) when a match of this player, with these keys, starts."""
    return free_for(keys) | {oneself(agent.pk)}


def held(keys: Iterable[str]) -> frozenset[str]:
    """What programs keep from others while they play: their keys, and behind a gateway also host and port.

    A gateway may also be called by a name or address that is not marked: then the path is not known.
    """
    own = frozenset(keys)
    return own | {f"{place(key)}{ANY_PATH}" for key in own if key != place(key)}


def free_for(keys: Iterable[str]) -> frozenset[str]:
    """What must not be among :func:`held` of others while programs with these keys play."""
    own = frozenset(keys)
    return own | {f"{key}{ANY_PATH}" if key == place(key) else place(key) for key in own}


def place(key: str) -> str:
    """A program's key without its path: host and port."""
    host, bar, rest = key.partition("|")
    return f"{host}{bar}{rest.partition('/')[0]}"


def is_behind_gateway(keys: Iterable[str]) -> bool:
    """Whether a program with these keys is told from others by its path: at another path is another program."""
    return any(key != place(key) for key in keys)


def known(agent: Agent, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of the program behind a player, as far as they are known; no name is looked up.

    A name counts as what it led to when a match was last given out; before that, as itself.
    """
    noted = agent.program.split()
    if not noted:
        return program(agent.endpoint, (), gateways).keys
    if called_endpoint(agent) != agent.endpoint:
        return line_of(agent).keys
    if not gateways and not is_behind_gateway(noted):
        return frozenset(noted)
    target = find_target(agent.endpoint)
    return frozenset(noted) if target is None else _keys({place(key) for key in noted}, target, gateways)


def line_of(agent: Agent) -> Program:
    """What is behind the line of an agent that is called over it and at no address: this agent alone."""
    return Program(frozenset({inbox_url(agent.pk)}), ())


def called_endpoint(agent: Agent) -> str:
    """The endpoint at which a player is called in its match: its inbox if the match was assigned for its line only."""
    line = inbox_url(agent.pk)
    return line if agent.program == line else agent.endpoint


def find(endpoint: str, gateways: frozenset[str], tell: Callable[[], None]) -> Program | None:
    """What is behind an address now; None while its name is being looked up.

    Args:
        gateways: the result of :func:`gateways`.
        tell: called in another thread when the name has been looked up.
    """
    host = looked_up(endpoint)
    addresses = NAMES.addresses(host, tell) if host else ()
    return None if addresses is None else program(endpoint, addresses, gateways)


def program(endpoint: str, addresses: Iterable[str], gateways: frozenset[str]) -> Program:
    """What is behind an endpoint.

    Args:
        addresses: what its name resolves to, if that is looked up; if to nothing, the name itself counts.
        gateways: the hosts whose paths count.
    """
    target = find_target(endpoint)
    if target is None:
        return Program(frozenset({endpoint}), ())
    leads_to = tuple(addresses) if _is_looked_up(target) else (target.host,) if target.ip is not None else ()
    places = {f"{_one_spelling(host)}|{target.called_port}" for host in leads_to or (target.host,)}
    return Program(_keys(places, target, gateways), leads_to)


def _keys(places: Collection[str], target: Target, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of a program at these hosts and ports; with the path if one of the hosts, or the name, is a gateway."""
    hosts = {host_and_port.partition("|")[0] for host_and_port in places}
    path = _one_route(target.path) if not gateways.isdisjoint({*hosts, _one_spelling(target.host)}) else ""
    return frozenset(f"{host_and_port}{path}" for host_and_port in places)


def _one_route(path: str) -> str:
    """The normal form of all paths that some gateway leads to the same program.

    Gateways unescape paths (``/x/..%2Fv`` is ``/v`` to nginx), and some ignore case or what follows a semicolon. Two
    programs whose paths differ in such things only are taken for one.
    """
    for _ in range(MAX_ESCAPES):
        path = unquote(path)
    plain = "/".join(part.partition(";")[0] for part in path.replace("\\", "/").casefold().split("/"))
    # Without white space, which separates the keys in the database.
    return one_path(quote(plain, safe="/"))


def pins(*agents: Agent) -> dict[str, dict[str, list[str]]]:
    """For the endpoint policy of a match: the addresses that were found for the names of its players."""
    names = {agent: looked_up(called_endpoint(agent)) for agent in agents if agent.program}
    pinned = {name: agent.addresses.split() for agent, name in names.items() if name}
    return {"pinned": pinned} if pinned else {}


def looked_up(endpoint: str) -> str:
    """The name in an address that must be looked up before a match; empty if there is none."""
    target = find_target(endpoint)
    return target.host if target is not None and _is_looked_up(target) else ""


def note(agent: Agent, program: Program) -> None:
    """Store what is behind a player's endpoint when a match starts.

    Changes: the agent's row, if it said something else.

    The instance is brought up to date as well.
    """
    before = (agent.program, agent.addresses)
    agent.program, agent.addresses = " ".join(sorted(program.keys)), " ".join(program.addresses)
    if before != (agent.program, agent.addresses):
        Agent.objects.filter(pk=agent.pk).update(program=agent.program, addresses=agent.addresses)


def gateways() -> frozenset[str]:
    """READ: the hosts that the instructor has marked as gateways, spelled as in the keys."""
    return frozenset(Gateway.objects.values_list("host", flat=True))


def mark_gateway(*, host: object, gateway: bool) -> bool:
    """Mark a host as a gateway to many programs, so that paths on it count; or take the mark back.

    Changes: the list of gateways, which counts for matches that start from now on.

    Returns whether this changed anything.

    Raises:
        InvalidFormat: this is not a host.
    """
    gateway_host = read_host(host)
    if gateway:
        return Gateway.objects.get_or_create(host=gateway_host, defaults={"marked_at": clock.now()})[1]
    return Gateway.objects.filter(host=gateway_host).delete()[0] > 0


def read_host(host: object) -> str:
    """A host (a name or an IP address, without port and path), spelled as in the keys.

    Raises:
        InvalidFormat: this is not a host.
    """
    expected = "a host name or an IP address, such as gateway.example or 192.168.1.5"
    text = host.strip().strip("[]").lower() if isinstance(host, str) else ""
    target = find_target(f"http://[{text}]/" if ":" in text else f"http://{text}/")
    if target is None or target.port is not None or target.path != "/" or target.query:
        raise InvalidFormat("This is not a host.", field="host", seen=host, expected=expected)
    return _one_spelling(target.host)


def host_and_path(endpoint: str) -> tuple[str, str]:
    """Host and path of an address, each spelled as in the keys; two empty texts if it cannot be read."""
    target = find_target(endpoint)
    return ("", "") if target is None else (_one_spelling(target.host), _one_route(target.path))


def hosts_of(agent: Agent) -> set[str]:
    """The hosts of an agent, spelled as in the keys: the addresses of its name, or the name itself."""
    hosts = agent.addresses.split() or filter(None, [host_and_path(agent.endpoint)[0]])
    return {_one_spelling(host) for host in hosts}


def oneself(agent: int) -> str:
    """What the agent with this primary key keeps beside its program: it is in one match only, whatever is behind it."""
    return f"agent:{agent}"


def _is_looked_up(target: Target) -> bool:
    """Whether an endpoint has a name that must be looked up; with https the certificate proves the name instead."""
    return target.scheme == "http" and target.ip is None and _one_spelling(target.host) != THIS_MACHINE


@lru_cache(maxsize=4096)
def _one_spelling(host: str) -> str:
    if host in LOOPBACK_NAMES or machine.is_own_name(host):
        return THIS_MACHINE
    try:
        address = ipaddress.ip_address(plain_ip(host))
    except ValueError:
        return host
    return THIS_MACHINE if address.is_loopback or machine.is_own(address) else str(address)
