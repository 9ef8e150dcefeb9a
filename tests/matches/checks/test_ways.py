"""By which way an agent is checked, its address or its line, and that a check over a line concerns its agent alone."""

from __future__ import annotations

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from matches.checks import asking, runs, taking, tending
from matches.checks.taking import Job
from matches.inbox.hub import hub
from matches.league import lifecycle
from matches.models import Check, CheckWay
from matches.view import readiness
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, LOCAL, NOW, REMOTE, after, ask
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db


def dialler(name: str = "Ada", league: str = "fall") -> make.RegisteredAgent:
    """A player without an address."""
    return make.player(name, league, delivery="poll")


def queue(agent: Agent, seconds: float = 0) -> Check:
    """Queue a check as the instructor does on the desk."""
    [check] = asking.ask_for_agents(agent_ids=[agent.pk], now=after(seconds))
    return check


def take(seconds: float = 0) -> list[Job]:
    return taking.take(now=after(seconds))


def finish(job: Job, *, passed: bool = True) -> None:
    failed = clause("choice.legal", "fails", why="It chose 7.")
    clauses = {} if passed else {"clauses": (clause(), failed)}
    assert runs.finish(check_id=job.check_id, run=job.run, report=report(passed=passed, **clauses), now=NOW)


def word(agent: Agent) -> str:
    return readiness.readiness([Agent.objects.get(pk=agent.pk)])[agent.pk].word.value


def test_an_agent_without_an_address_is_checked_over_its_line_even_if_none_is_open() -> None:
    make.open_league("fall")
    ada = dialler()
    for seconds, way in ((0, "websocket"), (1, "inbox")):
        check = queue(ada.agent, seconds)
        if way == "inbox":
            hub.forget_old(after_s=0.0)
            [job] = take(seconds)
        else:
            with hub.line(ada.agent.pk, way, token="t"):
                [job] = take(seconds)
        check.refresh_from_db()
        assert (job.check_id, job.agent, check.way) == (check.pk, ada.agent.pk, way)
        finish(job)


def test_an_agent_that_opens_its_line_only_for_checks_is_not_called_ready() -> None:
    make.open_league("fall")
    ada = dialler().agent
    rows = Agent.objects.filter(pk=ada.pk)
    with hub.line(ada.pk, "poll", token="t"):
        rows.update(line="poll", line_seen_at=timezone.now())
        queue(ada)
        [job] = take()
        finish(job)
        assert word(ada) == "ready"
    rows.update(line="")
    row = readiness.readiness([rows.get()])[ada.pk]
    assert (row.word.value, row.able) == ("unreachable", False)
    assert row.step == "Start it: it fetches no messages."


def test_an_agent_with_address_and_line_is_checked_by_the_way_that_its_league_would_use() -> None:
    make.open_league("fall")
    ada = make.player("Ada", "fall", port=8101).agent
    check = queue(ada)
    with hub.line(ada.pk, "poll", token="t"):
        [job] = take()
        assert (job.agent, job.pinned) == (ada.pk, ())
        # The process stops: the check waits again, and the line is gone.
        runs.return_to_queue([(job.check_id, job.run)])
    hub.forget_old(after_s=0.0)
    [job] = take()
    check.refresh_from_db()
    assert (job.agent, job.endpoint, check.way, check.endpoint_key) == (None, ada.endpoint, "", ada.endpoint_key)


def test_a_check_that_names_an_address_goes_to_that_address() -> None:
    """Another agent has registered that address with the class code and has a line: the check does not use the line."""
    make.open_league("fall")
    mallory = make.player("Mallory", "fall", port=8101).agent
    with hub.line(mallory.pk, "poll", token="t"):
        own = queue(mallory)
        for seconds, caller in ((1, LOCAL), (2, INSTRUCTOR)):
            check = ask(caller=caller, now=after(seconds))
            assert (check.way, check.pk == own.pk) == (CheckWay.ADDRESS, False)
        jobs = {job.check_id: job.agent for job in take(3)}
        assert jobs == {own.pk: mallory.pk, check.pk: None}


def test_a_check_over_a_line_changes_no_readiness_of_others_at_the_same_address() -> None:
    """Otherwise anybody could make another agent appear unable to play, and a league could leave it out."""
    make.open_league("fall", require_check=True)
    ada = make.player("Ada", "fall", port=8101).agent
    mallory = make.player("Mallory", "fall", port=8101).agent
    queue(ada)
    [job] = take()
    finish(job)
    assert (word(ada), word(mallory)) == ("ready", "ready")
    with hub.line(mallory.pk, "poll", token="t"):
        queue(mallory, 1)
        [job] = [one for one in take(1) if one.agent == mallory.pk]
    finish(job, passed=False)
    assert (word(ada), word(mallory)) == ("ready", "wrong_answers")
    assert Agent.objects.get(pk=ada.pk).problem == ""


def test_while_an_agent_dials_out_only_checks_over_its_line_count() -> None:
    make.open_league("fall")
    ada = make.player("Ada", "fall", port=8101).agent
    with hub.line(ada.pk, "poll", token="t"):
        queue(ada)
        [job] = take()
        finish(job)
    Agent.objects.filter(pk=ada.pk).update(line="poll", line_seen_at=timezone.now())
    ask(now=after(1))
    [job] = take(1)
    finish(job, passed=False)
    assert word(ada) == "ready"
    Agent.objects.filter(pk=ada.pk).update(line="")
    assert word(ada) == "wrong_answers"


def test_a_check_over_a_line_delays_no_match_but_the_agents_own() -> None:
    made = make.league(players=4)
    victim, mallory = made.players[0].agent, made.players[1].agent
    Agent.objects.filter(pk=mallory.pk).update(endpoint=victim.endpoint, endpoint_key=victim.endpoint_key)
    with hub.line(mallory.pk, "poll", token="t"):
        asking.ask_for_agents(agent_ids=[mallory.pk])
        assert [job.agent for job in taking.take(now=timezone.now())] == [mallory.pk]
    assert taking.occupied() == {f"agent:{mallory.pk}"}


def test_a_check_whose_line_is_gone_calls_the_address_unless_somebody_plays_or_is_checked_there() -> None:
    make.open_league("fall")
    ada = make.player("Ada", "fall", port=8101).agent
    with hub.line(ada.pk, "poll", token="t"):
        queue(ada)
        [job] = take()
    assert taking.occupied() == {f"agent:{ada.pk}"}
    running_check = ask("http://127.0.0.1:8101/mcp", LOCAL, now=after(1))
    [other] = take(1)
    assert other.check_id == running_check.pk
    assert not taking.falls_back(job)
    finish(other)
    assert taking.falls_back(job)
    # From now on no match and no other check is started at that address.
    assert taking.occupied() == {f"agent:{ada.pk}", "127.0.0.1|8101"}
    finish(job)
    assert taking.occupied() == set()


def test_a_check_over_a_line_does_not_fall_back_to_the_address_of_an_agent_that_plays() -> None:
    make.open_league("fall")
    make.referee("Judge", port=8001)
    ada, _bob = make.player("Ada", "fall", port=8101).agent, make.player("Bob", "fall", port=8102)
    with hub.line(ada.pk, "poll", token="t"):
        queue(ada)
        [job] = take()
    assert job.keys == {"127.0.0.1|8101"}
    lifecycle.start_league(league_id="fall")
    assert not taking.falls_back(job)


def test_the_check_of_an_agent_without_an_address_cannot_fall_back() -> None:
    make.open_league("fall")
    ada = dialler()
    queue(ada.agent)
    [job] = take()
    assert (job.keys, taking.falls_back(job)) == (frozenset(), False)


def test_a_match_comes_before_the_check_of_its_player() -> None:
    make.open_league("fall")
    make.referee("Judge", port=8001)
    ada, _bob = dialler(), dialler("Bob")
    early = tending.after_registration(agent=Agent.objects.select_related("league").get(pk=ada.agent.pk), now=NOW)
    assert early is not None
    [job] = take(10)
    assert taking.overtaken([job]) == set()
    lifecycle.start_league(league_id="fall")
    assert taking.overtaken([job]) == {early.pk}
    runs.return_to_queue([(job.check_id, job.run)])
    assert take(20) == []


def test_two_checks_after_registrations_run_at_once_one_for_each_network() -> None:
    make.open_league("fall")
    for name in ("Ada", "Bob", "Eve", "Kim"):
        agent = dialler(name).agent
        address = "192.0.2.1" if name != "Kim" else "192.0.2.2"
        Agent.objects.filter(pk=agent.pk).update(registered_from=address)
        agent = Agent.objects.select_related("league").get(pk=agent.pk)
        assert tending.after_registration(agent=agent, now=NOW) is not None
    assert sorted(job.seen_from for job in take(10)) == ["192.0.2.1", "192.0.2.2"]
    assert take(11) == []


@pytest.mark.exhaustive
def test_hundreds_of_requests_for_a_check_make_one_check() -> None:
    make.open_league("fall")
    ada = dialler()
    for number in range(200):
        assert ask("", REMOTE, token=ada.token, now=after(number / 10)).agent_id == ada.agent.pk
    assert Check.objects.count() == 1
    [job] = take(60)
    assert job.agent == ada.agent.pk
    # A request during the run returns the running check; after its end the limit for one minute applies.
    assert ask("", REMOTE, token=ada.token, now=after(61)).pk == job.check_id
    finish(job)
    for number in range(asking.MAX_CHECKS_PER_MINUTE - 1):
        ask("", REMOTE, token=ada.token, now=after(number / 100))
        [job] = take(62)
        finish(job)
    with pytest.raises(asking.TooManyChecks):
        ask("", REMOTE, token=ada.token, now=after(1))


def test_a_waiting_check_is_found_by_address_and_by_line() -> None:
    """The agent opens its line between two requests: there is still one check."""
    make.open_league("fall")
    ada = make.player("Ada", "fall", port=8101)
    first = ask("", REMOTE, token=ada.token)
    with hub.line(ada.agent.pk, "poll", token="t"):
        assert ask("", REMOTE, token=ada.token, now=after(1)).pk == first.pk
        [job] = take(2)
        assert (job.check_id, job.agent) == (first.pk, ada.agent.pk)
        assert ask("", REMOTE, token=ada.token, now=after(3)).pk == first.pk
