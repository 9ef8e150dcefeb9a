"""A squatter registers somebody else's address first: its tokens are void once the agent comes (ruling, 8 and 9)."""

import pytest
from django.test import Client

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
VICTIM = "192.0.2.7"
ADDRESS = f"http://{VICTIM}:8101/mcp"


def register(client: Client, caller: str, **changes: str) -> dict[str, str]:
    params = wire.player_request("Alpha", endpoint=ADDRESS, **changes)
    return wire.ask(client, "register_player", params, caller=caller)


def may_ask(client: Client, token: str) -> bool:
    body = wire.request("get_player_stats", {"auth_token": token})
    return "result" in wire.post(client, body).json()


def test_a_squatters_tokens_are_void_once_the_agent_itself_registers(client: Client) -> None:
    make.open_league("fall")
    squatter = register(client, "192.0.2.66")
    before = credentials.league_token(Agent.objects.get(code="P01"))
    agent = register(client, VICTIM)
    assert (squatter["player_id"], agent["player_id"], agent["status"]) == ("P01", "P01", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    assert credentials.league_token(Agent.objects.get(code="P01")) != before == squatter["league_token"]


def test_tokens_of_the_agent_itself_stay_valid(client: Client) -> None:
    make.open_league("fall")
    first = register(client, VICTIM)
    second = register(client, VICTIM)
    elsewhere = register(client, "192.0.2.66", auth_token=second["auth_token"])
    third = register(client, VICTIM)
    assert [may_ask(client, one["auth_token"]) for one in (first, second, elsewhere, third)] == [True] * 4


def test_an_agent_that_never_shows_itself_keeps_its_tokens(client: Client) -> None:
    """An agent behind a gateway cannot be told from a stranger except by its token."""
    make.open_league("fall")
    first = register(client, "192.0.2.66")
    second = register(client, "192.0.2.66", auth_token=first["auth_token"])
    assert [may_ask(client, one["auth_token"]) for one in (first, second)] == [True, True]


def test_a_squatters_tokens_are_void_once_the_instructor_readmits_the_agent(client: Client) -> None:
    """An agent behind a tunnel cannot prove its address: only the instructor can tell it from the squatter."""
    make.open_league("fall")
    squatter = register(client, "192.0.2.66")
    player = Agent.objects.get(code="P01")
    registration.readmit(agent_ids=[player.pk])
    agent = register(client, "192.0.2.8")
    assert (agent["player_id"], agent["status"]) == ("P01", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    player.refresh_from_db()
    assert credentials.league_token(player) == agent["league_token"] != squatter["league_token"]
    # The permission holds once; from now on its new token is its proof.
    again = register(client, "192.0.2.8", auth_token=agent["auth_token"])
    assert (register(client, "192.0.2.66")["status"], again["status"]) == ("REJECTED", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent, again)] == [False, True, True]


def test_readmission_voids_no_token_of_an_agent_that_registers_with_its_token(client: Client) -> None:
    """The instructor's permission must not void tokens that other processes of the agent still use."""
    make.open_league("fall")
    first = register(client, "192.0.2.66")
    registration.readmit(agent_ids=Agent.objects.values_list("pk", flat=True))
    second = register(client, "192.0.2.66", auth_token=first["auth_token"])
    assert [may_ask(client, one["auth_token"]) for one in (first, second)] == [True, True]


def test_a_squatters_tokens_are_void_once_the_agent_moves_from_the_lobby(client: Client) -> None:
    """With two open leagues a player that names none waits in the lobby, and moves when it names one."""
    make.open_league("fall")
    make.open_league("spring")
    squatter = register(client, "192.0.2.66")
    assert Agent.objects.get().league is None
    agent = register(client, VICTIM, league_id="fall")
    assert (squatter["player_id"], agent["player_id"], agent["league_id"]) == ("P01", "P01", "fall")
    assert Agent.objects.count() == 1
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    assert credentials.league_token(Agent.objects.get()) == agent["league_token"] != squatter["league_token"]
