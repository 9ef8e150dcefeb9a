"""The league that plays itself until a real one starts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.ledger.verify import verify
from matches.league import demo, lifecycle, opening
from matches.models import Broadcast, League, Match, Round
from tests import factories as make

pytestmark = pytest.mark.django_db
DEMO = settings.LEAGUE_DEMO_ID


@pytest.fixture
def demo_league() -> make.MadeLeague:
    """The demo with its four players registered and a referee."""
    judges = [make.referee()]
    demo.open_demo()
    players = [
        make.player(f"Sample {number}", DEMO, port=18100 + number, code=settings.LEAGUE_DEMO_KEY)
        for number in range(1, 5)
    ]
    return make.MadeLeague(DEMO, players, judges)


def open_real_league() -> None:
    make.open_league("fall")
    for number in (1, 2):
        make.player(f"Real {number}", "fall", port=8100 + number)


def play_to_the_end(demo_league: make.MadeLeague) -> None:
    for _ in range(3):
        make.look()
        make.open_round(DEMO)
        make.finish_round(demo_league)
    assert demo_league.league.state == "COMPLETED"


def test_the_demo_starts_by_itself(demo_league: make.MadeLeague) -> None:
    make.look()
    assert (demo_league.league.state, Round.objects.get(number=1).state) == ("RUNNING", "ANNOUNCING")


@pytest.mark.parametrize("missing", ["a player", "the referee"])
def test_the_demo_waits_for_its_players_and_a_referee(demo_league: make.MadeLeague, missing: str) -> None:
    missing_member = demo_league.players[3] if missing == "a player" else demo_league.referees[0]
    missing_member.agent.delete()
    make.look()
    assert demo_league.league.state == "REGISTRATION"


def test_the_demo_restarts_ten_seconds_after_its_end(demo_league: make.MadeLeague) -> None:
    play_to_the_end(demo_league)
    League.objects.update(completed_at=timezone.now() - timedelta(seconds=demo.RESTART_AFTER_S - 5))
    make.look()
    assert demo_league.league.state == "COMPLETED"
    seq = demo_league.league.event_seq
    League.objects.update(completed_at=timezone.now() - timedelta(seconds=demo.RESTART_AFTER_S))
    make.look()
    league = demo_league.league
    assert (league.state, league.completed_at, league.event_seq > seq) == ("RUNNING", None, True)
    assert [one.state for one in Round.objects.order_by("number")] == ["ANNOUNCING", "PENDING", "PENDING"]
    assert Match.objects.exclude(state__in=["PENDING", "READY"]).count() == 0
    assert {one.fresh().state for one in demo_league.players} == {"ACTIVE"}
    assert list(Broadcast.objects.values_list("message_type", flat=True)) == ["ROUND_ANNOUNCEMENT"]
    assert demo_league.events() == ["demo_afresh", "schedule_made", "round_started"]
    assert verify(Client().get(f"/api/leagues/{DEMO}/ledger").json()).events == 3


def test_the_demo_does_not_restart_without_a_referee(demo_league: make.MadeLeague) -> None:
    play_to_the_end(demo_league)
    Agent.objects.filter(kind="referee").update(state="SUSPENDED")
    League.objects.update(completed_at=timezone.now() - timedelta(seconds=demo.RESTART_AFTER_S))
    make.look()
    assert (demo_league.league.state, Match.objects.filter(state="FINISHED").count()) == ("COMPLETED", 6)


def test_the_demo_stops_when_a_real_league_starts(demo_league: make.MadeLeague) -> None:
    make.look()
    open_real_league()
    opening.close_registration(league_id="fall")
    assert demo_league.league.state == "RUNNING"
    lifecycle.start_round(league_id="fall")
    assert demo_league.league.state == "STOPPED"
    make.look()
    assert demo_league.league.state == "STOPPED"


def test_the_demo_does_not_start_while_a_real_league_runs(demo_league: make.MadeLeague) -> None:
    open_real_league()
    League.objects.filter(pk="fall").update(state="RUNNING")
    make.look()
    assert demo_league.league.state == "REGISTRATION"


def test_matches_of_a_real_league_are_assigned_before_those_of_the_demo(demo_league: make.MadeLeague) -> None:
    Agent.objects.filter(kind="referee").update(max_concurrent=1)
    make.look()
    make.open_round(DEMO)
    open_real_league()
    opening.close_registration(league_id="fall")
    # Both are ready at once, as when a real league is resumed beside the demo.
    League.objects.filter(pk="fall").update(state="RUNNING")
    Round.objects.filter(league_id="fall").update(state="RUNNING")
    Match.objects.filter(league_id="fall").update(state="READY", referee=demo_league.referees[0].agent)
    plan = make.look()
    assert [start.match_pk for start in plan.starts] == [Match.objects.get(league_id="fall").pk]


def test_a_paused_demo_does_not_start(demo_league: make.MadeLeague) -> None:
    lifecycle.pause(league_id=DEMO)
    make.look()
    assert demo_league.league.state == "REGISTRATION"


def test_a_demo_that_ends_while_paused_restarts_when_it_is_resumed(demo_league: make.MadeLeague) -> None:
    for _ in (1, 2):
        make.look()
        make.open_round(DEMO)
        make.finish_round(demo_league)
    make.look()
    make.open_round(DEMO)
    make.look()
    lifecycle.pause(league_id=DEMO)
    make.finish_round(demo_league)
    League.objects.update(completed_at=timezone.now() - timedelta(seconds=demo.RESTART_AFTER_S))
    make.look()
    assert (demo_league.league.state, demo_league.league.paused) == ("COMPLETED", True)
    lifecycle.resume(league_id=DEMO)
    make.look()
    assert (demo_league.league.state, demo_league.league.paused) == ("RUNNING", False)


def test_opening_the_demo_deletes_the_earlier_one(demo_league: make.MadeLeague) -> None:
    make.look()
    seq = demo_league.league.event_seq
    demo.open_demo()
    league = demo_league.league
    assert (league.state, league.event_seq > seq, league.rounds.count(), league.agents.count()) == (
        "REGISTRATION",
        True,
        0,
        0,
    )
