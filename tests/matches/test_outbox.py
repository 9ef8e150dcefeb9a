"""The outbox: one row per broadcast and agent, in order, older news overtaken by newer (ruling, section 6)."""

from __future__ import annotations

import json

import pytest

from agents_registry import registration
from matches import due
from matches.league import lifecycle, outbox
from matches.models import Delivery
from tests import factories as make

pytestmark = pytest.mark.django_db


def types(plan: due.Plan, who: make.Member) -> list[str]:
    """The types of what a plan sends to an agent."""
    return [json.loads(one.body)["params"]["message_type"] for one in plan.parcels.get(who.agent.pk, [])]


def pending(who: make.Member) -> list[tuple[str, int]]:
    found = Delivery.objects.filter(agent=who.agent, state="PENDING").order_by("pk")
    return [(one.broadcast.message_type, one.broadcast.round_number) for one in found.select_related("broadcast")]


def test_what_is_overtaken_is_dropped() -> None:
    place = make.playing(players=4)
    slow, quick = place.players[0], place.players[1]
    outbox.settle([(one.delivery_pk, "") for one in make.look().parcels[quick.agent.pk]])
    make.finish_round(place)
    assert pending(slow) == [("LEAGUE_STANDINGS_UPDATE", 1), ("ROUND_COMPLETED", 1)]
    lifecycle.start_round(league_id="fall")
    make.open_current("fall")
    make.finish_round(place)
    assert pending(slow) == [("ROUND_COMPLETED", 1), ("LEAGUE_STANDINGS_UPDATE", 2), ("ROUND_COMPLETED", 2)]
    dropped = Delivery.objects.filter(agent=slow.agent, state="DROPPED").order_by("pk")
    assert [(one.broadcast.message_type, one.problem) for one in dropped] == [
        ("ROUND_ANNOUNCEMENT", "overtaken"),
        ("LEAGUE_STANDINGS_UPDATE", "overtaken"),
        ("ROUND_ANNOUNCEMENT", "overtaken"),
    ]
    assert Delivery.objects.filter(agent=quick.agent, broadcast__message_type="ROUND_ANNOUNCEMENT").first().state == (
        "SETTLED"
    )


def test_overtaking_stays_within_the_league() -> None:
    first = make.playing("a", players=4)
    make.open_league("b")
    others = [make.join(f"Other {n}", "b", port=8200 + n) for n in (1, 2)]
    lifecycle.start_league(league_id="b")
    make.finish_round(first)
    assert pending(others[0]) == [("ROUND_ANNOUNCEMENT", 1)]
    make.open_current("b")
    make.finish_round(make.Setting("b", others, first.referees))
    assert pending(first.players[0]) == [("LEAGUE_STANDINGS_UPDATE", 1), ("ROUND_COMPLETED", 1)]


def test_a_busy_agent_is_left_out_and_the_order_is_kept() -> None:
    place = make.playing(players=2)
    make.report(place.match("R1M1"), "P01")
    busy = place.players[0]
    plan = due.look(busy_agents={busy.agent.pk}, draining=False)
    assert set(plan.parcels) == {place.players[1].agent.pk, place.referees[0].agent.pk}
    assert types(make.look(), busy) == ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]


def test_one_that_is_shut_down_is_told_nothing() -> None:
    place = make.setting(players=4)
    gone = place.players[3].agent
    lifecycle.close_registration(league_id="fall")
    registration.retire(agent_ids=[gone.pk])
    lifecycle.start_round(league_id="fall")
    assert not Delivery.objects.filter(agent=gone).exists()


def test_what_is_settled_stays_settled() -> None:
    place = make.playing(players=2)
    (delivery, *_) = Delivery.objects.filter(agent=place.players[0].agent)
    outbox.settle([(delivery.pk, "")])
    outbox.settle([(delivery.pk, "late failure")])
    delivery.refresh_from_db()
    assert (delivery.state, delivery.problem) == ("SETTLED", "")
