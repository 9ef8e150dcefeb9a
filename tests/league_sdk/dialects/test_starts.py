"""The ways of starting a match at a student's referee, and its replies (ruling, section 10)."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import shapes, starts
from league_sdk.dialects.starts import Offer
from league_sdk.protocol import rpc

PLAIN = ["canonical:start_match", "canonical:assign_match", "canonical:START_MATCH", "canonical:run_match"]
MESSAGE = {"message_type": "START_MATCH", "match_id": "R1M1"}


def ways_in(shape: str) -> list[str]:
    return [f"{shape}:{method}" for method in ("start_match", "assign_match", "run_match")]


@pytest.mark.parametrize(
    ("dialect", "spoken", "expected"),
    [
        ("canonical", {}, [*PLAIN, "announcement"]),
        ("message_type", {"ROUND_ANNOUNCEMENT": "canonical"}, [*PLAIN, "announcement"]),
        ("no such dialect", {}, [*PLAIN, "announcement"]),
        ("flat", {}, [*PLAIN, *ways_in("flat"), "announcement"]),
        ("canonical", {"ROUND_ANNOUNCEMENT": "league_handle"}, [*PLAIN, *ways_in("league_handle"), "announcement"]),
        ("canonical", {"START_MATCH": "canonical:run_match"}, [PLAIN[3], *PLAIN[:3], "announcement"]),
        ("canonical", {"START_MATCH": "announcement"}, ["announcement", *PLAIN]),
        ("canonical", {"START_MATCH": "telepathy"}, [*PLAIN, "announcement"]),
    ],
)
def test_ways_lists_what_to_try_in_order(dialect: str, spoken: dict[str, str], expected: list[str]) -> None:
    assert starts.ways(dialect, spoken) == expected


def test_a_stored_way_does_not_change_the_shape_of_other_messages() -> None:
    spoken = {"START_MATCH": "canonical:run_match"}
    assert shapes.order("flat", spoken, "ROUND_ANNOUNCEMENT")[0] == "flat"


@pytest.mark.parametrize("dialect", shapes.SHAPES)
def test_wrap_carries_the_match_in_every_way(dialect: str) -> None:
    ways = starts.ways(dialect, {})
    bodies = [starts.wrap(way, MESSAGE, 7) for way in ways if way != starts.ANNOUNCEMENT]
    assert all("R1M1" in str(body) for body in bodies)


@pytest.mark.parametrize(
    ("way", "body"),
    [
        (
            "canonical:assign_match",
            rpc.call("assign_match", {"message_type": "ASSIGN_MATCH", "match_id": "R1M1"}, 7),
        ),
        (
            "tools_call:run_match",
            rpc.call("tools/call", {"name": "run_match", "arguments": MESSAGE | {"message_type": "RUN_MATCH"}}, 7),
        ),
        ("flat:start_match", {"message_type": "START_MATCH", "match_id": "R1M1"}),
    ],
)
def test_wrap_makes_the_body_of_each_way(way: str, body: dict[str, Any]) -> None:
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
def test_read_reply_judges_replies_of_referees(body: Any, status: int, offer: Offer) -> None:
    read, why = starts.read_reply(body, status=status, readable=body is not None, rpc_id=7)
    assert (read, why == "") == (offer, offer is Offer.TAKEN)
