"""WRITES: who may have which agent checked, and the checks that a league asks for by itself.

A check runs outside any league: it changes no match and no table. What becomes of it is in ``checks.runs``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import credentials
from agents_registry.addresses import Address, comes_from, read_address
from agents_registry.attempts import TOKEN, attempts
from agents_registry.callers import Caller
from agents_registry.endpoints import endpoint_policy
from agents_registry.models import Agent, AgentToken, Kind
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.states import AgentState
from league_sdk.rules.registry import games
from league_sdk.transport.policy import Forbidden
from matches.checks.runs import INSTRUCTOR, changed
from matches.checks.taking import place_of
from matches.league.errors import ActionRefused, Invalid
from matches.models import Check, CheckRole, CheckState
from matches.view import readiness

MOST_A_MINUTE = 5
"""Checks that one caller may ask for."""
MOST_WAITING = 200
"""More than this are not queued for the public."""
KEPT_FOR_OTHERS, MOST_AT_A_PLACE = 100, 20
"""Of these places, for those with less than so many waiting at one place: nobody's own agents fill the line."""
SETTLE_S = 3.0
"""After a registration: more than half of the agents register before they listen (our choice)."""
AGAIN_AFTER_S = 5.0
AGAIN_AT_MOST_S = 600.0
MOST_TRIES = 20
"""Checks that a league asks for by itself, from one registration of an agent to the next."""


class NotTheirs(ActionRefused):
    """Neither the caller's own address nor an agent whose token was given."""

    status = 403


class TooOften(ActionRefused):
    status = 429


# Asking -----------------------------------------------------------------------------------------


def ask(
    *,
    endpoint: str,
    caller: Caller,
    role: str = "",
    token: str = "",
    game_type: str = "",
    now: datetime | None = None,
) -> Check:
    """Have an address checked, or take part in a check of it that is on its way.

    Args:
        endpoint: the address; empty for the one that the token's agent is registered with.
        role: as what; empty for what is registered at the address, else a player. A token's agent is what it is.
        token: an agent's auth_token, for an address that is not the caller's own.
        game_type: the game to be asked for; empty for what the agent plays.

    Raises:
        Invalid: 422, an address, role or game that is not usable.
        NotTheirs: 403.
        TooOften: 429.
    """
    now = now or timezone.now()
    with transaction.atomic():
        found = _token_of(token, caller) if token else None
        agent = found.agent if found is not None else None
        if role and role not in CheckRole.values:
            raise Invalid(_("There is no role %(role)s.") % {"role": role[:40]}, field="role")
        if game_type and game_type not in games():
            raise Invalid(_("There is no game %(game)s.") % {"game": game_type[:40]}, field="game_type")
        address = _address(endpoint, caller, agent)
        agent = _allowed(address, caller, agent)
        # Whoever has just named this address reads what everybody reads of what stands there.
        named = found is not None and not found.proven and not (caller.instructor or _is_own(address, caller))
        if not caller.instructor:
            _refuse_hurry(caller, agent, address, now)
        agent = agent or _registered_at(address, role)
        wanted = Check(
            role=agent.kind if agent is not None else role or CheckRole.PLAYER.value,
            game_types=_games(game_type, agent),
            agent=agent,
            asked_by=_name(caller),
            withheld=named,
            due_at=now,
            created_at=now,
        )
        return _queue(wanted, address)


def ask_for_agents(*, agent_ids: Iterable[int], now: datetime | None = None) -> list[Check]:
    """The instructor has agents checked; not the site's own referees, who take matches from this site only."""
    now = now or timezone.now()
    with transaction.atomic():
        chosen = Agent.objects.filter(pk__in=list(agent_ids), site_key=False)
        agents = list(chosen.select_related("league").order_by("pk"))
        return [_queue_agent(agent, asked_by=INSTRUCTOR, now=now, due_at=now) for agent in agents]


def tend(*, now: datetime) -> int:
    """Ask for the checks that leagues with ``require_check`` demand: after each registration, and again, less
    and less often, while they fail; how many were queued."""
    leagues = list(readiness.asking_leagues())
    if not leagues:
        return 0
    players = list(
        Agent.objects.filter(kind=Kind.PLAYER, league__in=leagues)
        .exclude(state=AgentState.SHUTDOWN)
        .select_related("league")
        .annotate(came_at=Max("tokens__created_at"))
        .order_by("pk")
    )
    known = readiness.history(players)
    queued = 0
    for player in players:
        due_at = _due_at(player.came_at or player.registered_at, known.get((player.endpoint_key, player.kind), []))
        if due_at is not None:
            with transaction.atomic():
                _queue_agent(player, asked_by="", now=now, due_at=max(due_at, now))
            queued += 1
    return queued


def _due_at(came_at: datetime, lines: list[readiness.Line]) -> datetime | None:
    """When the next check of an agent's address is due that a league asks for by itself; None for never."""
    if any(line.open for line in lines):
        return None
    since = [line for line in lines if line.created_at >= came_at]
    if not since:
        return came_at + timedelta(seconds=SETTLE_S)
    last = since[-1]
    if last.passed or len(since) >= MOST_TRIES or last.finished_at is None:
        return None
    return last.finished_at + timedelta(seconds=min(AGAIN_AFTER_S * 2 ** (len(since) - 1), AGAIN_AT_MOST_S))


def _token_of(token: str, caller: Caller) -> AgentToken:
    wait = attempts.refuse_secret(TOKEN, caller.ip, token)
    if wait is not None:
        raise TooOften(_("Too many wrong attempts: wait %(seconds)d seconds.") % {"seconds": wait.seconds})
    found = credentials.find_token(token)
    if found is None:
        attempts.secret_was_wrong(TOKEN, caller.ip, token)
        raise NotTheirs(_("This auth_token is no agent's: take the one from your last registration, or leave it out."))
    return found


def _refuse_hurry(caller: Caller, agent: Agent | None, address: Address, now: datetime) -> None:
    """A class may have one address: with its agent's token one is counted by the agent, others by the address."""
    recent = Check.objects.filter(created_at__gt=now - timedelta(minutes=1))
    recent = recent.filter(asked_by=_name(caller)) if agent is None else recent.filter(agent=agent).exclude(asked_by="")
    if recent.count() >= MOST_A_MINUTE:
        raise TooOften(
            _("You have asked for %(count)d checks within a minute: wait a moment, mend something, and ask again.")
            % {"count": MOST_A_MINUTE}
        )
    waiting = list(Check.objects.filter(state=CheckState.WANTED, due_at__lte=now).values_list("address", flat=True))
    here = sum(place_of(one) == place_of(address.machine) for one in waiting)
    if len(waiting) >= MOST_WAITING - (KEPT_FOR_OTHERS if here >= MOST_AT_A_PLACE else 0):
        raise TooOften(_("Too many checks are waiting already: ask again in a minute."))


def _address(endpoint: str, caller: Caller, agent: Agent | None) -> Address:
    if not endpoint.strip():
        if agent is None:
            raise Invalid(_("Give the address your agent listens at."), field="endpoint")
        return Address(url=agent.endpoint, key=agent.endpoint_key, notes=())
    # "This machine" is the instructor's own word for the site's machine; anyone else's means theirs.
    own = "" if caller.instructor else caller.near
    try:
        address = read_address(endpoint, caller=own, field="endpoint")
        endpoint_policy().check_url(address.url)
    except InvalidFormat:
        raise Invalid(
            _("This is not an address that can be called. Expected one such as http://192.168.1.20:8101/mcp."),
            field="endpoint",
        ) from None
    except Forbidden as error:
        raise Invalid(_("This address is not called: %(why)s.") % {"why": error}, field="endpoint") from None
    return address


def _allowed(address: Address, caller: Caller, agent: Agent | None) -> Agent | None:
    """The token's agent, if it is the one that is checked.

    Raises:
        NotTheirs: the caller may not have this address checked.
    """
    if agent is not None and address.key == agent.endpoint_key:
        return agent
    if not (caller.instructor or _is_own(address, caller)):
        if agent is not None:
            raise NotTheirs(
                _("%(agent)s is registered at another address: leave the address empty to check %(agent)s.")
                % {"agent": agent.code}
            )
        raise NotTheirs(
            _(
                "This is not your own address (you call from %(ip)s): open this page on the machine your agent "
                "runs on, or give the auth_token of the agent that is registered at this address."
            )
            % {"ip": caller.ip}
        )
    return None


def _name(caller: Caller) -> str:
    """What the row says of who asked."""
    return INSTRUCTOR if caller.instructor else caller.ip[:64]


def _is_own(address: Address, caller: Caller) -> bool:
    return caller.direct and comes_from(address.url, caller.ip)


def _registered_at(address: Address, role: str) -> Agent | None:
    """The newest agent at an address that is what it is to be checked as."""
    found = Agent.objects.filter(endpoint_key=address.key).select_related("league")
    return (found.filter(kind=role) if role else found).order_by("-pk").first()


def _games(game_type: str, agent: Agent | None) -> list[str]:
    if game_type:
        return [game_type]
    if agent is not None and agent.league is not None:
        return [agent.league.game_type]
    named = [game for game in (agent.game_types if agent is not None else []) if game in games()]
    return named or ["even_odd"]


def _queue_agent(agent: Agent, *, asked_by: str, now: datetime, due_at: datetime) -> Check:
    wanted = Check(
        role=agent.kind,
        game_types=_games("", agent),
        agent=agent,
        asked_by=asked_by,
        due_at=due_at,
        created_at=now,
    )
    return _queue(wanted, Address(url=agent.endpoint, key=agent.endpoint_key, notes=()))


def _queue(wanted: Check, address: Address) -> Check:
    """Queue a check of an address; one like it that waits already takes its place."""
    # One whose report others read in another way is another check.
    same = {"endpoint_key": address.key, "role": wanted.role, "withheld": wanted.withheld}
    waiting = Check.objects.filter(**same, state__in=[CheckState.WANTED, CheckState.RUNNING])
    found = waiting.filter(game_types=wanted.game_types).order_by("created_at").first()
    if found is None:
        found = wanted
        found.endpoint, found.endpoint_key = address.url, address.key
        found.address, found.notes = address.machine, list(address.notes)
        found.save(force_insert=True)
    else:
        # One that was to be repeated later is run now.
        earlier = Check.objects.filter(pk=found.pk, state=CheckState.WANTED, due_at__gt=wanted.due_at)
        earlier.update(due_at=wanted.due_at)
    changed(found)
    return found
