"""Every change of an agent: registering, authenticating, trust, silence and recovery.

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

from agents_registry import ids, lookalikes, places, roster
from agents_registry.addresses import comes_from
from agents_registry.attempts import network_of
from agents_registry.models import Agent, AgentToken, Kind, RosterEntry
from agents_registry.requests import Request
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat, TokenInvalid
from league_sdk.protocol.states import AGENT_ARROWS, AgentState
from storage.prepared import Prepared, Sql, swap

MOST_TOKENS = 16
"""An agent that registers again and again keeps this many tokens; they travel with every start_match."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration that was accepted; ``auth_token`` is shown this once."""

    agent: Agent
    auth_token: str
    again: bool


class NotTheSame(Exception):
    """A known player is registered again by someone who cannot show to be it (L003)."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.code)
        self.agent = agent


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
        NotTheSame: it is known, and the caller showed neither its token, its owner's code nor its machine.
        Crowded: it is not known, and too many others are there already.
        LooksLike: it is not known, and its name looks like another's (``agents_registry.lookalikes``).
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
    agent = _held(find_known(request, league_id))
    again = agent is not None
    owner = roster.find_owner(league_id, request.codes)
    has_key = request.kind == Kind.REFEREE and request.brings(settings.LEAGUE_REFEREE_KEY)
    wanted = request.wanted_id
    if agent is None:
        lookalikes.admit(request=request, league_id=league_id, is_known=has_key or owner is not None)
        agent = _from_lobby(request, league_id, owner)
        if agent is None and not has_key:
            places.refuse_crowd(request, league_id)
        agent = agent or places.new_agent(
            kind=request.kind, name=request.name, league_id=league_id, wanted=wanted, promised=promised
        )
        agent.registered_from = agent.registered_from or network_of(request.caller)
    elif not (has_key or _proves(agent, request, owner)):
        raise NotTheSame(agent)
    elif not has_key and agent.endpoint_key != request.address.key and not _has_token(agent, request):
        # The tick was given to a referee at another address.
        agent.trusted = False
    notes = list(request.notes)
    if wanted and agent.code != wanted:
        free = ids.is_free(wanted, ids.taken(request.kind, league_id, lobby=False))
        why = "but was known before" if free else "which is taken"
        notes.append(f"asked for {wanted}, {why}; is {agent.code}")
    if (agent.endpoint_key, agent.version) != (request.address.key, request.version):
        # What another program understood says nothing of this one.
        agent.spoken = {}
    if agent.state == AgentState.SHUTDOWN:
        agent.silences = 0
        agent.state = AgentState.REGISTERED
    agent.owner = agent.owner or owner
    agent.promised_league_id = promised or agent.promised_league_id
    moved = again and agent.endpoint_key != request.address.key
    _describe(agent, request)
    agent.notes = notes
    agent.trusted = agent.trusted or has_key
    # Whoever had this name and port until now is not the site's referee, even if it stood at its own address.
    taken_over = again and has_key and not agent.site_key
    agent.site_key = agent.site_key or has_key
    readmitted = agent.readmit and not _has_token(agent, request)
    agent.readmit = False
    agent.heard_at = now
    agent.problem = ""
    if request.kind == Kind.REFEREE and agent.state == AgentState.SUSPENDED:
        agent.state = AgentState.ACTIVE
    proven = has_key or _shows_itself(agent, request, owner)
    if moved and not proven:
        # That its old address was theirs says nothing of the one that it names now.
        agent.tokens.update(proven=False)
    # Also one of the lobby that moves into a league.
    known_before = agent.pk is not None
    # Somebody elsewhere may have registered this address first: nothing that they were given is of use any more, once
    # the agent comes itself, or the instructor has let it in because it cannot show that it does.
    void = {} if taken_over else {"proven": False}
    expelled = known_before and (proven or readmitted) and agent.tokens.filter(**void).delete()[0]
    # A start on its way to a referee that has begun anew meanwhile is of an attempt that is lost.
    begun_anew = again and request.kind == Kind.REFEREE and request.sends_progress
    if expelled or begun_anew:
        agent.token_epoch += 1
    agent.save()
    lookalikes.remember([] if again else [agent], new=not known_before)
    token = tokens.new_token()
    proven = proven or agent.tokens.filter(sha256=tokens.digest(request.token), proven=True).exists()
    AgentToken.objects.create(agent=agent, sha256=tokens.digest(token), created_at=now, proven=proven)
    kept = agent.tokens.order_by("-pk").values_list("pk", flat=True)[:MOST_TOKENS]
    agent.tokens.exclude(pk__in=list(kept)).delete()
    return Registered(agent=agent, auth_token=token, again=again)


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


def _from_lobby(request: Request, league_id: str | None, owner: RosterEntry | None) -> Agent | None:
    """The player of the lobby that this is, moved into the league; not saved.

    Raises:
        NotTheSame: it is known there, and somebody else asks for its place.
    """
    if league_id is None or request.kind != Kind.PLAYER:
        return None
    agent = _held(find_known(request, None))
    if agent is None:
        return None
    if not _proves(agent, request, owner):
        raise NotTheSame(agent)
    places.move(agent, league_id)
    return agent


def _proves(agent: Agent, request: Request, owner: RosterEntry | None) -> bool:
    """Whether the caller showed that it is this agent (ruling, section 8).

    The personal code of somebody else is a proof that it is not. Being on the same machine is not enough for a
    referee of the site's own: the machine has other users, and behind a proxy every caller looks as if it were there.
    """
    return agent.readmit or _has_token(agent, request) or _shows_itself(agent, request, owner)


def _shows_itself(agent: Agent, request: Request, owner: RosterEntry | None) -> bool:
    """Whether the caller has its owner's code, or is on its machine."""
    if owner is not None and agent.owner_id is not None:
        return agent.owner_id == owner.pk
    return not agent.site_key and comes_from(agent.endpoint, request.caller)


def _has_token(agent: Agent, request: Request) -> bool:
    return bool(request.token) and agent.tokens.filter(sha256=tokens.digest(request.token)).exists()


_OWNER = Prepared(lambda *, sha256: Agent.objects.filter(tokens__sha256=sha256), sha256=str)


def find_agent(token: str) -> Agent | None:
    """Whose auth_token this is, or None. A league_token is nobody's."""
    return _OWNER.one(sha256=tokens.digest(token))


def find_token(token: str) -> AgentToken | None:
    """The row of this auth_token, with its agent: it says whether the agent was shown to be its bearer's."""
    rows = AgentToken.objects.filter(sha256=tokens.digest(token))
    return rows.select_related("agent", "agent__league").first()


def authenticate(token: str) -> Agent:
    """Whose auth_token this is. A league_token, or any other, is refused.

    Raises:
        TokenInvalid: E012.
    """
    agent = find_agent(token)
    if agent is None:
        raise TokenInvalid(
            "The auth_token is not valid.", field="auth_token", expected="the auth_token of your registration"
        )
    return agent


def league_token(agent: Agent) -> str:
    """The token our messages to this agent carry (ruling, section 9)."""
    return tokens.league_token(settings.SECRET_KEY, str(agent.pk), agent.token_epoch)


def token_from(referee: Agent, player: Agent) -> str:
    """The token that a referee's messages to a player carry: its league_token, where the referee is one of the site's.

    Any other, be it trusted, gets one that is good at itself alone: with the league_token it could answer in the
    player's name in matches that it does not judge.
    """
    if referee.site_key:
        return league_token(player)
    return tokens.league_token(settings.SECRET_KEY, f"{player.pk} at referee {referee.pk}", player.token_epoch)


def token_digests(agent_ids: Iterable[int]) -> dict[int, dict[str, bool]]:
    """The hashes of all valid tokens of some agents, for the referee that reads their answers; and which are proven."""
    found: dict[int, dict[str, bool]] = {}
    kept = AgentToken.objects.filter(agent_id__in=agent_ids).values_list("agent_id", "sha256", "proven")
    for agent_id, sha256, proven in kept:
        found.setdefault(agent_id, {})[sha256] = proven
    return found


def prove(*, agent_id: int, sha256: str) -> None:
    """Its own address answered with this token: whoever has it has the agent, and not just its address.

    Args:
        agent_id: its primary key.
        sha256: the token's hash, as one of the site's referees saw it.
    """
    AgentToken.objects.filter(agent_id=agent_id, sha256=sha256, proven=False).update(proven=True)


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


def want_check(*, agent_ids: Iterable[int]) -> None:
    """Have the conductor ask agents whether they answer; the answer appears in their rows."""
    Agent.objects.filter(pk__in=list(agent_ids)).update(check_wanted=True)


def note_check(*, agent_id: int, problem: str) -> None:
    """What a check found: an empty problem means that it answered."""
    now = timezone.now()
    Agent.objects.filter(pk=agent_id).update(check_wanted=False, checked_at=now, problem=problem[:200])
    if not problem:
        Agent.objects.filter(pk=agent_id).update(heard_at=now)
        # A referee that answers may be given matches again; a player recovers by accepting one.
        Agent.objects.filter(pk=agent_id, kind=Kind.REFEREE, state=AgentState.SUSPENDED).update(state=AgentState.ACTIVE)


def trust(*, agent_ids: Iterable[int], trusted: bool) -> None:
    """The instructor lets referees judge, or no longer."""
    Agent.objects.filter(pk__in=list(agent_ids), kind=Kind.REFEREE).update(trusted=trusted)


def readmit(*, agent_ids: Iterable[int]) -> None:
    """The next registration of these players is taken without proof, once."""
    Agent.objects.filter(pk__in=list(agent_ids)).update(readmit=True)


def revoke_tokens(*, agent_ids: Collection[int]) -> None:
    """Every token of these agents is void, and what our messages to them carried before; they register again."""
    AgentToken.objects.filter(agent_id__in=agent_ids).delete()
    Agent.objects.filter(pk__in=agent_ids).update(token_epoch=F("token_epoch") + 1)


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
