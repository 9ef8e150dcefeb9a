"""The database has which agents dial out now, for the pages; a line ends when its token is revoked."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from agents_registry.models import Agent
from agents_registry.registering import credentials
from league_sdk.protocol import tokens
from matches.inbox.hub import Hub
from matches.inbox.presence import Presence
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
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await presence.flush()
    assert league_ids == ["fall", "fall"]


async def test_an_agent_whose_messages_two_programs_fetch_is_marked() -> None:
    db_thread, hub = Agents(), Hub()
    ada, _ = await db_thread.in_db(_two_members)
    presence = Presence(hub, ThreadPoolExecutor(1))
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


def _two_members() -> tuple[make.Member, make.Member]:
    make.open_league("fall")
    members = make.join("Ada", "fall", port=8101), make.join("Bob", "fall", port=8102)
    assert Agent.objects.filter(line="").count() == 2
    return members
