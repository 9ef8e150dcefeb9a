"""Broadcasts that do not reach their agent: what is sent again, how often, and what is not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agents_registry.addresses.endpoints import endpoint_policy
from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import MessageType
from league_sdk.transport.client import Client, NotReached
from matches.conducting import due, sender
from matches.conducting.outgoing import Start
from matches.conducting.sending import Patience
from matches.conducting.telling import Telling
from matches.conducting.waking import Waker
from matches.inbox.hub import Hub, hub
from matches.inbox.lines import Line, Offer
from matches.league import outbox
from matches.models import Delivery, League
from tests import factories as make
from tests.matches.agent_server import OK, Agents
from tests.matches.conftest import conducting, look_by
from tests.matches.inbox.stalling import stalled_site

pytestmark = pytest.mark.django_db(transaction=True)

LIMIT_S = 0.2
"""The time limit of a broadcast; for a player without a line the sender waits half of it."""


@pytest.fixture
async def offers(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often a message was offered to each agent's inbox."""
    counted: Counter[int] = Counter()
    ask = Hub.ask

    async def counting(self: Hub, agent: int, *args: Any, **more: Any) -> dict[str, Any]:
        counted[agent] += 1
        agents.news.set()
        return await ask(self, agent, *args, **more)

    monkeypatch.setattr(Hub, "ask", counting)
    return counted


def dialling_player() -> Agent:
    """A player without an address, in a league of its own."""
    make.open_league("fall", generic_timeout_s=LIMIT_S)
    player = make.player("Ada", "fall").agent
    Agent.objects.filter(pk=player.pk).update(endpoint=f"inbox://{player.pk}")
    return player


def queue_table(conversation_id: str) -> None:
    """Queue a table for all players of the league."""
    league = League.objects.get(pk="fall")
    outbox.queue(league, MessageType.LEAGUE_STANDINGS_UPDATE, conversation_id=conversation_id, standings=[])


def states() -> list[tuple[str, str]]:
    """State and problem of every delivery, in order."""
    return [(one.state, one.problem) for one in Delivery.objects.order_by("pk")]


async def offers_on(line: Line) -> list[Offer]:
    """The messages that are handed over on a line, as soon as there are any."""
    while not (offers := hub.due(line)):
        await line.news.wait()
    return offers


def is_settled() -> bool:
    return not Delivery.objects.filter(state="PENDING").exists()


async def test_a_table_that_was_overtaken_is_not_sent_again(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a conductor waits for its second try, a newer table may be queued, or even sent by another conductor."""
    tries, look = Counter[str](), due.look

    class Refusing(Client):
        async def post(self, url: str, *args: Any, **more: Any) -> Any:
            tries[url] += 1
            if tries[url] == 1:
                raise NotReached("no connection", connected=False)
            return await super().post(url, *args, **more)

    def look_after_newer_table(**how: Any) -> due.Plan:
        if tries and Delivery.objects.count() == 1:
            queue_table("conv-new")
        return look(**how)

    look_by(monkeypatch, look_after_newer_table)

    def open_league_with_old_table() -> None:
        make.open_league("fall")
        make.player("Ada", "fall", endpoint=agents.url("ada"))
        queue_table("conv-old")

    await agents.in_db(open_league_with_old_table)
    async with conducting(client=Refusing(agent_type="league_manager", policy=endpoint_policy())):
        await agents.until_in_db(lambda: is_settled() and Delivery.objects.count() == 2)
    assert [body["params"]["conversation_id"] for body in agents.received["ada"]] == ["conv-new"]
    assert await agents.in_db(states) == [("DROPPED", "overtaken"), ("SETTLED", "")]


async def test_an_answer_that_our_code_cannot_read_settles_its_message(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Sent again it would fail again, and the conductor would do nothing else."""

    async def fail(*_: Any) -> Any:
        raise OverflowError("an answer that nobody thought of")

    monkeypatch.setattr(Telling, "tell", fail)

    def open_league_with_table() -> None:
        make.open_league("fall")
        make.player("Ada", "fall", endpoint=agents.url("ada"))
        queue_table("conv-table")

    await agents.in_db(open_league_with_table)
    async with conducting():
        await agents.until_in_db(is_settled)
    assert await agents.in_db(states) == [("FAILED", "the site failed to read the answer; its log says why")]
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["a broadcast failed"]


async def test_a_player_whose_web_process_stalls_is_told_when_its_line_is_back(
    agents: Agents, offers: Counter[int]
) -> None:
    player = await agents.in_db(dialling_player)
    with hub.line(player.pk, "poll", token="before"):
        await agents.in_db(lambda: queue_table("conv-table"))
    async with conducting():
        await agents.until(lambda: offers[player.pk] > 4)
        assert await agents.in_db(states) == [("PENDING", "")]
        with hub.line(player.pk, "poll", token="after") as line:
            [offer] = await offers_on(line)
            hub.answer(player.pk, OK | {"id": offer.id})
            await agents.until_in_db(is_settled)
    assert offer.request["params"]["conversation_id"] == "conv-table"
    assert await agents.in_db(states) == [("SETTLED", "")]


async def test_a_table_that_was_lost_with_its_line_is_told_again(agents: Agents, offers: Counter[int]) -> None:
    """The web process that had the table is killed, or the line is cut, before the table has arrived."""
    player = await agents.in_db(dialling_player)
    async with conducting():
        with hub.line(player.pk, "websocket", token="lost") as line:
            await agents.in_db(lambda: queue_table("conv-table"))
            [lost] = await offers_on(line)
        await agents.until(lambda: offers[player.pk] > 1)
        with hub.line(player.pk, "websocket", token="next") as line:
            [repeated] = await offers_on(line)
            hub.answer(player.pk, OK | {"id": repeated.id})
            await agents.until_in_db(is_settled)
    assert lost.request["params"]["conversation_id"] == repeated.request["params"]["conversation_id"] == "conv-table"
    assert await agents.in_db(states) == [("SETTLED", "")]


async def test_a_player_that_takes_tables_and_leaves_is_told_twice_at_most(
    agents: Agents, offers: Counter[int]
) -> None:
    """A poll ends with the message; only the next poll would say that it arrived, and a slow player opens none."""
    player = await agents.in_db(dialling_player)
    async with conducting():
        await agents.in_db(lambda: queue_table("conv-table"))
        for number in (1, 2):
            await agents.until(lambda number=number: offers[player.pk] == number)  # type: ignore[misc]
            with hub.line(player.pk, "poll", token="slow") as line:
                await offers_on(line)
        await agents.until_in_db(is_settled)
    assert offers[player.pk] == 2
    assert await agents.in_db(states) == [("FAILED", "took the message and did not answer in time")]


async def test_a_player_that_has_a_table_and_says_nothing_is_not_told_again(
    agents: Agents, offers: Counter[int]
) -> None:
    player = await agents.in_db(dialling_player)
    async with conducting():
        with hub.line(player.pk, "websocket", token="silent") as line:
            await agents.in_db(lambda: queue_table("conv-table"))
            await offers_on(line)
            await agents.until_in_db(is_settled)
    assert offers[player.pk] == 1
    assert [state for state, _ in await agents.in_db(states)] == ["FAILED"]


async def test_a_table_is_sent_again_for_as_long_as_a_process_of_the_site_stands_still(
    agents: Agents, offers: Counter[int]
) -> None:
    player = await agents.in_db(dialling_player)
    await agents.in_db(lambda: queue_table("conv-table"))
    with stalled_site() as site:
        async with conducting(patience=Patience(retry_s=0, line_s=0)):
            await agents.until(lambda: offers[player.pk] > 4)
            assert await agents.in_db(states) == [("PENDING", "")]
            site.stalls, offers[player.pk] = False, 0
            await agents.until_in_db(is_settled)
    # The try that was going on then may be the first of the two that count.
    assert offers[player.pk] <= 2
    assert [state for state, _ in await agents.in_db(states)] == ["FAILED"]


async def test_a_ping_says_nothing_of_an_agent_while_a_process_of_the_site_stands_still(
    agents: Agents, offers: Counter[int]
) -> None:
    player = await agents.in_db(dialling_player)
    await agents.in_db(lambda: registration.want_ping(agent_ids=[player.pk]))

    def state() -> tuple[bool, str]:
        now = Agent.objects.get(pk=player.pk)
        return now.ping_wanted, now.problem

    with stalled_site() as site:
        async with conducting(patience=Patience(ping_s=LIMIT_S)):
            await agents.until(lambda: offers[player.pk] > 2)
            assert await agents.in_db(state) == (True, "")
            site.stalls = False
            await agents.until_in_db(lambda: not state()[0])
    assert (await agents.in_db(state))[1]


async def test_a_ping_that_this_machine_cannot_send_says_nothing_of_an_agent(agents: Agents) -> None:
    tried = [0]

    class Away(Client):
        """A machine that cannot look names up at first."""

        async def post(self, url: str, *more: Any, **options: Any) -> Any:
            tried[0] += 1
            if tried[0] <= 3:
                raise NotReached("this machine cannot look names up", connected=False, cause=Cause.LEAGUE)
            return await super().post(url, *more, **options)

    def wanted() -> Agent:
        make.open_league("fall")
        player = make.player("Ada", "fall", endpoint=agents.url("ada")).agent
        registration.want_ping(agent_ids=[player.pk])
        return player

    def state() -> tuple[bool, str]:
        now = Agent.objects.get(pk=player.pk)
        return now.ping_wanted, now.problem

    player = await agents.in_db(wanted)
    async with conducting(
        client=Away(agent_type="league_manager", policy=endpoint_policy()), patience=Patience(retry_s=0)
    ):
        await agents.until_in_db(lambda: not state()[0])
    assert (tried[0], await agents.in_db(state)) == (4, (False, ""))


@pytest.mark.parametrize(
    ("had_a_line", "patience_s"), [(False, Patience().line_s), (True, 0.0)], ids=["no line", "for too long"]
)
async def test_a_player_that_dials_out_is_not_waited_for_without_end(
    agents: Agents, offers: Counter[int], *, had_a_line: bool, patience_s: float
) -> None:
    player = await agents.in_db(dialling_player)
    if had_a_line:
        with hub.line(player.pk, "poll", token="before"):
            assert hub.dials_out(player.pk)
    await agents.in_db(lambda: queue_table("conv-table"))
    async with conducting(patience=Patience(retry_s=0, line_s=patience_s)):
        await agents.until_in_db(is_settled)
    assert offers[player.pk] == 2
    [(state, problem)] = await agents.in_db(states)
    assert (state, bool(problem)) == ("FAILED", True)


async def test_the_lease_of_a_late_start_is_renewed_once() -> None:
    """The database may be so slow that the start is late again: then the match waits until its lease is over."""
    renewed = []

    async def in_thread(renewing: Any) -> Any:
        [start] = renewing.args
        renewed.append(start.match_pk)
        return start, float("-inf")

    starts = [Start(number, 1, 1, "http://127.0.0.1:9/mcp", 2.0, 8.0, b"{}", takes_several=True) for number in (1, 2)]
    sending = sender.Sender(Client(agent_type="league_manager", policy=endpoint_policy()), in_thread, Waker())
    sending.send(due.Plan(starts=starts, made_at=float("-inf")))
    await sending.finish(5.0)
    assert (renewed, bool(sending.take_outcomes())) == ([1, 2], False)
    await sending.stop()
