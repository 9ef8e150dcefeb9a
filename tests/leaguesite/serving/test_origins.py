"""Pages of other sites, or of other ports of this machine, may open no WebSocket and call no address for agents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from leaguesite.serving.origins import OwnPages, is_ours

PUBLIC = "https://league.school.example"


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.LEAGUE_PUBLIC_URL = PUBLIC
    settings.CSRF_TRUSTED_ORIGINS = [PUBLIC, "https://*.lab.example:8443"]
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", "testserver", "league.school.example"]


@pytest.mark.parametrize(
    ("origin", "host", "ours"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("http://127.0.0.1:8001", "127.0.0.1:8000", False),
        ("http://localhost:8000", "127.0.0.1:8000", False),
        ("http://[::1]:8000", "[::1]:8000", True),
        (PUBLIC, "10.0.0.3:8000", True),
        (f"{PUBLIC}:443", "x", True),
        (f"{PUBLIC}:444", "x", False),
        ("http://league.school.example:8080", "league.school.example", False),
        ("https://one.lab.example:8443", "x", True),
        ("https://one.lab.example", "x", False),
        ("https://evil.example", "evil.example", False),
        ("null", "127.0.0.1:8000", False),
        ("", "", False),
        ("http://127.0.0.1:x", "127.0.0.1:x", False),
        ("http://[", "[", False),
    ],
)
def test_a_page_is_ours_if_its_origin_is_the_sites(origin: str, host: str, ours: bool) -> None:
    assert is_ours(origin, host) is ours


@pytest.mark.parametrize(
    ("origin", "served"), [("http://127.0.0.1:8000", True), ("http://127.0.0.1:9000", False), (None, False)]
)
async def test_only_our_own_pages_may_open_a_socket(origin: str | None, served: bool) -> None:
    seen: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["caller"])

    events = iter(["websocket.connect", "websocket.disconnect"])

    async def receive() -> dict[str, Any]:
        return {"type": next(events), "code": 1000}

    async def send(message: dict[str, Any]) -> None:
        seen.append(message["type"])

    headers = [(b"host", b"127.0.0.1:8000"), *([(b"origin", origin.encode())] if origin else [])]
    scope = {"type": "websocket", "path": "/", "headers": headers, "client": ("192.0.2.1", 1)}
    await OwnPages(inner)(scope, receive, send)
    assert seen == (["192.0.2.1"] if served else ["websocket.close"])


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/mcp", "/register", "/leagues/fall/mcp"])
def test_a_page_of_another_site_calls_no_agents_address(path: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    sent = {"data": json.dumps(body), "content_type": "application/json"}
    refused = Client().post(path, headers={"Origin": "http://testserver:9000"}, **sent)
    assert (refused.status_code, refused.json()["error"]["data"]["context"]["field"]) == (403, "Origin")


@pytest.mark.django_db
@pytest.mark.parametrize("headers", [{}, {"Origin": "http://testserver"}, {"Origin": PUBLIC}])
def test_agents_and_our_own_pages_may_call_the_agents_address(headers: dict[str, str]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = Client().post("/mcp", headers=headers, data=json.dumps(body), content_type="application/json")
    assert (answer.status_code, answer.json()["id"]) == (200, 1)
