"""Which matches may begin at the same time: agents with lines do not share an address at which no agent was found."""

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


def two_leagues_at_one_address(*, progress: bool = True) -> list[Agent]:
    """Two players, each in a league with one opponent, whose routers gave them the same address."""
    make.referee(port=8001, progress=progress)
    adas = []
    for number, league in enumerate(("fall", "spring")):
        make.open_league(league)
        adas.append(make.player("Ada", league, port=8101).agent)
        make.player("Bob", league, port=8102 + number)
        lifecycle.start_league(league_id=league)
        make.open_round(league)
    return adas


def note_call_found(agents: list[Agent], what: str) -> None:
    Agent.objects.filter(pk__in=[agent.pk for agent in agents]).update(call_found=what)


def open_lines(agents: list[Agent], lines: ExitStack) -> None:
    for agent in agents:
        lines.enter_context(hub.line(agent.pk, "poll", token=f"of {agent.pk}"))


def endpoints(starts: list[Start]) -> set[str]:
    params = [json.loads(start.message) for start in starts]
    return {seat["endpoint"] for one in params for seat in (one["player_A"], one["player_B"])}


def test_agents_that_are_reached_only_over_their_lines_play_at_the_same_time_and_are_called_nowhere_else(
    lines: ExitStack,
) -> None:
    adas = two_leagues_at_one_address()
    note_call_found(adas, SILENT)
    open_lines(adas, lines)
    starts = make.look().starts
    assert len(starts) == 2
    assert endpoints(starts) >= {inbox_url(agent.pk) for agent in adas}
    assert "http://localhost:8101/mcp" not in endpoints(starts)
    # A start that is sent again names the same endpoints, even if the line and the finding at the address have changed.
    lines.close()
    note_call_found(adas, "")
    assert endpoints(make.look().starts) <= endpoints(starts)


@pytest.mark.parametrize("what", ["", str(note(Code.OTHER_JSON, status=404)), str(note(Code.NOT_IN_TIME))])
def test_agents_that_may_be_at_one_address_play_there_one_at_a_time(lines: ExitStack, what: str) -> None:
    adas = two_leagues_at_one_address()
    note_call_found(adas, what)
    open_lines(adas, lines)
    assert len(make.look().starts) == 1


def test_agents_without_a_line_are_called_at_their_address_one_at_a_time() -> None:
    adas = two_leagues_at_one_address()
    note_call_found(adas, SILENT)
    assert len(make.look().starts) == 1


def test_players_of_one_league_at_one_address_play_at_the_same_time_over_their_lines(lines: ExitStack) -> None:
    make.referee(port=8001)
    make.open_league("fall")
    players = [make.player(f"P{number}", "fall", port=8101).agent for number in range(4)]
    note_call_found(players, SILENT)
    open_lines(players, lines)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    starts = make.look().starts
    assert len(starts) == 2
    assert Match.objects.filter(state="ASSIGNED").count() == 2
    assert make.look().starts == []


def test_a_students_referee_calls_addresses_only(lines: ExitStack) -> None:
    adas = two_leagues_at_one_address(progress=False)
    # The message about the round has reached it.
    Delivery.objects.update(state=DeliveryState.SETTLED)
    note_call_found(adas, SILENT)
    open_lines(adas, lines)
    assert len(make.look().starts) == 1


def test_a_player_that_entered_by_its_line_is_not_called_at_the_address_of_its_rival() -> None:
    """Its line let it enter; at the address that it names, its rival's program would play for it."""
    make.referee(port=8001)
    make.open_league("fall")
    rival, thief = (make.player(name, "fall", port=port) for name, port in (("Rival", 8101), ("Thief", 8102)))
    named = {"endpoint": "http://localhost:8101/x", "endpoint_key": "127.0.0.1|8101/x?"}
    Agent.objects.filter(pk=thief.agent.pk).update(**named, shown_at=None, line_seen_at=timezone.now())
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    assert endpoints(make.look().starts) == {rival.agent.endpoint, inbox_url(thief.agent.pk)}


@pytest.mark.parametrize(
    "changes",
    [
        {"line_seen_at": None},
        {"by_hand": True},
        {"shown_at": timezone.now()},
        {"endpoint": "http://localhost:8102/mcp"},
    ],
)
def test_any_other_player_is_called_at_the_address_that_it_names(changes: dict[str, object]) -> None:
    make.referee(port=8001)
    make.open_league("fall")
    rival, other = (make.player(name, "fall", port=port) for name, port in (("Rival", 8101), ("Other", 8102)))
    named = {"endpoint": "http://localhost:8101/x", "shown_at": None, "line_seen_at": timezone.now()} | changes
    Agent.objects.filter(pk=other.agent.pk).update(**named)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    assert endpoints(make.look().starts) == {rival.agent.endpoint, named["endpoint"]}
