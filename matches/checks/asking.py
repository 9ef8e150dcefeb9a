"""WRITES: requests for checks: who may have which agent checked.

A check runs outside any league: it changes no match and no table. ``checks.runs`` has what becomes of it after that,
``checks.tending`` the checks that nobody has to ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.addresses.callers import Caller
from agents_registry.addresses.endpoints import endpoint_policy
from agents_registry.addresses.reading import Address, comes_from, read_address
from agents_registry.isolating import isolated
from agents_registry.models import Agent, AgentToken, Kind
from agents_registry.rate_limits.attempts import TOKEN, attempts
from agents_registry.registering import credentials, seats
from agents_registry.words import sentence_of, too_many_attempts
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.rules.registry import games
from league_sdk.transport.policy import Forbidden
from matches.checks import ways
from matches.checks.runs import INSTRUCTOR, REGISTRATION, changed
from matches.checks.turns import place_of
from matches.league.errors import ActionRefused, Invalid
from matches.models import Check, CheckRole, CheckState, CheckWay
from storage import clock

MAX_CHECKS_PER_MINUTE = 5
"""The limit for one caller; for one agent, if its token is sent."""
MAX_QUEUED = 200
"""When this many due checks wait, without those that registrations asked for, the public may not queue more."""
RESERVED_FOR_OTHER_PLACES, MAX_QUEUED_PER_PLACE = 100, 20
"""The last 100 of the :data:`MAX_QUEUED` are for places (``turns.place_of``) with fewer than 20 waiting checks, so that
the agents of one owner cannot fill the queue."""


class NotAllowed(ActionRefused):
    """The caller has not shown that the address or the agent is its own, or has sent a token that is nobody's."""

    status = 403


class TooManyChecks(ActionRefused):
    """Too many were asked for, or wait.

    Attributes:
        retry_after_s: in how many seconds to ask again; there may be room by then.
    """

    status = 429

    def __init__(self, sentence: object, retry_after_s: int = 60) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


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
    """Queue a check of an address, or return the one that is queued or running already.

    Args:
        endpoint: the address; empty for the registered address of the token's agent.
        caller: the person or program that asks.
        role: what to check it as; empty for the role registered at the address, else player. In a check of
            the token's agent, the role of that agent counts.
        token: the auth_token of an agent, for an address that is not the caller's own.
        game_type: the game to check; empty for the agent's own.

    Raises:
        Invalid: 422, an address, role or game that is not usable.
        NotAllowed: 403.
        TooManyChecks: 429.
    """
    now = now or clock.now()
    with transaction.atomic():
        token_row = token_of(token, caller) if token else None
        agent = token_row.agent if token_row is not None else None
        if role and role not in CheckRole.values:
            raise Invalid(_("There is no role %(role)s.") % {"role": isolated(role[:40])}, field="role")
        if game_type and game_type not in games():
            raise Invalid(_("There is no game %(game)s.") % {"game": isolated(game_type[:40])}, field="game_type")
        address = _address(endpoint, caller, agent)
        agent = _allowed(address, caller, agent)
        # The caller has not proven to own this address: show only what the public may read of the answers from there.
        withheld = (
            token_row is not None and not token_row.proven and not (caller.instructor or _is_own(address, caller))
        )
        if not caller.instructor:
            _enforce_limits(caller, agent, address, now)
        agent = agent or _registered_at(address, role)
        role = agent.kind if agent is not None else role or CheckRole.PLAYER.value
        new_check = Check(role=role, asked_by=_asked_by(caller), withheld=withheld, due_at=now, created_at=now)
        # A caller that names an address learns of that address only; another agent registered there may have a line.
        new_check.way = "" if token_row is not None else CheckWay.ADDRESS
        return _queue(new_check, address, agent, game_type)


def ask_for_agents(*, agent_ids: Iterable[int], now: datetime | None = None) -> list[Check]:
    """Queue checks of agents for the instructor; the site's own referees are left out: they serve this site only."""
    now = now or clock.now()
    with transaction.atomic():
        chosen = Agent.objects.filter(pk__in=list(agent_ids), site_key=False)
        agents = list(chosen.select_related("league").order_by("pk"))
        return [queue_agent(agent, Check(asked_by=INSTRUCTOR, due_at=now, created_at=now)) for agent in agents]


def token_of(token: str, caller: Caller) -> AgentToken:
    """The row of an auth_token that a caller has sent.

    Raises:
        NotAllowed: 403, it is nobody's.
        TooManyChecks: 429, too many wrong ones came from there.
    """
    wait = attempts.refuse_secret(TOKEN, caller.ip, token)
    if wait is not None:
        raise TooManyChecks(too_many_attempts(wait.seconds))
    known = credentials.find_token(token)
    if known is None:
        attempts.secret_was_wrong(TOKEN, caller.ip, token)
        raise NotAllowed(
            _("This auth_token belongs to no agent: take the one from your last registration, or leave it out.")
        )
    return known


def _enforce_limits(caller: Caller, agent: Agent | None, address: Address, now: datetime) -> None:
    """Enforce the rate limit and the limits of the queue.

    A class may share one IP address: a caller with an agent's token is counted by agent, others by address.
    """
    recent = Check.objects.filter(created_at__gt=now - timedelta(minutes=1))
    recent = (
        recent.filter(asked_by=_asked_by(caller))
        if agent is None
        else recent.filter(agent=agent).exclude(asked_by__in=["", REGISTRATION, INSTRUCTOR])
    )
    if recent.count() >= MAX_CHECKS_PER_MINUTE:
        raise TooManyChecks(
            _("You have asked for %(count)d checks within a minute: wait a moment, mend something, and ask again.")
            % {"count": MAX_CHECKS_PER_MINUTE}
        )
    due = Check.objects.filter(state=CheckState.WANTED, due_at__lte=now).exclude(asked_by=REGISTRATION)
    waiting = list(due.values_list("address", flat=True))
    of_place = sum(place_of(one) == place_of(address.machine) for one in waiting)
    if len(waiting) >= MAX_QUEUED - (RESERVED_FOR_OTHER_PLACES if of_place >= MAX_QUEUED_PER_PLACE else 0):
        raise TooManyChecks(_("Too many checks are waiting already: ask again in a minute."))


def _address(endpoint: str, caller: Caller, agent: Agent | None) -> Address:
    if not endpoint.strip():
        if agent is None:
            raise Invalid(_("Give the address your agent listens at."), field="endpoint")
        return ways.registered(agent)
    # For the instructor "localhost" is the site's machine; for anybody else it is their own.
    local_machine = "" if caller.instructor else caller.machine_ip
    try:
        address = read_address(endpoint, caller=local_machine, field="endpoint")
        endpoint_policy().check_url(address.url)
    except InvalidFormat:
        raise Invalid(
            _("This is not an address that can be called. Expected one such as http://192.168.1.20:8101/mcp."),
            field="endpoint",
        ) from None
    except Forbidden as error:
        raise Invalid(
            _("This address is not called: %(why)s.") % {"why": sentence_of(error)}, field="endpoint"
        ) from None
    return address


def _allowed(address: Address, caller: Caller, agent: Agent | None) -> Agent | None:
    """The token's agent, if the address is its own; None if the caller may check the address for another reason.

    Raises:
        NotAllowed: the caller may not have this address checked.
    """
    if agent is not None and address.key == agent.endpoint_key:
        return agent
    if not (caller.instructor or _is_own(address, caller)):
        if agent is not None:
            raise NotAllowed(
                _("%(agent)s is registered at another address: leave the address empty to check %(agent)s.")
                % {"agent": agent.code}
            )
        raise NotAllowed(
            _(
                "This is not your own address (you call from %(ip)s): open this page on the machine your agent "
                "runs on, or give the auth_token of the agent that is registered at this address."
            )
            % {"ip": caller.ip}
        )
    return None


def _asked_by(caller: Caller) -> str:
    """The value of ``asked_by``."""
    return INSTRUCTOR if caller.instructor else caller.ip[:64]


def _is_own(address: Address, caller: Caller) -> bool:
    return caller.direct and comes_from(address.url, caller.ip)


def _registered_at(address: Address, role: str) -> Agent | None:
    """The newest agent registered at an address, of this role if one is given; of players the one proven there."""
    registered = Agent.objects.filter(endpoint_key=address.key).select_related("league")
    newest = (registered.filter(kind=role) if role else registered).order_by("-pk").first()
    return seats.who_is_at(newest) if newest is not None and newest.kind == Kind.PLAYER else newest


def _games(game_type: str, agent: Agent | None) -> list[str]:
    if game_type:
        return [game_type]
    if agent is not None and agent.league is not None:
        return [agent.league.game_type]
    named = [game for game in (agent.game_types if agent is not None else []) if game in games()]
    return named or ["even_odd"]


def queue_agent(agent: Agent, new_check: Check) -> Check:
    """Queue a check of an agent as what it is; ``new_check`` says who asked and when it is due."""
    new_check.role = agent.kind
    return _queue(new_check, ways.registered(agent), agent)


def _queue(new_check: Check, address: Address, agent: Agent | None, game_type: str = "") -> Check:
    """Queue a check of an address, unless an equal one is queued or running; that one is returned then."""
    new_check.agent, new_check.game_types = agent, _games(game_type, agent)
    target = ways.queued_as(new_check, address)
    new_check.endpoint, new_check.endpoint_key, new_check.address = target.endpoint, target.key, target.address
    check = _equal(new_check)
    if check is None:
        check = new_check
        check.notes = list(address.notes)
        check.save(force_insert=True)
    else:
        # If it was planned for later, run it now.
        planned = Check.objects.filter(pk=check.pk, state=CheckState.WANTED)
        if new_check.way == CheckWay.ADDRESS:
            planned.update(way=new_check.way)
        planned.filter(due_at__gt=new_check.due_at).update(due_at=new_check.due_at)
        if new_check.asked_by != REGISTRATION:
            # Now somebody has asked: it does not wait behind those that nobody has asked for.
            planned.filter(asked_by=REGISTRATION).update(asked_by=new_check.asked_by)
    changed(check)
    return check


def _equal(new_check: Check) -> Check | None:
    """The check that is queued or running and calls what this one would call, for the same readers."""
    target = ways.of_check(new_check)
    # A check whose report is shown to other people is not equal.
    same = {"role": new_check.role, "withheld": new_check.withheld, "game_types": new_check.game_types}
    waiting = Check.objects.filter(**same, state__in=[CheckState.WANTED, CheckState.RUNNING])
    waiting = waiting.filter(endpoint_key__in={target.key, new_check.endpoint_key}).select_related("agent")
    calls = {CheckState.WANTED: ways.of_check, CheckState.RUNNING: ways.claimed}
    equal = (one for one in waiting.order_by("created_at") if calls[CheckState(one.state)](one).key == target.key)
    return next(equal, None)
