"""Which matches may begin at the same time: an address at which no agent was found delays no other agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.utils import timezone

from agents_registry.addresses.reading import inbox_url
from agents_registry.models import Agent
from league_sdk.protocol.notes import Code, note
from matches.conducting.outgoing import Start
from matches.inbox.hub import hub
from matches.league import lifecycle
from matches.models import Delivery, DeliveryState, Match
from tests import factories as make

pytestmark = pytest.mark.django_db
SILENT = str(note(Code.NO_CONNECTION_IN_TIME))


@pytest.fixture(autouse=True)
def lines() -> Iterator[ExitStack]:
    """Lines that stay open until the test ends."""
    with ExitStack() as stack:
        yield stack


def homes(*, progress: bool = True) -> list[Agent]:
    """Two players in two leagues whose routers gave them the same address, against one neighbour each."""
    make.hire(port=8001, progress=progress)
    ours = []
    for number, league in enumerate(("fall", "spring")):
        make.open_league(league)
        ours.append(make.join("Ada", league, port=8101).agent)
        make.join("Bob", league, port=8102 + number)
        lifecycle.start_league(league_id=league)
        make.open_current(league)
    return ours


def found(agents: list[Agent], what: str) -> None:
    Agent.objects.filter(pk__in=[agent.pk for agent in agents]).update(call_found=what)


def open_lines(agents: list[Agent], lines: ExitStack) -> None:
    for agent in agents:
        lines.enter_context(hub.line(agent.pk, "poll", token=f"of {agent.pk}"))


def endpoints(starts: list[Start]) -> set[str]:
    params = [json.loads(start.message) for start in starts]
    return {seat["endpoint"] for one in params for seat in (one["player_A"], one["player_B"])}


def test_agents_that_only_their_lines_reach_play_beside_each_other_and_are_called_nowhere_else(
    lines: ExitStack,
) -> None:
    ours = homes()
    found(ours, SILENT)
    open_lines(ours, lines)
    starts = make.look().starts
    assert len(starts) == 2
    assert endpoints(starts) >= {inbox_url(agent.pk) for agent in ours}
    assert "http://localhost:8101/mcp" not in endpoints(starts)
    # A start that is sent again says the same, whatever became of the line and the address since.
    lines.close()
    found(ours, "")
    assert endpoints(make.look().starts) <= endpoints(starts)


@pytest.mark.parametrize("what", ["", str(note(Code.OTHER_JSON, status=404)), str(note(Code.NOT_IN_TIME))])
def test_an_agent_that_may_be_at_its_address_plays_there_alone(lines: ExitStack, what: str) -> None:
    ours = homes()
    found(ours, what)
    open_lines(ours, lines)
    assert len(make.look().starts) == 1


def test_an_agent_without_a_line_is_called_at_its_address_and_waits_for_it() -> None:
    ours = homes()
    found(ours, SILENT)
    assert len(make.look().starts) == 1


def test_an_agent_plays_one_match_at_a_time_over_its_line(lines: ExitStack) -> None:
    make.hire(port=8001)
    make.open_league("fall")
    players = [make.join(f"P{number}", "fall", port=8101).agent for number in range(4)]
    found(players, SILENT)
    open_lines(players, lines)
    lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    starts = make.look().starts
    assert len(starts) == 2
    assert Match.objects.filter(state="ASSIGNED").count() == 2
    assert make.look().starts == []


def test_a_students_referee_calls_addresses_only(lines: ExitStack) -> None:
    ours = homes(progress=False)
    # The message about the round has reached it.
    Delivery.objects.update(state=DeliveryState.SETTLED)
    found(ours, SILENT)
    open_lines(ours, lines)
    assert len(make.look().starts) == 1


def test_a_player_that_entered_by_its_line_is_not_called_at_the_address_of_another() -> None:
    """Its line gave it a seat of its own; without the line it would play with its rival's program."""
    make.hire(port=8001)
    make.open_league("fall")
    rival, thief = (make.join(name, "fall", port=port) for name, port in (("Rival", 8101), ("Thief", 8102)))
    named = {"endpoint": "http://localhost:8101/x", "endpoint_key": "127.0.0.1|8101/x?"}
    Agent.objects.filter(pk=thief.agent.pk).update(**named, shown_at=None, line_seen_at=timezone.now())
    lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    assert endpoints(make.look().starts) == {rival.agent.endpoint, inbox_url(thief.agent.pk)}


@pytest.mark.parametrize(
    "thiefs",
    [
        {"line_seen_at": None},
        {"by_hand": True},
        {"shown_at": timezone.now()},
        {"endpoint": "http://localhost:8102/mcp"},
    ],
)
def test_all_others_are_called_at_the_address_that_they_name(thiefs: dict[str, object]) -> None:
    make.hire(port=8001)
    make.open_league("fall")
    rival, other = (make.join(name, "fall", port=port) for name, port in (("Rival", 8101), ("Other", 8102)))
    named = {"endpoint": "http://localhost:8101/x", "shown_at": None, "line_seen_at": timezone.now()} | thiefs
    Agent.objects.filter(pk=other.agent.pk).update(**named)
    lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    assert endpoints(make.look().starts) == {rival.agent.endpoint, named["endpoint"]}
