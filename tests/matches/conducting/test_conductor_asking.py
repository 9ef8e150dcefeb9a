"""Pings to agents are sent all at once, and an agent that hangs delays no other agent."""

from __future__ import annotations

import asyncio

import pytest

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.conducting.sending import Patience
from matches.push.nudge import nudge
from tests import factories as make
from tests.matches.agent_server import Agents
from tests.matches.conftest import conducting

pytestmark = pytest.mark.django_db(transaction=True)
HANGING = [f"p{number}" for number in range(10)]


def register_players(agents: Agents) -> list[int]:
    """Register fifty players in a league; their primary keys."""
    make.open_league("fall")
    return [make.player(f"Player {n}", "fall", endpoint=agents.url(f"p{n}")).agent.pk for n in range(50)]


def waiting() -> int:
    """How many agents are to be pinged and have not answered or timed out yet."""
    return Agent.objects.filter(ping_wanted=True).count()


async def test_fifty_agents_are_pinged_at_once(agents: Agents) -> None:
    for name in HANGING:
        agents.gates[name] = asyncio.Event()
    keys = await agents.in_db(lambda: register_players(agents))
    async with conducting(patience=Patience(ping_s=60.0)):
        await agents.in_db(lambda: registration.want_ping(agent_ids=keys))
        nudge()
        # The answers of forty agents are saved while those of ten are still awaited.
        await agents.until_in_db(lambda: waiting() == len(HANGING))
        assert sorted(agents.received) == sorted(f"p{number}" for number in range(50))
        for gate in agents.gates.values():
            gate.set()
        await agents.until_in_db(lambda: waiting() == 0)
    assert {len(agents.received[name]) for name in agents.received} == {1}


async def test_a_ping_to_an_agent_that_hangs_times_out(agents: Agents) -> None:
    assert Patience().ping_s <= 2, "an instructor waits for the ping at the desk"
    agents.gates["p0"] = asyncio.Event()
    key = await agents.in_db(lambda: make.player("Player", None, endpoint=agents.url("p0")).agent.pk)
    async with conducting(patience=Patience(ping_s=0.1)):
        await agents.in_db(lambda: registration.want_ping(agent_ids=[key]))
        await agents.until_in_db(lambda: waiting() == 0)
    row = await agents.in_db(lambda: Agent.objects.get(pk=key))
    assert (row.problem, row.pinged_at is None) == ("no answer within 0.1 s", False)
    assert row.call_found == "no answer in time"
