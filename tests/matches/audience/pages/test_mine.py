"""The page "My agent": its verdict, how the agent is reached, and whether the agent is in play."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.notes import Code, note
from matches.audience.pages import mine
from matches.checks import asking, runs, taking
from matches.league import lifecycle
from matches.models import League
from matches.view import readiness
from tests import factories as make
from tests.matches.reports import report

pytestmark = pytest.mark.django_db


def check(agent: Agent, *, passed: bool | None) -> None:
    """Check an agent; None leaves the check running."""
    asking.ask(endpoint=agent.endpoint, caller=Caller("127.0.0.1", instructor=True))
    [job] = taking.take(now=timezone.now() + timedelta(seconds=1))
    if passed is not None:
        runs.finish(check_id=job.check_id, run=job.run, report=report(passed=passed))


def set_state(word: str) -> Callable[[Agent], None]:
    def change(agent: Agent) -> None:
        Agent.objects.filter(pk=agent.pk).update(state=word, silences=3, problem="no connection")

    return change


CASES: list[tuple[Callable[[Agent], None], str, str, bool]] = [
    (lambda agent: None, "do", "Not checked", False),
    (lambda agent: check(agent, passed=None), "wait", "Checking", True),
    (lambda agent: check(agent, passed=True), "ready", "Ready", True),
    (lambda agent: check(agent, passed=False), "do", "Wrong answers", True),
    (set_state("SUSPENDED"), "do", "Suspended", False),
    (set_state("SHUTDOWN"), "do", "Shut down", False),
    (set_state("ACTIVE"), "do", "Unreachable", False),
    (lambda agent: League.objects.update(out={agent.code: "withdrawn"}), "out", "Out of the league", False),  # type: ignore[func-returns-value]
    (lambda agent: League.objects.update(left_out={agent.code: "failed"}), "out", "Not in the schedule", False),  # type: ignore[func-returns-value]
    (lambda agent: lifecycle.stop(league_id="fall"), "out", "The league is over", False),  # type: ignore[func-returns-value]
]


@pytest.mark.parametrize(("change", "word", "headline", "has_report"), CASES, ids=[case[2] for case in CASES])
def test_the_verdict_on_an_agent_has_one_word_and_one_headline(
    change: Callable[[Agent], None], word: str, headline: str, has_report: bool
) -> None:
    made = make.league()
    change(made.players[0].agent)
    agent = made.players[0].fresh()
    verdict = mine.verdict(made.league, agent, readiness.readiness([agent])[agent.pk])
    assert (verdict.word, verdict.headline, bool(verdict.report)) == (word, headline, has_report)
    assert verdict.text


def test_an_unchecked_agent_waits_if_the_league_demands_a_check() -> None:
    made = make.league(require_check=True)
    agent = made.players[0].agent
    verdict = mine.verdict(made.league, agent, readiness.readiness([agent])[agent.pk])
    assert (verdict.word, verdict.headline) == ("wait", "Not checked")


def test_the_running_match_at_an_agents_address_is_found() -> None:
    made = make.league()
    agent = made.players[0].agent
    assert not mine.is_in_play(agent)
    make.next_round(made)
    assert mine.is_in_play(agent)
    make.finish_round(made)
    assert not mine.is_in_play(agent)


def test_the_page_says_how_the_agent_is_reached_what_a_call_found_and_what_to_do() -> None:
    made = make.league()
    agent = made.players[0].agent

    def shown(*, proven: bool) -> str:
        context = mine.context(made.league, [agent], proven=proven)
        return " ".join(render_to_string("leagues/mine_part.html", context).split())

    # The league has not called the agent so far, and the page says only that.
    assert "The league will call your agent at its address: it has not done so yet." in shown(proven=True)
    registration.note_ping(agent_id=agent.pk, problem="refused", found=str(note(Code.NOBODY_LISTENS)))
    agent = made.players[0].fresh()
    for text in ("The league calls your agent at its address.", agent.endpoint, "Start it at its port, or with"):
        assert text in shown(proven=True)
    assert "The last call at its address found: nobody listens at its address." in shown(proven=True)
    # Somebody who only named an address is told nothing of what is there.
    assert "nobody listens" not in shown(proven=False)
    assert "Start it at its port" not in shown(proven=False)


@pytest.mark.parametrize(("port", "playing"), [(8101, True), (8102, True), (9999, False)])
def test_a_match_at_the_same_port_under_another_path_counts_as_in_play(port: int, playing: bool) -> None:
    """The program may be a rival's, whose address somebody registered with another path or a question mark."""
    made = make.running_league(players=2)
    assert sorted(player.agent.endpoint for player in made.players) == [
        f"http://localhost:{number}/mcp" for number in (8101, 8102)
    ]
    other = make.player("Other", endpoint=f"http://127.0.0.1:{port}/mcp?1").agent
    assert mine.is_in_play(other) is playing
