"""The outbox: one row per broadcast and agent, in order; an older table gives way to a newer (ruling, section 6)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agents_registry.models import Agent
from agents_registry.registering import credentials, learned, registration
from league_sdk.dialects import shapes
from matches.conducting import due, parcels
from matches.conducting.parcels import rpc_id_of
from matches.league import lifecycle, opening, outbox
from matches.models import Delivery
from tests import factories as make
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def types(plan: due.Plan, who: make.RegisteredAgent) -> list[str]:
    """The types of what a plan sends to an agent."""
    return [json.loads(one.body)["params"]["message_type"] for one in plan.parcels.get(who.agent.pk, [])]


def pending(who: make.RegisteredAgent) -> list[tuple[str, int]]:
    deliveries = Delivery.objects.filter(agent=who.agent, state="PENDING").order_by("pk")
    return [(one.broadcast.message_type, one.broadcast.round_number) for one in deliveries.select_related("broadcast")]


def test_older_tables_and_announcements_are_dropped() -> None:
    made = make.running_league(players=4)
    slow, quick = made.players[0], made.players[1]
    outbox.settle([(one.delivery_pk, "") for one in make.look().parcels[quick.agent.pk]])
    make.finish_round(made)
    assert pending(slow) == [("LEAGUE_STANDINGS_UPDATE", 1), ("ROUND_COMPLETED", 1)]
    lifecycle.start_round(league_id="fall")
    make.open_round("fall")
    make.finish_round(made)
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


def test_messages_of_another_league_are_not_dropped() -> None:
    first = make.running_league("a", players=4)
    make.open_league("b")
    others = [make.player(f"Other {n}", "b", port=8200 + n) for n in (1, 2)]
    lifecycle.start_league(league_id="b")
    make.finish_round(first)
    assert pending(others[0]) == [("ROUND_ANNOUNCEMENT", 1)]
    make.open_round("b")
    make.finish_round(make.MadeLeague("b", others, first.referees))
    assert pending(first.players[0]) == [("LEAGUE_STANDINGS_UPDATE", 1), ("ROUND_COMPLETED", 1)]


def test_a_busy_agent_is_left_out_and_the_order_is_kept() -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01")
    busy = made.players[0]
    plan = due.look(busy_agents={busy.agent.pk}, draining=False)
    assert set(plan.parcels) == {made.players[1].agent.pk, made.referees[0].agent.pk}
    assert types(make.look(), busy) == ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]


def test_a_player_that_is_shut_down_gets_no_broadcast() -> None:
    made = make.league(players=4)
    shut_down = made.players[3].agent
    opening.close_registration(league_id="fall")
    registration.retire(agent_ids=[shut_down.pk])
    lifecycle.start_round(league_id="fall")
    assert not Delivery.objects.filter(agent=shut_down).exists()


# Dialects -----------------------------------------------------------------------------------------


def bodies(plan: due.Plan, who: make.RegisteredAgent) -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in plan.parcels[who.agent.pk]]


def broadcasts_of_a_league(made: make.MadeLeague) -> list[dict[str, Any]]:
    """Every broadcast that P01 gets in a league of one match."""
    lifecycle.start_league(league_id="fall")
    first = bodies(make.look(), made.players[0])
    make.open_round("fall")
    make.look()
    make.report(made.match("R1M1"), "P01")
    return first + bodies(make.look(), made.players[0])


def without_ids_of_the_moment(body: dict[str, Any]) -> str:
    return re.sub(r'"message_id": "[^"]+"', "", json.dumps(body, sort_keys=True))


@pytest.mark.parametrize("shape", sampled(shapes.SHAPES))
def test_a_broadcast_is_sent_in_the_dialect_of_its_receiver(shape: str) -> None:
    made = make.league(players=2)
    plain, other = made.players
    Agent.objects.filter(pk=other.agent.pk).update(dialect=shape)
    lifecycle.start_league(league_id="fall")
    plan = make.look()
    message = bodies(plan, plain)[0]["params"] | {
        "auth_token": credentials.league_token(other.agent),
        "player_id": "P02",
    }
    (delivery,) = Delivery.objects.filter(agent=other.agent)
    expected = shapes.SHAPES[shapes.order(shape, {}, "ROUND_ANNOUNCEMENT")[0]].wrap(message, rpc_id_of(delivery.pk))
    assert without_ids_of_the_moment(bodies(plan, other)[0]) == without_ids_of_the_moment(expected)


def test_a_learned_shape_is_preferred_to_the_registered_dialect() -> None:
    made = make.league(players=2)
    ways = {"GAME_INVITATION": "handle_message", "ROUND_ANNOUNCEMENT": "message_type"}
    learned.learn_dialect(agent_id=made.players[0].agent.pk, spoken=ways)
    methods = [body["method"] for body in broadcasts_of_a_league(made)]
    # A shape that is understood for invitations is used for tables, too.
    assert methods == ["ROUND_ANNOUNCEMENT", "handle_message", "handle_message", "handle_message"]


def test_a_broadcast_is_encoded_once_for_each_way_of_speaking(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.league(players=20)
    encoded = []
    init = parcels.Template.__init__

    def counting_init(self: parcels.Template, message: Any, shape: str, *more: Any, to_player: bool) -> None:
        encoded.append((shape, to_player))
        init(self, message, shape, *more, to_player=to_player)

    monkeypatch.setattr(parcels.Template, "__init__", counting_init)
    Agent.objects.filter(code__in=["P03", "P11"]).update(dialect="flat")
    lifecycle.start_league(league_id="fall")
    plan = make.look()
    assert len(plan.parcels) == 21
    assert sorted(encoded) == [("canonical", False), ("canonical", True), ("flat", True)]
    tokens = {bodies(plan, one)[0].get("params", bodies(plan, one)[0])["auth_token"] for one in made.players}
    assert tokens == {credentials.league_token(one.agent) for one in made.players}


def test_every_broadcast_names_league_round_and_token() -> None:
    made = make.league(players=2)
    seen = {
        body["params"]["message_type"]: (
            body["params"]["league_id"],
            body["params"]["round_id"],
            body["params"]["auth_token"],
        )
        for body in broadcasts_of_a_league(made)
    }
    expected = ("fall", 1, credentials.league_token(made.players[0].agent))
    kinds = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    assert seen == dict.fromkeys(kinds, expected)


@pytest.mark.parametrize(("dialect", "method"), [("canonical", "ping"), ("handle_message", "handle_message")])
def test_a_ping_is_sent_in_the_dialect_of_its_receiver(dialect: str, method: str) -> None:
    made = make.league(players=2)
    agent = made.players[0].agent
    Agent.objects.filter(pk=agent.pk).update(dialect=dialect)
    registration.want_ping(agent_ids=[agent.pk])
    (ping,) = make.look().pings
    body = json.loads(ping.body)
    sent = (ping.agent_pk, body["method"], body["params"]["message_type"], body["params"]["league_id"])
    assert sent == (agent.pk, method, "PING", "fall")
