"""Whether a registration is taken, and as whom (ruling, sections 8 and 9). Pure: no row is read or written here.

``registration`` finds the :class:`Facts`, has :func:`decide` decide, and writes what was :class:`Taken`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agents_registry.addresses import comes_from
from agents_registry.models import Agent, Kind
from agents_registry.requests import Request
from league_sdk.protocol.states import AgentState


class Way(StrEnum):
    """What a registration that is taken is."""

    NEW = "new"
    AGAIN = "again"
    FROM_LOBBY = "from the lobby"


class Why(StrEnum):
    """Why a registration is not taken."""

    NOT_THE_SAME = "it is known, and the caller showed neither its token, its owner's code nor its machine"
    LOOKS_LIKE = "it is not known, and its name looks like another's"
    CROWDED = "it is not known, and too many others are there already"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when an agent registers.

    Attributes:
        request: what it says of itself, and where it calls from.
        known: the agent that it is by name and address; None when there is none yet.
        in_lobby: that one waits in the lobby, and registers for a league.
        owner_id: the person on the league's roster whose personal code came with it.
        has_site_key: the key of the site's own referees came with it.
        has_token: a token of the known agent came with it.
        token_is_proven: with that token it has answered at its own address before.
        resembled: whose name its name looks like, where that keeps it out.
        crowd: why there is no room for one that is not known; empty when there is.
    """

    request: Request
    known: Agent | None = None
    in_lobby: bool = False
    owner_id: int | None = None
    has_site_key: bool = False
    has_token: bool = False
    token_is_proven: bool = False
    resembled: Agent | None = None
    crowd: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A registration that is not taken.

    Attributes:
        agent: the agent that it is not, or whose name its own looks like.
        text: for ``CROWDED``, what to do.
    """

    why: Why
    agent: Agent | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """A registration that is taken: what becomes of the agent, besides what it says of itself.

    Attributes:
        comes_back: it was shut down; its silences are forgotten.
        forgets: what another program understood says nothing of this one.
        proven: the new token is the agent's own without a doubt.
        doubts: no token of before is proven any more: it was at the old address, which says nothing of the new one.
        voids: tokens of before that are not proven are void; with ``voids_all`` every one.
        begins_anew: what is on its way to it is of an attempt that is lost.
    """

    way: Way
    state: AgentState
    owner_id: int | None
    trusted: bool
    site_key: bool
    comes_back: bool
    forgets: bool
    proven: bool
    doubts: bool
    voids: bool
    voids_all: bool
    begins_anew: bool


def decide(facts: Facts) -> Taken | Refused:
    """Whether a registration is taken, and as whom."""
    if facts.resembled is not None:
        return Refused(Why.LOOKS_LIKE, facts.resembled)
    if facts.known is None:
        crowded = bool(facts.crowd) and not facts.has_site_key
        return Refused(Why.CROWDED, text=facts.crowd) if crowded else _taken(facts, Agent(), Way.NEW)
    if not (facts.has_site_key or _proves(facts, facts.known)):
        return Refused(Why.NOT_THE_SAME, facts.known)
    return _taken(facts, facts.known, Way.FROM_LOBBY if facts.in_lobby else Way.AGAIN)


def _proves(facts: Facts, known: Agent) -> bool:
    """Whether the caller showed that it is this agent (ruling, section 8).

    The personal code of somebody else is a proof that it is not. Being on the same machine is not enough for a
    referee of the site's own: the machine has other users, and behind a proxy every caller looks as if it were there.
    """
    if known.readmit or facts.has_token:
        return True
    return _shows_itself(facts, known.owner_id, known.endpoint, site_key=known.site_key)


def _shows_itself(facts: Facts, owner_id: int | None, endpoint: str, *, site_key: bool) -> bool:
    """Whether the caller has its owner's code, or is on its machine."""
    if facts.owner_id is not None and owner_id is not None:
        return owner_id == facts.owner_id
    return not site_key and comes_from(endpoint, facts.request.caller)


def _taken(facts: Facts, before: Agent, way: Way) -> Taken:
    """What becomes of an agent that is taken.

    Args:
        before: its row as it was; a blank one when it is new.
    """
    request, key = facts.request, facts.has_site_key
    again = way is Way.AGAIN
    moved = again and before.endpoint_key != request.address.key
    owner_id, site_key = before.owner_id or facts.owner_id, before.site_key or key
    comes_back = before.state == AgentState.SHUTDOWN
    state = AgentState.REGISTERED if comes_back else AgentState(before.state)
    if request.kind == Kind.REFEREE and state == AgentState.SUSPENDED:
        state = AgentState.ACTIVE
    shown = key or _shows_itself(facts, owner_id, request.address.url, site_key=site_key)
    return Taken(
        way=way,
        state=state,
        owner_id=owner_id,
        # The tick was given to a referee at its old address, unless the token says that this is the same one.
        trusted=key or (before.trusted and (facts.has_token or not moved)),
        site_key=site_key,
        comes_back=comes_back,
        forgets=(before.endpoint_key, before.version) != (request.address.key, request.version),
        proven=shown or (facts.token_is_proven and not moved),
        doubts=moved and not shown,
        # Somebody elsewhere may have registered this address first: nothing that they were given is of use any more,
        # once the agent comes itself, or the instructor has let it in because it cannot show that it does.
        voids=way is not Way.NEW and (shown or (before.readmit and not facts.has_token)),
        # Whoever had this name and port until now is not the site's referee, even if it stood at its own address.
        voids_all=again and key and not before.site_key,
        begins_anew=again and request.kind == Kind.REFEREE and request.sends_progress,
    )
