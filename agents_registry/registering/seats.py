"""READS: which players have no seat, since another player has the one of their address (ruling, section 8).

One program has one seat in a league. Nobody is refused for that at registration, as almost no agent tries again. It is
decided when the players of the lobby enter a league:

- An agent that dials out is told from others by its token: it has its seat whatever address it names, and takes
  nobody's. So a class behind one router keeps all its seats, although all its agents have one address and port. Where
  another one has shown to be, it is called over its line alone, also once that is gone.
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
        elsewhere: players of other leagues that have shown to be at their address. One that came there since is
            there now.
    """
    gateways, here, away = programs.gateways(), list(players), list(elsewhere)
    found: dict[int, Agent] = {}
    others = _by_address(away, gateways, _addresses)
    for address, agents in _by_address(here, gateways, _addresses).items():
        at_address = others.get(address, [])
        if len(agents) > 1 or at_address:
            found |= _replaced(agents, at_address)
    # Most programs answer at every path: one that somebody has shown to be at is not another's under another path.
    sure = [agent for agent in (*here, *away) if agent.by_hand or agent.shown_at is not None]
    # It may listen and also have a line: so do players of the SDK that no league has called yet.
    at_program = _by_address(sure, gateways, _named)
    for agent in here:
        if agent.by_hand or agent.shown_at is not None or agent.pk in found:
            continue
        there = [one for key in _programs(agent, gateways) for one in at_program.get(key, ()) if _counts(one, agent)]
        holder = max(there, key=_shown, default=None)
        if holder is not None and not _has_same_owner(agent, holder):
            found[agent.pk] = holder
    return found


def replaced_in_lobby(league_id: str) -> dict[int, Agent]:
    """Like :func:`replaced`, for the players of the lobby that are about to enter a league."""
    players = Agent.objects.filter(kind=Kind.PLAYER)
    about = list(players.filter(Q(league_id=league_id) | Q(league__isnull=True)).order_by("pk"))
    waiting = [agent.registered_at for agent in about if agent.league_id is None]
    if not waiting:
        return {}
    elsewhere = players.filter(~_OVER | Q(shown_at__gte=min(waiting)), league__demo=False, shown_at__isnull=False)
    return replaced(about, elsewhere.exclude(league_id=league_id).select_related("league").order_by("pk"))


def speak_for(endpoint_key: str) -> set[int]:
    """Players whose word is that of the program at their address, by primary key.

    The one that has shown last to be there, and others of its owner that have; or the only player of the lobby and of
    the leagues that go on that names the address. The one that was there before has a token, and may be elsewhere now.
    """
    peers = list(Agent.objects.filter(kind=Kind.PLAYER, endpoint_key=endpoint_key).exclude(_OVER))
    shown = [agent for agent in peers if agent.shown_at is not None]
    if not shown:
        return {agent.pk for agent in peers} if len(peers) == 1 else set()
    last = max(shown, key=_shown)
    return {agent.pk for agent in shown if agent.pk == last.pk or _has_same_owner(agent, last)}


def who_is_at(agent: Agent) -> Agent:
    """The player as which the program at a player's address is checked: the one that speaks for it, else itself.

    With the id and the league_token of somebody who only names the address, a program that minds them would fail.
    """
    known = speak_for(agent.endpoint_key)
    if not known or agent.pk in known:
        return agent
    return Agent.objects.select_related("league").filter(pk=max(known)).first() or agent


def only_names(agent: Agent, keys: frozenset[str], gateways: frozenset[str]) -> bool:
    """Whether a player that has dialled out names an address where another one has shown to be, and it has not.

    It is called over its line alone: the line was why it has a seat, and nobody plays with the program of another.

    Args:
        keys: the keys of the program that was found at its address.
        gateways: the result of :func:`agents_registry.addresses.programs.gateways`.
    """
    if agent.line_seen_at is None or agent.is_inbox_only or agent.by_hand or agent.shown_at is not None:
        return False
    others = (one for one in _others_at(agent, keys, gateways) if not _is_over(one) and one.shown_at is not None)
    return any(not _has_same_owner(agent, one) for one in others)


def is_shared(agent: Agent, keys: frozenset[str], gateways: frozenset[str]) -> bool:
    """Whether players of other owners name the address of an agent too, under whatever path; arguments as above.

    Those of leagues that are over count: their programs may run on, and play in the next league.
    """
    return any(not _has_same_owner(agent, one) for one in _others_at(agent, keys, gateways))


def _others_at(agent: Agent, keys: frozenset[str], gateways: frozenset[str]) -> Iterator[Agent]:
    """The other players that name a program's address."""
    near = Q(pk=None)
    for host, bar, port in (programs.place(key).partition("|") for key in keys):
        # This machine has many names.
        is_here = host == programs.THIS_MACHINE
        near |= Q(endpoint_key__contains=f"|{port}") if is_here else Q(endpoint_key__startswith=f"{host}{bar}{port}")
    others = Agent.objects.filter(near, kind=Kind.PLAYER).exclude(league__demo=True).select_related("league")
    return (one for one in others.exclude(pk=agent.pk) if not keys.isdisjoint(_named(one, gateways)))


def _is_over(agent: Agent) -> bool:
    return agent.league is not None and agent.league.state in _ENDED


def why_not(agent: Agent, other: Agent) -> Note:
    """Why an agent has no seat and stays in the lobby, for its owner."""
    since = other.shown_at is not None and other.shown_at > (agent.shown_at or agent.registered_at)
    return note(Code.STAYED_AS_REPLACED if since else Code.STAYED_AT_ANOTHERS, name=other.display_name)


def _by_address(
    agents: Iterable[Agent], gateways: frozenset[str], keys: Callable[[Agent, frozenset[str]], Iterable[str]]
) -> dict[str, list[Agent]]:
    """The agents that are called at an address, by host and port, with the path as ``keys`` tells it."""
    there: dict[str, list[Agent]] = {}
    for agent in agents:
        for key in keys(agent, gateways):
            there.setdefault(key, []).append(agent)
    return there


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

    What an earlier address led to does not count; of a name that is the only thing known.
    """
    if agent.is_inbox_only:
        return frozenset()
    return programs.program(agent.endpoint, agent.addresses.split(), gateways).keys


def _counts(one: Agent, agent: Agent) -> bool:
    """Whether a player may have the seat of another: one of a league that is over only if it came later."""
    league = one.league
    over = league is not None and league.state in _ENDED
    return not over or (one.shown_at is not None and one.shown_at > agent.registered_at)


def _replaced(agents: list[Agent], elsewhere: list[Agent]) -> dict[int, Agent]:
    """Like :func:`replaced`, for the agents at one address."""
    shown = [agent for agent in agents if agent.shown_at is not None]
    found: dict[int, Agent] = {}
    last = max(shown, key=_shown, default=None)
    first_from: dict[str, Agent] = {}
    by_hand = next((agent for agent in agents if agent.by_hand), None)
    for agent in agents:
        if agent.by_hand:
            continue
        holder = last or by_hand
        if holder is None and agent.registered_from:
            holder = first_from.setdefault(agent.registered_from, agent)
        later = [one for one in elsewhere if _shown(one) > _shown(agent) and _counts(one, agent)]
        holder = max([*later, *([holder] if holder is not None else [])], key=_shown, default=None)
        if holder is not None and holder.pk != agent.pk and not _has_same_owner(agent, holder):
            found[agent.pk] = holder
    return found


def _shown(agent: Agent) -> tuple[bool, datetime, int]:
    """Orders agents by when they last showed to be at their address; before them those that never did."""
    return agent.shown_at is not None, agent.shown_at or agent.registered_at, agent.pk


def _has_same_owner(one: Agent, other: Agent) -> bool:
    return one.owner_id is not None and one.owner_id == other.owner_id
