"""The demo league: sample players play it again and again, until a real league starts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from agents_registry.models import Kind
from agents_registry.registering import registration
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState
from matches.league import lifecycle, opening
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.models import League

PLAYERS = 4
RESTART_AFTER_S = 10
SETTINGS: dict[str, Any] = {"auto_advance": True, "max_players": PLAYERS, "min_players": PLAYERS}


@transaction.atomic
def open_demo() -> None:
    """Create the demo league for players that are about to register, and delete the earlier one."""
    old = League.objects.filter(pk=settings.LEAGUE_DEMO_ID, demo=True).first()
    seq = 0
    if old is not None:
        seq = old.event_seq
        registration.forget_players(league_id=old.pk)
        old.delete()
    opening.create_league(league_id=settings.LEAGUE_DEMO_ID, display_name="Demo", settings=SETTINGS, demo=True)
    # A browser that showed the earlier demo ignores sequence numbers that it has seen: continue after them.
    League.objects.filter(pk=settings.LEAGUE_DEMO_ID).update(event_seq=seq + 1)


def start_or_restart(*, now: datetime) -> None:
    """Start the demo when its players have registered; restart it ten seconds after its end."""
    demo = League.objects.filter(pk=settings.LEAGUE_DEMO_ID, demo=True).first()
    if demo is None or demo.paused:
        return
    try:
        if demo.state == LeagueState.REGISTRATION and _may_start(demo):
            lifecycle.start_league(league_id=demo.pk)
        elif demo.state == LeagueState.COMPLETED and _has_rested(demo, now):
            _restart(demo)
    except ActionRefused:
        # No referee has registered yet: the next look tries again.
        return


def _may_start(demo: League) -> bool:
    ready = demo.agents.filter(kind=Kind.PLAYER).count() >= PLAYERS
    return ready and not League.objects.filter(state=LeagueState.RUNNING, demo=False).exists()


def _has_rested(demo: League, now: datetime) -> bool:
    return demo.completed_at is not None and now - demo.completed_at >= timedelta(seconds=RESTART_AFTER_S)


@transaction.atomic
def _restart(demo: League) -> None:
    """Move the demo from COMPLETED to SCHEDULED with an empty table, and start round 1."""
    if not League.objects.filter(pk=demo.pk, state=LeagueState.COMPLETED).update(
        state=LeagueState.REGISTRATION, completed_at=None, started_at=None, advances=None
    ):
        return
    demo.rounds.all().delete()
    demo.broadcasts.all().delete()
    demo.events.all().delete()
    League.objects.filter(pk=demo.pk).update(ledger_head="")
    registration.bring_back(agent_ids=demo.agents.values_list("pk", flat=True))
    record(demo.pk, EventKind.DEMO_AFRESH)
    changed(demo.pk)
    lifecycle.start_league(league_id=demo.pk)
