"""Who a request comes from, what browsers are told, what a crash report holds, Django's own check of a deployment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, RequestFactory
from django.views.debug import get_exception_reporter_class
from hypothesis import given
from hypothesis import strategies as st

from agents_registry.models import Agent
from leaguesite import environment
from leaguesite.environment import BASE_DIR, networks, security
from leaguesite.serving.trust import forwarded_for
from matches.audience.views.check import caller_of
from matches.league import demo
from tests import factories as make
from tests import wire

PROXY, STUDENT, SECRET = "10.0.0.2", "192.0.2.7", "a-secret-nobody-may-see"


@pytest.fixture
def behind_proxy(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIES_OF_THE_TEST", "127.0.0.1, 10.0.0.0/24, fd00::/8")
    settings.LEAGUE_TRUSTED_PROXIES = networks("PROXIES_OF_THE_TEST")


# Who is calling ---------------------------------------------------------------------------------


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


def test_without_a_proxy_of_ours_a_forwarded_address_only_takes_away() -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=STUDENT, headers={"X-Forwarded-For": "127.0.0.1"})
    assert (caller_of(request).ip, caller_of(request).direct) == (STUDENT, False)


# What browsers are told -------------------------------------------------------------------------

STRICT = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "beyond"),
    [
        ("/", {}),
        ("/leagues/fall/", {}),
        ("/leagues/fall/screen/", {}),
        ("/leagues/fall/mine/", {}),
        ("/check", {}),
        ("/leagues/nowhere/", {}),
        ("/api/leagues", {}),
        # Not even "*", which leaves out pages that are files.
        ("/leagues/fall/embed/", {"frame-ancestors": None}),
        ("/api/docs", {"style-src": "'self' 'unsafe-inline'"}),
        ("/admin/login/", {"style-src": "'self' 'unsafe-inline'", "script-src": "'self' 'unsafe-eval'"}),
    ],
)
def test_the_policy_of_every_kind_of_page(client: Client, path: str, beyond: dict[str, str | None]) -> None:
    make.open_league("fall")
    answer = client.get(path)
    told = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    assert told == {name: value for name, value in (STRICT | beyond).items() if value is not None}
    headers = ("X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy")
    assert [answer[name] for name in headers] == [
        "nosniff",
        "same-origin",
        "same-origin",
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ]
    assert answer.get("X-Frame-Options") == (None if path.endswith("embed/") else "DENY")


def test_agents_get_no_headers_for_browsers(client: Client) -> None:
    answer = client.post("/mcp", wire.request("ping", {}), content_type="application/json")
    assert [name for name in ("Content-Security-Policy", "Permissions-Policy") if name in answer] == []


@pytest.mark.parametrize("path", ["/mcp", "/", "/api/leagues", "/admin/"])
def test_a_host_that_is_not_this_sites(path: str) -> None:
    client = Client(raise_request_exception=False)
    answer = client.post(path, wire.request("ping", {}), content_type="application/json", HTTP_HOST="evil.example")
    assert answer.status_code == 400
    json_wanted = path != "/admin/"
    assert answer["Content-Type"].startswith("application/json") is json_wanted


# The report of a crash --------------------------------------------------------------------------


def test_no_secret_stands_in_the_report_of_a_crash(settings: Any) -> None:
    settings.DEBUG = True
    token = "tok_" + "5" * 32
    request = RequestFactory().post(
        f"/leagues/fall/mine/?code={SECRET}",
        {"secret": SECRET, "registration_code": SECRET},
        headers={"Authorization": f"Bearer {SECRET}", "Cookie": f"sessionid={SECRET}"},
    )
    try:
        message = {"auth_token": SECRET, "matches": [token]}
        raise ValueError(f"nobody has {message['matches'][0]}")
    except ValueError:
        reporter = get_exception_reporter_class(request)(request, *sys.exc_info())
        report = reporter.get_traceback_html() + reporter.get_traceback_text()
    found = [secret for secret in (SECRET, token, settings.SECRET_KEY, settings.LEAGUE_REFEREE_KEY) if secret in report]
    assert (found, "auth_token" in report) == ([], True)


# Django's own check -----------------------------------------------------------------------------


def checked(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LEAGUE_") and name != "DJANGO_SETTINGS_MODULE"
    }
    own |= {"LEAGUE_DATA": str(folder)} | environment
    return subprocess.run(command, cwd=BASE_DIR, env=own, capture_output=True, text=True, timeout=100, check=False)


def test_djangos_check_of_a_deployment_finds_nothing(tmp_path: Path) -> None:
    done = checked(tmp_path, LEAGUE_PUBLIC_URL="https://league.example.org", LEAGUE_TRUSTED_PROXIES="127.0.0.1")
    assert (done.returncode, done.stdout.strip()) == (0, "System check identified no issues (2 silenced).")


def test_and_says_so_of_a_class_without_https(tmp_path: Path) -> None:
    """What a plain address means is not hidden."""
    done = checked(tmp_path)
    found = [word for word in ("W004", "W008", "W012", "W016") if f"security.{word}" in done.stderr]
    assert (done.returncode, found) == (1, ["W004", "W008", "W012", "W016"])


def test_and_of_keys_that_could_be_guessed(tmp_path: Path) -> None:
    done = checked(
        tmp_path,
        LEAGUE_PUBLIC_URL="https://league.example.org",
        LEAGUE_TRUSTED_PROXIES="127.0.0.1",
        LEAGUE_API_KEY="cs101",
        LEAGUE_METRICS_KEY="471123",
        LEAGUE_REFEREE_KEY="5tLxv0W3mQe8RkYb",
        LEAGUE_ADMIN_PASSWORD="",
    )
    found = [line for line in done.stderr.splitlines() if "leaguesite.W001" in line]
    assert (done.returncode, found) == (
        1,
        [
            "?: (leaguesite.W001) LEAGUE_API_KEY could be found by trying.",
            "?: (leaguesite.W001) LEAGUE_METRICS_KEY could be found by trying.",
        ],
    )
