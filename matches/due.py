"""One look at the rows: does what is due in the database and says what has to go out.

Level-triggered: everything follows from the rows as they are, so a look may be repeated, skipped
or interrupted anywhere. Writes are the verbs of ``matches.league``.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents_registry import registration
from agents_registry.models import Agent
from league_sdk.dialects import canonical
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope, stamp
from league_sdk.protocol.messages import START_MATCH
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState, RoundState
from league_sdk.transport.policy import EndpointPolicy
from matches import queries
from matches.league import demo, lifecycle, outbox, play, results
from matches.league.errors import ActionRefused
from matches.models import Broadcast, Delivery, DeliveryState, League, Match, Round

MOST_PARCELS = 2000


@dataclass(frozen=True, slots=True)
class Start:
    """A ``start_match`` to send."""

    match_pk: int
    attempt: int
    endpoint: str
    body: bytes
    limit_s: float


@dataclass(frozen=True, slots=True)
class Parcel:
    """One broadcast to one agent, ready to send."""

    delivery_pk: int
    endpoint: str
    body: bytes
    limit_s: float


@dataclass(frozen=True, slots=True)
class Check:
    """An agent that is to be asked whether it answers."""

    agent_pk: int
    endpoint: str
    body: bytes


@dataclass(slots=True)
class Plan:
    """What has to go out after a look. Parcels of one agent go in their order, agents in parallel."""

    starts: list[Start] = field(default_factory=list)
    parcels: dict[int, list[Parcel]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)


@dataclass(slots=True)
class Outcomes:
    """What became of what went out.

    Attributes:
        deliveries: (delivery, problem); no problem means settled.
        undeliverable: (match, attempt, why, whether the referee answered with an error).
        checks: (agent, problem).
        freed: agents that nothing is on its way to any more.
    """

    deliveries: list[tuple[int, str]] = field(default_factory=list)
    undeliverable: list[tuple[int, int, str, bool]] = field(default_factory=list)
    checks: list[tuple[int, str]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.deliveries or self.undeliverable or self.checks)


def note(outcomes: Outcomes) -> None:
    """Write down what became of what went out, in one transaction."""
    with transaction.atomic():
        outbox.settle(outcomes.deliveries)
        for match_pk, attempt, why, refused in outcomes.undeliverable:
            play.undeliverable(match_pk=match_pk, attempt=attempt, problem=why, refused=refused)
        for agent_pk, problem in outcomes.checks:
            registration.note_check(agent_id=agent_pk, problem=problem)


def look(*, busy_agents: Collection[int], draining: bool, quick: bool = False) -> Plan:
    """Do what is due and plan what has to go out.

    Args:
        busy_agents: agents that something is on its way to; they are left out.
        draining: no round and no match starts any more.
        quick: only what a change makes due; what time makes due can wait for the next tick.
    """
    now = timezone.now()
    if not quick:
        play.expire_leases(now=now)
        demo.tend(now=now)
        _end_holds(now)
    _move_rounds(now, draining)
    plan = Plan()
    if not draining:
        plan.starts = _dispatch()
    plan.parcels = _parcels(busy_agents, now)
    if not quick:
        plan.checks = _checks(busy_agents)
    return plan


def _move_rounds(now: datetime, draining: bool) -> None:
    playing = set()
    for active in Round.objects.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).select_related("league"):
        playing.add(active.league_id)
        if active.state == RoundState.ANNOUNCING:
            waited = active.started_at is None or now - active.started_at >= timedelta(
                seconds=active.league.rules.announce_wait_s
            )
            if not active.league.paused and (waited or outbox.announced(active.league_id, active.number)):
                lifecycle.open_round(round_pk=active.pk)
        elif results.close_round_if_done(active):
            playing.discard(active.league_id)
    if draining:
        return
    for league in League.objects.filter(state=LeagueState.RUNNING, paused=False).order_by("demo", "created_at"):
        if league.pk in playing or not league.rules.auto_advance:
            continue
        try:
            lifecycle.start_round(league_id=league.pk)
        except ActionRefused:
            # No referee for now, or a click came first: the next look tries again.
            continue


def _end_holds(now: datetime) -> None:
    for match in Match.objects.filter(state=MatchState.HELD).select_related("league"):
        limit = match.league.rules.hold_s
        if limit is not None and match.held_at is not None and now - match.held_at >= timedelta(seconds=limit):
            why = f"held for {limit:g} s after {play.MAX_LOST_ATTEMPTS} lost referees"
            results.cancel(league_id=match.league_id, match_id=match.match_id, why=why)


def _dispatch() -> list[Start]:
    """READY matches to their referees, as far as these have room; the demo comes last."""
    ready = Match.objects.filter(
        state=MatchState.READY,
        round__state=RoundState.RUNNING,
        league__paused=False,
        league__state=LeagueState.RUNNING,
    )
    # Most looks find none: asking that first is several times cheaper than asking for everything about them.
    if not ready.exists():
        return []
    whole = ready.select_related("league", "round", "referee", "player_a", "player_b")
    in_play = Match.objects.filter(state__in=IN_PLAY).values_list(
        "referee_id", "player_a__endpoint_key", "player_b__endpoint_key"
    )
    load: Counter[int] = Counter()
    # An agent is never in two matches at once, also where one address plays in two leagues.
    playing: set[str] = set()
    for referee_id, a, b in in_play:
        load[referee_id] += 1
        playing.update((a, b))
    referees: dict[str, list[Agent]] = {}
    chosen: list[tuple[Match, Agent]] = []
    with transaction.atomic():
        for match in sorted(whole, key=lambda match: (match.league.demo, match.pk)):
            addresses = {match.player_a.endpoint_key, match.player_b.endpoint_key}
            if not playing.isdisjoint(addresses):
                continue
            if results.decide_absent(match):
                results.close_round_if_done(match.round)
                continue
            if match.league_id not in referees:
                referees[match.league_id] = outbox.referees_of(match.league)
            referee = _referee_for(match, referees[match.league_id], load)
            if referee is None:
                continue
            lease = play.lease_s_of(match, referee)
            taken = play.assign(match=match, referee=referee, lease_s=lease)
            if taken is not None:
                load[referee.pk] += 1
                playing.update(addresses)
                chosen.append((taken, referee))
    return _starts(chosen)


def _referee_for(match: Match, candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    """The referee that was announced, if it has room; else, if it is gone, the one with the least to do."""
    free = [one for one in candidates if load[one.pk] < one.max_concurrent]
    if any(one.pk == match.referee_id for one in candidates):
        return next((one for one in free if one.pk == match.referee_id), None)
    return min(free, key=lambda one: load[one.pk] / one.max_concurrent, default=None)


def _starts(chosen: Sequence[tuple[Match, Agent]]) -> list[Start]:
    if not chosen:
        return []
    players = [pk for match, _ in chosen for pk in (match.player_a_id, match.player_b_id)]
    digests = registration.token_digests(players)
    tables: dict[str, dict[str, dict[str, int]]] = {}
    starts = []
    for match, referee in chosen:
        if match.league_id not in tables:
            tables[match.league_id] = queries.own_standings(match.league)
        body = _start_match(match, referee, digests, tables[match.league_id])
        starts.append(
            Start(
                match_pk=match.pk,
                attempt=match.attempt,
                endpoint=referee.endpoint,
                body=rpc.dumps(rpc.call(START_MATCH, body, match.pk)),
                limit_s=match.league.rules.generic_timeout_s,
            )
        )
    return starts


def _start_match(
    match: Match, referee: Agent, digests: dict[int, list[str]], table: dict[str, dict[str, int]]
) -> dict[str, Any]:
    """``start_match`` (ruling, section 10), with the flat names that other referees know."""
    rules = match.league.rules
    seats = {}
    for side, player in (("A", match.player_a), ("B", match.player_b)):
        seats[f"player_{side}"] = {
            "id": player.code,
            "endpoint": player.endpoint,
            "dialect": player.dialect,
            "league_token": registration.league_token(player),
            "auth_token_sha256": digests.get(player.pk, []),
            "your_standings": table[player.code],
            "joined_before": player.code in match.joined,
            "suspended": player.state == AgentState.SUSPENDED,
        }
        seats[f"player_{side}_id"] = player.code
        seats[f"player_{side}_endpoint"] = player.endpoint
    return envelope(
        "START_MATCH",
        sender=LEAGUE_MANAGER,
        conversation_id=match.conversation_id,
        now=timezone.now(),
        auth_token=registration.league_token(referee),
        league_id=match.league_id,
        round_id=match.round.number,
        match_id=match.match_id,
        attempt=match.attempt,
        game_type=match.league.game_type,
        settings=rules.for_referee(),
        endpoint_policy=endpoint_policy().to_params(),
        **seats,
    )


def endpoint_policy() -> EndpointPolicy:
    """Which addresses may be called from here."""
    return EndpointPolicy(refused_ports=tuple(settings.LEAGUE_REFUSED_PORTS))


def _parcels(busy_agents: Collection[int], now: datetime) -> dict[int, list[Parcel]]:
    """Undelivered broadcasts by agent, in their order; the token and the time are put in here."""
    pending = Delivery.objects.filter(state=DeliveryState.PENDING).exclude(agent_id__in=list(busy_agents))
    if not pending.exists():
        return {}
    due = list(pending.select_related("agent").order_by("pk")[:MOST_PARCELS])
    # Not by select_related: each payload would be read from its JSON once for every agent.
    broadcasts = Broadcast.objects.select_related("league").in_bulk({delivery.broadcast_id for delivery in due})
    limits: dict[str, float] = {}
    moment = stamp(now)
    found: dict[int, list[Parcel]] = {}
    for delivery in due:
        broadcast = broadcasts[delivery.broadcast_id]
        league = broadcast.league
        if league.pk not in limits:
            limits[league.pk] = league.rules.generic_timeout_s
        message = broadcast.payload | {
            "timestamp": moment,
            "auth_token": registration.league_token(delivery.agent),
        }
        found.setdefault(delivery.agent_id, []).append(
            Parcel(
                delivery_pk=delivery.pk,
                endpoint=delivery.agent.endpoint,
                body=rpc.dumps(canonical.wrap(message, rpc_id=delivery.pk)),
                limit_s=limits[league.pk],
            )
        )
    return found


def _checks(busy_agents: Collection[int]) -> list[Check]:
    """Agents to ask whether they answer (``ping``, 004 5.12.2)."""
    wanted = Agent.objects.filter(check_wanted=True).exclude(pk__in=list(busy_agents)).order_by("pk")
    return [
        Check(
            agent_pk=agent.pk,
            endpoint=agent.endpoint,
            body=rpc.dumps(
                rpc.call(
                    "ping",
                    envelope(
                        "PING",
                        sender=LEAGUE_MANAGER,
                        conversation_id=f"conv-ping-{uuid.uuid4().hex[:8]}",
                        now=timezone.now(),
                        auth_token=registration.league_token(agent),
                    ),
                    agent.pk,
                )
            ),
        )
        for agent in wanted
    ]
