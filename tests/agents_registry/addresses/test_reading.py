"""Addresses at registration: how they are corrected, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from tests import factories as make
from tests import wire
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def register(client: Client, caller: str = "127.0.0.1", **changes: Any) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(**changes), caller=caller)


HERE, ELSEWHERE, CORRECTED = "127.0.0.1", "192.0.2.7", "http://192.0.2.7:8101/mcp"
NO_SCHEME, NO_PATH = "address had no http://, http is used", "address had no path, called at /mcp"


def note_of_move(host: str, caller: str = ELSEWHERE) -> str:
    return f"address was {host}, called at {caller}"


@pytest.mark.parametrize(
    ("address", "caller", "endpoint", "notes"),
    [
        ("http://localhost:8101/mcp", HERE, "http://localhost:8101/mcp", []),
        ("http://localhost:8101/mcp", "::ffff:127.0.0.1", "http://localhost:8101/mcp", []),
        ("http://localhost:8101/mcp", ELSEWHERE, CORRECTED, [note_of_move("localhost")]),
        ("http://localhost:8101/mcp", f"::ffff:{ELSEWHERE}", CORRECTED, [note_of_move("localhost")]),
        (
            "http://127.0.0.1:8101/mcp",
            "2001:db8::7",
            "http://[2001:db8::7]:8101/mcp",
            [note_of_move(HERE, "2001:db8::7")],
        ),
        ("http://0.0.0.0:8101/mcp", HERE, "http://127.0.0.1:8101/mcp", [note_of_move("0.0.0.0", HERE)]),
        ("http://10.1.2.3:8101", ELSEWHERE, "http://10.1.2.3:8101/mcp", [NO_PATH]),
        ("192.0.2.7:8101/mcp", ELSEWHERE, CORRECTED, [NO_SCHEME]),
        ("localhost:8101", ELSEWHERE, CORRECTED, [NO_SCHEME, note_of_move("localhost"), NO_PATH]),
        ("[2001:db8::7]:8101/a", "::1", "http://[2001:db8::7]:8101/a", [NO_SCHEME]),
        (" http://10.1.2.3:8101/mcp ", ELSEWHERE, "http://10.1.2.3:8101/mcp", []),
        ("https://agents.example/a/b?c=d", ELSEWHERE, "https://agents.example/a/b?c=d", []),
        # From another machine, every spelling of "this machine" means the caller's.
        *(
            pytest.param(f"http://{host}:8101/mcp", ELSEWHERE, CORRECTED, [note_of_move(read)], marks=marks)
            for host, read, marks in (
                ("127.1", HERE, ()),
                ("2130706433", HERE, pytest.mark.exhaustive),
                ("0x7f000001", HERE, pytest.mark.exhaustive),
                ("127.0.0.2", "127.0.0.2", ()),
                ("[::ffff:127.0.0.1]", HERE, ()),
                ("[0:0:0:0:0:0:0:1]", "::1", pytest.mark.exhaustive),
                ("localhost.", "localhost", pytest.mark.exhaustive),
                ("me.localhost", "me.localhost", ()),
            )
        ),
        ("http://[2001:0db8:0:0::7]:8101/mcp", ELSEWHERE, "http://[2001:db8::7]:8101/mcp", []),
        # From a loopback address, 127.0.0.2 counts as a machine of its own, and not as "this machine".
        ("http://127.0.0.2:8101/mcp", "127.0.0.3", "http://127.0.0.2:8101/mcp", []),
        ("http://127.0.0.2:8101/mcp", HERE, "http://127.0.0.2:8101/mcp", []),
    ],
)
def test_which_addresses_are_corrected_and_how(
    client: Client, address: str, caller: str, endpoint: str, notes: list[str]
) -> None:
    make.open_league("fall")
    register(client, caller=caller, endpoint=address)
    agent = Agent.objects.get()
    assert (agent.endpoint, agent.notes) == (endpoint, notes)


@pytest.mark.parametrize(
    "junk",
    sampled(
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
            # The key under which an address is stored (::1 as 127.0.0.1) is one character longer here, and too long.
            "http://[::1]/" + "a" * (MAX_ENDPOINT_CHARS - 13),
        ],
        every=3,
    ),
)
def test_junk_for_an_address_is_refused(client: Client, junk: Any) -> None:
    make.open_league("fall")
    data = wire.refused(client, "register_player", wire.player_request(endpoint=junk))
    assert data["error_code"] == "E002"
    assert data["context"]["field"] == "player_meta.contact_endpoint"
    assert data["context"]["expected"] == "a URL such as http://192.168.1.20:8101/mcp"
    assert Agent.objects.count() == 0


def test_a_call_from_any_address_of_the_sites_machine_counts_as_from_this_machine(
    client: Client, own_addresses: set[str]
) -> None:
    own_addresses.add("192.0.2.1")
    make.open_league("fall")
    for _ in range(2):
        assert register(client, caller="192.0.2.1")["player_id"] == "P01"
    assert Agent.objects.get().endpoint == "http://localhost:8101/mcp"
