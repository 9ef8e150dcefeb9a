"""The driver of a hunt: its time limit, when it stops, and what it keeps for the transcript."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from league_sdk.dialects.driver import HUNT_COUNTS_S, Driver, Failed
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.dialects.memory import BURST, HUNT_GAP_S
from league_sdk.protocol.calls import Broken, Reply
from tests.league_sdk.dialects.test_hunt import INVITATION, UNKNOWN, URL

TOO_MANY = Reply(429, None, "", 0)


class TimedAgent:
    """An agent that gives one reply after the other, each after ``lasts_s`` seconds; an exception is raised."""

    def __init__(self, *replies: Reply | Exception) -> None:
        self.replies, self.seconds, self.turns = list(replies), 100.0, 0
        self.sent: list[tuple[str, float]] = []
        self.lasts_s = 1.0

    async def send(self, proposal: Proposal, left_s: float) -> Reply:
        self.sent.append((proposal.method, left_s))
        self.seconds += self.lasts_s
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def turn(self) -> None:
        self.turns += 1

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def driver(self, limit_s: float = 10.0, **options: Any) -> Driver:
        hunt = Hunt(INVITATION, url=URL, memory=options.pop("memory", Memory()), **options)
        ids = count(7)
        return Driver(hunt, self.send, limit_s, lambda: next(ids), lambda: self.seconds, self.turn, self.sleep)


def unknown() -> Reply:
    return Reply(200, UNKNOWN, "", 0, {"content-type": "application/json"})


async def test_a_driver_sends_nothing_after_its_time_limit() -> None:
    agent = TimedAgent(*[unknown()] * 9)
    driver = agent.driver(limit_s=2.5)
    steps = [step async for step in driver]
    assert [limit_s for _, limit_s in agent.sent] == [2.5, 1.5, 0.5]
    assert (len(steps), agent.turns, driver.elapsed_s, driver.left_s) == (3, 2, 3.0, -0.5)


async def test_a_driver_keeps_what_it_sent_for_the_transcript() -> None:
    agent = TimedAgent(unknown(), Broken("gone", connected=True))
    driver = agent.driver()
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


async def test_a_driver_goes_on_after_a_failure_if_its_caller_gives_the_shape_up() -> None:
    agent = TimedAgent(Broken("broken", connected=True), unknown())
    driver = agent.driver()
    first = await anext(driver)
    assert isinstance(first, Failed)
    driver.hunt.give_up(first.proposal)
    await anext(driver)
    assert [method for method, _ in agent.sent] == ["handle_game_invitation", "GAME_INVITATION"]


@pytest.mark.parametrize(("later_s", "search_may_be_cause"), [(0.0, True), (HUNT_COUNTS_S + 1, False)])
async def test_a_driver_stops_at_a_rate_limit_and_says_if_the_search_may_have_caused_it(
    later_s: float, search_may_be_cause: bool
) -> None:
    agent, memory = TimedAgent(unknown(), TOO_MANY, TOO_MANY, TOO_MANY), Memory()
    driver = agent.driver(memory=memory)
    assert not driver.overasked
    assert len([step async for step in driver]) == 2
    assert driver.overasked
    agent.seconds += later_s
    again = agent.driver(memory=memory)
    assert (len([step async for step in again]), again.overasked) == (1, search_may_be_cause)


async def test_a_rate_limit_at_the_first_request_is_not_caused_by_a_search() -> None:
    driver = TimedAgent(TOO_MANY, TOO_MANY).driver()
    assert (len([step async for step in driver]), driver.overasked) == (1, False)


def error(message: str, code: int = -32603) -> Reply:
    return Reply(200, {"jsonrpc": "2.0", "id": 7, "error": {"code": code, "message": message}}, "", 0)


async def test_a_driver_keeps_the_first_words_that_say_more_than_unknown_method() -> None:
    agent = TimedAgent(
        unknown(), error("KeyError: 'deadline'"), error("another"), Broken("no answer in time", connected=True)
    )
    driver = agent.driver()
    texts = []
    async for step in driver:
        texts.append(driver.own_words)
        if isinstance(step, Failed):
            break
    assert texts == ["Method not found", "KeyError: 'deadline'", "KeyError: 'deadline'", "KeyError: 'deadline'"]


async def test_an_answer_is_not_kept_as_the_agents_words() -> None:
    agent = TimedAgent(Reply(200, {"jsonrpc": "2.0", "id": 7, "result": {"accept": True, "message": "hello"}}, "", 0))
    driver = agent.driver()
    await anext(driver)
    assert driver.own_words == ""


async def test_a_search_sends_at_most_six_requests_in_its_first_second_and_is_slower_afterwards() -> None:
    agent = TimedAgent(*[unknown()] * 30)
    agent.lasts_s = 0.001
    driver, sent_at = agent.driver(), []
    async for _ in driver:
        sent_at.append(agent.seconds - 100.0)
    assert len([one for one in sent_at if one <= 1]) == BURST
    assert (
        min(later - earlier for earlier, later in zip(sent_at[BURST:], sent_at[BURST + 1 :], strict=False))
        > 0.99 * HUNT_GAP_S
    )
