"""With a trusted proxy on the site's machine only our own processes are local: they call directly, with the key."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from agents_registry.models import Agent
from agents_registry.rate_limits.attempts import attempts
from leaguesite.environment import networks
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
HERE, STUDENT = "127.0.0.1", "192.0.2.7"
REFEREE = "http://127.0.0.1:8001/mcp"


@pytest.fixture(autouse=True)
def behind_proxy(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIES_OF_THE_TEST", "127.0.0.0/8, 10.0.0.2")
    settings.LEAGUE_TRUSTED_PROXIES = networks("PROXIES_OF_THE_TEST")


def call(client: Client, method: str, params: dict[str, Any], peer: str = HERE, **headers: str) -> Any:
    request = wire.request(method, params)
    return client.post("/mcp", request, content_type="application/json", REMOTE_ADDR=peer, headers=headers).json()


def referee(code: str, endpoint: str = REFEREE) -> dict[str, Any]:
    return wire.referee_request("Referee 1", endpoint=endpoint, code=code, progress=True)


def test_our_own_referee_may_register_twice_and_judge(client: Client) -> None:
    for _ in range(2):
        done = call(client, "register_referee", referee(settings.LEAGUE_REFEREE_KEY))["result"]
        assert (done["status"], done["referee_id"]) == ("ACCEPTED", "REF01")
        assert Agent.objects.values_list("endpoint", "trusted", "site_key").get() == (REFEREE, True, True)


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        # A proxy sends headers about the caller, however odd they are: the call is not from a process of this machine.
        (HERE, {"X-Forwarded-For": "unknown"}),
        (HERE, {"X-Forwarded-For": ""}),
        (HERE, {"Forwarded": "for=unknown"}),
        # A proxy on another machine: the callers that it hides are not on this machine.
        ("10.0.0.2", {}),
    ],
)
def test_the_key_makes_nobody_local_who_calls_through_a_proxy(
    client: Client, peer: str, headers: dict[str, str]
) -> None:
    answer = call(client, "register_referee", referee(settings.LEAGUE_REFEREE_KEY), peer, **headers)
    assert "this site's own machine" in str(answer["error"])
    assert not Agent.objects.exists()


@pytest.mark.parametrize("code", ["", "another", "x" * 40])
def test_behind_a_proxy_that_names_no_caller_nobody_is_local_without_the_key(client: Client, code: str) -> None:
    assert "this site's own machine" in str(call(client, "register_referee", referee(code))["error"])
    player = wire.player_request(endpoint="http://127.0.0.1:8101/mcp", code=settings.LEAGUE_REFEREE_KEY)
    assert "this site's own machine" in str(call(client, "register_player", player)["error"])
    assert not Agent.objects.exists()


def test_behind_a_proxy_nobody_takes_over_a_local_agent(client: Client) -> None:
    make.open_league("fall")
    make.player("Alpha", "fall", port=8101)
    claimed = wire.player_request("Alpha", port=8101, league_id="fall")
    for headers in ({}, {"X-Forwarded-For": STUDENT}):
        answer = call(client, "register_player", claimed, **headers)
        assert "error" in answer or answer["result"]["status"] == "REJECTED" or answer["result"]["player_id"] != "P01"
    assert Agent.objects.get(code="P01").tokens.count() == 1


def test_strangers_behind_a_proxy_that_names_no_caller_use_up_no_registration_of_our_referees(
    client: Client, settings: Any
) -> None:
    settings.LEAGUE_REGISTRATIONS_PER_ADDRESS = "3/10 seconds"
    attempts.forget_all()
    elsewhere = referee("", "http://192.0.2.7:8001/mcp")
    strangers = [call(client, "register_referee", elsewhere) for _ in range(5)]
    assert "E009" in str(strangers[-1])
    assert call(client, "register_referee", referee(settings.LEAGUE_REFEREE_KEY))["result"]["status"] == "ACCEPTED"
    assert "E009" in str(call(client, "register_referee", elsewhere))
