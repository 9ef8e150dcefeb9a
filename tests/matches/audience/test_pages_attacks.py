"""Hostile transcripts: no page fails on them, and no public page shows an address from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from matches.league import freeze
from tests import factories as make
from tests.matches.audience.tags import Tags

pytestmark = pytest.mark.django_db
ADDRESSES = (
    "http://10.9.8.7:8101/mcp",
    "HTTP://geheim-host.local/x",
    "10.9.8.7:8101",
    "http:\\/\\/10.9.8.7",
    "10.9.8.7",
    "geheim-host.local:9000",
    "[fe80::9:8:7]:8101",
    "fe80::9:8:7",
)
# With its colons: a digest may have the four characters.
HIDDEN = ("10.9.8.7", "geheim", "fe80::")
EVIL = "</script><script>alert(1)</script>\u202e<img src=x onerror=alert(2)>\"'&" + "x" * 300
WIRES: list[Any] = [
    "x",
    ["x"],
    [{}],
    [None],
    {"path": "/"},
    [{"path": 5, "shape": [], "method": None, "id": {}, "session": 1, "status": "x", "content_type": []}],
    [{"path": EVIL, "shape": EVIL, "method": EVIL, "id": EVIL, "session": True, "status": EVIL, "content_type": EVIL}],
    [{"path": "//evil.example", "id": 1, "request": {"jsonrpc": EVIL}, "text": 7}],
]
PAGES = (
    "/leagues/fall/",
    "/leagues/fall/charts/",
    "/leagues/fall/screen/",
    "/leagues/fall/replay/",
    "/leagues/fall/matches/R1M1/",
    "/leagues/fall/matches/R1M1/messages",
    "/leagues/fall/players/P01/",
    "/leagues/fall/players/P02/",
    "/api/leagues/fall/matches/R1M1",
    "/api/leagues/fall/matches",
    "/api/leagues/fall/events",
)


def played(*lines: dict[str, Any], **changes: Any) -> make.MadeLeague:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    make.report(match, match.player_a.code, transcript=list(lines), **changes)
    return made


def my_agent_page(client: Client, made: make.MadeLeague) -> Any:
    """P01's page My agent."""
    token = next(member.token for member in made.players if member.agent.code == "P01")
    assert client.post("/leagues/fall/mine/", {"secret": token}).status_code == 303
    return client.get("/leagues/fall/mine/")


@pytest.mark.parametrize(
    "wire", [*WIRES[5:7], *(pytest.param(wire, marks=pytest.mark.exhaustive) for wire in (*WIRES[:5], *WIRES[7:]))]
)
def test_malformed_wire_records_of_a_referee_break_no_page(client: Client, wire: Any) -> None:
    lines = [
        make.entry(
            0, recipient="player:P01", method=EVIL, wire=wire, message_type=EVIL, http_status=EVIL, problem=EVIL
        ),
        make.entry(1, sender="player:P01", recipient="REF01", wire=wire, notes=[EVIL, 5], elapsed_ms=EVIL, limit_ms={}),
        make.entry(2, sender="P01", recipient="REF01", wire=wire, method="", body=[EVIL], http_status={"a": EVIL}),
    ]
    made = played(*lines)
    answers = [my_agent_page(client, made), *(client.get(path) for path in PAGES)]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    for answer in answers:
        if answer["Content-Type"].startswith("text/html"):
            tags = Tags(answer.content.decode())
            assert "onerror" not in str(tags.__dict__)


def test_no_public_page_shows_an_address_from_a_transcript(client: Client, admin_client: Client) -> None:
    body = {"referee_endpoint": ADDRESSES[0], "deep": [{"x": list(ADDRESSES)}], ADDRESSES[0]: 1}
    lines = [
        make.entry(0, recipient="player:P01", body=body, extra=ADDRESSES[0]),
        *(
            make.entry(
                number,
                sender="player:P01",
                recipient="REF01",
                body={"text": f"I am at {address}, ok"},
                problem=f"nobody listens at {address}",
                notes=[f"found at {address}."],
                http_status=None,
            )
            for number, address in enumerate(ADDRESSES, start=1)
        ),
    ]
    fault = {
        "player_id": "P01",
        "error_code": "E001",
        "message_type": "GAME_INVITATION",
        "tries": 4,
        "sentence": f"nobody listens at {ADDRESSES[0]} or {ADDRESSES[2]}",
    }
    made = played(*lines, faults=[fault], reason=f"nobody at {ADDRESSES[0]}, {ADDRESSES[2]}")
    shown_addresses = {path: [one for one in HIDDEN if one in client.get(path).content.decode()] for path in PAGES}
    assert {path: addresses for path, addresses in shown_addresses.items() if addresses} == {}
    staff_messages = json.dumps(admin_client.get("/leagues/fall/matches/R1M1/messages?as=staff").json())
    assert all(one in staff_messages for one in HIDDEN)
    assert made.league.state == "COMPLETED"


def test_my_agent_does_not_show_the_end_of_a_frozen_league(client: Client) -> None:
    made = make.league_before_freeze()
    while made.league.state == "RUNNING":
        make.next_round(made)
        make.finish_round(made)
    assert "The league is over" not in my_agent_page(client, made).content.decode()
    freeze.lift(league_id="fall")
    assert "The league is over" in my_agent_page(client, made).content.decode()


@pytest.mark.parametrize("path", ["", "charts/", "screen/", "replay/", "replay/fragments/?at=1", "matches/R1M1/"])
def test_pages_for_the_staff_are_never_cached(client: Client, admin_client: Client, path: str) -> None:
    played()
    separator = "&" if "?" in path else "?"
    answer = admin_client.get(f"/leagues/fall/{path}{separator}as=staff")
    assert (answer.status_code, "no-store" in answer["Cache-Control"], "Cookie" in answer["Vary"]) == (200, True, True)
    assert client.get(f"/leagues/fall/{path}{separator}as=staff").status_code == 403
    assert client.get("/leagues/fall/matches/R1M1/messages?as=staff").status_code == 403
