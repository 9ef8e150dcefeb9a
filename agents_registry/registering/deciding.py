"""Decide whether a registration is taken, and as whom (ruling, sections 8 and 9). Pure: reads and writes no row.

``registration`` collects the :class:`Facts`, calls :func:`decide`, and writes what was :class:`Taken`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agents_registry.addresses.reading import comes_from
from agents_registry.models import Agent, Kind
from agents_registry.requests.reading import Request
from league_sdk.protocol.states import AgentState


class Way(StrEnum):
    """What a registering agent is: new, registered before, or a player that waited in the lobby."""

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
    """What :func:`decide` has to know of a registration.

    Attributes:
        known: the agent with this name and address; None if there is none yet.
        in_lobby: the known agent waits in the lobby, and the request is for a league.
        owner_id: the person on the league's roster whose personal code the request has.
        has_site_key: the request has the key of the site's own referees.
        has_token: the request has a token of the known agent.
        token_is_proven: it is certain that this token is in the hands of the agent (``AgentToken.proven``).
        resembled: the agent whose name the new name looks like, if the new one is kept out for that.
        crowd: why there is no room for a new agent; empty if there is room.
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
        agent: the known agent, or the one whose name the new name looks like.
        text: for ``CROWDED``, what to do.
    """

    why: Why
    agent: Agent | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """A registration that is taken: what changes in the agent's row, besides its own words about itself.

    Attributes:
        comes_back: the agent was shut down; its count of silent matches is reset.
        forgets_dialect: forget the dialect that the earlier program understood. A player may be another program at each
            registration; a referee is taken for another program if its version or address has changed.
        proven: it is certain that the new token is in the hands of the agent.
        at_home: it registered from the machine of its address, or the instructor let it in, so it runs there now.
        moves_now: it is a referee whose address is another one than before. If it is not proven to be there, earlier
            tokens do not count as proven any more, because they were proven at the other address.
        waits: it is a player that moved: its new address does not count before an answer from there proves it
            (:mod:`agents_registry.registering.moving`). Until then tokens are proven, or not, for the one before.
        shows_new: the caller has shown to be at the new address, or whose agent it is by a personal code.
        voids_unproven_tokens: earlier tokens that are not proven are void; with ``voids_all_tokens`` all of them.
        loses_attempts: a referee was started again: the attempts that it had are lost.
    """

    way: Way
    state: AgentState
    owner_id: int | None
    trusted: bool
    site_key: bool
    comes_back: bool
    forgets_dialect: bool
    proven: bool
    at_home: bool
    moves_now: bool
    waits: bool
    shows_new: bool
    voids_unproven_tokens: bool
    voids_all_tokens: bool
    loses_attempts: bool


def decide(facts: Facts) -> Taken | Refused:
    """Whether a registration is taken, and as whom."""
    if facts.resembled is not None:
        return Refused(Why.LOOKS_LIKE, facts.resembled)
    if facts.known is None:
        crowded = bool(facts.crowd) and not facts.has_site_key
        return Refused(Why.CROWDED, text=facts.crowd) if crowded else _decision(facts, Agent(), Way.NEW)
    if not (facts.has_site_key or _proves(facts, facts.known)):
        return Refused(Why.NOT_THE_SAME, facts.known)
    return _decision(facts, facts.known, Way.FROM_LOBBY if facts.in_lobby else Way.AGAIN)


def _proves(facts: Facts, known: Agent) -> bool:
    """Whether the caller proved that it is this agent (ruling, section 8).

    Somebody else's personal code proves that it is not. For a referee of the site it is not enough to call from the
    same machine: that has other users, and behind a proxy every caller seems to be there.
    """
    if known.readmit or facts.has_token:
        return True
    return _shows_itself(facts, known.owner_id, known.endpoint, site_key=known.site_key)


def _shows_itself(facts: Facts, owner_id: int | None, endpoint: str, *, site_key: bool) -> bool:
    """Whether the caller has the owner's personal code, or calls from the machine of the endpoint."""
    if facts.owner_id is not None and owner_id is not None:
        return owner_id == facts.owner_id
    return not site_key and comes_from(endpoint, facts.request.caller)


def _decision(facts: Facts, before: Agent, way: Way) -> Taken:
    """What changes in an agent that is taken; ``before`` is its row until now, a blank one if it is new."""
    request, has_key = facts.request, facts.has_site_key
    again = way is Way.AGAIN
    key_now = request.key_in(before.league_id)
    # Also on the way from the lobby, where an agent with a token may come with an address in place of its inbox.
    stays_inbox = request.has_inbox_only and before.is_inbox_only
    moved = way is not Way.NEW and not stays_inbox and before.endpoint_key != key_now
    waits = moved and request.kind == Kind.PLAYER
    owner_id, site_key = before.owner_id or facts.owner_id, before.site_key or has_key
    comes_back = before.state == AgentState.SHUTDOWN
    state = AgentState.REGISTERED if comes_back else AgentState(before.state)
    if request.kind == Kind.REFEREE and state == AgentState.SUSPENDED:
        state = AgentState.ACTIVE
    # Nobody can name the inbox of somebody else: who registers it first is this agent, and later its token shows it.
    is_its_inbox = request.has_inbox_only and (way is Way.NEW or facts.has_token)
    shows_new = has_key or is_its_inbox or _shows_itself(facts, owner_id, request.endpoint, site_key=site_key)
    shown = _shows_itself(facts, owner_id, before.endpoint, site_key=site_key) if waits else shows_new
    return Taken(
        way=way,
        state=state,
        owner_id=owner_id,
        # The instructor trusted a referee at its old address; only its token shows that this is the same one.
        trusted=has_key or (before.trusted and (facts.has_token or not moved)),
        site_key=site_key,
        comes_back=comes_back,
        forgets_dialect=request.kind == Kind.PLAYER
        or (before.endpoint_key, before.version) != (key_now, request.version),
        proven=shown or (facts.token_is_proven and (waits or not moved)),
        # Whose code the request has does not matter.
        at_home=comes_from(request.endpoint, request.caller) or (before.readmit and not moved),
        moves_now=moved and not waits,
        waits=waits,
        shows_new=shows_new,
        # Somebody else may have registered this address first. Their tokens are void as soon as the agent itself
        # registers, or the instructor lets it in because it has no proof.
        voids_unproven_tokens=way is not Way.NEW and (shown or (before.readmit and not facts.has_token)),
        # The agent that had this name and port before is not the site's referee.
        voids_all_tokens=again and has_key and not before.site_key,
        loses_attempts=again and request.kind == Kind.REFEREE and request.sends_progress,
    )
