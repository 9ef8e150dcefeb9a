"""The headers that tell browsers what they may do, for every kind of page."""

from __future__ import annotations

import pytest
from django.test import Client

from tests import factories as make
from tests import wire

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
    ("path", "changes"),
    [
        ("/", {}),
        ("/leagues/fall/", {}),
        ("/leagues/fall/screen/", {}),
        ("/leagues/fall/mine/", {}),
        ("/check", {}),
        ("/leagues/nowhere/", {}),
        ("/api/leagues", {}),
        # No frame-ancestors at all: even "*" would refuse pages that are opened as files.
        ("/leagues/fall/embed/", {"frame-ancestors": None}),
        ("/api/docs", {"style-src": "'self' 'unsafe-inline'"}),
        ("/admin/login/", {"style-src": "'self' 'unsafe-inline'", "script-src": "'self' 'unsafe-eval'"}),
    ],
)
def test_every_kind_of_page_has_its_policy(client: Client, path: str, changes: dict[str, str | None]) -> None:
    make.open_league("fall")
    answer = client.get(path)
    policy = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    assert policy == {name: value for name, value in (STRICT | changes).items() if value is not None}
    headers = ("X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy")
    assert [answer[name] for name in headers] == [
        "nosniff",
        "same-origin",
        "same-origin",
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ]
    assert answer.get("X-Frame-Options") == (None if path.endswith("embed/") else "DENY")


def test_answers_to_agents_have_no_content_security_or_permissions_policy(client: Client) -> None:
    answer = client.post("/mcp", wire.request("ping", {}), content_type="application/json")
    assert [name for name in ("Content-Security-Policy", "Permissions-Policy") if name in answer] == []


@pytest.mark.parametrize("path", ["/mcp", "/", "/api/leagues", "/admin/"])
def test_a_request_with_a_foreign_host_is_400(path: str) -> None:
    client = Client(raise_request_exception=False)
    answer = client.post(path, wire.request("ping", {}), content_type="application/json", HTTP_HOST="evil.example")
    assert answer.status_code == 400
    json_wanted = path != "/admin/"
    assert answer["Content-Type"].startswith("application/json") is json_wanted
