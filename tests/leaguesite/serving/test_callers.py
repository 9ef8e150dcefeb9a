"""Who a request or a socket comes from, behind a trusted proxy too."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from agents_registry.callers import Caller
from agents_registry.models import Agent
from leaguesite import environment
from leaguesite.environment import networks, security
from leaguesite.serving.callers import KnownSocket, caller_of, forwarded_for
from matches.league import demo
from tests import factories as make
from tests import wire

PROXY, STUDENT = "10.0.0.2", "192.0.2.7"


@pytest.fixture
def behind_proxy(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIES_OF_THE_TEST", "127.0.0.1, 10.0.0.0/24, fd00::/8")
    settings.LEAGUE_TRUSTED_PROXIES = networks("PROXIES_OF_THE_TEST")


@pytest.mark.parametrize(
    ("header", "caller"),
    [
        (STUDENT, STUDENT),
        ("198.51.100.66, 192.0.2.7", STUDENT),
        ("127.0.0.1, 192.0.2.7, 10.0.0.3", STUDENT),
        ("192.0.2.7:51234", STUDENT),
        ("::ffff:192.0.2.7", STUDENT),
        ("2001:db8::7", "2001:db8::7"),
        ('"[2001:db8::7]:51234"', "2001:db8::7"),
        ("192.0.2.7, unknown", ""),
        ("192.0.2.7, ", ""),
        ("", ""),
        ("10.0.0.9, 10.0.0.3", "10.0.0.9"),
    ],
)
def test_the_caller_is_the_rightmost_that_is_no_proxy_of_ours(
    behind_proxy: None, settings: Any, header: str, caller: str
) -> None:
    assert forwarded_for(header, settings.LEAGUE_TRUSTED_PROXIES) == caller


@given(st.text(alphabet='0123456789abcdef.:[], "x', max_size=60))
def test_whatever_a_caller_writes_to_the_left_changes_nothing(forged: str) -> None:
    proxies = (environment.ipaddress.ip_network("10.0.0.0/24"),)
    assert forwarded_for(f"{forged}, {STUDENT}", proxies) == STUDENT


def test_a_network_that_cannot_be_read_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIES_OF_THE_TEST", "10.0.0.1/24")
    with pytest.raises(ValueError, match=r"^PROXIES_OF_THE_TEST: 10\.0\.0\.1/24 has host bits set; expected addresses"):
        networks("PROXIES_OF_THE_TEST")


def asked(client: Client, peer: str, endpoint: str, **headers: str) -> Any:
    request = wire.request("register_player", wire.player_request(endpoint=endpoint))
    return client.post("/mcp", request, content_type="application/json", REMOTE_ADDR=peer, headers=headers).json()


def register(client: Client, peer: str, **headers: str) -> Any:
    return asked(client, peer, "http://localhost:8101/mcp", **headers)["result"]


@pytest.mark.django_db
def test_behind_a_trusted_proxy_callers_are_told_apart(client: Client, behind_proxy: None) -> None:
    """localhost is the machine that called, and only that machine registers its agent again."""
    make.open_league("league_2025_even_odd")
    assert register(client, PROXY, **{"X-Forwarded-For": STUDENT})["status"] == "ACCEPTED"
    assert Agent.objects.get().endpoint == f"http://{STUDENT}:8101/mcp"
    assert register(client, PROXY, **{"X-Forwarded-For": STUDENT})["player_id"] == "P01"
    assert register(client, PROXY, **{"X-Forwarded-For": "192.0.2.8"})["player_id"] == "P02"
    assert [agent.endpoint for agent in Agent.objects.order_by("pk")] == [
        f"http://{STUDENT}:8101/mcp",
        "http://192.0.2.8:8101/mcp",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("headers", [{}, {"X-Forwarded-For": "unknown"}, {"Forwarded": f"for={STUDENT}"}])
def test_a_trusted_proxy_that_does_not_tell_makes_nobody_local(
    client: Client, behind_proxy: None, headers: dict[str, str]
) -> None:
    make.open_league("league_2025_even_odd")
    assert "result" not in asked(client, "127.0.0.1", "http://localhost:8101/mcp", **headers)
    found = [asked(client, "127.0.0.1", f"http://{STUDENT}:8101/mcp", **headers)["result"] for _ in range(2)]
    assert [(one["status"], one.get("legacy_code")) for one in found] == [("ACCEPTED", None), ("REJECTED", "L003")]


@pytest.mark.django_db
def test_the_sites_own_sample_players_are_at_home_all_the_same(client: Client, behind_proxy: None) -> None:
    demo.open_demo()
    content = {"content_type": "application/json", "REMOTE_ADDR": "127.0.0.1"}
    found = []
    for code in (settings.LEAGUE_DEMO_KEY, "another"):
        asked_for = wire.player_request(league_id="demo", code=code, endpoint="http://127.0.0.1:18101/mcp")
        answer = client.post("/mcp", wire.request("register_player", asked_for), **content).json()
        found.append(answer.get("result", {}).get("status"))
    assert found == ["ACCEPTED", None]


@pytest.mark.django_db
def test_who_is_no_proxy_of_ours_may_claim_what_it_wants(client: Client, behind_proxy: None) -> None:
    """A student who writes somebody else's address into the header is not taken for them."""
    make.open_league("league_2025_even_odd")
    register(client, PROXY, **{"X-Forwarded-For": STUDENT})
    claimed = wire.player_request(endpoint=f"http://{STUDENT}:8101/mcp")
    request = wire.request("register_player", claimed)
    for peer, header in (("192.0.2.66", STUDENT), (PROXY, f"{STUDENT}, 192.0.2.66")):
        answer = client.post(
            "/mcp", request, content_type="application/json", REMOTE_ADDR=peer, headers={"X-Forwarded-For": header}
        )
        assert answer.json()["result"]["legacy_code"] == "L003"


@pytest.mark.django_db
def test_https_is_believed_from_a_trusted_proxy_only(client: Client, behind_proxy: None, settings: Any) -> None:
    for name, value in security("https://league.example.org", settings.LEAGUE_TRUSTED_PROXIES).items():
        setattr(settings, name, value)
    fresh = Client()
    found = [
        (fresh.get("/", REMOTE_ADDR=peer, headers={"X-Forwarded-For": STUDENT, "X-Forwarded-Proto": proto}).status_code)
        for peer, proto in ((PROXY, "https"), (PROXY, "http"), (PROXY, "https, http"), ("192.0.2.66", "https"))
    ]
    assert found == [200, 301, 301, 301]
    # An agent would lose its POST on the way, and who watches over the site follows nothing.
    ping = fresh.post("/mcp", wire.request("ping", {}), content_type="application/json", REMOTE_ADDR="192.0.2.66")
    assert (ping.status_code, fresh.get("/health", REMOTE_ADDR="192.0.2.66").status_code) == (200, 200)
    answer = fresh.get("/admin/login/", REMOTE_ADDR=PROXY, headers={"X-Forwarded-Proto": "https"})
    assert (answer["Strict-Transport-Security"], answer.cookies["csrftoken"]["secure"]) == ("max-age=2592000", True)


# A connection --------------------------------------------------------------------------------------

PEER = ("10.0.0.5", 4711)


def scope(client: tuple[str, int] | None, *forwarded: str) -> dict[str, Any]:
    return {"client": client, "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


@pytest.mark.parametrize(
    ("client", "forwarded", "expected"),
    [
        (("192.0.2.1", 1), (), "192.0.2.1"),
        # Anybody may write that; only a proxy of ours is believed.
        (("192.0.2.1", 1), ("198.51.100.9",), "192.0.2.1"),
        (PEER, ("192.0.2.1",), "192.0.2.1"),
        (PEER, ("198.51.100.9, 192.0.2.1",), "192.0.2.1"),
        (PEER, ("198.51.100.9", "192.0.2.1, 10.0.0.6"), "192.0.2.1"),
        (PEER, (), ""),
        (PEER, ("nobody",), ""),
        (None, (), ""),
    ],
)
def test_the_caller(
    monkeypatch: pytest.MonkeyPatch, client: tuple[str, int] | None, forwarded: tuple[str, ...], expected: str
) -> None:
    monkeypatch.setattr(settings, "LEAGUE_TRUSTED_PROXIES", (ipaddress.ip_network("10.0.0.0/8"),))
    assert caller_of(scope(client, *forwarded)).ip == expected


def test_without_a_trusted_proxy_the_connection_says_it() -> None:
    assert caller_of(scope(PEER, "192.0.2.1")) == Caller("10.0.0.5", direct=False)


async def test_the_page_is_told() -> None:
    seen = []

    async def page(scope: dict[str, Any], receive: Any, send: Any) -> None:
        seen.append(scope["caller"])

    await KnownSocket(page)(scope(("192.0.2.1", 1)), None, None)
    assert seen == ["192.0.2.1"]
