"""Players that register at another address: their moves count between their matches (ruling, section 8, identity)."""

from __future__ import annotations

from datetime import timedelta
from itertools import chain

from django.db import transaction
from django.db.models import Q

from agents_registry.models import Agent
from agents_registry.registering import moving
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import IN_PLAY, AgentState
from matches.league.effects import changed, record
from matches.models import Event, League, Match
from matches.push.nudge import nudge
from storage import clock
from storage.prepared import Prepared

MAX_MOVES_PER_HOUR = 12
"""Every move is an event that everybody sees: one that moves back and forth waits."""

MAX_SETTLED_PER_LOOK = 10
"""Each locks its league: many that wait do not hold up the results."""

_MOVING = Prepared(lambda: Agent.objects.exclude(moving={}).exclude(state=AgentState.SHUTDOWN).order_by("pk"))


def settle() -> list[Agent]:
    """Let the moves count that are proven, of players that are in no match.

    Called by the conductor before it assigns matches, so that a player that is always in some match moves, too.

    Changes: the players, an event for each.

    Returns the players whose new addresses are to be called now.
    """
    now = clock.now().timestamp()
    due = sorted((one for one in _MOVING.all() if one.moving["next_at"] <= now), key=lambda one: one.moving["next_at"])
    settled = [agent for agent in due if agent.moving["proven"] or agent.moving["taken"]]
    playing = Match.objects.filter(state__in=IN_PLAY).values_list("player_a", "player_b") if settled else ()
    in_play = set(chain.from_iterable(playing))
    for agent in [agent for agent in settled if agent.pk not in in_play][:MAX_SETTLED_PER_LOOK]:
        _settle(agent.pk, agent.league_id)
    called = [agent for agent in due if not (agent.moving["proven"] or agent.moving["taken"])]
    return [agent for agent in called if now - agent.moving["since"] < moving.MAX_TRIED_S]


def _settle(agent_id: int, league_id: str | None) -> None:
    """Let a proven move count, unless its player is in a match or its moves fill the feed of its league.

    A move to an address that was taken is called again once the address is free.
    """
    with transaction.atomic():
        # The league first, as where a result is written: in another order the two could wait for each other.
        League.objects.select_for_update(no_key=True).filter(pk=league_id).first()
        locked = Agent.objects.select_for_update(no_key=True).filter(pk=agent_id, league_id=league_id)
        agent = locked.filter(Q(moving__proven=True) | Q(moving__taken=True)).first()
        if agent is None or Match.objects.filter(Q(player_a=agent) | Q(player_b=agent), state__in=IN_PLAY).exists():
            return
        earlier = Event.objects.filter(league_id=league_id, kind=EventKind.PLAYER_MOVED, data__player_id=agent.code)
        if earlier.filter(at__gte=clock.now() - timedelta(hours=1)).count() >= MAX_MOVES_PER_HOUR:
            moving.look_later(agent, moving.MAX_INTERVAL_S)
            return
        addresses = {"moved_from": agent.endpoint, "moved_to": agent.moving["row"]["endpoint"]}
        if moving.complete(agent, nudge) and league_id is not None:
            record(league_id, EventKind.PLAYER_MOVED, player_id=agent.code, name=agent.display_name, **addresses)
            changed(league_id)
