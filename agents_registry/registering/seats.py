"""READS: which players have no seat in a league, because another player has that of their address (ruling, section 8).

One program has one seat in a league. Nobody is refused for that at registration, as almost no agent tries again. It is
decided when the players of the lobby enter a league:

- An agent that dials out is told from others by its token: it has its seat whatever address it names, and takes
  nobody's. So a class behind one router keeps all its seats, although all its agents have one address and port. If
  another one has shown to be at its address, it is called over its line alone, even after that line has ended.
- Of the others at one address and path, the one that last registered from the machine of the address is there now, and
  has the seat. A caller that only names somebody else's address neither takes the seat nor has one of its own; nor does
  one that names another path of its host and port, as most programs answer at every path. Behind a gateway that the
  instructor has marked another path is another program.
- A player that the instructor added keeps its seat; one that only names its address has none.
- If nobody has shown to be there (behind a tunnel nobody can), the site cannot tell who is there. Then nobody loses a
  seat to a later one; of those that registered from one place, which may be one program under many names, the first
  has it.
- All names of one owner, a person on the roster, have seats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.db.models import Q

from agents_registry.addresses import programs
from agents_registry.models import Agent, Kind
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.states import LeagueState

_ENDED = (LeagueState.COMPLETED, LeagueState.STOPPED)
_OVER = Q(league__isnull=False, league__state__in=_ENDED)


def replaced(players: Iterable[Agent], elsewhere: Iterable[Agent] = ()) -> dict[int, Agent]:
    """Players without a seat by primary key, each with the player that has the seat of its address.

    Args:
        players: those of one league; with those of the lobby if they are about to enter it.
        elsewhere: players of other leagues that have shown to be at their address. One of them that came to an address
            after the players of this league is there now.
    """
    gateways, players, elsewhere = programs.gateways(), list(players), list(elsewhere)
    found: dict[int, Agent] = {}
    elsewhere_by_address = _by_address(elsewhere, gateways, _addresses)
    for address, agents in _by_address(players, gateways, _addresses).items():
        at_address = elsewhere_by_address.get(address, [])
        if len(agents) > 1 or at_address:
            found |= _replaced(agents, at_address)
    # Most programs answer at every path: a player that names another path of a program at which somebody else has shown
    # to be has no program there.
    confirmed = [agent for agent in (*players, *elsewhere) if agent.by_hand or agent.shown_at is not None]
    # A confirmed player counts even while it has a line: players of the SDK listen and have one until a league calls.
    at_program = _by_address(confirmed, gateways, _named)
    for agent in players:
        if agent.by_hand or agent.shown_at is not None or agent.pk in found:
            continue
        candidates = [
            one for key in _programs(agent, gateways) for one in at_program.get(key, ()) if _may_hold_seat(one, agent)
        ]
        holder = max(candidates, key=_when_last_shown, default=None)
        if holder is not None and not _has_same_owner(agent, holder):
            found[agent.pk] = holder
    return found


def replaced_in_lobby(league_id: str) -> dict[int, Agent]:
    """Like :func:`replaced`, for the players of the lobby that are about to enter a league."""
    players = Agent.objects.filter(kind=Kind.PLAYER)
    league_and_lobby = list(players.filter(Q(league_id=league_id) | Q(league__isnull=True)).order_by("pk"))
    waiting_since = [agent.registered_at for agent in league_and_lobby if agent.league_id is None]
    if not waiting_since:
        return {}
    elsewhere = players.filter(~_OVER | Q(shown_at__gte=min(waiting_since)), league__demo=False, shown_at__isnull=False)
    return replaced(league_and_lobby, elsewhere.exclude(league_id=league_id).select_related("league").order_by("pk"))


def speak_for(endpoint_key: str) -> set[int]:
    """Players whose words count as those of the program at their address, by primary key.

    If players have shown to be there, these are the last one that did, and those of its owner that did. Else it is the
    player that names the address, if it is the only one in the lobby and in leagues that are not over. A player that
    was there before still has a token, but may be elsewhere now.
    """
    peers = list(Agent.objects.filter(kind=Kind.PLAYER, endpoint_key=endpoint_key).exclude(_OVER))
    shown = [agent for agent in peers if agent.shown_at is not None]
    if not shown:
        return {agent.pk for agent in peers} if len(peers) == 1 else set()
    last = max(shown, key=_when_last_shown)
    return {agent.pk for agent in shown if agent.pk == last.pk or _has_same_owner(agent, last)}


def who_is_at(agent: Agent) -> Agent:
    """The player as which the program at a player's address is checked: the one that speaks for it, else itself.

    A program that compares the id and the league_token with its own would fail if it were called with those of a player
    that only names its address.
    """
    known = speak_for(agent.endpoint_key)
    if not known or agent.pk in known:
        return agent
    return Agent.objects.select_related("league").filter(pk=max(known)).first() or agent


def only_names(agent: Agent, keys: frozenset[str], gateways: frozenset[str]) -> bool:
    """Whether a player that has dialled out names an address where another one has shown to be, and it has not.

    Such a player is called over its line alone: it has its seat because of the line, and nobody plays with somebody
    else's program.

    Args:
        keys: the keys of the program that was found at its address.
        gateways: the result of :func:`agents_registry.addresses.programs.gateways`.
    """
    if agent.line_seen_at is None or agent.is_inbox_only or agent.by_hand or agent.shown_at is not None:
        return False
    others = (one for one in others_at(agent, keys, gateways) if not _is_over(one) and one.shown_at is not None)
    return any(not _has_same_owner(agent, one) for one in others)


def is_shared(agent: Agent, keys: frozenset[str], gateways: frozenset[str]) -> bool:
    """Whether players of other owners name the address of an agent too, under whatever path; arguments as above.

    Those of leagues that are over count: their programs may run on, and play in the next league.
    """
    return any(not _has_same_owner(agent, one) for one in others_at(agent, keys, gateways))


def others_at(agent: Agent, keys: frozenset[str], gateways: frozenset[str]) -> Iterator[Agent]:
    """The other players that name a program's address."""
    may_be_there = Q(pk=None)
    for host, bar, port in (programs.place(key).partition("|") for key in keys):
        # This machine has many names, so only the port is compared for it.
        is_this_machine = host == programs.THIS_MACHINE
        at_host = Q(endpoint_key__startswith=f"{host}{bar}{port}")
        may_be_there |= Q(endpoint_key__contains=f"|{port}") if is_this_machine else at_host
    others = Agent.objects.filter(may_be_there, kind=Kind.PLAYER).exclude(league__demo=True).select_related("league")
    return (one for one in others.exclude(pk=agent.pk) if not keys.isdisjoint(_named(one, gateways)))


def _is_over(agent: Agent) -> bool:
    return agent.league is not None and agent.league.state in _ENDED


def why_not(agent: Agent, other: Agent) -> Note:
    """Why an agent has no seat and stays in the lobby, for its owner."""
    came_later = other.shown_at is not None and other.shown_at > (agent.shown_at or agent.registered_at)
    return note(Code.STAYED_AS_REPLACED if came_later else Code.STAYED_AT_ANOTHERS, name=other.display_name)


def _by_address(
    agents: Iterable[Agent], gateways: frozenset[str], keys: Callable[[Agent, frozenset[str]], Iterable[str]]
) -> dict[str, list[Agent]]:
    """The agents at each address; ``keys`` gives the keys of an agent's address, with or without its path."""
    by_key: dict[str, list[Agent]] = {}
    for agent in agents:
        for key in keys(agent, gateways):
            by_key.setdefault(key, []).append(agent)
    return by_key


def _addresses(agent: Agent, gateways: frozenset[str]) -> set[str]:
    """Host, port and path at which an agent is called."""
    # What follows host and port; the address that is called may have another path, which was found out.
    path = agent.endpoint_key.partition("|")[2].lstrip("0123456789")
    return {f"{programs.place(key)}{path}" for key in _programs(agent, gateways)}


def _programs(agent: Agent, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of the program at the address at which an agent is called; none if it dials out."""
    if agent.dials_out_now or programs.called_endpoint(agent) != agent.endpoint:
        return frozenset()
    return _named(agent, gateways)


def _named(agent: Agent, gateways: frozenset[str]) -> frozenset[str]:
    """The keys of the program at an agent's address; none if it has no address.

    ``agent.addresses`` counts only if the address has a name: then nothing else is known of where the name leads. With
    an IP address it may be left over from an earlier address.
    """
    if agent.is_inbox_only:
        return frozenset()
    return programs.program(agent.endpoint, agent.addresses.split(), gateways).keys


def _may_hold_seat(one: Agent, agent: Agent) -> bool:
    """Whether ``one`` may have the seat of ``agent``'s address: if its league is over, only if it came there later."""
    return not _is_over(one) or (one.shown_at is not None and one.shown_at > agent.registered_at)


def _replaced(agents: list[Agent], elsewhere: list[Agent]) -> dict[int, Agent]:
    """Like :func:`replaced`, for the agents at one address."""
    shown = [agent for agent in agents if agent.shown_at is not None]
    found: dict[int, Agent] = {}
    last = max(shown, key=_when_last_shown, default=None)
    first_from: dict[str, Agent] = {}
    by_hand = next((agent for agent in agents if agent.by_hand), None)
    for agent in agents:
        if agent.by_hand:
            continue
        holder = last or by_hand
        if holder is None and agent.registered_from:
            holder = first_from.setdefault(agent.registered_from, agent)
        shown_at = _when_last_shown(agent)
        later = [one for one in elsewhere if _when_last_shown(one) > shown_at and _may_hold_seat(one, agent)]
        holder = max([*later, *([holder] if holder is not None else [])], key=_when_last_shown, default=None)
        if holder is not None and holder.pk != agent.pk and not _has_same_owner(agent, holder):
            found[agent.pk] = holder
    return found


def _when_last_shown(agent: Agent) -> tuple[bool, datetime, int]:
    """Orders agents by when they last showed to be at their address; before them those that never did."""
    return agent.shown_at is not None, agent.shown_at or agent.registered_at, agent.pk


def _has_same_owner(one: Agent, other: Agent) -> bool:
    return one.owner_id is not None and one.owner_id == other.owner_id
