"""The database has which agents dial out now, for the pages; a line ends when its token is revoked."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from league_sdk.protocol import tokens
from matches.inbox import presence as presence_module
from matches.inbox.hub import LINGER_S, Hub
from matches.inbox.presence import RENEWED_WITHIN_S, Presence
from matches.push import notify
from tests import factories as make
from tests.matches.agent_server import Agents

pytestmark = pytest.mark.django_db(transaction=True)


async def test_open_lines_are_stored_and_a_poll_counts_as_open_until_the_next_is_due() -> None:
    db_thread, hub = Agents(), Hub()
    ada, bob = await db_thread.in_db(_two_members)
    presence = Presence(hub, ThreadPoolExecutor(1), linger_s=0)
    with hub.line(ada.agent.pk, "poll", token="t"), hub.line(bob.agent.pk, "websocket", token="u"):
        await presence.flush()
        assert await db_thread.in_db(lambda: (ada.fresh().dials_out_now, bob.fresh().dials_out_now)) == (
            "poll",
            "websocket",
        )
    lasting = Presence(hub, ThreadPoolExecutor(1), linger_s=3600)
    with hub.line(ada.agent.pk, "poll", token="t"):
        pass
    # With `linger_s=0` the timer that closes the line would have run after two turns of the loop.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await lasting.flush()
    assert await db_thread.in_db(lambda: ada.fresh().dials_out_now) == "poll"


async def test_pages_of_a_league_are_updated_when_a_line_of_an_agent_opens_or_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    league_ids: list[str] = []
    monkeypatch.setattr(notify, "push", lambda league_id, match_ids=(), **_: league_ids.append(league_id))
    db_thread, hub = Agents(), Hub()
    ada, _bob = await db_thread.in_db(_two_members)
    league_ids.clear()
    presence = Presence(hub, ThreadPoolExecutor(1), linger_s=0)
    with hub.line(ada.agent.pk, "poll", token="t"):
        await presence.flush()
        assert league_ids == ["fall"]
        # Another poll of the same agent changes nothing.
        with hub.line(ada.agent.pk, "poll", token="t"):
            await presence.flush()
    assert league_ids == ["fall"]
    # The timer that closes the line (`linger_s`) has run after two turns of the loop.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await presence.flush()
    assert league_ids == ["fall", "fall"]


async def test_an_agent_whose_messages_two_programs_fetch_is_marked() -> None:
    db_thread, hub = Agents(), Hub()
    ada, _ = await db_thread.in_db(_two_members)
    presence = Presence(hub, ThreadPoolExecutor(1))
    # Each pair of polls is one takeover; several within a minute mark the agent.
    for _ in range(2):
        with hub.line(ada.agent.pk, "poll", token="t"), hub.line(ada.agent.pk, "poll", token="u"):
            pass
        with hub.line(ada.agent.pk, "poll", token="t"), hub.line(ada.agent.pk, "poll", token="u"):
            pass
    await presence.flush()
    assert await db_thread.in_db(lambda: ada.fresh().contested_at) is not None


async def test_a_line_ends_when_its_token_is_revoked() -> None:
    db_thread, hub = Agents(), Hub()
    ada, bob = await db_thread.in_db(_two_members)
    presence = Presence(hub, ThreadPoolExecutor(1))
    with (
        hub.line(ada.agent.pk, "websocket", token=tokens.digest(ada.token)) as of_ada,
        hub.line(bob.agent.pk, "websocket", token=tokens.digest(bob.token)) as of_bob,
    ):
        await db_thread.in_db(lambda: credentials.revoke_tokens(agent_ids=[ada.agent.pk]))
        await presence.end_revoked()
        assert (of_ada.over, of_bob.over) == (True, False)
        assert of_ada.news.is_set()


def _two_members() -> tuple[make.RegisteredAgent, make.RegisteredAgent]:
    make.open_league("fall")
    members = make.player("Ada", "fall", port=8101), make.player("Bob", "fall", port=8102)
    assert Agent.objects.filter(line="").count() == 2
    return members


async def test_a_line_that_opens_again_while_its_closing_cannot_be_written_stays_open() -> None:
    db_thread, hub = Agents(), Hub()
    ada, _ = await db_thread.in_db(_two_members)

    class Away(ThreadPoolExecutor):
        """Fails the next write while ``opened`` is None; meanwhile the agent opens its line again."""

        opened: Any = None

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if self.opened is not None:
                return super().submit(fn, *args, **kwargs)
            self.opened = hub.line(ada.agent.pk, "poll", token="t")
            self.opened.__enter__()
            failed: Future[Any] = Future()
            failed.set_exception(DatabaseError("no connection"))
            return failed

    executor = Away(1)
    presence = Presence(hub, executor, linger_s=0)
    executor.opened = hub.line(ada.agent.pk, "poll", token="t")
    with executor.opened:
        await presence.flush()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    executor.opened = None
    await presence.flush()
    await presence.flush()
    assert await db_thread.in_db(lambda: ada.fresh().dials_out_now) == "poll"
    executor.opened.__exit__(None, None, None)


@pytest.mark.django_db
def test_a_line_that_another_process_has_renewed_is_not_closed_by_the_one_that_the_agent_has_left() -> None:
    ada, bob = _two_members()
    agents = [ada.agent.pk, bob.agent.pk]
    registration.note_lines(opened=dict.fromkeys(agents, "poll"), closed=[], contested=[])
    Agent.objects.filter(pk=bob.agent.pk).update(line_seen_at=timezone.now() - timedelta(seconds=LINGER_S))
    registration.note_lines(opened={}, closed=agents, contested=[], renewed_s=RENEWED_WITHIN_S)
    assert [one.fresh().dials_out_now for one in (ada, bob)] == ["poll", ""]


async def test_a_process_that_an_agent_has_left_does_not_write_for_ever_that_it_is_there() -> None:
    db_thread, hub = Agents(), Hub()
    ada, _ = await db_thread.in_db(_two_members)
    presence = Presence(hub, ThreadPoolExecutor(1), linger_s=0)
    with hub.line(ada.agent.pk, "poll", token="t"):
        await presence.flush()
        hub.hear_opened(ada.agent.pk, "poll")
        # The timer that closes the line (`linger_s`) has run after two turns of the loop.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await presence.flush()
        assert await db_thread.in_db(lambda: ada.fresh().dials_out_now) == ""


async def test_an_agent_whose_polls_end_at_once_is_written_again_with_its_next_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(presence_module, "FLUSH_INTERVAL_S", 0.0)
    monkeypatch.setattr(presence_module, "REFRESH_INTERVAL_S", 0.0)
    refreshed = asyncio.Event()
    db_thread, hub = Agents(), Hub()
    ada, _ = await db_thread.in_db(_two_members)
    presence = Presence(hub, ThreadPoolExecutor(1), linger_s=3600)
    with hub.line(ada.agent.pk, "poll", token="t"):
        await presence.flush()
    long_ago = timezone.now() - timedelta(seconds=LINGER_S)
    await db_thread.in_db(lambda: Agent.objects.filter(pk=ada.agent.pk).update(line_seen_at=long_ago))
    monkeypatch.setattr(hub, "forget_old", refreshed.set)
    writing = asyncio.create_task(presence.keep_writing())
    await refreshed.wait()
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    with hub.line(ada.agent.pk, "poll", token="t"):
        pass
    await presence.flush()
    assert (await db_thread.in_db(ada.fresh)).line_seen_at > long_ago
