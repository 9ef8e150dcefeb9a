"""Who names a stranger's address first has nothing from it once the stranger comes (ruling, sections 8 and 9)."""

import pytest
from django.test import Client

from agents_registry import credentials, registration
from agents_registry.models import Agent
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


def test_what_a_squatter_was_given_is_void_once_the_agent_comes_itself(client: Client) -> None:
    make.open_league("fall")
    squatter = register(client, "192.0.2.66")
    seen = credentials.league_token(Agent.objects.get(code="P01"))
    agent = register(client, VICTIM)
    assert (squatter["player_id"], agent["player_id"], agent["status"]) == ("P01", "P01", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    assert credentials.league_token(Agent.objects.get(code="P01")) != seen == squatter["league_token"]


def test_tokens_of_the_agent_itself_stay_valid(client: Client) -> None:
    make.open_league("fall")
    first = register(client, VICTIM)
    second = register(client, VICTIM)
    elsewhere = register(client, "192.0.2.66", auth_token=second["auth_token"])
    third = register(client, VICTIM)
    assert [may_ask(client, one["auth_token"]) for one in (first, second, elsewhere, third)] == [True] * 4


def test_an_agent_that_never_shows_itself_keeps_its_tokens(client: Client) -> None:
    """One that registers through a gateway is told from a stranger by its token alone."""
    make.open_league("fall")
    first = register(client, "192.0.2.66")
    second = register(client, "192.0.2.66", auth_token=first["auth_token"])
    assert [may_ask(client, one["auth_token"]) for one in (first, second)] == [True, True]


def test_and_once_the_instructor_lets_in_an_agent_that_cannot_show_itself(client: Client) -> None:
    """One behind a tunnel: the squatter is told from it by nothing but the instructor's word."""
    make.open_league("fall")
    squatter = register(client, "192.0.2.66")
    player = Agent.objects.get(code="P01")
    registration.readmit(agent_ids=[player.pk])
    agent = register(client, "192.0.2.8")
    assert (agent["player_id"], agent["status"]) == ("P01", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    player.refresh_from_db()
    assert credentials.league_token(player) == agent["league_token"] != squatter["league_token"]
    # It was let in once. What it was given now is its proof from here on.
    again = register(client, "192.0.2.8", auth_token=agent["auth_token"])
    assert (register(client, "192.0.2.66")["status"], again["status"]) == ("REJECTED", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent, again)] == [False, True, True]


def test_an_agent_that_has_its_token_is_not_readmitted_by_it(client: Client) -> None:
    """The instructor's tick is no reason to take what its other processes go on with."""
    make.open_league("fall")
    first = register(client, "192.0.2.66")
    registration.readmit(agent_ids=Agent.objects.values_list("pk", flat=True))
    second = register(client, "192.0.2.66", auth_token=first["auth_token"])
    assert [may_ask(client, one["auth_token"]) for one in (first, second)] == [True, True]


def test_nor_does_it_come_along_from_the_lobby(client: Client) -> None:
    """Of two open leagues nobody is put into one unasked: who names none waits, and moves when it comes again."""
    make.open_league("fall")
    make.open_league("spring")
    squatter = register(client, "192.0.2.66")
    assert Agent.objects.get().league is None
    agent = register(client, VICTIM, league_id="fall")
    assert (squatter["player_id"], agent["player_id"], agent["league_id"]) == ("P01", "P01", "fall")
    assert Agent.objects.count() == 1
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    assert credentials.league_token(Agent.objects.get()) == agent["league_token"] != squatter["league_token"]
