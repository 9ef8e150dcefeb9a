"""The driver of a hunt: what is sent in which time, when it stops, and what of it is kept for the transcript."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from league_sdk.dialects.driver import SEARCH_COUNTS_S, Driver, Failed
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.transport.client import Reply
from tests.league_sdk.dialects.test_hunt import INVITATION, UNKNOWN, URL

TOO_MANY = Reply(429, None, "", 0)


class Line:
    """An agent that gives one reply after the other, each after a second; an exception is raised."""

    def __init__(self, *replies: Reply | Exception) -> None:
        self.replies, self.seconds, self.turns = list(replies), 100.0, 0
        self.sent: list[tuple[str, float]] = []

    async def send(self, proposal: Proposal, left_s: float) -> Reply:
        self.sent.append((proposal.method, left_s))
        self.seconds += 1
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def turn(self) -> None:
        self.turns += 1

    def driver(self, limit_s: float = 10.0, **options: Any) -> Driver[Reply, OSError]:
        hunt = Hunt(INVITATION, url=URL, memory=options.pop("memory", Memory()), **options)
        ids = count(7)
        return Driver(hunt, self.send, OSError, limit_s, lambda: next(ids), lambda: self.seconds, self.turn)


def unknown() -> Reply:
    return Reply(200, UNKNOWN, "", 0, {"content-type": "application/json"})


async def test_all_requests_share_the_limit_and_none_is_begun_after_it() -> None:
    line = Line(*[unknown()] * 9)
    driver = line.driver(limit_s=2.5)
    steps = [step async for step in driver]
    assert [left for _, left in line.sent] == [2.5, 1.5, 0.5]
    assert (len(steps), line.turns, driver.elapsed_s, driver.left_s) == (3, 3, 3.0, -0.5)


async def test_what_was_sent_is_kept_for_the_transcript() -> None:
    line = Line(unknown(), OSError("gone"))
    driver = line.driver()
    await anext(driver)
    failed = await anext(driver)
    assert isinstance(failed, Failed) and str(failed.error) == "gone"
    canonical = {"path": "/mcp", "shape": "canonical", "method": "handle_game_invitation", "id": 7, "session": False}
    other = {"path": "/mcp", "shape": "message_type", "method": "GAME_INVITATION", "id": 8, "session": False}
    assert driver.wire == [
        canonical | {"status": 200, "content_type": "application/json", "text": ""},
        other
        | {"status": None, "content_type": "", "text": ""}
        | {"request": {"jsonrpc": "2.0", "method": "GAME_INVITATION", "params": INVITATION, "id": 8}},
    ]


async def test_after_a_failure_the_caller_says_whether_other_words_may_help() -> None:
    line = Line(OSError("broken"), unknown())
    driver = line.driver()
    first = await anext(driver)
    assert isinstance(first, Failed)
    driver.hunt.give_up(first.proposal)
    await anext(driver)
    assert [method for method, _ in line.sent] == ["handle_game_invitation", "GAME_INVITATION"]


@pytest.mark.parametrize(("later_s", "ours"), [(0.0, True), (SEARCH_COUNTS_S + 1, False)])
async def test_a_refusal_for_a_rate_ends_the_hunt_and_may_be_of_our_making(later_s: float, ours: bool) -> None:
    line, memory = Line(unknown(), TOO_MANY, TOO_MANY), Memory()
    driver = line.driver(memory=memory)
    assert not driver.has_overasked
    assert len([step async for step in driver]) == 2
    assert driver.has_overasked
    line.seconds += later_s
    again = line.driver(memory=memory)
    assert (len([step async for step in again]), again.has_overasked) == (1, ours)


async def test_one_that_refuses_the_first_request_had_none_of_a_search() -> None:
    driver = Line(TOO_MANY).driver()
    assert (len([step async for step in driver]), driver.has_overasked) == (1, False)
