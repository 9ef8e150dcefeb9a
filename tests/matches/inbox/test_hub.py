"""Messages for agents that dial out: offered, handed over and answered, by no other agent than the one they are for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any

import pytest

from league_sdk.protocol.notes import Code, Note, note
from matches.inbox.hub import LINGER_S, MAX_OFFERS_PER_AGENT, MAX_OFFERS_PER_SEAT, MAX_STRAY_BYTES, MAX_STRAYS, Hub
from matches.inbox.lines import Line, NotAnswered, NotConnected, Offer, SiteStalled, Terms

ADA, BOB = 1, 2
REQUEST = {"jsonrpc": "2.0", "method": "choose_parity", "params": {"match_id": "R1M1"}, "id": 1001}


def ask(hub: Hub, agent: int = ADA, **terms: Any) -> asyncio.Task[dict[str, Any]]:
    """A caller that waits."""
    call: Coroutine[Any, Any, dict[str, Any]] = hub.ask(agent, REQUEST, Terms(**{"limit_s": 30, "grace_s": 30} | terms))
    return asyncio.create_task(call)


async def let_tasks_run() -> None:
    """Wait until every task has gone as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


def answer_to(offer: Offer) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "result": {"parity_choice": "even"}, "id": offer.id}


async def test_a_message_waits_for_the_line_and_its_answer_goes_back_under_the_callers_id() -> None:
    hub = Hub()
    caller = ask(hub)
    await let_tasks_run()
    with hub.line(ADA, "poll", token="t") as line:
        [offer] = hub.due(line)
        assert offer.request == REQUEST | {"id": offer.id}
        assert hub.answer(ADA, answer_to(offer))
    assert await caller == {"jsonrpc": "2.0", "result": {"parity_choice": "even"}, "id": 1001}
    assert hub.waiting(ADA) == []


async def test_an_open_line_is_woken_by_a_new_message() -> None:
    hub = Hub()
    with hub.line(ADA, "websocket", token="t") as line:
        assert hub.due(line) == []
        caller = ask(hub)
        await asyncio.wait_for(line.news.wait(), 5)
        [offer] = hub.due(line)
        assert hub.due(line) == []
        hub.answer(ADA, answer_to(offer))
        assert (await caller)["result"]


async def test_an_agent_without_a_line_is_not_connected() -> None:
    hub = Hub()
    with pytest.raises(NotConnected):
        await ask(hub, grace_s=0)
    assert hub.waiting(ADA) == []


async def test_a_message_that_was_taken_and_not_answered_has_its_own_error() -> None:
    hub = Hub()
    with hub.line(ADA, "poll", token="t") as line:
        caller = ask(hub, limit_s=0.01)
        await let_tasks_run()
        assert hub.due(line)
        with pytest.raises(NotAnswered):
            await caller


@pytest.mark.parametrize("elsewhere", [False, True], ids=["one process", "two processes"])
@pytest.mark.parametrize(
    ("afterwards", "lost"),
    [("the line stays", False), ("the line is gone", True), ("the next line names it, and is gone, too", False)],
)
async def test_an_unanswered_message_counts_as_lost_only_if_its_line_closed_and_no_other_named_it(
    afterwards: str, *, lost: bool, elsewhere: bool
) -> None:
    """A line may be cut, or its process killed, when the message was handed over and has not arrived."""
    wire, alone = Wire(), Hub()
    hub, lines = (wire.here, wire.there) if elsewhere else (alone, alone)
    with ExitStack() as open_lines:
        line = open_lines.enter_context(lines.line(ADA, "poll", token="t"))
        caller = ask(hub, limit_s=0.05, confirm=True)
        await let_tasks_run()
        [offer] = lines.due(line)
        if afterwards != "the line stays":
            open_lines.close()
        if afterwards == "the next line names it, and is gone, too":
            with lines.line(ADA, "poll", token="t", known={offer.id}):
                await let_tasks_run()
        with pytest.raises(NotAnswered) as failed:
            await caller
    assert failed.value.lost is lost
    assert hub.waiting(ADA) == []


async def test_an_answer_that_comes_while_the_caller_waits_for_confirmation_counts() -> None:
    wire = Wire()
    with wire.there.line(ADA, "poll", token="t") as line:
        caller = ask(wire.here, limit_s=0.01, confirm=True)
        await let_tasks_run()
        [offer] = wire.there.due(line)
    asked_again = wire.here.other_hubs.has_offered  # type: ignore[union-attr]
    asked_again.clear()
    await asyncio.wait_for(asked_again.wait(), 5)
    wire.here.answer(ADA, answer_to(offer))
    assert (await caller)["result"]


async def test_another_agents_answer_and_a_late_answer_are_refused() -> None:
    hub = Hub()
    caller = ask(hub)
    await let_tasks_run()
    with hub.line(ADA, "poll", token="t") as line:
        [offer] = hub.due(line)
        assert not hub.answer(BOB, answer_to(offer))
        assert not any(
            hub.answer(ADA, answer_to(offer) | {"id": wrong_id})
            for wrong_id in (0, 1001, True, "x", None, offer.id + 1)
        )
        assert hub.answer(ADA, answer_to(offer))
        assert not hub.answer(ADA, {"jsonrpc": "2.0", "result": {"parity_choice": "odd"}, "id": offer.id})
    assert (await caller)["result"] == {"parity_choice": "even"}
    assert not hub.answer(ADA, answer_to(offer))


async def test_unanswered_messages_are_offered_again_on_the_next_line_unless_it_names_them() -> None:
    hub = Hub()
    callers = [ask(hub), ask(hub)]
    await let_tasks_run()
    with hub.line(ADA, "poll", token="t") as first:
        one, two = hub.due(first)
    with hub.line(ADA, "poll", token="t", known={one.id}) as second:
        assert hub.due(second) == [two]
    with hub.line(ADA, "poll", token="t") as third:
        assert hub.due(third) == [one, two]
    for offer in (one, two):
        hub.answer(ADA, answer_to(offer))
    await asyncio.gather(*callers)


async def test_a_newer_line_takes_over_and_three_takeovers_are_a_contest() -> None:
    hub, contested = Hub(), list[int]()
    hub.on_contest = contested.append
    with ExitStack() as stack:
        lines = [stack.enter_context(hub.line(ADA, "poll", token=str(n))) for n in range(4)]
        assert [line.taken_over for line in lines] == [True, True, True, False]
        assert contested == [ADA]
        assert hub.dials_out(ADA)
        caller = ask(hub)
        await let_tasks_run()
        [offer] = hub.due(lines[-1])
        hub.answer(ADA, answer_to(offer))
        await caller
    assert hub.lines() == []


async def test_waiting_messages_have_different_ids_exact_in_javascript_and_are_limited_in_number() -> None:
    hub = Hub()
    callers = [ask(hub) for _ in range(MAX_OFFERS_PER_AGENT)]
    await let_tasks_run()
    ids = hub.waiting(ADA)
    assert len(set(ids)) == MAX_OFFERS_PER_AGENT
    assert max(ids) < 2**53
    with pytest.raises(NotConnected):
        await ask(hub)
    assert len(hub.waiting(ADA)) == MAX_OFFERS_PER_AGENT
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert hub.waiting(ADA) == []


async def test_a_cancelled_caller_leaves_no_message() -> None:
    hub = Hub()
    caller = ask(hub)
    await let_tasks_run()
    caller.cancel()
    await let_tasks_run()
    assert hub.waiting(ADA) == []


class Wire:
    """Two hubs of two processes; each receives at once what the other sends."""

    def __init__(self) -> None:
        self.here, self.there = Hub(), Hub()
        self.here.other_hubs, self.there.other_hubs = _To(self.there, self.here), _To(self.here, self.there)


class _To:
    def __init__(self, other: Hub, own: Hub) -> None:
        self._other, self._own = other, own
        self.stalls = False
        self.loses = False
        self.has_offered = asyncio.Event()

    def offered(self, offer: Offer, *, again: bool = False) -> None:
        if not self.loses:
            self._other.hear_offer(offer, again=again)
        self.has_offered.set()

    def withdrawn(self, offer_id: int, agent: int) -> None:
        self._other.hear_withdrawn(offer_id, agent)

    def taken(self, offer_id: int, *, named: bool) -> None:
        if not self.loses:
            self._other.hear_taken(offer_id, named=named)

    def answered(self, offer_id: int, agent: int, response: dict[str, Any]) -> None:
        if not self.loses:
            self._other.hear_answer(offer_id, agent, response)

    def opened(self, line: Line) -> None:
        for offer in self._other.hear_opened(line.agent, line.way, line.opened_at):
            self._own.hear_offer(offer)

    def stalled(self, since: float) -> Note | str:
        return note(Code.REDIS_AWAY) if self.stalls else ""


@pytest.mark.parametrize("taken", [False, True], ids=["not taken", "taken and not answered"])
@pytest.mark.parametrize("stalls", [False, True])
async def test_nobody_is_to_blame_while_a_process_stands_still(*, taken: bool, stalls: bool) -> None:
    wire = Wire()
    wire.here.other_hubs.stalls = stalls  # type: ignore[union-attr]
    with ExitStack() as lines:
        if taken:
            line = lines.enter_context(wire.there.line(ADA, "websocket", token="t"))
        caller = ask(wire.here, limit_s=0.01, grace_s=0.01)
        await let_tasks_run()
        if taken:
            assert len(wire.there.due(line)) == 1
        with pytest.raises((SiteStalled, NotConnected, NotAnswered)) as failed:
            await caller
    assert failed.type is (SiteStalled if stalls else NotAnswered if taken else NotConnected)
    assert wire.here.waiting(ADA) == wire.there.waiting(ADA) == []


async def test_a_message_that_must_be_confirmed_is_lost_or_not_even_while_a_process_stands_still() -> None:
    """Else it would be told again and again: it was taken."""
    wire = Wire()
    wire.here.other_hubs.stalls = True  # type: ignore[union-attr]
    with wire.there.line(ADA, "websocket", token="t") as line:
        caller = ask(wire.here, limit_s=0.01, confirm=True)
        await let_tasks_run()
        assert len(wire.there.due(line)) == 1
        with pytest.raises(NotAnswered) as failed:
            await caller
    assert not failed.value.lost


async def test_a_caller_that_does_not_wait_for_a_line_is_told_that_there_is_none() -> None:
    wire = Wire()
    wire.here.other_hubs.stalls = True  # type: ignore[union-attr]
    with pytest.raises(NotConnected):
        await ask(wire.here, grace_s=0)


async def test_an_agents_line_and_the_caller_may_be_at_two_processes() -> None:
    wire = Wire()
    with wire.there.line(ADA, "websocket", token="t") as line:
        assert wire.here.dials_out(ADA)
        caller = ask(wire.here)
        await let_tasks_run()
        [offer] = wire.there.due(line)
        assert wire.there.answer(ADA, answer_to(offer))
        assert (await caller)["result"]
        assert wire.there.waiting(ADA) == wire.here.waiting(ADA) == []


async def test_a_line_at_another_process_takes_over_and_gets_the_waiting_messages() -> None:
    wire = Wire()
    caller = ask(wire.here)
    await let_tasks_run()
    with wire.here.line(ADA, "poll", token="t") as old:
        assert len(wire.here.due(old)) == 1
        with wire.there.line(ADA, "poll", token="t") as new:
            assert old.taken_over
            [offer] = wire.there.due(new)
            # The answer comes to the process of the caller, where the agent has no line.
            wire.here.answer(ADA, answer_to(offer))
            await caller
    assert wire.there.waiting(ADA) == []


async def test_a_caller_elsewhere_that_waits_no_longer_withdraws_its_message() -> None:
    wire = Wire()
    with wire.there.line(ADA, "poll", token="t"):
        caller = ask(wire.here)
        await let_tasks_run()
        assert len(wire.there.waiting(ADA)) == 1
        caller.cancel()
        await let_tasks_run()
        assert wire.there.waiting(ADA) == []


async def test_an_answer_through_another_process_counts_only_for_its_own_agent() -> None:
    wire = Wire()
    caller = ask(wire.here)
    await let_tasks_run()
    [waiting] = wire.here.waiting(ADA)
    wire.there.answer(BOB, {"jsonrpc": "2.0", "result": {}, "id": waiting})
    await let_tasks_run()
    assert not caller.done()
    assert wire.there.answer(ADA, {"jsonrpc": "2.0", "result": {"ok": True}, "id": waiting})
    assert (await caller)["result"] == {"ok": True}


async def test_the_referee_of_one_seat_cannot_fill_an_inbox() -> None:
    hub = Hub()
    greedy = [
        asyncio.create_task(hub.ask(ADA, REQUEST, Terms(limit_s=30, grace_s=30, seat="1.1")))
        for _ in range(MAX_OFFERS_PER_AGENT)
    ]
    await let_tasks_run()
    assert len(hub.waiting(ADA)) == MAX_OFFERS_PER_SEAT
    with hub.line(ADA, "poll", token="t") as line:
        caller = asyncio.create_task(hub.ask(ADA, REQUEST, Terms(limit_s=30, grace_s=30, seat="2.1")))
        await let_tasks_run()
        for offer in hub.due(line):
            hub.answer(ADA, answer_to(offer))
        assert (await caller)["result"]
    refused = [one for one in await asyncio.gather(*greedy, return_exceptions=True) if isinstance(one, NotConnected)]
    assert len(refused) == MAX_OFFERS_PER_AGENT - MAX_OFFERS_PER_SEAT


async def test_made_up_answers_are_sent_to_other_processes_in_limited_number() -> None:
    wire = Wire()
    offer_ids: list[int] = []
    wire.here.hear_answer = lambda offer_id, agent, response: offer_ids.append(offer_id)  # type: ignore[method-assign]
    for number in range(10 * MAX_STRAYS):
        wire.there.answer(ADA, {"id": number, "result": {}})
    assert len(offer_ids) == MAX_STRAYS
    assert wire.there.answer(BOB, {"id": 1, "result": {}})
    assert not wire.there.answer(BOB, {"id": 2, "result": "x" * MAX_STRAY_BYTES})


async def test_made_up_answers_keep_no_answer_to_a_message_from_its_caller() -> None:
    wire = Wire()
    caller = ask(wire.here)
    await let_tasks_run()
    [number] = wire.here.waiting(ADA)
    for made_up in range(10 * MAX_STRAYS):
        wire.there.answer(ADA, {"id": made_up, "result": {}})
    large = {"jsonrpc": "2.0", "result": "x" * 2 * MAX_STRAY_BYTES, "id": number}
    assert not wire.there.answer(BOB, large)
    assert wire.there.answer(ADA, large)
    assert (await caller)["result"] == large["result"]
    # The second answer is one more that nobody waits for.
    assert not wire.there.answer(ADA, large)


async def test_a_late_notice_of_an_older_line_does_not_end_a_newer_one() -> None:
    hub = Hub()
    with hub.line(1, "poll", token="t") as line:
        assert hub.hear_opened(1, "poll", line.opened_at - 1) == []
        assert not line.taken_over
        hub.hear_opened(1, "poll", line.opened_at + 1)
        assert line.taken_over


def look_again(wire: Wire) -> None:
    """What the process of the caller does every two seconds."""
    others: Any = wire.here.other_hubs
    for offer in wire.here.unanswered(0):
        others.offered(offer, again=True)


@pytest.mark.parametrize("way", ["poll", "websocket"])
async def test_a_lost_offer_a_lost_receipt_and_a_lost_answer_are_heard_at_the_next_look(way: str) -> None:
    wire = Wire()
    here: Any = wire.here.other_hubs
    there: Any = wire.there.other_hubs
    with ExitStack() as open_lines:
        line = open_lines.enter_context(wire.there.line(ADA, way, token="t"))
        here.loses = there.loses = True
        caller = ask(wire.here)
        await let_tasks_run()
        assert wire.there.due(line) == []
        here.loses = False
        look_again(wire)
        [offer] = wire.there.due(line)
        if way == "poll":
            # Its line is closed as it takes the message, and it opens no other until it has answered.
            open_lines.close()
        [call] = wire.here._calls.values()
        assert not call.taken.is_set()
        there.loses = False
        look_again(wire)
        assert call.taken.is_set()
        there.loses = True
        assert wire.there.answer(ADA, answer_to(offer))
        await let_tasks_run()
        assert not caller.done()
        there.loses = False
        look_again(wire)
        assert (await caller)["result"]
    # Nothing is handed over twice, and nothing is kept of what is over.
    with wire.there.line(ADA, "poll", token="t") as line:
        assert wire.there.due(line) == []
    assert wire.there._elsewhere == {}


async def test_a_look_does_not_confirm_a_message_whose_line_is_gone() -> None:
    wire = Wire()
    caller = ask(wire.here, limit_s=0.05, confirm=True)
    await let_tasks_run()
    with wire.there.line(ADA, "poll", token="t") as line:
        assert len(wire.there.due(line)) == 1
    look_again(wire)
    with pytest.raises(NotAnswered) as caught:
        await caller
    assert caught.value.lost


async def test_an_agent_keeps_one_answer_to_each_message_at_another_process() -> None:
    wire = Wire()
    caller = ask(wire.here)
    await let_tasks_run()
    [number] = wire.here.waiting(ADA)
    there: Any = wire.there.other_hubs
    there.loses = True
    first, second = ({"jsonrpc": "2.0", "result": text, "id": number} for text in ("first", "second"))
    assert wire.there.answer(ADA, first)
    wire.there.answer(ADA, second)
    there.loses = False
    look_again(wire)
    assert (await caller)["result"] == "first"


async def test_an_agent_counts_as_dialling_out_while_nobody_can_say_that_its_line_is_open() -> None:
    wire = Wire()
    with wire.there.line(ADA, "websocket", token="t"):
        seen_at, way = wire.here._seen[ADA]
        wire.here._seen[ADA] = (seen_at - 10 * LINGER_S, way)
        assert wire.here.way(ADA) == ""
        wire.here.other_hubs.stalls = True  # type: ignore[union-attr]
        wire.here.forget_old()
        assert (wire.here.way(ADA), wire.here.way(BOB)) == ("websocket", "")
        wire.here.other_hubs.stalls = False  # type: ignore[union-attr]
        wire.here.forget_old()
        assert wire.here.way(ADA) == ""


async def test_a_line_that_was_left_while_the_site_stood_still_is_no_contest_and_a_second_program_is() -> None:
    wire, contested = Wire(), list[int]()
    wire.here.on_contest = contested.append
    with ExitStack() as stack:
        wire.here.other_hubs.stalls = True  # type: ignore[union-attr]
        for number in range(10):
            stack.enter_context(wire.here.line(ADA, "poll", token=str(number)))
        assert contested == []
        wire.here.other_hubs.stalls = False  # type: ignore[union-attr]
        for number in range(3):
            stack.enter_context(wire.here.line(ADA, "poll", token=str(number)))
        assert contested == [ADA]


async def test_a_process_is_told_that_the_line_of_an_agent_has_moved_elsewhere() -> None:
    wire, changes = Wire(), list[tuple[int, bool]]()
    wire.here.on_change = lambda agent, line: changes.append((agent, line is not None))
    with wire.here.line(ADA, "poll", token="t"), wire.there.line(ADA, "poll", token="t"):
        assert changes == [(ADA, True), (ADA, False)]
        assert wire.here.dials_out(ADA)
    assert changes == [(ADA, True), (ADA, False)]
