"""The public URL: what may be given, and whether it is this machine's; the search for a free port."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from leaguesite.hosting import addresses
from leaguesite.hosting.addresses import MAX_PORT, UnusableUrl, is_elsewhere, lan_address, next_free, public_url


@pytest.mark.parametrize(
    ("setting", "used"),
    [
        (None, "http://127.0.0.1:8000"),
        ("https://league.example.org/", "https://league.example.org"),
        (" https://League.Example.org:443 ", "https://league.example.org"),
        ("http://10.0.0.5:8000", "http://10.0.0.5:8000"),
        ("http://[2001:db8::7]:8000", "http://[2001:db8::7]:8000"),
    ],
)
def test_a_public_url_is_used_as_browsers_write_it(setting: str | None, used: str) -> None:
    assert public_url("127.0.0.1", 8000, setting) == used


@pytest.mark.parametrize(
    "setting",
    [
        *("league.example.org", "league.example.org:8000", "ftp://league.example.org", "https://", "https:///x"),
        *("https://league.example.org/leagues", "https://a@league.example.org", "https://league.example.org:x"),
        *("https://league.example.org?x", "https://league.example.org#x", "https://league.example.org:0"),
    ],
)
def test_any_other_public_url_is_refused_with_what_is_expected(setting: str) -> None:
    with pytest.raises(UnusableUrl, match=r"^The public URL .* cannot be used: expected http:// or https://"):
        public_url("127.0.0.1", 8000, setting)


def test_the_host_command_refuses_an_unusable_public_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_PUBLIC_URL", "league.example.org")
    with pytest.raises(CommandError, match=r"^The public URL league\.example\.org cannot be used"):
        call_command("host", port=8000)


@pytest.mark.parametrize(
    ("url", "elsewhere"),
    [
        *(("http://127.0.0.1:8000", False), ("http://localhost:8000", False), (f"http://{lan_address()}:8000", False)),
        *(("http://192.0.2.1:8000", True), ("https://no-such-name.invalid", True)),
    ],
)
def test_an_address_is_this_machines_or_anothers(url: str, elsewhere: bool) -> None:
    assert is_elsewhere(url) is elsewhere


def test_no_free_port_is_looked_for_above_the_highest() -> None:
    with pytest.raises(OSError, match=rf"^no free port from {MAX_PORT} to {MAX_PORT}$"):
        next_free("127.0.0.1", MAX_PORT, {MAX_PORT})


@pytest.mark.parametrize(
    ("options", "endpoint"),
    [
        ({"host": "::"}, "http://192.0.2.5:8001/mcp"),
        ({"host": "0.0.0.0", "port": 8007}, "http://192.0.2.5:8007/mcp"),
        ({"host": "::1"}, "http://[::1]:8001/mcp"),
        ({}, "http://127.0.0.1:8001/mcp"),
        ({"host": "::", "endpoint": "http://ref.example:1/mcp"}, "http://ref.example:1/mcp"),
    ],
)
def test_a_referee_registers_an_address_that_can_be_called(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], endpoint: str
) -> None:
    monkeypatch.setattr(addresses, "lan_address", lambda: "192.0.2.5")
    executed: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, command: executed.append(command))
    monkeypatch.setattr(os, "chdir", lambda _folder: None)
    monkeypatch.setattr(os, "environ", {})
    call_command("referee", league="http://127.0.0.1:8000/mcp", **options)
    [command] = executed
    assert command[command.index("--endpoint") + 1] == endpoint
