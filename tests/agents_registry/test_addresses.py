"""The addresses that agents give at registration: mended where the machine is obvious, refused where it is not."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db


def register(client: Client, caller: str = "127.0.0.1", **changes: Any) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(**changes), caller=caller)


@pytest.mark.parametrize(
    ("given", "caller", "kept", "notes"),
    [
        ("http://localhost:8101/mcp", "127.0.0.1", "http://localhost:8101/mcp", []),
        (
            "http://localhost:8101/mcp",
            "192.0.2.7",
            "http://192.0.2.7:8101/mcp",
            ["address was localhost, called at 192.0.2.7"],
        ),
        (
            "http://127.0.0.1:8101/mcp",
            "2001:db8::7",
            "http://[2001:db8::7]:8101/mcp",
            ["address was 127.0.0.1, called at 2001:db8::7"],
        ),
        (
            "http://localhost:8101/mcp",
            "::ffff:192.0.2.7",
            "http://192.0.2.7:8101/mcp",
            ["address was localhost, called at 192.0.2.7"],
        ),
        ("http://localhost:8101/mcp", "::ffff:127.0.0.1", "http://localhost:8101/mcp", []),
        (
            "http://0.0.0.0:8101/mcp",
            "127.0.0.1",
            "http://127.0.0.1:8101/mcp",
            ["address was 0.0.0.0, called at 127.0.0.1"],
        ),
        ("http://10.1.2.3:8101", "192.0.2.7", "http://10.1.2.3:8101/mcp", ["address had no path, called at /mcp"]),
        (
            "192.0.2.7:8101/mcp",
            "192.0.2.7",
            "http://192.0.2.7:8101/mcp",
            ["address had no http://, http is used"],
        ),
        (
            "localhost:8101",
            "192.0.2.7",
            "http://192.0.2.7:8101/mcp",
            [
                "address had no http://, http is used",
                "address was localhost, called at 192.0.2.7",
                "address had no path, called at /mcp",
            ],
        ),
        ("[2001:db8::7]:8101/a", "::1", "http://[2001:db8::7]:8101/a", ["address had no http://, http is used"]),
        (" http://10.1.2.3:8101/mcp ", "192.0.2.7", "http://10.1.2.3:8101/mcp", []),
        ("https://agents.example/a/b?c=d", "192.0.2.7", "https://agents.example/a/b?c=d", []),
        # Whatever a resolver reads as the site's own machine is the caller's machine, from another one.
        *(
            (
                f"http://{spelling}:8101/mcp",
                "192.0.2.7",
                "http://192.0.2.7:8101/mcp",
                [f"address was {read}, called at 192.0.2.7"],
            )
            for spelling, read in (
                ("127.1", "127.0.0.1"),
                ("2130706433", "127.0.0.1"),
                ("0x7f000001", "127.0.0.1"),
                ("127.0.0.2", "127.0.0.2"),
                ("[::ffff:127.0.0.1]", "127.0.0.1"),
                ("[0:0:0:0:0:0:0:1]", "::1"),
                ("localhost.", "localhost"),
                ("me.localhost", "me.localhost"),
            )
        ),
        # Other loopback addresses are machines of their own to each other.
        ("http://127.0.0.2:8101/mcp", "127.0.0.3", "http://127.0.0.2:8101/mcp", []),
        ("http://127.0.0.2:8101/mcp", "127.0.0.1", "http://127.0.0.2:8101/mcp", []),
        ("http://[2001:0db8:0:0::7]:8101/mcp", "192.0.2.7", "http://[2001:db8::7]:8101/mcp", []),
    ],
)
def test_an_address_is_mended(client: Client, given: str, caller: str, kept: str, notes: list[str]) -> None:
    make.open_league("fall")
    register(client, caller=caller, endpoint=given)
    agent = Agent.objects.get()
    assert (agent.endpoint, agent.notes) == (kept, notes)


@pytest.mark.parametrize(
    "junk",
    [
        5,
        ["http://localhost:8101/mcp"],
        "localhost",
        "8101",
        "example/mcp",
        "ftp://localhost/mcp",
        "javascript:alert(1)",
        "http://",
        "http:///mcp",
        "http://localhost:0/mcp",
        "http://localhost:99999/mcp",
        "http://localhost:port/mcp",
        "http://user:password@localhost:8101/mcp",
        "http://localhost:8101/mcp#here",
        "http://[::1/mcp",
        "http://local host:8101/mcp",
        "http://localhost:8101/\r\nHost: other",
        "http://localhost:8101/<script>",
        "http://mañana.example/mcp",
        "http://localhost:8101/" + "a" * MAX_ENDPOINT_CHARS,
        "http://" + "a" * (MAX_ENDPOINT_CHARS - 7),
        # One character more in the spelling that tells two registrations apart.
        "http://[::1]/" + "a" * (MAX_ENDPOINT_CHARS - 13),
    ],
)
def test_junk_for_an_address_is_refused(client: Client, junk: Any) -> None:
    make.open_league("fall")
    data = wire.refused(client, "register_player", wire.player_request(endpoint=junk))
    assert data["error_code"] == "E002"
    assert data["context"]["field"] == "player_meta.contact_endpoint"
    assert data["context"]["expected"] == "a URL such as http://192.168.1.20:8101/mcp"
    assert Agent.objects.count() == 0


def test_an_agent_beside_the_site_is_at_home_under_every_address_of_the_machine(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents_registry.addresses._is_own", lambda address: str(address) == "192.0.2.1")
    make.open_league("fall")
    for _ in range(2):
        assert register(client, caller="192.0.2.1")["player_id"] == "P01"
    assert Agent.objects.get().endpoint == "http://localhost:8101/mcp"
