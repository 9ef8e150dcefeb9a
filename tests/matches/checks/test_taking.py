"""Which queued checks are claimed, and which programs get no match meanwhile."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from league_sdk.protocol.league_settings import LeagueSettings
from matches.checks import runs, taking, tending
from matches.checks.asking import queue_agent
from matches.league import results
from matches.models import Check, CheckState, League
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, NOW, REMOTE, after, ask
from tests.matches.checks.conftest import LeadsTo
from tests.matches.reports import report

pytestmark = pytest.mark.django_db


def claimed_endpoints(room: int = taking.MAX_RUNNING, now: datetime = NOW) -> list[str]:
    """Claim checks; returns their addresses in order."""
    return [job.endpoint for job in taking.take(now=now, room=room)]


def urls(host: str, *ports: int) -> list[str]:
    return [f"http://{host}:{port}/mcp" for port in ports]


def test_one_check_per_address_and_a_limited_number_in_all_run_at_once() -> None:
    same = [ask(f"http://127.0.0.1:8101/{path}") for path in ("a", "b")]
    others = [ask(f"http://127.0.0.1:{9000 + number}/mcp", INSTRUCTOR) for number in range(10)]
    claimed = [job.check_id for job in taking.take(now=NOW)]
    assert claimed == [same[0].pk, *(check.pk for check in others[:5])]
    assert taking.take(now=NOW, room=0) == []
    assert [job.check_id for job in taking.take(now=NOW, room=4)] == [check.pk for check in others[5:7]]
    runs.finish(check_id=same[0].pk, run=1, report=report())
    assert [job.check_id for job in taking.take(now=NOW, room=3)] == [same[1].pk]


def test_one_network_or_requester_has_two_running_checks_while_others_wait() -> None:
    slow = urls("192.0.2.7", 9000, 9001, 9002, 9003)
    others = [f"http://192.0.2.{number}:8101/mcp" for number in (20, 21)]
    # One after the other: checks that are equally old have no order.
    moments = map(after, itertools.count(-9))
    for url in slow:
        ask(url, REMOTE, now=next(moments))
    instructors = [ask(url, INSTRUCTOR, now=next(moments)).endpoint for url in urls("198.51.100.4", 9000, 9001, 9002)]
    for url, number in zip(others, (20, 21), strict=True):
        ask(url, Caller(f"192.0.2.{number}"), now=next(moments))
    assert claimed_endpoints() == [*slow[:2], *instructors[:2], *others]


@pytest.mark.parametrize(
    "hosts",
    [("[2001:db8::1]", "[2001:db8::2]", "[2001:db8::3]"), ("a.zone.example", "b.zone.example", "c.zone.example")],
)
def test_names_of_a_zone_and_addresses_of_a_network_count_as_one_network(
    hosts: tuple[str, ...], leads_to: LeadsTo
) -> None:
    leads_to.update({host.strip("[]"): ("192.0.2.30",) for host in hosts})
    for host in hosts:
        ask(f"http://{host}:8101/mcp", INSTRUCTOR)
    last = ask("http://192.0.2.20:8101/mcp", Caller("192.0.2.20"))
    assert claimed_endpoints(room=5) == [*(f"http://{host}:8101/mcp" for host in hosts[:2]), last.endpoint]


def test_checks_that_a_league_demands_come_first_and_have_two_reserved_places() -> None:
    for number in range(20, 30):
        ask(f"http://192.0.2.{number}:8101/mcp", Caller(f"192.0.2.{number}"))
    assert len(claimed_endpoints()) == 6
    make.open_league("fall", require_check=True)
    ada, bob = make.player("Ada", "fall", port=8101), make.player("Bob", "fall", port=8102)
    tending.tend(now=NOW - timedelta(hours=1))
    Check.objects.filter(asked_by="").update(due_at=after(1))
    # Bob has asked for his check himself meanwhile.
    Check.objects.filter(agent=bob.agent).update(asked_by="127.0.0.1")
    assert claimed_endpoints(room=2, now=after(2)) == [ada.agent.endpoint, bob.agent.endpoint]


def test_the_database_allows_one_running_check_per_address() -> None:
    first, second = (ask(f"http://127.0.0.1:8101/{path}") for path in ("a", "b"))
    Check.objects.filter(pk=first.pk).update(state=CheckState.RUNNING)
    with pytest.raises(IntegrityError):
        Check.objects.filter(pk=second.pk).update(state=CheckState.RUNNING)


def test_an_agent_in_a_match_is_checked_after_the_match() -> None:
    made = make.running_league(players=2)
    check = ask(made.players[0].agent.endpoint)
    assert taking.take(now=NOW) == []
    make.report(made.match("R1M1"), "P01")
    assert [job.check_id for job in taking.take(now=NOW)] == [check.pk]


def test_a_program_under_check_gets_its_match_after_the_check() -> None:
    """In this test somebody starts a check at another address of the program as its round starts."""
    made = make.league(players=2)
    make.open_league("winter")
    alias = make.player("Alias", "winter", endpoint=f"{made.players[0].agent.endpoint}/x")
    ask("", REMOTE, token=alias.token)
    [job] = taking.take(now=NOW)
    make.next_round(made)
    assert made.states() == {"R1M1": "READY"}
    runs.finish(check_id=job.check_id, run=job.run, report=report(passed=True), now=NOW)
    make.look()
    assert made.states() == {"R1M1": "ASSIGNED"}


def test_a_slow_check_delays_a_match_for_a_limited_time() -> None:
    """The agent under check decides itself how long the check takes."""
    made = make.league(players=2)
    begun = timezone.now() - timedelta(seconds=taking.MAX_MATCH_DELAY_S)
    ask("", REMOTE, token=made.players[0].token, now=begun)
    assert len(taking.take(now=begun)) == 1
    make.next_round(made)
    assert made.states() == {"R1M1": "ASSIGNED"}


def test_a_host_name_cannot_bring_a_check_to_a_program_whose_match_is_due(leads_to: LeadsTo) -> None:
    make.referee()
    make.open_league("fall")
    victim = make.player("Victim", "fall", endpoint="http://192.0.2.7:8101/mcp")
    make.player("Beta", "fall", endpoint="http://192.0.2.8:8101/mcp")
    make.open_league("winter")
    alias = make.player("Alias", "winter", endpoint="http://alias.example:8101/x")
    made = make.MadeLeague("fall", [victim], [])
    make.next_round(made)
    ask("", REMOTE, token=alias.token)
    # First the address of the name is not known; then the name leads to a program that has a match.
    assert claimed_endpoints() == []
    leads_to["alias.example"] = ("192.0.2.7",)
    assert claimed_endpoints() == []
    results.cancel(league_id="fall", match_id="R1M1", why="over")
    [job] = taking.take(now=NOW)
    # The check calls this address, wherever the name leads a moment later.
    assert job.pinned == (("alias.example", ("192.0.2.7",)),)


@pytest.mark.parametrize("in_league", [True, False])
def test_a_check_has_the_limits_of_the_agents_league_or_of_the_one_it_waits_for(in_league: bool) -> None:
    make.open_league("fall", move_timeout_s=2)
    member = make.player("Ada", "fall" if in_league else None, port=8101)
    if not in_league:
        Agent.objects.update(promised_league_id="fall")
    ask(member.agent.endpoint)
    [job] = taking.take(now=NOW)
    assert job.rules.move_timeout_s == 2


def test_a_check_of_a_stranger_has_the_defaults() -> None:
    make.open_league("fall", move_timeout_s=2)
    ask()
    [job] = taking.take(now=NOW)
    assert job.rules == LeagueSettings()


def test_a_check_of_an_agent_whose_league_is_played_knows_so_whoever_asked() -> None:
    made = make.league(players=2)
    agent = made.players[0].agent
    Check.objects.all().delete()
    ask(agent.endpoint)
    [job] = taking.take(now=NOW)
    assert not job.in_play
    # Its league begins while the check runs: the check stops, and is made again without rounds and tables.
    assert taking.overtaken([job], NOW) == set()
    League.objects.filter(pk="fall").update(state="RUNNING")
    assert taking.overtaken([job], NOW) == {job.check_id}
    runs.return_to_queue([(job.check_id, job.run)])
    [again] = taking.take(now=NOW)
    assert again.in_play
    assert taking.overtaken([again], NOW) == set()


def test_a_check_of_an_address_whose_agents_league_is_played_knows_so_without_knowing_the_agent() -> None:
    agent = make.league(players=2).players[0].agent
    League.objects.filter(pk="fall").update(state="RUNNING")
    Agent.objects.filter(pk=agent.pk).update(code="P77")
    Check.objects.all().delete()
    make.open_league("next")
    other = make.player("Thief", "next", port=int(agent.endpoint.rpartition(":")[2].partition("/")[0]))
    queue_agent(other.agent, Check(due_at=NOW, created_at=NOW))
    [job] = taking.take(now=NOW)
    assert job.in_play


def test_a_check_stops_when_the_league_of_another_agent_at_its_address_begins() -> None:
    agent = make.league(players=2).players[0].agent
    Check.objects.all().delete()
    make.open_league("next")
    other = make.player("Thief", "next", port=int(agent.endpoint.rpartition(":")[2].partition("/")[0]))
    queue_agent(other.agent, Check(due_at=NOW, created_at=NOW, asked_by="192.0.2.9"))
    [job] = taking.take(now=NOW)
    assert (job.in_play, taking.overtaken([job], NOW)) == (False, set())
    League.objects.filter(pk="fall").update(state="RUNNING")
    assert taking.overtaken([job], NOW) == {job.check_id}
