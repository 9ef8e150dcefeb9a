"""Whom a page's socket is counted for."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from django.conf import settings

from leaguesite.serving.callers import Called, caller_of

PROXY = ("10.0.0.5", 4711)


def scope(client: tuple[str, int] | None, *forwarded: str) -> dict[str, Any]:
    return {"client": client, "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


@pytest.mark.parametrize(
    ("client", "forwarded", "expected"),
    [
        (("192.0.2.1", 1), (), "192.0.2.1"),
        # Anybody may write that; only a proxy of ours is believed.
        (("192.0.2.1", 1), ("198.51.100.9",), "192.0.2.1"),
        (PROXY, ("192.0.2.1",), "192.0.2.1"),
        (PROXY, ("198.51.100.9, 192.0.2.1",), "192.0.2.1"),
        (PROXY, ("198.51.100.9", "192.0.2.1, 10.0.0.6"), "192.0.2.1"),
        (PROXY, (), ""),
        (PROXY, ("nobody",), ""),
        (None, (), ""),
    ],
)
def test_the_caller(
    monkeypatch: pytest.MonkeyPatch, client: tuple[str, int] | None, forwarded: tuple[str, ...], expected: str
) -> None:
    monkeypatch.setattr(settings, "LEAGUE_TRUSTED_PROXIES", (ipaddress.ip_network("10.0.0.0/8"),))
    assert caller_of(scope(client, *forwarded)) == expected


def test_without_a_trusted_proxy_the_connection_says_it() -> None:
    assert caller_of(scope(PROXY, "192.0.2.1")) == "10.0.0.5"


async def test_the_page_is_told() -> None:
    seen = []

    async def page(scope: dict[str, Any], receive: Any, send: Any) -> None:
        seen.append(scope["caller"])

    await Called(page)(scope(("192.0.2.1", 1)), None, None)
    assert seen == ["192.0.2.1"]
