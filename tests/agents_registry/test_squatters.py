"""Who names a stranger's address first has nothing from it once the stranger comes (ruling, sections 8 and 9)."""

import pytest
from django.test import Client

from agents_registry import registration
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
    seen = registration.league_token(Agent.objects.get(code="P01"))
    agent = register(client, VICTIM)
    assert (squatter["player_id"], agent["player_id"], agent["status"]) == ("P01", "P01", "ACCEPTED")
    assert [may_ask(client, one["auth_token"]) for one in (squatter, agent)] == [False, True]
    assert registration.league_token(Agent.objects.get(code="P01")) != seen == squatter["league_token"]


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
