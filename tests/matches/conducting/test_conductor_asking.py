"""Asking agents whether they answer: all at once, and one that hangs keeps nobody waiting for long."""

from __future__ import annotations

import asyncio

import pytest

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.conducting import sender
from matches.push.nudge import nudge
from tests import factories as make
from tests.matches.agent_server import Agents
from tests.matches.conftest import conducting

pytestmark = pytest.mark.django_db(transaction=True)
HUNG = [f"p{number}" for number in range(10)]


def enrolled(agents: Agents) -> list[int]:
    make.open_league("fall")
    return [make.join(f"Player {n}", "fall", endpoint=agents.url(f"p{n}")).agent.pk for n in range(50)]


def asked() -> int:
    return Agent.objects.filter(check_wanted=True).count()


async def test_fifty_agents_are_asked_at_once(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "PING_TIMEOUT_S", 60.0)
    for name in HUNG:
        agents.gates[name] = asyncio.Event()
    keys = await agents.in_db(lambda: enrolled(agents))
    async with conducting():
        await agents.in_db(lambda: registration.want_ping(agent_ids=keys))
        nudge()
        # The answers of forty are written down while ten are still awaited.
        await agents.until_in_db(lambda: asked() == len(HUNG))
        assert sorted(agents.received) == sorted(f"p{number}" for number in range(50))
        for gate in agents.gates.values():
            gate.set()
        await agents.until_in_db(lambda: asked() == 0)
    assert {len(agents.received[name]) for name in agents.received} == {1}


async def test_a_ping_to_an_agent_that_hangs_times_out(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sender.PING_TIMEOUT_S <= 2, "somebody waits for it at the desk"
    monkeypatch.setattr(sender, "PING_TIMEOUT_S", 0.1)
    agents.gates["p0"] = asyncio.Event()
    key = await agents.in_db(lambda: make.join("Player", None, endpoint=agents.url("p0")).agent.pk)
    async with conducting():
        await agents.in_db(lambda: registration.want_ping(agent_ids=[key]))
        await agents.until_in_db(lambda: asked() == 0)
    row = await agents.in_db(lambda: Agent.objects.get(pk=key))
    assert (row.problem, row.checked_at is None) == ("no answer within 0.1 s", False)
    assert row.call_found == "no answer in time"
