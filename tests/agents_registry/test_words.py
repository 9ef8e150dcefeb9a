"""How an agent is reached now, what a call at its address found, and what its owner has to do."""

from __future__ import annotations

import pytest
from django.utils import translation

from agents_registry.models import Agent
from agents_registry.registering import registration
from agents_registry.words import reach, reach_for_all
from league_sdk.protocol.notes import Code, note
from tests import factories as make

pytestmark = pytest.mark.django_db
REFUSED = str(note(Code.NOBODY_LISTENS))
PAGE = str(note(Code.WEB_PAGE, status=200))
OTHER = str(note(Code.OTHER_JSON, status=404))
SILENT = str(note(Code.NO_CONNECTION_IN_TIME))


def called(agent: Agent, found: str) -> Agent:
    registration.note_ping(agent_id=agent.pk, problem=found, found=found)
    return Agent.objects.get(pk=agent.pk)


@pytest.mark.parametrize(
    ("found", "mend"),
    [
        ("", ""),
        (REFUSED, "Start it at its port, or with --dial-out."),
        (PAGE, "Register its own address, or use --dial-out."),
        (OTHER, "Register its own address, or use --dial-out."),
        (SILENT, "No call gets through: start it with --dial-out, or use the bridge."),
        ("no connection: No route to host", "No call gets through: start it with --dial-out, or use the bridge."),
    ],
)
def test_reach_says_what_a_call_found_and_what_the_owner_has_to_do(found: str, mend: str) -> None:
    agent = called(make.league(players=1).players[0].agent, found)
    known = reach(agent)
    assert (known.way, known.text, known.seen_at) == ("address", agent.endpoint, None)
    assert (known.found, known.mend) == (found, mend)


def test_an_agent_that_knows_no_ping_is_not_taken_for_another_program_once_it_answers_in_a_match() -> None:
    agent = make.league(players=1).players[0].agent
    registration.note_ping(agent_id=agent.pk, problem="", found=OTHER)
    agent.refresh_from_db()
    assert reach(agent).found == reach_for_all(agent, proven=True).found == OTHER
    registration.count_answers(agent_ids=[agent.pk])
    agent.refresh_from_db()
    assert reach(agent)[-2:] == reach_for_all(agent, proven=True)[-2:] == ("", "")


def test_an_agent_that_dials_out_has_nothing_to_mend() -> None:
    agent = called(make.league(players=1).players[0].agent, SILENT)
    registration.note_lines(opened={agent.pk: "poll"}, closed=[], contested=[])
    agent.refresh_from_db()
    known = reach(agent)
    assert (known.way, known.text) == ("poll", f"{agent.endpoint} · dials out (long poll)")
    assert known.seen_at == agent.line_seen_at
    # What the league found when it called stays known.
    assert (known.found, known.mend, agent.problem) == (SILENT, "", "")


def test_an_agent_without_address_and_line_is_to_be_started() -> None:
    agent = make.league(players=1).players[0].agent
    agent.endpoint = f"inbox://{agent.pk}/"
    known = reach(agent)
    assert (known.way, known.text) == ("nothing", "dials out, and has no line open now")
    assert known.mend == "Start it: it fetches no messages."


def test_others_are_told_no_address_and_no_finding_at_an_address_that_is_not_proven() -> None:
    agent = called(make.league(players=1).players[0].agent, REFUSED)
    mine = reach_for_all(agent, proven=True)
    assert (mine.text, mine.found) == ("called at its address", REFUSED)
    assert reach_for_all(agent, proven=False)[-2:] == ("", "")
    agent = called(agent, f"its reply {agent.endpoint} holds no answer, and none followed")
    assert agent.endpoint not in "".join(map(str, reach_for_all(agent, proven=True)))


def test_what_a_call_found_is_said_in_the_readers_language() -> None:
    agent = called(make.league(players=1).players[0].agent, PAGE)
    with translation.override("he"):
        assert "HTTP 200" in reach(agent).found
        assert reach(agent).found != PAGE
