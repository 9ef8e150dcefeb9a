"""Agents that refuse a request for a rate limit (ruling, section 12)."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import rates
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.dialects.tools import LIST_TOOLS

INVITATION = {"message_type": "GAME_INVITATION", "match_id": "R1M1"}
URL = "http://localhost:8101/mcp"
UNKNOWN = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}


def error(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"} | fields}


@pytest.mark.parametrize(
    ("status", "body", "about"),
    [
        (429, None, True),
        (429, {"detail": "Request was throttled."}, True),
        (200, error(message="Too Many Requests"), True),
        (200, error(data={"retry_after": 2}), True),
        (400, {"detail": [{"msg": "Rate limit exceeded: 5 per 1 minute"}]}, True),
        (200, {"result": {"accept": False, "reason": "too many requests"}}, True),
        (503, "rate-limited", True),
        (502, None, True),
        (503, {"detail": "the model is loading"}, True),
        (504, None, True),
        (200, error(code=429, message="slow down"), True),
        (200, error(message="The model is overloaded, try again in 3 seconds"), True),
        (200, error(data={"retryAfterMs": 2500}), True),
        # Some agents say so of what they do not know.
        (503, UNKNOWN, False),
        (502, {"error": "Unknown method handle_game_invitation"}, False),
        (429, UNKNOWN, True),
        (500, error(message="Internal error"), False),
        (200, error(), False),
        (200, error(message="retry after you have read the documents"), False),
        (200, error(data={"retry_after": None}), False),
        (404, {"detail": "Not Found"}, False),
        (500, None, False),
    ],
)
def test_is_about_a_rate_recognises_rate_limits(status: int, body: Any, about: bool) -> None:
    assert rates.is_temporary(status, body, {}) is about


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [
        (None, {"retry-after": "3"}, 3.0),
        (None, {"retry-after": "Wed, 15 Jan 2025 10:15:07 GMT", "date": "Wed, 15 Jan 2025 10:15:00 GMT"}, 7.0),
        (None, {"retry-after": "Wed, 15 Jan 2025 10:15:00 GMT"}, 0.0),
        (None, {"retry-after": "Wed, 15 Jan 2025 10:15:07 -0000", "date": "Wed, 15 Jan 2025 10:15:00 GMT"}, None),
        (None, {"retry-after": "soon", "date": "now"}, None),
        (None, {"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
        (None, {"retry-after": "Mon, 01 Jan 2025 99999999999999999:00:00 GMT"}, None),
        (None, {"retry-after": "Mon, 01 Jan 2025 00:00:00 +99999999999999999999"}, None),
        (None, {"retry-after": "Mon, 01 Jan 2025 00:00:00 GMT", "date": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
        (error(data={"retryAfterMs": 2500}), {}, 2.5),
        (error(data={"retry_after": "3s"}), {}, 3.0),
        (error(message="Rate limited: please retry after 3s."), {}, 3.0),
        ("Too many requests, try again in 12.5 seconds", {}, 12.5),
        ("try again in 2 rounds", {}, None),
        (error(data={"retryAfter": 0.5}), {}, 0.5),
        (error(data={"retry_after_s": "2"}), {"retry-after": "-1"}, 2.0),
        (error(data={"retry_after": float("inf")}), {}, None),
        (error(data={"retry_after": True}), {}, None),
        (error(data={"retry_after": 10**400}), {}, None),
        (None, {}, None),
    ],
)
def test_wait_s_reads_how_long_to_wait(body: Any, headers: dict[str, str], seconds: float | None) -> None:
    assert rates.wait_s(body, headers) == seconds


def proposal(hunt: Hunt) -> Proposal:
    proposed = hunt.propose(7)
    assert proposed is not None
    return proposed


def test_a_hunt_stops_at_a_rate_limit_and_blames_no_shape() -> None:
    memory = Memory()
    hunt = Hunt(INVITATION, url=URL, memory=memory)
    unknown = proposal(hunt)
    hunt.consider(unknown, status=200, body=UNKNOWN)
    limited = proposal(hunt)
    understanding, _ = hunt.consider(limited, status=429, body=None)
    assert (understanding, hunt.rate_limited, hunt.propose(8)) == (Understanding.NOT_UNDERSTOOD, True, None)
    assert memory.refused == {"GAME_INVITATION": {unknown.shape}}
    assert str(hunt.notes[-1]) == f"{limited.method} was one request too many (HTTP 429)"


def test_a_hunt_after_a_rate_limit_begins_with_the_same_request() -> None:
    """Others follow only if that one is not understood."""
    memory = Memory()
    hunt = Hunt(INVITATION, url=URL, memory=memory)
    hunt.consider(proposal(hunt), status=404, body=None)
    limited = proposal(hunt)
    assert limited.url == f"{URL}/"
    hunt.consider(limited, status=429, body=None)
    again = Hunt(INVITATION, url=URL, memory=memory, first=limited)
    once_more = proposal(again)
    assert (once_more.shape, once_more.url) == (limited.shape, limited.url)
    again.consider(once_more, status=429, body=None)
    assert again.propose(8) is None
    another = Hunt(INVITATION, url=URL, memory=memory, first=limited)
    another.consider(proposal(another), status=200, body=UNKNOWN)
    assert proposal(another).shape != limited.shape


def test_a_hunt_asks_for_tools_again_after_a_rate_limit() -> None:
    memory = Memory(dialect="tools_list")
    hunt = Hunt(INVITATION, url=URL, memory=memory)
    listing = proposal(hunt)
    assert listing.method == LIST_TOOLS
    hunt.consider(listing, status=429, body=None)
    assert memory.tools is None
    again = Hunt(INVITATION, url=URL, memory=memory, first=listing)
    listed = proposal(again)
    tools = {"tools": [{"name": "join_game", "description": "accept an invitation"}]}
    again.consider(listed, status=200, body={"jsonrpc": "2.0", "id": 7, "result": tools})
    tool_call = proposal(again)
    assert (listed.method, tool_call.method) == (LIST_TOOLS, "tools/call join_game")


def test_a_hunt_takes_an_answer_that_also_mentions_a_rate_limit() -> None:
    hunt = Hunt(INVITATION, url=URL, memory=Memory())
    body = {"jsonrpc": "2.0", "id": 7, "result": {"accept": True, "retry_after": 3, "note": "rate limit"}}
    assert hunt.consider(proposal(hunt), status=200, body=body)[0] is Understanding.ANSWERED
    assert not hunt.rate_limited
