"""Which program is behind an address: what must not be in two matches at once (ruling, section 8).

For http it is the IP address and the port, whatever the path; for https the host name and the port, to which the
certificate binds whoever answers. Behind a host that the instructor has marked as a gateway the path counts, too. What
a name leads to is looked up before each match, and the referee of that match calls exactly what was found: a name that
leads elsewhere a moment later does not bring a second match to somebody's program.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from django.utils import timezone

from agents_registry.addresses import LOOPBACK_NAMES, one_path, plain_ip
from agents_registry.models import Agent, Gateway, Kind
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.transport import machine
from league_sdk.transport.names import NAMES
from league_sdk.transport.targets import Target, Unreadable, read_target

THIS_MACHINE = "127.0.0.1"
"""One spelling for the loopback, whatever its number, and for the addresses by which others see this machine."""
SOMETHING_BEHIND = "//"
"""After host and port: a program under some path there. No path in its one spelling has two slashes."""
MOST_ESCAPES = 3
"""So often a gateway, and what stands behind it, unescape a path."""
FILLED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Program:
    """What is behind an endpoint.

    Attributes:
        keys: each of them must be in one match only; a name may lead to several addresses.
        addresses: the IP addresses that the endpoint's name, or its IP address, leads to; empty when to none.
    """

    keys: frozenset[str]
    addresses: tuple[str, ...]


def in_play(agent: Agent, gateways: frozenset[str], tell: Callable[[], None]) -> frozenset[str] | None:
    """What a player that is in a match keeps from other matches; None while its name is being looked up.

    Only a match that was given out before programs were written down can have such a name.

    Changes: the row of such a player, once the name is known.

    Args:
        agent: the player.
        gateways: of :func:`gateways`. A mark that was made or taken back meanwhile counts at once.
        tell: called in another thread when the name has been looked up.
    """
    if not agent.program:
        seen = found(agent, gateways, tell)
        if seen is None:
            return None
        note(agent, seen)
    return taken(agent, known(agent, gateways))


def taken(agent: Agent, keys: Iterable[str]) -> frozenset[str]:
    """What a player that is in a match keeps from other matches: the program behind it, and the player itself.

    Args:
        agent: the player.
        keys: of the program behind it.
    """
    return held(keys) | {_oneself(agent)}


def needed(agent: Agent, keys: Iterable[str]) -> frozenset[str]:
    """What must not be kept by a match in play, for a player to be in another one.

    Args:
        agent: the player.
        keys: of the program behind it.
    """
    return free_for(keys) | {_oneself(agent)}


def held(keys: Iterable[str]) -> frozenset[str]:
    """What programs keep from others while they play: themselves, and of a gateway also its address as a whole.

    The same gateway may be called by a name or address that is not marked: then the path says nothing.
    """
    given = frozenset(keys)
    return given | {f"{place(key)}{SOMETHING_BEHIND}" for key in given if key != place(key)}


def free_for(keys: Iterable[str]) -> frozenset[str]:
    """What must not be among :func:`held` of others while programs with these keys play."""
    given = frozenset(keys)
    return given | {f"{key}{SOMETHING_BEHIND}" if key == place(key) else place(key) for key in given}


def place(key: str) -> str:
    """A program's key without its path: host and port."""
    host, bar, rest = key.partition("|")
    return f"{host}{bar}{rest.partition('/')[0]}"


def is_behind_gateway(keys: Iterable[str]) -> bool:
    """Whether a program with these keys is told from others by its path: at another path is another program.

    Args:
        keys: of the program.
    """
    return any(key != place(key) for key in keys)


def known(agent: Agent, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of the program behind a player, as far as they are known; no name is looked up.

    Args:
        agent: the player. A name counts as what it led to when a match was last given out; before that, as itself.
        gateways: of :func:`gateways`.
    """
    noted = agent.program.split()
    if not noted:
        return program(agent.endpoint, (), gateways).keys
    if not gateways and all(key == place(key) for key in noted):
        return frozenset(noted)
    target = _read(agent.endpoint)
    return frozenset(noted) if target is None else _keys({place(key) for key in noted}, target, gateways)


def fill() -> None:
    """Write down the programs of players from before they were kept; a name waits until a match is given out.

    Changes: the rows of players that have none. No name is looked up.
    """
    marked = gateways()
    rows = Agent.objects.filter(kind=Kind.PLAYER, program="").only("endpoint", "program", "addresses")
    filled = []
    for agent in rows.iterator():
        target = _read(agent.endpoint)
        if target is not None and not _is_looked_up(target):
            _describe(agent, program(agent.endpoint, (), marked))
            filled.append(agent)
    Agent.objects.bulk_update(filled, ["program", "addresses"], batch_size=FILLED_AT_ONCE)


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
    leads_to = tuple(addresses) if _is_looked_up(target) else (target.host,) if target.ip is not None else ()
    places = {f"{_one_spelling(host)}|{target.number}" for host in leads_to or (target.host,)}
    return Program(_keys(places, target, gateways), leads_to)


def _keys(places: Collection[str], target: Target, gateways: frozenset[str]) -> frozenset[str]:
    """Keys of a program at these hosts and ports: with its path where a host of it, or its name, is a gateway."""
    hosts = {one.partition("|")[0] for one in places}
    path = _one_route(target.path) if not gateways.isdisjoint({*hosts, _one_spelling(target.host)}) else ""
    return frozenset(f"{one}{path}" for one in places)


def _one_route(path: str) -> str:
    """A path in the one spelling of all that some gateway leads to the same program.

    Gateways unescape before they choose (``/x/..%2Fv`` is ``/v`` to nginx), and some care neither for capitals nor for
    what stands after a semicolon. Two programs that only such a thing tells apart take turns.
    """
    for _ in range(MOST_ESCAPES):
        path = unquote(path)
    plain = "/".join(part.partition(";")[0] for part in path.replace("\\", "/").casefold().split("/"))
    # Without white space: several keys stand in one text.
    return one_path(quote(plain, safe="/"))


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
    if _describe(agent, seen):
        Agent.objects.filter(pk=agent.pk).update(program=agent.program, addresses=agent.addresses)


def _describe(agent: Agent, seen: Program) -> bool:
    """Bring the instance up to date; whether it said something else."""
    before = (agent.program, agent.addresses)
    agent.program, agent.addresses = " ".join(sorted(seen.keys)), " ".join(seen.addresses)
    return before != (agent.program, agent.addresses)


def gateways() -> frozenset[str]:
    """READ: the hosts that the instructor has marked as gateways, in the spelling of the keys."""
    return frozenset(Gateway.objects.values_list("host", flat=True))


def mark_gateway(*, host: object, gateway: bool) -> bool:
    """Mark a host as a gateway to many programs, so that paths on it count; or as one program's own machine again.

    Changes: the list of gateways. Matches that are given out from now on follow it.

    Args:
        host: a name or an IP address, without port and path.
        gateway: whether it is one.

    Returns whether it was not so before.

    Raises:
        InvalidFormat: this is no host.
    """
    kept = read_host(host)
    if gateway:
        return Gateway.objects.get_or_create(host=kept, defaults={"marked_at": timezone.now()})[1]
    return Gateway.objects.filter(host=kept).delete()[0] > 0


def read_host(host: object) -> str:
    """A host in the one spelling in which gateways are kept.

    Args:
        host: a name or an IP address, without port and path.

    Raises:
        InvalidFormat: this is no host.
    """
    expected = "a host name or an IP address, such as gateway.example or 192.168.1.5"
    text = host.strip().strip("[]").lower() if isinstance(host, str) else ""
    target = _read(f"http://[{text}]/" if ":" in text else f"http://{text}/")
    if target is None or target.port is not None or target.path != "/" or target.query:
        raise InvalidFormat("This is not a host.", field="host", seen=host, expected=expected)
    return _one_spelling(target.host)


def named(endpoint: str) -> tuple[str, str]:
    """The host that an address names and its path, each in one spelling; two empty texts when it cannot be read."""
    target = _read(endpoint)
    return ("", "") if target is None else (_one_spelling(target.host), _one_route(target.path))


def hosts_of(agent: Agent) -> set[str]:
    """The hosts where an agent is, each in one spelling: what its name led to, or the name itself."""
    target = _read(agent.endpoint)
    return {_one_spelling(one) for one in agent.addresses.split() or ([target.host] if target is not None else [])}


def _oneself(agent: Agent) -> str:
    return f"agent:{agent.pk}"


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
