"""Every change of an agent: registering, trust, silence and recovery.

Which league an agent belongs to is decided by the caller (``matches.league.entry``); here it is
only who it is. Implements 004 2.8, 4.1, 4.2, 5.11 and the ruling's sections 8 and 9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from agents_registry import deciding, ids, lookalikes, places, roster
from agents_registry.attempts import network_of
from agents_registry.deciding import Facts, Refused, Taken, Way
from agents_registry.models import Agent, AgentToken, Kind
from agents_registry.requests import Request
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.states import AGENT_ARROWS, AgentState
from storage.prepared import Sql, swap

MOST_TOKENS = 16
"""An agent that registers again and again keeps this many tokens; they travel with every start_match."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration that was accepted; ``auth_token`` is shown this once."""

    agent: Agent
    auth_token: str
    again: bool


class NotTaken(Exception):
    """A registration that is refused; nothing was changed.

    Attributes:
        refusal: why.
    """

    def __init__(self, refusal: Refused) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


class Moved(Exception):
    """A known agent came into a league, or was removed, while it was being registered again: look for it anew."""


def register(*, request: Request, league_id: str | None, promised: str = "") -> Registered:
    """Take an agent in, or take a known one in again.

    A player that waited in the lobby and now comes to a league moves there with its id.

    Changes: the agent row is made or brought up to date, a token is added. Nothing leaves.

    Args:
        request: who asks.
        league_id: the league it belongs to; None for the lobby and for the site's referees.
        promised: for the lobby, the league that the agent was told.

    Raises:
        NotTaken: with one of the reasons of :class:`agents_registry.deciding.Why`.
        Moved: it is somewhere else by now, and nothing was changed.
    """
    for _ in range(20):
        try:
            with transaction.atomic():
                return _register(request, league_id, promised)
        except IntegrityError:
            # Two registrations chose the same free id at once (PostgreSQL only): choose again.
            continue
    raise InvalidFormat("No free id was found; try again.")


def _register(request: Request, league_id: str | None, promised: str) -> Registered:
    now = timezone.now()
    facts = _facts(request, league_id)
    taken = deciding.decide(facts)
    if isinstance(taken, Refused):
        raise NotTaken(taken)
    agent = facts.known
    if agent is None:
        agent = places.new_agent(
            kind=request.kind, name=request.name, league_id=league_id, wanted=request.wanted_id, promised=promised
        )
    elif facts.in_lobby:
        places.move(agent, league_id)
    agent.registered_from = agent.registered_from or (network_of(request.caller) if taken.way is not Way.AGAIN else "")
    agent.promised_league_id = promised or agent.promised_league_id
    agent.notes = [*request.notes, *_another_id(agent, request, league_id)]
    agent.state, agent.owner_id = taken.state, taken.owner_id
    agent.trusted, agent.site_key = taken.trusted, taken.site_key
    agent.silences = 0 if taken.comes_back else agent.silences
    agent.spoken = {} if taken.forgets else agent.spoken
    agent.readmit, agent.heard_at, agent.problem = False, now, ""
    _describe(agent, request)
    if _void(agent, taken) or taken.begins_anew:
        agent.token_epoch += 1
    agent.save()
    lookalikes.remember([] if taken.way is Way.AGAIN else [agent], new=taken.way is Way.NEW)
    token = tokens.new_token()
    AgentToken.objects.create(agent=agent, sha256=tokens.digest(token), created_at=now, proven=taken.proven)
    kept = agent.tokens.order_by("-pk").values_list("pk", flat=True)[:MOST_TOKENS]
    agent.tokens.exclude(pk__in=list(kept)).delete()
    return Registered(agent=agent, auth_token=token, again=taken.way is Way.AGAIN)


def _facts(request: Request, league_id: str | None) -> Facts:
    """What is known of one that registers; no more is looked up than the decision takes.

    Raises:
        Moved: as of :func:`_held`.
    """
    known = _held(find_known(request, league_id))
    owner = roster.find_owner(league_id, request.codes)
    has_key = request.kind == Kind.REFEREE and request.brings(settings.LEAGUE_REFEREE_KEY)
    in_lobby, resembled, crowd = False, None, ""
    if known is None:
        is_known = has_key or owner is not None
        resembled = lookalikes.resembled(request=request, league_id=league_id, is_known=is_known)
        if resembled is None and league_id is not None and request.kind == Kind.PLAYER:
            known = _held(find_known(request, None))
            in_lobby = known is not None
        if resembled is None and known is None and not has_key:
            crowd = places.crowd(request, league_id)
    shown = None
    if known is not None and request.token:
        shown = known.tokens.filter(sha256=tokens.digest(request.token)).first()
    return Facts(
        request=request,
        known=known,
        in_lobby=in_lobby,
        owner_id=owner.pk if owner is not None else None,
        has_site_key=has_key,
        has_token=shown is not None,
        token_is_proven=shown is not None and shown.proven,
        resembled=resembled,
        crowd=crowd,
    )


def _another_id(agent: Agent, request: Request, league_id: str | None) -> list[str]:
    """A note for one that asked for another id than it has; none for who asked for none."""
    wanted = request.wanted_id
    if not wanted or agent.code == wanted:
        return []
    free = ids.is_free(wanted, ids.taken(request.kind, league_id, lobby=False))
    why = "but was known before" if free else "which is taken"
    return [f"asked for {wanted}, {why}; is {agent.code}"]


def _void(agent: Agent, taken: Taken) -> bool:
    """Take from tokens of before what the decision says; whether any is void now."""
    if taken.doubts:
        agent.tokens.update(proven=False)
    if not taken.voids:
        return False
    return bool(agent.tokens.filter(**({} if taken.voids_all else {"proven": False})).delete()[0])


def _held(agent: Agent | None) -> Agent | None:
    """A known agent as it is now; who trusts it, suspends it or lets it into a league waits until it is registered.

    Raises:
        Moved: it came into a league, or was removed, since it was looked for.
    """
    if agent is None:
        return None
    held = Agent.objects.select_for_update(no_key=True).filter(pk=agent.pk, league_id=agent.league_id).first()
    if held is None:
        raise Moved
    return held


def _describe(agent: Agent, request: Request) -> None:
    """What an agent says of itself, in place of what it said before."""
    agent.sender_name = request.sender_name
    agent.wanted_id = request.wanted_id
    agent.endpoint = request.address.url
    agent.endpoint_key = request.address.key
    agent.version = request.version
    agent.game_types = list(request.game_types)
    agent.max_concurrent = request.max_concurrent
    agent.sends_progress = request.sends_progress
    agent.dialect = request.shape


def find_known(request: Request, league_id: str | None) -> Agent | None:
    """The agent of that league (None: of the lobby or the site) that registers again, if there is one."""
    peers = Agent.objects.filter(kind=request.kind, league_id=league_id, name=request.name)
    agent = peers.filter(endpoint_key=request.address.key).first()
    if agent is None and request.kind == Kind.REFEREE:
        # A referee's id is fixed by its name and port, whatever name its machine goes by.
        tail = request.address.key.partition("|")[2]
        # The database finds some more: it is lax about capitals, and a path may hold a bar.
        alike = peers.filter(endpoint_key__endswith=f"|{tail}").order_by("pk")
        return next((one for one in alike if one.endpoint_key.partition("|")[2] == tail), None)
    return agent


def activate(*, agent_ids: Iterable[int]) -> None:
    """REGISTERED to ACTIVE: the league starts."""
    Agent.objects.filter(pk__in=list(agent_ids), state=AgentState.REGISTERED).update(state=AgentState.ACTIVE)


def retire(*, agent_ids: Iterable[int]) -> None:
    """The league is over: its players are SHUTDOWN until they register again."""
    sources = [state for state, targets in AGENT_ARROWS.items() if AgentState.SHUTDOWN in targets]
    Agent.objects.filter(pk__in=list(agent_ids), state__in=sources).update(state=AgentState.SHUTDOWN)


def count_answers(*, agent_ids: Collection[int]) -> None:
    """Players answered in a match: the count of silences is cleared, a suspended one recovers."""
    _heard(agent_ids, silences=0)


_RECOVERED = Sql(f"CASE WHEN state = '{AgentState.SUSPENDED}' THEN '{AgentState.ACTIVE}' ELSE state END")


def _heard(agent_ids: Collection[int], **also: Any) -> None:
    """Agents gave a sign of life: SUSPENDED to ACTIVE, in the one statement that notes it."""
    swap(Agent, {"heard_at": timezone.now(), "problem": "", "state": _RECOVERED, **also}, pk=list(agent_ids))


def count_silence(*, agent_id: int, suspend_after: int, shutdown_after: int, problem: str) -> None:
    """A player lost a match to silence (E001, E009): suspended after some, shut down after more."""
    Agent.objects.filter(pk=agent_id).update(silences=F("silences") + 1, problem=problem[:200])
    Agent.objects.filter(
        pk=agent_id, silences__gte=suspend_after, state__in=[AgentState.ACTIVE, AgentState.REGISTERED]
    ).update(state=AgentState.SUSPENDED)
    Agent.objects.filter(pk=agent_id, silences__gte=shutdown_after, state=AgentState.SUSPENDED).update(
        state=AgentState.SHUTDOWN
    )


def heard_from_referee(*, agent_id: int) -> None:
    """A referee gave a sign of life; one that was suspended judges again."""
    _heard([agent_id])


def suspend_referee(*, agent_id: int, problem: str) -> None:
    """A referee gave no sign of life, or could not be reached: no match until it is heard of again."""
    Agent.objects.filter(pk=agent_id, state__in=[AgentState.ACTIVE, AgentState.REGISTERED]).update(
        state=AgentState.SUSPENDED, problem=problem[:200]
    )


def expect_again(*, names: Iterable[str]) -> None:
    """The site's own referees are about to start: none of them is given a match before it has registered."""
    Agent.objects.filter(kind=Kind.REFEREE, league__isnull=True, name__in=list(names)).exclude(
        state=AgentState.SHUTDOWN
    ).update(state=AgentState.SUSPENDED)


def want_ping(*, agent_ids: Iterable[int]) -> None:
    """Have the conductor ask agents whether they answer; the answer appears in their rows."""
    Agent.objects.filter(pk__in=list(agent_ids)).update(check_wanted=True)


def note_ping(*, agent_id: int, problem: str) -> None:
    """What a ping found: an empty problem means that it answered."""
    now = timezone.now()
    Agent.objects.filter(pk=agent_id).update(check_wanted=False, checked_at=now, problem=problem[:200])
    if not problem:
        Agent.objects.filter(pk=agent_id).update(heard_at=now)
        # A referee that answers may be given matches again; a player recovers by accepting one.
        Agent.objects.filter(pk=agent_id, kind=Kind.REFEREE, state=AgentState.SUSPENDED).update(state=AgentState.ACTIVE)


def trust(*, agent_ids: Iterable[int], trusted: bool = True) -> None:
    """The instructor lets referees judge, or no longer."""
    Agent.objects.filter(pk__in=list(agent_ids), kind=Kind.REFEREE).update(trusted=trusted)


def readmit(*, agent_ids: Iterable[int]) -> None:
    """The next registration of these players is taken without proof, once."""
    Agent.objects.filter(pk__in=list(agent_ids)).update(readmit=True)


def bring_back(*, agent_ids: Iterable[int]) -> None:
    """The instructor returns shut-down players for the rounds not yet played."""
    Agent.objects.filter(pk__in=list(agent_ids), state=AgentState.SHUTDOWN).update(
        state=AgentState.REGISTERED, silences=0
    )


def save_from_admin(agent: Agent) -> None:
    """Write what the instructor edited in the admin (trust, readmission, owner, name)."""
    agent.save(update_fields=["trusted", "readmit", "owner", "display_name"])
    lookalikes.remember([agent])


def forget_players(*, league_id: str) -> None:
    """Remove the players of the demo league before new ones come."""
    Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER).delete()
