"""The spellings in which a foreign referee is told to start, and its replies (ruling, section 10). Pure."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import shapes, starts
from league_sdk.dialects.starts import Offer

PLAIN = ["canonical:start_match", "canonical:assign_match", "canonical:START_MATCH", "canonical:run_match"]
MESSAGE = {"message_type": "START_MATCH", "match_id": "R1M1"}


@pytest.mark.parametrize(
    ("dialect", "spoken", "expected"),
    [
        ("canonical", {}, [*PLAIN, "announcement"]),
        ("message_type", {"ROUND_ANNOUNCEMENT": "canonical"}, [*PLAIN, "announcement"]),
        ("no such dialect", {}, [*PLAIN, "announcement"]),
        ("flat", {}, [*PLAIN, "flat:start_match", "flat:assign_match", "flat:run_match", "announcement"]),
        (
            "canonical",
            {"ROUND_ANNOUNCEMENT": "league_handle"},
            [
                *PLAIN,
                "league_handle:start_match",
                "league_handle:assign_match",
                "league_handle:run_match",
                "announcement",
            ],
        ),
        (
            "canonical",
            {"START_MATCH": "canonical:run_match"},
            ["canonical:run_match", *PLAIN[:3], "announcement"],
        ),
        ("canonical", {"START_MATCH": "announcement"}, ["announcement", *PLAIN]),
        ("canonical", {"START_MATCH": "telepathy"}, [*PLAIN, "announcement"]),
    ],
)
def test_the_ways_in_their_order(dialect: str, spoken: dict[str, str], expected: list[str]) -> None:
    assert starts.ways(dialect, spoken) == expected


def test_a_remembered_way_does_not_disturb_how_other_messages_are_sent() -> None:
    spoken = {"START_MATCH": "canonical:run_match"}
    assert shapes.order("flat", spoken, "ROUND_ANNOUNCEMENT")[0] == "flat"


@pytest.mark.parametrize("dialect", shapes.SHAPES)
def test_every_way_has_a_name_and_a_body(dialect: str) -> None:
    ways = starts.ways(dialect, {})
    bodies = [starts.wrap(way, MESSAGE, 7) for way in ways if way != starts.ANNOUNCEMENT]
    assert all("R1M1" in str(body) for body in bodies)


@pytest.mark.parametrize(
    ("way", "body"),
    [
        (
            "canonical:assign_match",
            {
                "jsonrpc": "2.0",
                "method": "assign_match",
                "params": {"message_type": "ASSIGN_MATCH", "match_id": "R1M1"},
                "id": 7,
            },
        ),
        (
            "tools_call:run_match",
            {
                "jsonrpc": "2.0",
                "method": "tools/call",
                "params": {"name": "run_match", "arguments": {"message_type": "RUN_MATCH", "match_id": "R1M1"}},
                "id": 7,
            },
        ),
        ("flat:start_match", {"message_type": "START_MATCH", "match_id": "R1M1"}),
    ],
)
def test_what_a_way_looks_like(way: str, body: dict[str, Any]) -> None:
    assert starts.wrap(way, MESSAGE, 7) == body


def reply(value: Any, *, error: bool = False) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error" if error else "result": value, "id": 7}


@pytest.mark.parametrize(
    ("body", "status", "offer"),
    [
        (reply({"accepted": True}), 200, Offer.TAKEN),
        (reply({"status": "STARTED", "match_id": "R1M1"}), 200, Offer.TAKEN),
        (reply({"status": "ok"}), 200, Offer.TAKEN),
        ({"status": "accepted"}, 200, Offer.TAKEN),
        (None, 204, Offer.TAKEN),
        (reply({"accepted": False, "reason": "busy"}), 200, Offer.REFUSED),
        (reply({"status": "REJECTED"}), 200, Offer.REFUSED),
        (reply({"code": -32000, "message": "the players do not answer"}, error=True), 200, Offer.FAILED),
        (reply({"code": -32000, "message": "Unknown method: start_match"}, error=True), 200, Offer.NOT_UNDERSTOOD),
        (reply({"code": -32601, "message": "no room"}, error=True), 400, Offer.NOT_UNDERSTOOD),
        (reply("nonsense", error=True), 200, Offer.NOT_UNDERSTOOD),
        (reply({"accepted": False, "error": "Unknown method"}), 200, Offer.NOT_UNDERSTOOD),
        ({"error": "Unknown method"}, 200, Offer.NOT_UNDERSTOOD),
        (reply({"success": False}), 200, Offer.NOT_UNDERSTOOD),
        (None, 404, Offer.NOT_UNDERSTOOD),
        (None, 500, Offer.NOT_UNDERSTOOD),
        (None, 307, Offer.NOT_UNDERSTOOD),
    ],
)
def test_what_a_reply_says(body: Any, status: int, offer: Offer) -> None:
    found, why = starts.read_reply(body, status=status, readable=body is not None, rpc_id=7)
    assert (found, why == "") == (offer, offer is Offer.TAKEN)
