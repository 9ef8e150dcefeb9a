"""WRITES: agents: registering, trust, silence and recovery.

The caller of :func:`register` decides which league an agent registers for (``matches.league.entry``); :func:`register`
finds out which agent it is.
Implements 004 2.8, 4.1, 4.2, 5.11 and the ruling's sections 8 and 9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from agents_registry.addresses.reading import inbox_url
from agents_registry.isolating import without_controls
from agents_registry.models import Agent, AgentToken, Kind
from agents_registry.names import lookalikes
from agents_registry.registering import deciding, ids, moving, places
from agents_registry.registering.deciding import Facts, Refused, Taken, Way
from agents_registry.requests.reading import Request
from agents_registry.rosters import roster
from league_sdk.dialects.words import READY
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import AGENT_ARROWS, AgentState
from storage import clock
from storage.prepared import Sql, swap

MAX_TOKENS_PER_AGENT = 16
"""Only the newest tokens of an agent that registers often are kept: every start_match carries all that are kept."""


@dataclass(frozen=True, slots=True)
class Registered:
    """An accepted registration.

    Attributes:
        auth_token: stored as a hash only: it cannot be shown again.
        again: the agent was known in this league before (without a league: in the lobby or at the site).
        proven: it is certain that the token is in the hands of the agent (:class:`Taken`).
    """

    agent: Agent
    auth_token: str
    again: bool
    proven: bool


class NotTaken(Exception):
    """A registration was refused (``refusal`` says why); nothing was changed."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


class Moved(Exception):
    """A known agent was moved into a league, or removed, while it registered again: look for it once more."""


def register(*, request: Request, league_id: str | None, promised: str = "") -> Registered:
    """Register an agent, for the first time or again.

    A player that waits in the lobby and registers for a league moves there, and keeps its id if that is free there.

    Changes: the agent's row is made or updated, a token is added. Nothing is sent.

    Args:
        league_id: the league it registers for; None for the lobby, and for a referee of all leagues.
        promised: for the lobby, the league that the agent was told.

    Raises:
        NotTaken: with one of the reasons of :class:`agents_registry.registering.deciding.Why`.
        Moved: it is in another league or the lobby by now; nothing was changed.
    """
    for _ in range(20):
        try:
            with transaction.atomic():
                return _register(request, league_id, promised)
        except IntegrityError:
            # Two registrations chose the same free id at the same time (PostgreSQL only): choose again.
            continue
    raise InvalidFormat("No free id was found; try again.")


def _register(request: Request, league_id: str | None, promised: str) -> Registered:
    now = clock.now()
    facts = _facts(request, league_id)
    decision = deciding.decide(facts)
    if isinstance(decision, Refused):
        raise NotTaken(decision)
    agent = facts.known
    if agent is None:
        agent = places.new_agent(
            kind=request.kind, name=request.name, league_id=league_id, wanted_id=request.wanted_id, promised=promised
        )
    elif facts.in_lobby and league_id is not None:
        places.move(agent, league_id, ids.taken(Kind.PLAYER, league_id, lobby=False))
    token = tokens.new_token()
    agent.registered_from = agent.registered_from or (request.registered_from if decision.way is not Way.AGAIN else "")
    agent.promised_league_id = promised or agent.promised_league_id
    agent.notes = [*request.notes, *_kept(agent, request, league_id)]
    agent.state, agent.owner_id = decision.state, decision.owner_id
    agent.trusted, agent.site_key = decision.trusted, decision.site_key
    # The site's referee has not lost the matches of a student's that had its name and port before.
    agent.silences = 0 if decision.comes_back or decision.voids_all_tokens else agent.silences
    agent.readmit, agent.heard_at = False, now
    if decision.waits:
        moving.begin(agent, request, decision, token)
    else:
        _settle_at(agent, request, decision, now)
    if _void(agent, decision) or decision.loses_attempts:
        agent.token_epoch += 1
    agent.save()
    if request.has_inbox_only and not decision.waits and agent.endpoint != inbox_url(agent.pk):
        # The address of its inbox contains the primary key, which exists only now.
        agent.endpoint = inbox_url(agent.pk)
        agent.save(update_fields=["endpoint"])
    lookalikes.remember([] if decision.way is Way.AGAIN else [agent], new=decision.way is Way.NEW)
    AgentToken.objects.create(agent=agent, sha256=tokens.digest(token), created_at=now, proven=decision.proven)
    if facts.known is not None:
        newest = agent.tokens.order_by("-pk").values_list("pk", flat=True)[:MAX_TOKENS_PER_AGENT]
        agent.tokens.exclude(pk__in=list(newest)).delete()
    return Registered(agent=agent, auth_token=token, again=decision.way is Way.AGAIN, proven=decision.proven)


def _facts(request: Request, league_id: str | None) -> Facts:
    """What is known of an agent that registers; looks up only what the decision needs."""
    known = _locked(find_known(request, league_id))
    owner = roster.find_owner(league_id, request.codes)
    has_key = request.kind == Kind.REFEREE and request.brings(settings.LEAGUE_REFEREE_KEY)
    in_lobby, resembled, crowd = False, None, ""
    if known is None:
        has_secret = has_key or owner is not None
        resembled = lookalikes.resembled(request, league_id=league_id, has_secret=has_secret)
        if resembled is None and league_id is not None and request.kind == Kind.PLAYER:
            known = _locked(find_known(request, None))
            in_lobby = known is not None
        if resembled is None and known is None and not has_key:
            crowd = places.crowd(request, league_id)
    token = None
    if known is not None and request.token:
        token = known.tokens.filter(sha256=tokens.digest(request.token)).first()
    return Facts(
        request=request,
        known=known,
        in_lobby=in_lobby,
        owner_id=owner.pk if owner is not None else None,
        has_site_key=has_key,
        has_token=token is not None,
        token_is_proven=token is not None and token.proven,
        resembled=resembled,
        crowd=crowd,
    )


def _kept(agent: Agent, request: Request, league_id: str | None) -> list[str]:
    """Notes for an agent that asked for another name or id than it has."""
    wanted_id = request.wanted_id
    notes = [] if agent.name == request.name else [str(note(Code.NAME_KEPT, seen=request.name))]
    if not wanted_id or agent.code == wanted_id:
        return notes
    free = ids.is_free(wanted_id, ids.taken(request.kind, league_id, lobby=False))
    return [*notes, str(note(Code.ID_KEPT if free else Code.ID_TAKEN, wanted=wanted_id, id=agent.code))]


def _void(agent: Agent, decision: Taken) -> bool:
    """Void earlier tokens as decided; whether any was voided."""
    if decision.moves_now and not decision.proven:
        agent.tokens.update(proven=False)
    if not decision.voids_unproven_tokens:
        return False
    return bool(agent.tokens.filter(**({} if decision.voids_all_tokens else {"proven": False})).delete()[0])


def _locked(agent: Agent | None) -> Agent | None:
    """Lock the row of a known agent and read it again: other changes of it wait until it is registered."""
    if agent is None:
        return None
    locked = Agent.objects.select_for_update(no_key=True).filter(pk=agent.pk, league_id=agent.league_id).first()
    if locked is None:
        raise Moved
    return locked


def _settle_at(agent: Agent, request: Request, decision: Taken, now: datetime) -> None:
    """Replace what an agent said of itself before, and what was found out since: it is called at this address now."""
    moving.settle(agent, moving.said(agent, request))
    if decision.forgets_dialect:
        # That it has answered at this address goes on keeping others from moving there (``moving``).
        is_heard = request.kind == Kind.PLAYER and agent.shown_at is None and agent.spoken.keys() - {READY}
        agent.spoken, agent.learned = {"PING": request.shape} if is_heard else {}, {}
    if decision.at_home or decision.moves_now:
        agent.shown_at = now if decision.at_home else None
    # An address that the caller has not proven to be its own may be a stranger's, whom nobody may have called by naming
    # the address.
    agent.ping_wanted = agent.ping_wanted or (request.asks_for_call and decision.proven)


def find_known(request: Request, league_id: str | None) -> Agent | None:
    """The agent of a league (None: of the lobby or the site) that a request registers again, if there is one."""
    peers = Agent.objects.filter(kind=request.kind, league_id=league_id)
    agent = peers.filter(name=request.name, endpoint_key=request.key_in(league_id)).first()
    agent = agent or _elsewhere_before(request, peers, league_id)
    if agent is None and request.kind == Kind.REFEREE:
        # A referee is known by its name, port and path, whatever its host is called.
        tail = request.endpoint_key.partition("|")[2]
        # The database finds others, too: SQLite ignores case here, and a path may hold a bar.
        candidates = peers.filter(name=request.name, endpoint_key__endswith=f"|{tail}").order_by("pk")
        return next((peer for peer in candidates if peer.endpoint_key.partition("|")[2] == tail), None)
    return agent


def _elsewhere_before(request: Request, peers: QuerySet[Agent], league_id: str | None) -> Agent | None:
    """The agent that had another address before, and is the same one (ruling, section 8).

    A player's token shows that, whatever name it sends, or its name with the personal code of its owner, if that person
    has one agent in the league. A referee's token does if it had an address and has an inbox only, or the other way
    round (section 13); else it is known by its name and port.

    Args:
        peers: the agents of its kind in the league, or in the lobby, or at the site.
    """
    agent = peers.filter(tokens__sha256=tokens.digest(request.token)).first() if request.token else None
    if request.kind == Kind.REFEREE:
        known = agent is not None and agent.name == request.name and agent.is_inbox_only != request.has_inbox_only
        return agent if known else None
    if agent is None and (owner := roster.find_owner(league_id, request.codes)) is not None:
        owned = list(peers.filter(owner=owner)[:2])
        agent = owned[0] if len(owned) == 1 and owned[0].name == request.name else None
    return agent


def activate(*, agent_ids: Iterable[int]) -> None:
    """The league starts: its REGISTERED players become ACTIVE."""
    Agent.objects.filter(pk__in=list(agent_ids), state=AgentState.REGISTERED).update(state=AgentState.ACTIVE)


def retire(*, agent_ids: Iterable[int]) -> None:
    """These players take no further part: they are SHUTDOWN until they register again or are brought back."""
    sources = [state for state, targets in AGENT_ARROWS.items() if AgentState.SHUTDOWN in targets]
    Agent.objects.filter(pk__in=list(agent_ids), state__in=sources).update(state=AgentState.SHUTDOWN)


def count_answers(*, agent_ids: Collection[int]) -> None:
    """Players answered in a match: reset the count of their silences; a suspended one is ACTIVE again."""
    _note_sign_of_life(agent_ids, silences=0)


_RECOVERED = Sql(f"CASE WHEN state = '{AgentState.SUSPENDED}' THEN '{AgentState.ACTIVE}' ELSE state END")


def _note_sign_of_life(agent_ids: Collection[int], **also: Any) -> None:
    """Note that agents gave a sign of life and make the SUSPENDED ones ACTIVE again, in one statement."""
    swap(Agent, {"heard_at": clock.now(), "problem": "", "state": _RECOVERED, **also}, pk=list(agent_ids))


def count_silence(*, agent_id: int, suspend_after: int, shutdown_after: int, problem: str) -> None:
    """A player lost a match by silence (E001, E009): after some such matches it is suspended, after more shut down."""
    Agent.objects.filter(pk=agent_id).update(silences=F("silences") + 1, problem=problem[:200])
    Agent.objects.filter(
        pk=agent_id, silences__gte=suspend_after, state__in=[AgentState.ACTIVE, AgentState.REGISTERED]
    ).update(state=AgentState.SUSPENDED)
    Agent.objects.filter(pk=agent_id, silences__gte=shutdown_after, state=AgentState.SUSPENDED).update(
        state=AgentState.SHUTDOWN
    )


def lock_students_referees(agent_ids: QuerySet[Any, Any]) -> set[int]:
    """Lock the rows of those of these agents that do not have the site's key; returns their primary keys.

    Args:
        agent_ids: a query for their primary keys.
    """
    theirs = Agent.objects.filter(pk__in=agent_ids, site_key=False).order_by("pk").select_for_update(no_key=True)
    return set(theirs.values_list("pk", flat=True))


def count_lost_match(*, agent_id: int) -> None:
    """A student's referee lost a match: after some, others are preferred (``MAX_LOST_MATCHES``)."""
    Agent.objects.filter(pk=agent_id).update(silences=F("silences") + 1)


def heard_from_referee(*, agent_id: int) -> None:
    """A referee gave a sign of life: if it was suspended it judges again."""
    _note_sign_of_life([agent_id])


def suspend_referee(*, agent_id: int, problem: str) -> None:
    """A referee gave no sign of life, or could not be reached: it is given no match until it gives one."""
    Agent.objects.filter(pk=agent_id, state__in=[AgentState.ACTIVE, AgentState.REGISTERED]).update(
        state=AgentState.SUSPENDED, problem=problem[:200]
    )


def expect_again(*, names: Iterable[str]) -> None:
    """The site's own referees are about to start: none is given a match before it has registered."""
    Agent.objects.filter(kind=Kind.REFEREE, site_key=True, league__isnull=True, name__in=list(names)).exclude(
        state=AgentState.SHUTDOWN
    ).update(state=AgentState.SUSPENDED)


def want_ping(*, agent_ids: Iterable[int]) -> None:
    """Ask the conductor to ping agents; the result appears in their rows."""
    Agent.objects.filter(pk__in=list(agent_ids)).update(ping_wanted=True)


def note_lines(
    *, opened: Mapping[int, str], closed: Iterable[int], contested: Iterable[int], renewed_s: float = 0.0
) -> None:
    """Agents that dial out opened or closed their line (ruling, section 13): pages and the desk show it.

    Args:
        opened: by the agent's primary key, the kind of its line: ``poll`` or ``websocket``.
        closed: agents that have no line any more at the process that tells of it.
        renewed_s: an agent among them whose row was renewed within so many seconds has a line at another process.
        contested: agents whose line was taken over again and again.
    """
    now = clock.now()
    for way in sorted(set(opened.values())):
        agents = [agent for agent, way_of_line in opened.items() if way_of_line == way]
        # An agent that fetches its messages is there: no problem of an earlier call remains.
        _update_in_order(agents, line=way, line_seen_at=now, heard_at=now, problem="")
    not_renewed = Agent.objects.filter(pk__in=list(closed), line_seen_at__lte=now - timedelta(seconds=renewed_s))
    _update_in_order(not_renewed.values_list("pk", flat=True), line="", line_seen_at=now)
    _update_in_order(contested, contested_at=now)


def _update_in_order(agents: Iterable[int], **changes: Any) -> None:
    """Update agents whose rows are locked by primary key first.

    A statement that changes several rows locks them in any order, and could deadlock with the conductor, which locks
    players when it gives out their matches.
    """
    with transaction.atomic():
        rows = Agent.objects.filter(pk__in=list(agents))
        locked = list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        Agent.objects.filter(pk__in=locked).update(**changes)


def note_ping(*, agent_id: int, problem: str, found: str | None = None) -> None:
    """The result of a ping; an empty problem means that the agent answered.

    Args:
        found: what was found at its address in place of an agent, empty for an agent; None if it was not called there.
    """
    now = clock.now()
    Agent.objects.filter(pk=agent_id).update(
        ping_wanted=False,
        pinged_at=now,
        problem=problem[:200],
        **({} if found is None else {"call_found": found[:200]}),
    )
    if not problem:
        Agent.objects.filter(pk=agent_id).update(heard_at=now)
        # A referee that answers is given matches again; a player recovers by answering in a match.
        Agent.objects.filter(pk=agent_id, kind=Kind.REFEREE, state=AgentState.SUSPENDED).update(state=AgentState.ACTIVE)


def note_found(*, agent_id: int, found: str | None) -> None:
    """Store what a call found at the address of an agent that answers over its line, as in :func:`note_ping`."""
    if found is not None:
        Agent.objects.filter(pk=agent_id).update(call_found=found[:200])


def trust(*, agent_ids: Iterable[int], trusted: bool = True) -> None:
    """The instructor lets referees judge, or not any more; matches that they lost are forgotten."""
    Agent.objects.filter(pk__in=list(agent_ids), kind=Kind.REFEREE).update(trusted=trusted, silences=0)


def readmit(*, agent_ids: Iterable[int]) -> None:
    """The next registration of each of these agents needs no proof, once."""
    Agent.objects.filter(pk__in=list(agent_ids)).update(readmit=True)


def bring_back(*, agent_ids: Iterable[int]) -> None:
    """Shut-down players take part again, in what is not yet played: they are REGISTERED, and count no silence."""
    Agent.objects.filter(pk__in=list(agent_ids), state=AgentState.SHUTDOWN).update(
        state=AgentState.REGISTERED, silences=0
    )


EDITED = ("trusted", "readmit", "owner", "display_name")
"""What the instructor may edit of an agent."""


def save_from_admin(agent: Agent, changed: Collection[str] = EDITED) -> None:
    """Write what the instructor edited in the admin.

    Args:
        agent: with its new values.
        changed: the names of those that were edited: trust, readmission, owner, name; the others stay as they are.
    """
    agent.display_name = without_controls(agent.display_name)
    Agent.objects.filter(pk=agent.pk).update(**{name: getattr(agent, name) for name in changed})
    lookalikes.remember([agent])


def forget_players(*, league_id: str) -> None:
    """Remove the players of the demo league before it starts again."""
    Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER).delete()
