"""How a broadcast is encoded for an agent that speaks in a way of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import learned
from league_sdk.dialects.arguments import Argument
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.tools import Tool
from matches.conducting.parcels import Parcel, parcels_of
from matches.league import lifecycle
from matches.models import Delivery
from tests import factories as make

pytestmark = pytest.mark.django_db
KIND = "ROUND_ANNOUNCEMENT"


def player_and_announcement(**how: Any) -> tuple[Agent, Parcel]:
    """A player about which this was learned, and the announcement of a round for it."""
    made = make.league(players=2)
    player = made.players[0].fresh()
    dialect = how.pop("dialect", "canonical")
    learned.learn_dialect(agent_id=player.pk, spoken={KIND: dialect}, learned=how)
    Agent.objects.filter(pk=player.pk).update(dialect=dialect)
    lifecycle.start_league(league_id="fall")
    assert Delivery.objects.filter(agent_id=player.pk).exists()
    return player, parcels_of((), timezone.now())[player.pk][0]


def test_a_broadcast_goes_by_the_agents_own_name_for_the_tool() -> None:
    arguments = [["roundId", "integer", True, []], ["league_id", "", False, []]]
    tool = {"name": "notify_round_start", "arguments": arguments}
    _, parcel = player_and_announcement(dialect="tools_call", own={KIND: tool})
    body = json.loads(parcel.body)
    assert (body["method"], body["params"]) == (
        "tools/call",
        {"name": "notify_round_start", "arguments": {"roundId": 1, "league_id": "fall"}},
    )


def test_an_agent_of_the_flat_legacy_dialect_gets_a_message_for_the_start_of_a_round_as_well() -> None:
    _, parcel = player_and_announcement(dialect="legacy_flat")
    messages = [json.loads(body) for body in (parcel.body, *parcel.also)]
    assert [one["type"] for one in messages] == [KIND, "ROUND_START"]
    assert [one["payload"]["round_id"] for one in messages] == [1, 1]


def test_an_agent_of_the_canonical_dialect_gets_one_message_without_a_session() -> None:
    _, parcel = player_and_announcement()
    assert (json.loads(parcel.body)["method"], parcel.also, parcel.learned) == ("notify_round", (), {})


def test_a_session_belongs_to_a_registration() -> None:
    player, parcel = player_and_announcement(dialect="tools_call", session=True)
    assert (parcel.registration, parcel.learned) == (f"{player.pk}.1", {"session": True})
    assert parcel.registration == player.registration


def test_a_broadcast_is_encoded_again_for_tools_that_were_discovered_meanwhile() -> None:
    _, parcel = player_and_announcement()
    arguments = tuple(Argument(name, "string", required=True) for name in ("roundId", "mood"))
    found = Memory(own={KIND: Tool("newRound", "", arguments)})
    assert parcel.retold is not None
    body, unfilled = parcel.retold(found)
    assert json.loads(body)["params"] == {"name": "newRound", "arguments": {"roundId": "1", "mood": ""}}
    assert (unfilled, parcel.unfilled) == (("mood",), ())
