"""The verdict on one's own agent: one word, and the one thing to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from agents_registry.callers import Caller
from agents_registry.models import Agent
from matches.audience.pages import mine
from matches.checks import asking, runs, taking
from matches.league import lifecycle
from matches.models import League
from matches.view import readiness
from tests import factories as make
from tests.matches.reports import report

pytestmark = pytest.mark.django_db


def checked(agent: Agent, *, passed: bool | None) -> None:
    """It was checked; None: the check is on its way."""
    asking.ask(endpoint=agent.endpoint, caller=Caller("127.0.0.1", instructor=True))
    [job] = taking.take(now=timezone.now() + timedelta(seconds=1))
    if passed is not None:
        runs.finish(check_id=job.check_id, run=job.run, report=report(passed=passed))


def state(word: str) -> Callable[[Agent], None]:
    def put(agent: Agent) -> None:
        Agent.objects.filter(pk=agent.pk).update(state=word, silences=3, problem="no connection")

    return put


CASES: list[tuple[Callable[[Agent], None], str, str, bool]] = [
    (lambda agent: None, "do", "Registered, not checked", False),
    (lambda agent: checked(agent, passed=None), "wait", "Being checked", True),
    (lambda agent: checked(agent, passed=True), "ready", "Ready", True),
    (lambda agent: checked(agent, passed=False), "do", "Not ready", True),
    (state("SUSPENDED"), "do", "Suspended", False),
    (state("SHUTDOWN"), "do", "Shut down", False),
    (state("ACTIVE"), "do", "Not reached", False),
    (lambda agent: League.objects.update(out={agent.code: "withdrawn"}), "out", "Out of the league", False),  # type: ignore[func-returns-value]
    (lambda agent: League.objects.update(left_out={agent.code: "failed"}), "out", "Not in the schedule", False),  # type: ignore[func-returns-value]
    (lambda agent: lifecycle.stop(league_id="fall"), "out", "The league is over", False),  # type: ignore[func-returns-value]
]


@pytest.mark.parametrize(("happens", "word", "headline", "has_report"), CASES, ids=[case[2] for case in CASES])
def test_verdict(happens: Callable[[Agent], None], word: str, headline: str, has_report: bool) -> None:
    place = make.setting()
    happens(place.players[0].agent)
    agent = place.players[0].fresh()
    found = mine.verdict(place.league, agent, readiness.readiness([agent])[agent.pk])
    assert (found["word"], found["headline"], bool(found["report"])) == (word, headline, has_report)
    assert found["text"]


def test_a_league_that_checks_by_itself_says_so() -> None:
    place = make.setting(require_check=True)
    agent = place.players[0].agent
    found = mine.verdict(place.league, agent, readiness.readiness([agent])[agent.pk])
    assert (found["word"], found["headline"]) == ("wait", "Waiting for its check")


def test_the_match_that_is_on_at_an_address() -> None:
    place = make.setting()
    agent = place.players[0].agent
    assert mine.in_play(agent) is None
    make.playing_on(place)
    assert mine.in_play(agent) in place.states()
    make.finish_round(place)
    assert mine.in_play(agent) is None
