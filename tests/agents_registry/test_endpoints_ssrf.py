"""Addresses that are refused where they are given: at registration, by hand, at the check; with the policy's words."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.endpoints import endpoint_policy
from agents_registry.models import Agent
from league_sdk.transport import machine
from league_sdk.transport.policy import Forbidden
from matches.league import entry
from matches.league.errors import Invalid
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
FIELD = "player_meta.contact_endpoint"
OWN, LAN = "192.0.2.1", "192.0.2.7"


@pytest.fixture(autouse=True)
def _site(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A site at an address of its own, which is also known by a name."""
    monkeypatch.setattr(machine, "is_own", lambda address: address.is_loopback or str(address) == OWN)
    settings.LEAGUE_PUBLIC_URL = "http://league.example.org:8000"
    settings.LEAGUE_REFUSED_PORTS = [8000]
    settings.LEAGUE_ENDPOINTS = settings.LEAGUE_ENDPOINTS | {"closed_ports": [5432, 6379]}


def refused(client: Client, endpoint: Any, caller: str = LAN) -> str:
    data = wire.refused(client, "register_player", wire.player_request(endpoint=endpoint), caller=caller)
    assert (data["error_code"], data["context"]["field"]) == ("E002", FIELD)
    assert Agent.objects.count() == 0
    return str(data["message"])


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "addresses in 169.254.0.0/16 are not called"),
        ("http://[::ffff:169.254.169.254]/", "addresses in 169.254.0.0/16 are not called"),
        ("http://0xa9.0xfe.0xa9.0xfe/", "addresses in 169.254.0.0/16 are not called"),
        ("http://[fd00:ec2::254]/", "addresses in fd00:ec2::254/128 are not called"),
        ("http://192.0.2.1:8000/admin/", "port 8000 belongs to the league site itself"),
        ("http://league.example.org:8000/admin/", "port 8000 belongs to the league site itself"),
        ("http://LEAGUE.example.org.:8000/mcp", "port 8000 belongs to the league site itself"),
        ("http://10.1.2.3:5432/", "port 5432 belongs to the league site itself"),
        ("http://db.internal:6379/", "port 6379 belongs to the league site itself"),
        ("http://10.1.2.3:25/", "port 25 is not called"),
    ],
)
def test_what_the_policy_refuses_is_no_address_of_an_agent(client: Client, endpoint: str, why: str) -> None:
    make.open_league("fall")
    assert refused(client, endpoint) == f"{FIELD} is not called: {why}."


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "127.1", "me.localhost", "0.0.0.0"])
def test_the_sites_own_port_from_its_own_machine(client: Client, host: str) -> None:
    make.open_league("fall")
    said = refused(client, f"http://{host}:8000/mcp", caller="127.0.0.1")
    assert said == f"{FIELD} is not called: port 8000 belongs to the league site itself."


def test_a_site_may_call_its_own_network_only(client: Client, settings: Any) -> None:
    settings.LEAGUE_ENDPOINTS = settings.LEAGUE_ENDPOINTS | {"networks": ["192.0.2.0/24"], "ports": [[8100, 8199]]}
    make.open_league("fall")
    assert refused(client, "http://10.0.0.5:8101/") == (
        f"{FIELD} is not called: only addresses in 192.0.2.0/24 are called."
    )
    assert refused(client, "http://192.0.2.7:9200/") == f"{FIELD} is not called: port 9200 is not called."
    wire.ask(client, "register_player", wire.player_request(endpoint="http://192.0.2.7:8101/mcp"), caller=LAN)
    assert Agent.objects.get().endpoint == "http://192.0.2.7:8101/mcp"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.9", "[::1]", "me.localhost", "2130706433"])
def test_behind_a_proxy_that_tells_nothing_nobody_is_on_the_sites_machine(client: Client, host: str) -> None:
    make.open_league("fall")
    request = wire.request("register_player", wire.player_request(endpoint=f"http://{host}:9200/mcp"))
    answer = client.post("/mcp", request, content_type="application/json", headers={"X-Forwarded-For": LAN})
    data = answer.json()["error"]["data"]
    assert data["message"] == f"{FIELD} is this site's own machine: give the address of yours."
    assert Agent.objects.count() == 0


def test_another_field_that_can_be_used_is_used(client: Client) -> None:
    make.open_league("fall")
    params = wire.player_request(endpoint="http://169.254.169.254/")
    params["player_meta"]["endpoint"] = "http://192.0.2.7:8101/mcp"
    wire.ask(client, "register_player", params, caller=LAN)
    agent = Agent.objects.get()
    assert agent.endpoint == "http://192.0.2.7:8101/mcp"
    assert f"{FIELD} could not be read, player_meta.endpoint is used" in agent.notes


def test_by_hand_neither() -> None:
    make.open_league("fall")
    with pytest.raises(Invalid, match=r"addresses in 169.254.0.0/16 are not called"):
        entry.add_by_hand(league_id="fall", name="Ada", endpoint="http://169.254.169.254/")
    assert Agent.objects.count() == 0


def test_players_are_not_called_where_referees_listen() -> None:
    make.hire("Referee 1", port=8001)
    policy = endpoint_policy([8001])
    with pytest.raises(Forbidden, match=r"^port 8001 belongs to the league site itself$"):
        policy.check_url(f"http://{OWN}:8001/mcp")
    endpoint_policy().check_url(f"http://{OWN}:8001/mcp")
