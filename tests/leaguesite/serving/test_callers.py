"""Who sends a request or opens a socket, also behind a trusted proxy."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from leaguesite import environment
from leaguesite.environment import networks, security
from leaguesite.serving.callers import caller_of, forwarded_for
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
        # Our own proxies only: the leftmost of them is the caller.
        ("10.0.0.9, 10.0.0.3", "10.0.0.9"),
    ],
)
def test_the_caller_is_the_rightmost_address_that_is_not_our_proxy(
    behind_proxy: None, settings: Any, header: str, caller: str
) -> None:
    assert forwarded_for(header, settings.LEAGUE_TRUSTED_PROXIES) == caller


@given(st.text(alphabet='0123456789abcdef.:[], "x', max_size=60))
def test_what_a_caller_writes_into_x_forwarded_for_changes_nothing(forged: str) -> None:
    proxies = (environment.ipaddress.ip_network("10.0.0.0/24"),)
    assert forwarded_for(f"{forged}, {STUDENT}", proxies) == STUDENT


def test_a_network_that_cannot_be_read_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIES_OF_THE_TEST", "10.0.0.1/24")
    with pytest.raises(ValueError, match=r"^PROXIES_OF_THE_TEST: 10\.0\.0\.1/24 has host bits set; expected addresses"):
        networks("PROXIES_OF_THE_TEST")


def registration_reply(client: Client, peer: str, endpoint: str, **headers: str) -> Any:
    request = wire.request("register_player", wire.player_request(endpoint=endpoint))
    return client.post("/mcp", request, content_type="application/json", REMOTE_ADDR=peer, headers=headers).json()


def register(client: Client, peer: str, **headers: str) -> Any:
    return registration_reply(client, peer, "http://localhost:8101/mcp", **headers)["result"]


@pytest.mark.django_db
def test_behind_a_trusted_proxy_callers_are_distinguished(client: Client, behind_proxy: None) -> None:
    """An endpoint at localhost means the machine that called, and only that machine may register its agent again."""
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
def test_a_trusted_proxy_that_forwards_no_address_makes_nobody_local(
    client: Client, behind_proxy: None, headers: dict[str, str]
) -> None:
    make.open_league("league_2025_even_odd")
    assert "result" not in registration_reply(client, "127.0.0.1", "http://localhost:8101/mcp", **headers)
    results = [
        registration_reply(client, "127.0.0.1", f"http://{STUDENT}:8101/mcp", **headers)["result"] for _ in range(2)
    ]
    assert [(one["status"], one.get("legacy_code")) for one in results] == [("ACCEPTED", None), ("REJECTED", "L003")]


@pytest.mark.django_db
def test_the_sites_own_sample_players_are_local_behind_a_silent_proxy(client: Client, behind_proxy: None) -> None:
    demo.open_demo()
    content = {"content_type": "application/json", "REMOTE_ADDR": "127.0.0.1"}
    statuses = []
    for code in (settings.LEAGUE_DEMO_KEY, "another"):
        asked_for = wire.player_request(league_id="demo", code=code, endpoint="http://127.0.0.1:18101/mcp")
        answer = client.post("/mcp", wire.request("register_player", asked_for), **content).json()
        statuses.append(answer.get("result", {}).get("status"))
    assert statuses == ["ACCEPTED", None]


@pytest.mark.django_db
def test_a_forwarded_address_from_anybody_but_our_proxies_is_not_believed(client: Client, behind_proxy: None) -> None:
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


@pytest.fixture
def by_https(behind_proxy: None, settings: Any) -> None:
    """A site that students reach by https, through a proxy."""
    settings.LEAGUE_PUBLIC_URL = "https://league.example.org"
    settings.ALLOWED_HOSTS = ["*"]
    for name, value in security(settings.LEAGUE_PUBLIC_URL, settings.LEAGUE_TRUSTED_PROXIES).items():
        setattr(settings, name, value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "host", "headers", "is_secure"),
    [
        (PROXY, "testserver", {"X-Forwarded-Proto": "https"}, True),
        (PROXY, "testserver", {"X-Forwarded-Proto": "http, https"}, True),
        (PROXY, "testserver", {"X-Forwarded-Proto": "http"}, False),
        (PROXY, "testserver", {"X-Forwarded-Proto": "https, http"}, False),
        (PROXY, "league.example.org", {"X-Forwarded-Proto": "http"}, False),
        ("192.0.2.66", "league.example.org", {"X-Forwarded-Proto": "https"}, False),
        # Tunnels that do not send the scheme count as https: otherwise every answer would be a redirect, without end.
        (PROXY, "league.example.org", {}, True),
        (PROXY, "localhost:8000", {"X-Forwarded-For": STUDENT}, True),
        (PROXY, "localhost:8000", {"Cf-Connecting-Ip": STUDENT}, True),
        ("127.0.0.1", "league.example.org", {}, True),
    ],
)
def test_https_is_believed_from_a_trusted_proxy_only(
    by_https: None, peer: str, host: str, headers: dict[str, str], is_secure: bool
) -> None:
    answer = Client().get("/?page=2", REMOTE_ADDR=peer, headers={"host": host, **headers})
    assert answer.status_code == (200 if is_secure else 302)
    assert answer.headers.get("Location") == (None if is_secure else "https://league.example.org/?page=2")


@pytest.mark.django_db
def test_agents_monitors_and_the_sites_own_machine_are_not_sent_to_https(by_https: None) -> None:
    """By a redirect an agent would lose its POST, monitors follow none, and the site's own machine needs no tunnel."""
    fresh = Client()
    ping = fresh.post("/mcp", wire.request("ping", {}), content_type="application/json", REMOTE_ADDR="192.0.2.66")
    assert (ping.status_code, fresh.get("/health", REMOTE_ADDR="192.0.2.66").status_code) == (200, 200)
    assert fresh.get("/admin/login/", REMOTE_ADDR="127.0.0.1", headers={"host": "127.0.0.1:8000"}).status_code == 200
    answer = fresh.get("/admin/login/", REMOTE_ADDR=PROXY, headers={"X-Forwarded-Proto": "https"})
    assert (answer["Strict-Transport-Security"], answer.cookies["csrftoken"]["secure"]) == ("max-age=2592000", True)


# The caller of a WebSocket --------------------------------------------------------------------------------------

PEER = ("10.0.0.5", 4711)


def scope(client: tuple[str, int] | None, *forwarded: str) -> dict[str, Any]:
    return {"client": client, "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


@pytest.mark.parametrize(
    ("client", "forwarded", "expected"),
    [
        (("192.0.2.1", 1), (), "192.0.2.1"),
        # Anybody may send that header; only our proxies are believed.
        (("192.0.2.1", 1), ("198.51.100.9",), "192.0.2.1"),
        (PEER, ("192.0.2.1",), "192.0.2.1"),
        (PEER, ("198.51.100.9, 192.0.2.1",), "192.0.2.1"),
        (PEER, ("198.51.100.9", "192.0.2.1, 10.0.0.6"), "192.0.2.1"),
        (PEER, (), ""),
        (PEER, ("nobody",), ""),
        (None, (), ""),
    ],
)
def test_the_caller_of_a_websocket_is_its_peer_or_what_our_proxy_forwards(
    settings: Any, client: tuple[str, int] | None, forwarded: tuple[str, ...], expected: str
) -> None:
    settings.LEAGUE_TRUSTED_PROXIES = (ipaddress.ip_network("10.0.0.0/8"),)
    assert caller_of(scope(client, *forwarded)).ip == expected


def test_without_a_trusted_proxy_the_caller_is_the_connections_address() -> None:
    assert caller_of(scope(PEER, "192.0.2.1")) == Caller("10.0.0.5", direct=False)
