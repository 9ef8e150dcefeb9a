"""Agents with forbidden addresses are refused with the policy's reason: whether they register or are added by hand."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.addresses.endpoints import endpoint_policy, ports_of
from agents_registry.models import Agent
from league_sdk.transport.policy import Forbidden
from matches.league import entry
from matches.league.errors import Invalid
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
FIELD = "player_meta.contact_endpoint"
OWN, LAN = "192.0.2.1", "192.0.2.7"


@pytest.fixture(autouse=True)
def _site(own_addresses: set[str], settings: Any) -> None:
    """A site with an IP address and a name."""
    own_addresses.add(OWN)
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
        ("http://255.255.255.255:8101/mcp", "addresses in 240.0.0.0/4 are not called"),
        ("http://[ff02::1]:8101/mcp", "addresses in ff00::/8 are not called"),
    ],
)
def test_a_registration_with_a_forbidden_address_is_refused(client: Client, endpoint: str, why: str) -> None:
    make.open_league("fall")
    assert refused(client, endpoint) == f"{FIELD} is not called: {why}."


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "127.1", "me.localhost", "0.0.0.0"])
def test_the_sites_own_port_is_refused_also_to_a_caller_on_its_machine(client: Client, host: str) -> None:
    make.open_league("fall")
    refusal = refused(client, f"http://{host}:8000/mcp", caller="127.0.0.1")
    assert refusal == f"{FIELD} is not called: port 8000 belongs to the league site itself."


def test_a_site_can_be_limited_to_its_own_network(client: Client, settings: Any) -> None:
    settings.LEAGUE_ENDPOINTS = settings.LEAGUE_ENDPOINTS | {"networks": ["192.0.2.0/24"], "ports": [[8100, 8199]]}
    make.open_league("fall")
    assert refused(client, "http://10.0.0.5:8101/") == (
        f"{FIELD} is not called: only addresses in 192.0.2.0/24 are called."
    )
    assert refused(client, "http://192.0.2.7:9200/") == f"{FIELD} is not called: port 9200 is not called."
    wire.ask(client, "register_player", wire.player_request(endpoint="http://192.0.2.7:8101/mcp"), caller=LAN)
    assert Agent.objects.get().endpoint == "http://192.0.2.7:8101/mcp"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.9", "[::1]", "me.localhost", "2130706433"])
def test_a_loopback_address_is_refused_behind_a_proxy_that_hides_the_caller(client: Client, host: str) -> None:
    make.open_league("fall")
    request = wire.request("register_player", wire.player_request(endpoint=f"http://{host}:9200/mcp"))
    answer = client.post("/mcp", request, content_type="application/json", headers={"X-Forwarded-For": LAN})
    data = answer.json()["error"]["data"]
    advice = "give the address of yours, or none and fetch your messages."
    assert data["message"] == f"{FIELD} is this site's own machine: {advice}"
    assert Agent.objects.count() == 0


def test_a_forbidden_address_gives_way_to_a_second_one_that_is_usable(client: Client) -> None:
    make.open_league("fall")
    params = wire.player_request(endpoint="http://169.254.169.254/")
    params["player_meta"]["endpoint"] = "http://192.0.2.7:8101/mcp"
    wire.ask(client, "register_player", params, caller=LAN)
    agent = Agent.objects.get()
    assert agent.endpoint == "http://192.0.2.7:8101/mcp"
    assert f"{FIELD} could not be read, player_meta.endpoint is used" in agent.notes


def test_a_player_added_by_hand_with_a_forbidden_address_is_refused() -> None:
    make.open_league("fall")
    with pytest.raises(Invalid, match=r"addresses in 169.254.0.0/16 are not called"):
        entry.add_by_hand(league_id="fall", name="Ada", endpoint="http://169.254.169.254/")
    assert Agent.objects.count() == 0


def test_players_are_not_called_where_referees_listen() -> None:
    policy = endpoint_policy(ports_of([make.referee("Referee 1", port=8001).agent.endpoint]))
    with pytest.raises(Forbidden, match=r"^port 8001 belongs to the league site itself$"):
        policy.check_url(f"http://{OWN}:8001/mcp")
    endpoint_policy().check_url(f"http://{OWN}:8001/mcp")
