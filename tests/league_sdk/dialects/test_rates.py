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
        (200, error(), False),
        (200, error(message="retry after you have read the documents"), False),
        (200, error(data={"retry_after": None}), False),
        (404, {"detail": "Not Found"}, False),
        (500, None, False),
    ],
)
def test_is_about_a_rate_recognises_rate_limits(status: int, body: Any, about: bool) -> None:
    assert rates.is_about_a_rate(status, body) is about


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [
        (None, {"retry-after": "3"}, 3.0),
        (None, {"retry-after": "Wed, 15 Jan 2025 10:15:00 GMT"}, None),
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


def test_a_hunt_after_a_rate_limit_sends_only_the_same_request() -> None:
    memory = Memory()
    hunt = Hunt(INVITATION, url=URL, memory=memory)
    hunt.consider(proposal(hunt), status=404, body=None)
    limited = proposal(hunt)
    assert limited.url == f"{URL}/"
    hunt.consider(limited, status=429, body=None)
    again = Hunt(INVITATION, url=URL, memory=memory, only=limited)
    once_more = proposal(again)
    assert (once_more.shape, once_more.url) == (limited.shape, limited.url)
    again.consider(once_more, status=404, body=None)
    assert again.propose(8) is None


def test_a_hunt_asks_for_tools_again_after_a_rate_limit() -> None:
    memory = Memory(dialect="tools_list")
    hunt = Hunt(INVITATION, url=URL, memory=memory)
    listing = proposal(hunt)
    assert listing.method == LIST_TOOLS
    hunt.consider(listing, status=429, body=None)
    assert memory.tools is None
    again = Hunt(INVITATION, url=URL, memory=memory, only=listing)
    listed = proposal(again)
    tools = {"tools": [{"name": "join_game", "description": "accept an invitation"}]}
    again.consider(listed, status=200, body={"jsonrpc": "2.0", "id": 7, "result": tools})
    # Listing the tools does not count as sending the message.
    tool_call = proposal(again)
    assert (listed.method, tool_call.method) == (LIST_TOOLS, "tools/call join_game")
    again.consider(tool_call, status=200, body=UNKNOWN)
    assert again.propose(9) is None


def test_a_hunt_takes_an_answer_that_also_mentions_a_rate_limit() -> None:
    hunt = Hunt(INVITATION, url=URL, memory=Memory())
    body = {"jsonrpc": "2.0", "id": 7, "result": {"accept": True, "retry_after": 3, "note": "rate limit"}}
    assert hunt.consider(proposal(hunt), status=200, body=body)[0] is Understanding.ANSWERED
    assert not hunt.rate_limited
