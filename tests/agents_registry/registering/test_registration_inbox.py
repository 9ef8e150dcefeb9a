"""Agents without an address are known by league and name, and proven by their token (ruling, section 13)."""

from __future__ import annotations

import pytest
from django.test import Client

from agents_registry.models import Agent, AgentToken
from agents_registry.registering import moving
from matches.league import moves
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db


def register(client: Client, name: str = "Ada", caller: str = "203.0.113.5", **changes: object) -> dict[str, object]:
    delivery = {"delivery": "poll"} if "endpoint" not in changes else {}
    return wire.ask(client, "register_player", wire.player_request(name, **delivery, **changes), caller=caller)


@pytest.fixture
def client_of_league(client: Client) -> Client:
    """A client of a site that has one open league."""
    make.open_league("fall")
    return client


def test_a_player_needs_no_address_if_it_says_that_it_dials_out(client_of_league: Client) -> None:
    assert register(client_of_league)["status"] == "ACCEPTED"
    agent = Agent.objects.get()
    assert (agent.endpoint, agent.is_inbox_only) == (f"inbox://{agent.pk}", True)
    # No other agent can register with this inbox, so its first token counts as proven.
    assert AgentToken.objects.get().proven


def test_a_player_without_an_address_or_delivery_is_refused_with_the_field(client_of_league: Client) -> None:
    request = wire.player_request("Ada")
    del request["player_meta"]["contact_endpoint"]
    answer = wire.post(client_of_league, wire.request("register_player", request)).json()
    assert answer["error"]["data"]["error_code"] == "E003"
    assert "delivery" in answer["error"]["data"]["context"]["expected"]


@pytest.mark.parametrize("delivery", ["push", "poll ", "", 5, None, ["poll"]])
def test_an_inbox_cannot_be_a_contact_endpoint_and_only_poll_or_websocket_means_dialling_out(
    client_of_league: Client, delivery: object
) -> None:
    request = wire.player_request("Ada", endpoint="inbox://1")
    request["player_meta"]["delivery"] = delivery
    answer = wire.post(client_of_league, wire.request("register_player", request)).json()
    assert answer["error"]["data"]["error_code"] == "E002"
    assert not Agent.objects.exists()


def test_an_agent_without_address_registers_again_only_with_its_token(client_of_league: Client) -> None:
    first = register(client_of_league)
    stranger = register(client_of_league, caller="198.51.100.7")
    assert (stranger["status"], stranger["player_id"]) == ("REJECTED", None)
    again = register(client_of_league, auth_token=first["auth_token"])
    assert (again["status"], again["player_id"]) == ("ACCEPTED", first["player_id"])
    assert Agent.objects.count() == 1
    assert all(AgentToken.objects.values_list("proven", flat=True))


def test_an_agent_may_change_to_an_address_and_back_with_its_token(client_of_league: Client) -> None:
    first = register(client_of_league)
    token, address = first["auth_token"], "http://203.0.113.5:8101/mcp"
    listening = register(client_of_league, endpoint=address, auth_token=token)
    assert listening["player_id"] == first["player_id"]
    # It is reached through its inbox until an answer from the address proves it.
    moves.settle()
    assert Agent.objects.get().is_inbox_only
    moving.note_call(agent_id=Agent.objects.get().pk, endpoint=address, answered=True)
    moves.settle()
    assert Agent.objects.get().endpoint == address
    back = register(client_of_league, auth_token=token)
    assert back["player_id"] == first["player_id"]
    moves.settle()
    assert Agent.objects.get().is_inbox_only


def test_two_leagues_may_each_have_a_player_of_the_same_name(client_of_league: Client) -> None:
    make.open_league("winter")
    register(client_of_league, league_id="fall")
    register(client_of_league, league_id="winter", caller="198.51.100.7")
    keys = set(Agent.objects.values_list("endpoint_key", flat=True))
    assert len(keys) == 2


def test_an_agent_without_address_keeps_its_inbox_when_it_moves_from_the_lobby(client: Client) -> None:
    first = register(client)
    make.open_league(str(first["league_id"]))
    agent = Agent.objects.get()
    assert agent.league_id == first["league_id"]
    assert agent.endpoint == f"inbox://{agent.pk}"
    assert register(client, auth_token=first["auth_token"])["player_id"] == first["player_id"]


def test_moving_from_the_lobby_into_a_league_does_not_prove_a_new_address(client: Client) -> None:
    """Otherwise an agent with an inbox could name any machine, have the site call it, and read its answers."""
    waiting = register(client)
    make.open_league("fall", registration_code="known-to-all")
    proof = {"auth_token": waiting["auth_token"], "code": "known-to-all"}
    moved = register(client, endpoint="http://192.0.2.7:631/mcp", league_id="fall", **proof)
    assert (moved["status"], moved["player_id"]) == ("ACCEPTED", waiting["player_id"])
    agent = Agent.objects.get()
    assert (agent.league_id, agent.is_inbox_only) == ("fall", True)
    moving.note_call(agent_id=agent.pk, endpoint="http://192.0.2.7:631/mcp", answered=True)
    moves.settle()
    assert Agent.objects.get().endpoint == "http://192.0.2.7:631/mcp"
    assert not any(AgentToken.objects.values_list("proven", flat=True))
