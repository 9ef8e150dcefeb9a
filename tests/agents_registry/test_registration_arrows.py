"""What each verb does to an agent's state: the arrows of 004 2.8 and the ruling's section 8, and no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents_registry import registration
from agents_registry.models import Agent
from league_sdk.protocol.states import AGENT_ARROWS, AgentState
from tests import factories as make

pytestmark = pytest.mark.django_db
STATES = ("REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN")
Verb = Callable[[make.Member], object]


def silence(*, suspend_after: int, shutdown_after: int) -> Verb:
    return lambda who: registration.count_silence(
        agent_id=who.agent.pk, suspend_after=suspend_after, shutdown_after=shutdown_after, problem="no answer"
    )


def keys(who: make.Member) -> list[int]:
    return [who.agent.pk]


# What each of the four states becomes, in the order of STATES.
OF_PLAYERS: dict[str, tuple[Verb, tuple[str, str, str, str]]] = {
    "the league starts": (
        lambda who: registration.activate(agent_ids=keys(who)),
        ("ACTIVE", "ACTIVE", "SUSPENDED", "SHUTDOWN"),
    ),
    "the league ends, or it is withdrawn": (
        lambda who: registration.retire(agent_ids=keys(who)),
        ("SHUTDOWN", "SHUTDOWN", "SHUTDOWN", "SHUTDOWN"),
    ),
    "one silence of two": (
        silence(suspend_after=2, shutdown_after=5),
        ("REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"),
    ),
    "the silence that suspends": (
        silence(suspend_after=1, shutdown_after=5),
        ("SUSPENDED", "SUSPENDED", "SUSPENDED", "SHUTDOWN"),
    ),
    "the silence that shuts down": (
        silence(suspend_after=1, shutdown_after=1),
        ("SHUTDOWN", "SHUTDOWN", "SHUTDOWN", "SHUTDOWN"),
    ),
    "it answered in a match": (
        lambda who: registration.count_answers(agent_ids=keys(who)),
        ("REGISTERED", "ACTIVE", "ACTIVE", "SHUTDOWN"),
    ),
    "it answered a ping": (
        lambda who: registration.note_ping(agent_id=who.agent.pk, problem=""),
        ("REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"),
    ),
    "the instructor brings it back": (
        lambda who: registration.bring_back(agent_ids=keys(who)),
        ("REGISTERED", "ACTIVE", "SUSPENDED", "REGISTERED"),
    ),
    "it registers again": (
        lambda who: make.join("Player 1", "fall", port=8101),
        ("REGISTERED", "ACTIVE", "SUSPENDED", "REGISTERED"),
    ),
}
OF_REFEREES: dict[str, tuple[Verb, tuple[str, str, str, str]]] = {
    "no sign of life": (
        lambda who: registration.suspend_referee(agent_id=who.agent.pk, problem="no sign of life"),
        ("SUSPENDED", "SUSPENDED", "SUSPENDED", "SHUTDOWN"),
    ),
    "a sign of life": (
        lambda who: registration.heard_from_referee(agent_id=who.agent.pk),
        ("REGISTERED", "ACTIVE", "ACTIVE", "SHUTDOWN"),
    ),
    "it answered a ping": (
        lambda who: registration.note_ping(agent_id=who.agent.pk, problem=""),
        ("REGISTERED", "ACTIVE", "ACTIVE", "SHUTDOWN"),
    ),
    "it is about to be started by the site": (
        lambda who: registration.expect_again(names=["Referee 1"]),
        ("SUSPENDED", "SUSPENDED", "SUSPENDED", "SHUTDOWN"),
    ),
    "it registers again": (
        lambda who: make.hire("Referee 1", port=8001),
        ("REGISTERED", "ACTIVE", "ACTIVE", "REGISTERED"),
    ),
}


def becomes(who: make.Member, verb: Verb) -> tuple[str, ...]:
    found = []
    for state in STATES:
        Agent.objects.filter(pk=who.agent.pk).update(state=state, silences=0)
        verb(who)
        found.append(who.fresh().state)
    return tuple(found)


@pytest.mark.parametrize("name", OF_PLAYERS)
def test_what_a_player_becomes(name: str) -> None:
    place = make.setting(players=1)
    verb, expected = OF_PLAYERS[name]
    assert becomes(place.players[0], verb) == expected


@pytest.mark.parametrize("name", OF_REFEREES)
def test_what_a_referee_becomes(name: str) -> None:
    verb, expected = OF_REFEREES[name]
    assert becomes(make.hire("Referee 1", port=8001), verb) == expected


def test_every_change_is_an_arrow_and_every_arrow_is_made() -> None:
    # Before it has registered an agent has no row here.
    made = {("INIT", "REGISTERED"), ("INIT", "SHUTDOWN")}
    in_two_steps = {("REGISTERED", "SHUTDOWN"), ("ACTIVE", "SHUTDOWN")}
    for _, expected in (*OF_PLAYERS.values(), *OF_REFEREES.values()):
        made |= {(old, new) for old, new in zip(STATES, expected, strict=True) if old != new}
    assert in_two_steps < made
    assert made == {(str(old), str(new)) for old, targets in AGENT_ARROWS.items() for new in targets}


def test_a_new_agent_is_registered_and_counts_no_silence() -> None:
    place = make.setting(players=1)
    row = place.players[0].fresh()
    assert (row.state, row.silences) == (AgentState.REGISTERED, 0)


@pytest.mark.parametrize("verb", ["it answered in a match", "the instructor brings it back"])
def test_the_count_begins_anew(verb: str) -> None:
    place = make.setting(players=1)
    who = place.players[0]
    Agent.objects.filter(pk=who.agent.pk).update(state="SHUTDOWN", silences=4)
    OF_PLAYERS[verb][0](who)
    assert who.fresh().silences == 0
