"""A round: announced, opened, played, closed, and what agents are told (004 4.3, 4.7, 4.8, 8.6 to 8.9)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from matches.conducting import due
from matches.conducting.parcels import rpc_id_of
from matches.league import lifecycle, outbox
from matches.models import Broadcast, Delivery, Event, Match, Round
from matches.push import nudge
from matches.view import queries, sight
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db


def sent(plan: due.Plan, who: make.RegisteredAgent) -> list[dict[str, Any]]:
    """What a plan sends to an agent, decoded."""
    return [json.loads(parcel.body) for parcel in plan.parcels.get(who.agent.pk, [])]


def types(plan: due.Plan, who: make.RegisteredAgent) -> list[str]:
    return [body["params"]["message_type"] for body in sent(plan, who)]


def settle(plan: due.Plan, *members: make.RegisteredAgent) -> None:
    """Settle the messages of a plan to these agents, or to all agents if none are given."""
    keys = [one.agent.pk for one in members] or list(plan.parcels)
    outbox.settle([(one.delivery_pk, "") for key in keys for one in plan.parcels.get(key, [])])


def test_the_announcement_of_a_round_as_it_is_sent() -> None:
    made = make.league(players=4, referees=2)
    lifecycle.start_league(league_id="fall")
    plan = make.look()
    (delivery,) = Delivery.objects.filter(agent=made.players[2].agent)
    (body,) = sent(plan, made.players[2])
    assert wire.plain(body) == {
        "jsonrpc": "2.0",
        "id": rpc_id_of(delivery.pk),
        "method": "notify_round",
        "params": {
            "protocol": "league.v2",
            "message_type": "ROUND_ANNOUNCEMENT",
            "sender": "league_manager:LM01",
            "timestamp": "<time>",
            "conversation_id": "conv-fall-round-1-announce",
            "auth_token": "<token>",
            "league_id": "fall",
            "round_id": 1,
            "player_id": "P03",
            "matches": [
                {
                    "match_id": "R1M1",
                    "game_type": "even_odd",
                    "player_A_id": "P01",
                    "player_B_id": "P02",
                    "referee_endpoint": "http://localhost:8001/mcp",
                },
                {
                    "match_id": "R1M2",
                    "game_type": "even_odd",
                    "player_A_id": "P03",
                    "player_B_id": "P04",
                    "referee_endpoint": "http://localhost:8002/mcp",
                },
            ],
        },
    }
    assert body["params"]["auth_token"] == credentials.league_token(made.players[2].agent)
    assert set(plan.parcels) == {one.agent.pk for one in (*made.players, *made.referees)}
    assert plan.parcels[made.players[2].agent.pk][0].endpoint == "http://localhost:8103/mcp"


def test_the_messages_at_the_end_of_a_round_as_they_are_sent() -> None:
    made = make.running_league(players=4)
    settle(make.look())
    make.report(made.match("R1M1"), "P01")
    make.report(made.match("R1M2"), None)
    plan = make.look()
    assert types(plan, made.referees[0]) == []
    table, completed = (wire.plain(body["params"]) for body in sent(plan, made.players[0]))
    head = {
        "protocol": "league.v2",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "auth_token": "<token>",
        "league_id": "fall",
        "round_id": 1,
        "player_id": "P01",
    }
    assert table == head | {
        "message_type": "LEAGUE_STANDINGS_UPDATE",
        "conversation_id": "conv-fall-round-1-standings",
        "standings": queries.standings_rows(sight.everything(made.league)),
        "ledger_head": Event.objects.get(kind="round_completed").digest,
    }
    assert [row["player_id"] for row in table["standings"]] == ["P01", "P03", "P04", "P02"]
    assert completed == head | {
        "message_type": "ROUND_COMPLETED",
        "conversation_id": "conv-fall-round-1-complete",
        "matches_completed": 2,
        "matches_played": 2,
        "completed_matches": ["R1M1", "R1M2"],
        "summary": {"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0, "cancelled": 0},
        "next_round_id": 2,
    }


def test_after_the_last_round_the_league_is_completed() -> None:
    made = make.running_league(players=2)
    settle(make.look())
    make.report(made.match("R1M1"), "P02")
    league = made.league
    assert (league.state, league.completed_at is None) == ("COMPLETED", False)
    assert {one.fresh().state for one in made.players} == {"SHUTDOWN"}
    plan = make.look()
    assert types(plan, made.players[0]) == ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    assert types(plan, made.referees[0]) == ["LEAGUE_COMPLETED"]
    assert wire.plain(sent(plan, made.referees[0])[0]["params"]) == {
        "protocol": "league.v2",
        "message_type": "LEAGUE_COMPLETED",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "conversation_id": "conv-fall-complete",
        "auth_token": "<token>",
        "league_id": "fall",
        "round_id": 1,
        "total_rounds": 1,
        "total_matches": 1,
        "champion": {"player_id": "P02", "display_name": "Player 2", "points": 3},
        "champions": [{"player_id": "P02", "display_name": "Player 2", "points": 3}],
        "final_standings": [
            {"rank": 1, "tied_rank": 1, "player_id": "P02", "display_name": "Player 2", "points": 3},
            {"rank": 2, "tied_rank": 2, "player_id": "P01", "display_name": "Player 1", "points": 0},
        ],
    }
    assert made.events()[-3:] == ["match_finished", "round_completed", "league_completed"]


# Opening ------------------------------------------------------------------------------------------


def state_of_round_1() -> str:
    return Round.objects.get(number=1).state


def test_a_round_opens_when_its_announcements_are_settled() -> None:
    made = make.league(players=2, announce_wait_s=600)
    lifecycle.start_league(league_id="fall")
    plan = make.look()
    settle(plan, *made.players)
    make.look()
    assert state_of_round_1() == "ANNOUNCING"
    (to_referee,) = plan.parcels[made.referees[0].agent.pk]
    outbox.settle([(to_referee.delivery_pk, "no connection")])
    assert [start.match_pk for start in make.look().starts] == [made.match("R1M1").pk]
    assert state_of_round_1() == "RUNNING"


def test_a_round_opens_when_the_wait_is_over() -> None:
    made = make.league(players=2, announce_wait_s=600)
    lifecycle.start_league(league_id="fall")
    begun = timezone.now()
    for ago_s, expected in ((590, "ANNOUNCING"), (600, "RUNNING")):
        Round.objects.update(started_at=begun - timedelta(seconds=ago_s))
        make.look()
        assert state_of_round_1() == expected
    assert made.states() == {"R1M1": "ASSIGNED"}
    assert len(sent(make.look(), made.players[0])) == 1


def test_a_round_opens_only_once() -> None:
    make.league(players=2)
    started = lifecycle.start_league(league_id="fall").rounds.get()
    assert [lifecycle.open_round(round_pk=started.pk) for _ in range(2)] == [True, False]


def test_no_match_starts_while_draining() -> None:
    made = make.league(players=4, auto_advance=True, announce_wait_s=0)
    lifecycle.start_league(league_id="fall")
    plan = due.look(busy_agents=(), draining=True)
    assert (plan.starts, state_of_round_1(), set(made.states().values())) == ([], "RUNNING", {"READY", "PENDING"})


# Following each other -----------------------------------------------------------------------------


def test_auto_advance_plays_to_the_end() -> None:
    made = make.league(players=5, auto_advance=True, announce_wait_s=0)
    lifecycle.start_league(league_id="fall")
    for number in range(1, 6):
        make.look()
        running = Round.objects.exclude(state__in=["PENDING", "COMPLETED"]).get()
        assert (running.number, running.state) == (number, "RUNNING")
        make.finish_round(made)
        make.look()
    assert made.league.state == "COMPLETED"
    assert Match.objects.filter(state="FINISHED").count() == 10
    assert [row.played for row in sight.everything(made.league).standings] == [4] * 5


def test_without_auto_advance_the_next_round_waits_for_the_click() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    make.look()
    assert [one.state for one in Round.objects.order_by("number")] == ["COMPLETED", "PENDING", "PENDING"]
    lifecycle.start_round(league_id="fall")
    assert [one.state for one in Round.objects.order_by("number")] == ["COMPLETED", "ANNOUNCING", "PENDING"]


def test_auto_advance_waits_for_a_referee() -> None:
    made = make.running_league(players=4, auto_advance=True)
    make.finish_round(made)
    registration.suspend_referee(agent_id=made.referees[0].agent.pk, problem="gone")
    make.look()
    assert [one.state for one in Round.objects.order_by("number")] == ["COMPLETED", "PENDING", "PENDING"]
    registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
    make.look()
    assert [one.state for one in Round.objects.order_by("number")][1] != "PENDING"


def test_a_second_league_is_played_to_its_end_beside_the_first() -> None:
    first = make.running_league("a", players=4, referees=1)
    make.open_league("b")
    second = make.MadeLeague("b", [make.player(f"Other {n}", "b", port=8200 + n) for n in (1, 2)], first.referees)
    lifecycle.start_league(league_id="b")
    make.open_round("b")
    assert [start.match_pk for start in make.look().starts] == [second.match("R1M1").pk]
    make.report(second.match("R1M1"), "P01")
    assert (first.league.state, second.league.state) == ("RUNNING", "COMPLETED")
    assert first.states()["R1M1"] == "ASSIGNED"
    champion = Broadcast.objects.get(message_type="LEAGUE_COMPLETED").payload["champion"]
    assert champion == {"player_id": "P01", "display_name": "Other 1", "points": 3}


@pytest.mark.django_db(transaction=True)
def test_a_look_that_changes_a_round_sends_no_nudge_and_says_whether_to_look_again() -> None:
    made = make.league(players=4, auto_advance=True)
    nudges: list[bool] = []
    detach = nudge.attach(nudges.append)
    lifecycle.start_league(league_id="fall")
    assert set(nudges) == {True}
    settle(make.look())
    nudges.clear()
    opened = make.look()
    assert (len(opened.starts), opened.more, nudges) == (2, False, [])
    make.finish_round(made)
    nudges.clear()
    # Nothing can be sent for the next round while every agent is busy.
    busy = set(Agent.objects.values_list("pk", flat=True))
    assert (due.look(busy_agents=busy, draining=False).more, nudges) == (True, [])
    assert [one.state for one in Round.objects.order_by("number")] == ["COMPLETED", "ANNOUNCING", "PENDING"]
    detach()


def test_matches_that_no_referee_has_room_for_are_waiting() -> None:
    made = make.running_league(players=4)
    Match.objects.update(state="READY", attempt=0)
    referee = made.referees[0].agent
    Agent.objects.filter(pk=referee.pk).update(max_concurrent=1)
    first, second = make.look(), make.look()
    assert [(len(plan.starts), plan.waiting) for plan in (first, second)] == [(1, True), (0, True)]
    Agent.objects.filter(pk=referee.pk).update(max_concurrent=8)
    last = make.look()
    assert (len(last.starts), last.waiting) == (1, False)
