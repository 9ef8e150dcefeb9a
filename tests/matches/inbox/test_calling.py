"""Calls over an agent's own line: by a check, beside a match, and when the line breaks or never opens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from league_sdk.conformance.clauses.player import PLAYER
from league_sdk.conformance.player import check_player
from league_sdk.conformance.probes import WHOLE_ONLY
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.subject import NOBODY, Subject
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.inbox import Outcome, Way
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.transport.client import Client, NotReached, TimedOut
from matches.inbox.calling import AgentCaller, AgentInboxCaller, hand_over
from matches.inbox.hub import hub
from matches.inbox.lines import Offer, Terms
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import Agent, Wrong, clause, failed_and_tolerated, having
from tests.matches.inbox.stalling import stalled_site

ADA, BOB = 1, 2
QUICK = LeagueSettings(
    join_timeout_s=0.4, move_timeout_s=0.4, game_over_timeout_s=0.4, generic_timeout_s=0.4, retry_base_s=0.1
)
GRACE_S = 0.2
Fetched = Callable[[Offer], bool]
"""Called with each message that an agent has fetched; if it returns false, the agent closes its line for good."""


async def respond(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    try:
        result = await agent.call(request.get("method"), request.get("params") or {})
    except Wrong as wrong:
        return dict(agent.error(request["id"], wrong.code))
    return dict(agent.reply(request["id"], result))


@asynccontextmanager
async def dialling(agent: Agent, pk: int, fetched: Fetched = lambda offer: True) -> AsyncIterator[None]:
    """An agent that dials out as long as the block lasts."""

    async def dial() -> None:
        with hub.line(pk, "websocket", token="t") as line:
            while True:
                for offer in hub.due(line):
                    if not fetched(offer):
                        return
                    hub.answer(pk, await respond(agent, offer.request))
                await line.news.wait()

    task = asyncio.create_task(dial())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def check_over_line(pk: int) -> Report:
    subject = Subject(url=f"inbox://{pk}", dials_out=True, limits=QUICK, listen=NOBODY)
    return await check_player(subject, AgentInboxCaller(pk, GRACE_S))


async def test_a_check_over_a_line_has_the_clauses_of_every_check_and_says_which_a_line_cannot_test() -> None:
    async with dialling(Agent(), ADA):
        report = await check_over_line(ADA)
    assert failed_and_tolerated(report) == (set(), set()), report.to_json()
    assert {one.id for one in report.clauses} == {name for name, rule in PLAYER.rules.items() if not rule.for_some}
    left_out = {one.id for one in report.clauses if one.why == WHOLE_ONLY}
    bodies = {"robust.slow_body", "robust.broken_json", "robust.batch", "robust.notification"}
    assert left_out == bodies | {"http.content_type"}
    reached = clause(report, "http.reached")
    assert (reached.http_status, reached.why.startswith("Answered over its own line in ")) == (None, True)
    assert report.can_play


async def test_a_check_whose_line_breaks_at_any_step_names_the_line_as_the_reason() -> None:
    methods: list[str] = []

    def record_method(offer: Offer) -> bool:
        methods.append(str(offer.request["method"]))
        return True

    async with dialling(Agent(), ADA, record_method):
        await check_over_line(ADA)

    async def broken_at(step: int) -> Report:
        left = [step]

        def breaks(offer: Offer) -> bool:
            left[0] -= 1
            return left[0] >= 0

        async with dialling(Agent(), 100 + step, breaks):
            return await check_over_line(100 + step)

    reports = await asyncio.gather(*(broken_at(step) for step in range(len(methods))))
    # Without the first letter, which is a capital at the beginning of a sentence.
    reasons = ("ook the message and did not answer within", "as not connected")
    for step, report in enumerate(reports):
        failed = [one.why for one in report.clauses if one.verdict is Verdict.FAILS]
        assert all(any(reason in why for reason in reasons) for why in failed), (step, failed)
        assert failed or any("is not connected any more" in one.why for one in report.clauses), step
        assert hub.waiting(100 + step) == []
    first_choice = methods.index("choose_parity")
    assert not any(report.can_play for report in reports[: first_choice + 1])


async def test_an_agent_that_never_opens_its_line_was_not_connected() -> None:
    report = await check_over_line(ADA)
    why = clause(report, "http.reached").why
    assert why.startswith("Was not connected: it had no poll and no socket open in time.")
    assert having(report, Verdict.FAILS) == {"http.reached"}
    assert "it was not connected" in clause(report, "join.accepts").why


async def test_nobody_else_answers_a_check_and_a_match_beside_it_has_its_own_ids() -> None:
    ids: list[int] = []

    def answer_as_bob(offer: Offer) -> bool:
        ids.append(offer.id)
        assert not hub.answer(BOB, {"jsonrpc": "2.0", "result": {"accept": False}, "id": offer.id})
        return True

    match = {"jsonrpc": "2.0", "method": "choose_parity", "id": 1001}
    message = {"message_type": "CHOOSE_PARITY_CALL", "conversation_id": "conv-match"}

    async def match_beside(number: int) -> tuple[Outcome, dict[str, Any]]:
        params = message | {"match_id": f"R1M{number}"}
        return await hand_over(ADA, match | {"params": params}, Terms(limit_s=5, grace_s=1))

    async with dialling(Agent(), ADA, answer_as_bob), dialling(Agent(), BOB):
        report, *answers = await asyncio.gather(check_over_line(ADA), *(match_beside(number) for number in range(20)))
    assert failed_and_tolerated(report) == (set(), set())
    assert [outcome for outcome, _ in answers] == [Outcome.ANSWERED] * 20
    assert [reply["result"]["match_id"] for _, reply in answers] == [f"R1M{number}" for number in range(20)]
    assert {reply["id"] for _, reply in answers} == {1001}
    assert len(set(ids)) == len(ids)


async def test_an_agent_with_an_address_is_called_there_when_its_line_is_gone() -> None:
    client = Client(agent_type="league_manager")
    request = {"jsonrpc": "2.0", "method": "ping", "id": 7}
    async with listening(Agent().serve) as url:
        caller = AgentCaller(client, ADA)
        async with dialling(Agent(), ADA):
            assert (await caller.post(url, request, limit_s=2)).way == Way.INBOX
        assert hub.dials_out(ADA)
        assert (await caller.post(url, request, limit_s=0.4)).way == ""
    await client.aclose()


async def test_an_agent_is_not_called_at_its_address_while_a_process_with_its_line_may_stand_still() -> None:
    """It may have the message already; that nobody is at its address says nothing."""
    called = []

    async def post(url: str, message: Any, **_: Any) -> Any:
        called.append(url)
        raise NotReached("nobody listens at its address", connected=False)

    client = cast("Client", SimpleNamespace(post=post))
    with hub.line(ADA, "poll", token="t"):
        pass
    with stalled_site(), pytest.raises(NotReached) as caught:
        await AgentCaller(client, ADA, GRACE_S).post("http://192.168.1.5:8101/mcp", {"id": 1}, limit_s=1)
    assert (caught.value.cause, called) == (Cause.LEAGUE, [])


async def test_a_check_goes_on_at_the_address_when_the_line_closes_while_it_runs() -> None:
    left = [3]

    def breaks(offer: Offer) -> bool:
        left[0] -= 1
        return left[0] >= 0

    client, allowed = Client(agent_type="league_manager"), [True]

    async def may_call() -> bool:
        return allowed[0]

    async with listening(Agent().serve) as url, dialling(Agent(), ADA, breaks):
        subject = Subject(url=url, dials_out=True, limits=QUICK, listen=NOBODY)
        caller = AgentCaller(client, ADA, GRACE_S, may_call)
        report = await check_player(subject, caller)
        assert left[0] < 0
        # The message with which the line broke was taken, and not answered; all others were answered.
        assert len(having(report, Verdict.FAILS)) <= 1, report.to_json()
        allowed[0] = False
        with pytest.raises(NotReached, match="was not connected"):
            await caller.post(url, {"jsonrpc": "2.0", "method": "ping", "id": 7}, limit_s=0.4)
    await client.aclose()


async def test_an_error_says_whether_the_agent_was_away_or_silent_with_its_code() -> None:
    request = {"jsonrpc": "2.0", "method": "ping", "id": 7}
    with pytest.raises(NotReached, match="was not connected") as away:
        await AgentInboxCaller(ADA, GRACE_S).post(f"inbox://{ADA}", request, limit_s=0.2)
    async with dialling(Agent(), ADA, lambda offer: False):
        with pytest.raises(TimedOut, match="took the message and did not answer") as silent:
            await AgentInboxCaller(ADA, GRACE_S).post(f"inbox://{ADA}", request, limit_s=0.2)
    errors = (away.value, silent.value)
    assert [(one.error_code, one.connected, one.way) for one in errors] == [
        ("E009", False, Way.INBOX),
        ("E001", True, Way.INBOX),
    ]
