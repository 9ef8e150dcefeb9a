"""Somebody registers many agents under new ports: others still find room, and registering stays fast."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent, Kind
from agents_registry.registering import places
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
STRANGER, SCHOOL = "192.0.2.66", "198.51.100.1"


def referee(client: Client, port: int, caller: str = STRANGER, name: str = "Referee", **more: Any) -> dict[str, Any]:
    params = wire.referee_request(name, port=port, endpoint=f"http://{caller}:{port}/mcp", **more)
    return wire.ask(client, "register_referee", params, caller=caller)


def player(client: Client, port: int, caller: str = STRANGER, name: str = "Alpha") -> dict[str, Any]:
    params = wire.player_request(name, endpoint=f"http://{caller}:{port}/mcp")
    return wire.ask(client, "register_player", params, caller=caller)


def crowd(count: int, kind: Kind = Kind.REFEREE, *, caller: str = "", trusted: bool = False, first: int = 1) -> None:
    Agent.objects.bulk_create(
        Agent(
            kind=kind,
            code=f"X{number:04d}",
            name="Referee",
            display_name=f"Referee ({number})",
            endpoint=f"http://192.0.2.66:{10_000 + number}/mcp",
            endpoint_key=f"192.0.2.66|{10_000 + number}/mcp?",
            registered_at=timezone.now(),
            registered_from=caller,
            trusted=trusted,
        )
        for number in range(first, first + count)
    )


def test_registering_a_referee_reads_no_other_referee_of_its_name(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd(300, trusted=True)
    read: list[Any] = []
    from_db = Agent.from_db.__func__  # type: ignore[attr-defined]

    def counting(cls: type[Agent], db: Any, names: Any, values: Any) -> Agent:
        agent: Agent = from_db(cls, db, names, values)
        read.append(agent.code)
        return agent

    monkeypatch.setattr(Agent, "from_db", classmethod(counting))
    assert referee(client, 9001)["status"] == "ACCEPTED"
    assert referee(client, 9001)["status"] == "ACCEPTED"
    assert [code for code in read if code.startswith("X")] == []


def test_a_referee_is_known_by_its_port_and_path_and_by_nothing_like_it(client: Client) -> None:
    make.referee("Referee", port=8001, endpoint="http://old-name:8001/MCP", trusted=False)
    make.referee("Referee", port=8001, endpoint="http://127.0.0.1:8002/a|8001/mcp", trusted=False)
    first = referee(client, 8001)
    assert (first["referee_id"], referee(client, 8001)["referee_id"]) == ("REF03", "REF03")


@pytest.mark.long
def test_a_strangers_referees_are_limited_and_the_schools_are_accepted(client: Client) -> None:
    crowd(places.MAX_UNTRUSTED_PER_ADDRESS, caller=STRANGER)
    refused = referee(client, 9001)
    assert (refused["status"], refused["legacy_code"], refused["reason"]) == (
        "REJECTED",
        "L002",
        "250 referees wait for the instructor's tick already that registered from your address (192.0.2.66). "
        "Ask the instructor to remove those that nobody needs.",
    )
    assert [referee(client, 9001 + number, SCHOOL, f"Of {number}")["status"] for number in range(200)] == [
        "ACCEPTED"
    ] * 200


def test_the_number_of_untrusted_referees_is_limited(client: Client) -> None:
    known = referee(client, 9001, SCHOOL)
    for number in range(1, places.MAX_UNTRUSTED):
        crowd(1, caller=f"2001:db8:{number:x}::", first=number)
    refused = referee(client, 9002, SCHOOL)
    assert (refused["status"], refused["reason"]) == (
        "REJECTED",
        "500 referees wait for the instructor's tick already. Ask the instructor to remove those that nobody needs.",
    )
    # Known referees may register again, and the site's own are always accepted.
    assert referee(client, 9001, SCHOOL)["referee_id"] == known["referee_id"]
    assert make.referee("Own", port=8001).agent.trusted
    Agent.objects.filter(code="X0001").update(trusted=True)
    assert referee(client, 9002, SCHOOL)["status"] == "ACCEPTED"


@pytest.mark.long
def test_a_strangers_players_do_not_fill_the_lobby(client: Client) -> None:
    crowd(places.MAX_IN_LOBBY_PER_ADDRESS, Kind.PLAYER, caller=STRANGER)
    assert player(client, 9001)["reason"] == (
        "200 players wait in the lobby already that registered from your address (192.0.2.66). "
        "Ask the instructor to remove those that nobody needs."
    )
    school = [player(client, 9001 + number, SCHOOL, f"Of {number}") for number in range(200)]
    assert [one["status"] for one in school] == ["ACCEPTED"] * 200
    for number in range(3):
        crowd(200, Kind.PLAYER, caller=f"192.0.2.{number}", first=1001 + 200 * number)
    assert player(client, 9500, "192.0.2.77")["reason"] == (
        "1000 players wait in the lobby already. Ask the instructor to remove those that nobody needs."
    )
    assert player(client, 9001, SCHOOL, "Of 0")["player_id"] == school[0]["player_id"]
    make.open_league("fall")
    assert player(client, 9500, "192.0.2.77")["status"] == "ACCEPTED"


def test_a_registration_by_ipv6_is_stored_under_its_network(client: Client) -> None:
    params = wire.player_request("Alpha", endpoint="http://[2001:db8::7]:9001/mcp")
    assert wire.ask(client, "register_player", params, caller="2001:db8::7")["status"] == "ACCEPTED"
    assert Agent.objects.get().registered_from == "2001:db8::"
