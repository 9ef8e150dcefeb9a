"""WRITES: checks that nobody has to ask for: those that a league demands, and those after a registration."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from league_sdk.protocol.states import AgentState, LeagueState
from matches.checks import runs, ways
from matches.checks.asking import queue_agent
from matches.checks.runs import REGISTRATION
from matches.checks.turns import asked_lately, place_of, places
from matches.models import Check, CheckState
from matches.view import readiness
from storage import clock

FIRST_CHECK_DELAY_S = 3.0
"""The delay of the first check after a registration: most agents register before they open their port (our choice)."""
RETRY_BACKOFF_S = 5.0
MAX_RETRY_BACKOFF_S = 600.0
MAX_ATTEMPTS = 20
"""How many checks a league demands between one registration of an agent and the next."""
MAX_PER_HOUR, MIN_INTERVAL_S = 6, 60.0
"""How many checks of one agent its registrations ask for, however often it registers, and the time between two."""
MAX_WAITING, MAX_PER_PLACE_AND_HOUR = 1000, 300
"""How many checks of registrations may wait, and how many one place may have per hour; above that none is started."""
_UNDER_WAY_OR_OVER = [state for state in LeagueState if state not in (LeagueState.REGISTRATION, LeagueState.SCHEDULED)]
MAX_TRIES_UNREACHED, TRIES_WINDOW_S = 4, 300.0
"""An agent that does not answer after its registration is tried this often, within this many seconds."""


def after_registration(*, agent: Agent, now: datetime | None = None) -> Check | None:
    """Queue the check of a player that has registered in an open league or the lobby; nobody has to ask for it.

    To be called only where the registration came from the agent's own address, or with its token or its owner's
    personal code, or where the agent has an inbox only: else anybody could have the site call a stranger.

    Returns the check; None when the site or the league does without, or too many wait or were made already.
    """
    now = now or clock.now()
    league = agent.league
    if not settings.LEAGUE_CHECK_ON_REGISTRATION or agent.kind != Kind.PLAYER:
        return None
    if league is not None and (league.state != LeagueState.REGISTRATION or league.demo or league.rules.require_check):
        # A league that demands a check asks for it by itself.
        return None
    with transaction.atomic():
        times = list(asked_lately(now).filter(agent=agent).order_by("-due_at").values_list("due_at", flat=True))
        of_place = places(asked_lately(now))[place_of(ways.place_address(agent))]
        waiting = Check.objects.filter(state=CheckState.WANTED, asked_by=REGISTRATION).count()
        if len(times) >= MAX_PER_HOUR or of_place >= MAX_PER_PLACE_AND_HOUR or waiting >= MAX_WAITING:
            return None
        due_at = now + timedelta(seconds=FIRST_CHECK_DELAY_S)
        if times:
            due_at = max(due_at, times[0] + timedelta(seconds=MIN_INTERVAL_S))
        return queue_agent(agent, Check(asked_by=REGISTRATION, due_at=due_at, created_at=now))


def _try_again(now: datetime) -> int:
    """Queue one more check of agents that did not answer the one that their registration asked for."""
    lately = Check.objects.filter(asked_by=REGISTRATION, created_at__gt=now - timedelta(seconds=TRIES_WINDOW_S))
    silent = lately.filter(state=CheckState.DONE, passed=False).exclude(agent__problem="")
    agents = Agent.objects.filter(pk__in=silent.values("agent")).exclude(league__state__in=_UNDER_WAY_OR_OVER)
    agents = agents.select_related("league").order_by("pk")
    queued = 0
    for agent in agents:
        own = list(lately.filter(agent=agent).order_by("created_at"))
        finished_at = own[-1].finished_at if own else None
        if finished_at is None or len(own) >= MAX_TRIES_UNREACHED:
            continue
        due_at = finished_at + timedelta(seconds=RETRY_BACKOFF_S * 2 ** (len(own) - 1))
        with transaction.atomic():
            queue_agent(agent, Check(asked_by=REGISTRATION, due_at=max(due_at, now), created_at=now))
        queued += 1
    return queued


def _drop_late(now: datetime) -> None:
    """End the checks that nobody asked for and that have not begun, once their agent's league plays or is over."""
    unasked = Check.objects.filter(state=CheckState.WANTED, asked_by__in=("", REGISTRATION))
    for check in unasked.filter(agent__league__state__in=_UNDER_WAY_OR_OVER).defer("report"):
        runs.refuse(check=check, problem=_("Its league has begun: ask for a check if you want one."), now=now)


def tend(*, now: datetime) -> int:
    """Queue the checks that leagues with ``require_check`` demand, and more checks of agents that did not answer; end
    those that come too late.

    A league demands a check after each registration, and again with a growing backoff while it fails. An agent that did
    not answer the check after its registration is checked again, too. Returns how many checks were queued.
    """
    _drop_late(now)
    queued = _try_again(now)
    leagues = list(readiness.leagues_demanding_check())
    if not leagues:
        return queued
    players = list(
        Agent.objects.filter(kind=Kind.PLAYER, league__in=leagues)
        .exclude(state=AgentState.SHUTDOWN)
        .select_related("league")
        .annotate(came_at=Max("tokens__created_at"))
        .order_by("pk")
    )
    known = readiness.history(players)
    leagues_by_id = {league.pk: league for league in leagues}
    for player in players:
        due_at = _due_at(player.came_at or player.registered_at, readiness.checks_of(player, known, leagues_by_id))
        if due_at is not None:
            with transaction.atomic():
                queue_agent(player, Check(asked_by="", due_at=max(due_at, now), created_at=now))
            queued += 1
    return queued


def _due_at(came_at: datetime, checks: list[readiness.CheckSummary]) -> datetime | None:
    """The time of the next check that a league demands of an agent; None for never."""
    if any(check.open for check in checks):
        return None
    since = [check for check in checks if check.created_at >= came_at]
    if not since:
        return came_at + timedelta(seconds=FIRST_CHECK_DELAY_S)
    last = since[-1]
    if last.passed or len(since) >= MAX_ATTEMPTS or last.finished_at is None:
        return None
    return last.finished_at + timedelta(seconds=min(RETRY_BACKOFF_S * 2 ** (len(since) - 1), MAX_RETRY_BACKOFF_S))
