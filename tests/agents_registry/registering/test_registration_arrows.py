"""What each verb does to the state of an agent: it only follows arrows of 004 2.8 and of the ruling's section 8."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.states import AGENT_ARROWS, AgentState
from tests import factories as make

pytestmark = pytest.mark.django_db
STATES = ("REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN")
Verb = Callable[[make.RegisteredAgent], object]


def of_ids(verb: Callable[..., object]) -> Verb:
    return lambda who: verb(agent_ids=[who.agent.pk])


def of_id(verb: Callable[..., object], **options: object) -> Verb:
    return lambda who: verb(agent_id=who.agent.pk, **options)


def silence(suspend_after: int, shutdown_after: int) -> Verb:
    limits = {"suspend_after": suspend_after, "shutdown_after": shutdown_after}
    return of_id(registration.count_silence, problem="no answer", **limits)


# For each verb, the new state of an agent in each of STATES, in that order.
OF_PLAYERS: dict[str, tuple[Verb, str]] = {
    "the league starts": (of_ids(registration.activate), "ACTIVE ACTIVE SUSPENDED SHUTDOWN"),
    "the league ends, or the player is withdrawn": (of_ids(registration.retire), "SHUTDOWN SHUTDOWN SHUTDOWN SHUTDOWN"),
    "one silence of two": (silence(2, 5), "REGISTERED ACTIVE SUSPENDED SHUTDOWN"),
    "the silence that suspends": (silence(1, 5), "SUSPENDED SUSPENDED SUSPENDED SHUTDOWN"),
    "the silence that shuts down": (silence(1, 1), "SHUTDOWN SHUTDOWN SHUTDOWN SHUTDOWN"),
    "it answered in a match": (of_ids(registration.count_answers), "REGISTERED ACTIVE ACTIVE SHUTDOWN"),
    "it answered a ping": (of_id(registration.note_ping, problem=""), "REGISTERED ACTIVE SUSPENDED SHUTDOWN"),
    "the instructor brings it back": (of_ids(registration.bring_back), "REGISTERED ACTIVE SUSPENDED REGISTERED"),
    "it registers again": (
        lambda who: make.player("Player 1", "fall", port=8101),
        "REGISTERED ACTIVE SUSPENDED REGISTERED",
    ),
}
OF_REFEREES: dict[str, tuple[Verb, str]] = {
    "no sign of life": (
        of_id(registration.suspend_referee, problem="no sign of life"),
        "SUSPENDED SUSPENDED SUSPENDED SHUTDOWN",
    ),
    "a sign of life": (of_id(registration.heard_from_referee), "REGISTERED ACTIVE ACTIVE SHUTDOWN"),
    "it answered a ping": (of_id(registration.note_ping, problem=""), "REGISTERED ACTIVE ACTIVE SHUTDOWN"),
    "it is about to be started by the site": (
        lambda who: registration.expect_again(names=["Referee 1"]),
        "SUSPENDED SUSPENDED SUSPENDED SHUTDOWN",
    ),
    "it registers again": (lambda who: make.referee("Referee 1", port=8001), "REGISTERED ACTIVE ACTIVE REGISTERED"),
}


def becomes(who: make.RegisteredAgent, verb: Verb) -> str:
    states = []
    for state in STATES:
        Agent.objects.filter(pk=who.agent.pk).update(state=state, silences=0)
        verb(who)
        states.append(who.fresh().state)
    return " ".join(states)


@pytest.mark.parametrize("name", OF_PLAYERS)
def test_each_verb_moves_a_player_along_the_expected_arrows(name: str) -> None:
    made = make.league(players=1)
    verb, expected = OF_PLAYERS[name]
    assert becomes(made.players[0], verb) == expected


@pytest.mark.parametrize("name", OF_REFEREES)
def test_each_verb_moves_a_referee_along_the_expected_arrows(name: str) -> None:
    verb, expected = OF_REFEREES[name]
    assert becomes(make.referee("Referee 1", port=8001), verb) == expected


def test_every_change_is_an_arrow_and_every_arrow_is_made() -> None:
    # An agent that has not registered yet has no row.
    made = {("INIT", "REGISTERED"), ("INIT", "SHUTDOWN")}
    # Also without SUSPENDED in between.
    directly = {("REGISTERED", "SHUTDOWN"), ("ACTIVE", "SHUTDOWN")}
    for _, expected in (*OF_PLAYERS.values(), *OF_REFEREES.values()):
        made |= {(old, new) for old, new in zip(STATES, expected.split(), strict=True) if old != new}
    assert directly < made
    assert made == {(str(old), str(new)) for old, targets in AGENT_ARROWS.items() for new in targets}


def test_a_new_agent_is_registered_and_counts_no_silence() -> None:
    made = make.league(players=1)
    row = made.players[0].fresh()
    assert (row.state, row.silences) == (AgentState.REGISTERED, 0)


@pytest.mark.parametrize("verb", ["it answered in a match", "the instructor brings it back"])
def test_answering_and_bringing_back_reset_the_count_of_silences(verb: str) -> None:
    made = make.league(players=1)
    who = made.players[0]
    Agent.objects.filter(pk=who.agent.pk).update(state="SHUTDOWN", silences=4)
    OF_PLAYERS[verb][0](who)
    assert who.fresh().silences == 0
