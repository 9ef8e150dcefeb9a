"""A ping is asked for when an agent that wants to be called registers from its own address (ruling, section 13)."""

from __future__ import annotations

import pytest
from django.test import Client

from agents_registry.models import Agent
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
HOME = "203.0.113.5"


@pytest.mark.parametrize(
    ("changes", "pinged"),
    [
        ({"endpoint": f"http://{HOME}:8101/mcp"}, True),
        # A stranger's address: the site must not call somebody because an agent names the address.
        ({"endpoint": "http://198.51.100.7:8101/mcp"}, False),
        # It has no address.
        ({"delivery": "poll"}, False),
    ],
    ids=["its own", "a stranger's", "none"],
)
def test_a_ping_is_asked_for_at_an_agents_own_address_only(
    client: Client, changes: dict[str, str], pinged: bool
) -> None:
    make.open_league("fall")
    request = wire.player_request("Ada", **changes)
    request["player_meta"].setdefault("delivery", "push")
    wire.ask(client, "register_player", request, caller=HOME)
    assert Agent.objects.get().ping_wanted is pinged
