"""The readiness wall: one tile per enrolled student, the one next step, and what it costs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry import registration
from agents_registry.models import Agent, RosterEntry
from matches.models import Check, League
from matches.view import readiness
from matches.view.readiness import TileState, wall
from tests import factories as make
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db


def checked(agent: Agent, *, at: datetime | None = None, running: bool = False, **how: Any) -> Check:
    """A check of an agent's address that has come to its end, or is on its way."""
    now = at or timezone.now()
    found = report(**how)
    return Check.objects.create(
        role="player",
        endpoint=agent.endpoint,
        endpoint_key=agent.endpoint_key,
        address=agent.endpoint_key,
        agent=agent,
        state="RUNNING" if running else "DONE",
        report={} if running else found,
        passed=None if running else found["can_play"],
        problem="" if running else found["next_step"],
        due_at=now,
        created_at=now,
        finished_at=None if running else now,
    )


def failing(name: str, **changes: Any) -> dict[str, Any]:
    """A report that fails at a clause, after some that do not."""
    return {"passed": False, "clauses": (clause("rpc.id", "tolerated"), clause(name, "fails", **changes))}


def tiles(league_id: str = "fall") -> list[tuple[str, str, str]]:
    """Who, state and step of every tile."""
    return [(tile.player_id, tile.state.value, tile.step) for tile in wall(League.objects.get(pk=league_id))]


def student(agent: Agent | None, name: str, league_id: str = "fall") -> RosterEntry:
    """Somebody on the roster, with this agent."""
    entry = RosterEntry.objects.create(league_id=league_id, name=name, email=f"{name}@school.example", code=name * 4)
    if agent is not None:
        agent.owner = entry
        agent.save(update_fields=["owner"])
    return entry


def test_every_state_says_its_next_step() -> None:
    place = make.setting(players=11)
    agents = [member.agent for member in place.players]
    checked(agents[0])
    checked(agents[1], **failing("http.reached", came=None))
    checked(agents[2], **failing("choice.legal"))
    checked(agents[3], **failing("join.accepts"))
    checked(agents[4], **failing("choice.in_time"))
    checked(agents[5], clauses=(clause("join.in_time", elapsed_ms=3900), clause("join.accepts")))
    checked(agents[6], clauses=(clause("choice.in_time", elapsed_ms=15_001),))
    checked(agents[7], running=True)
    registration.note_ping(agent_id=agents[8].pk, problem="connection refused at http://127.0.0.1:8109/mcp")
    checked(agents[9], **failing("second.join"))
    assert tiles() == [
        ("P01", "ready", "Leave it running."),
        ("P02", "unreachable", "Start it; check address, port, firewall."),
        ("P03", "wrong_answers", "Choose exactly “even” or “odd”."),
        ("P04", "wrong_answers", "Answer invitations with accept: true."),
        ("P05", "slow", "Choose within 30 s."),
        ("P06", "slow", "Accept faster: 3.9 s of 5 s."),
        ("P07", "slow", "Choose faster: 15.0 s of 30 s."),
        ("P08", "checking", "Leave it running."),
        ("P09", "unreachable", "Start it; check address, port, firewall."),
        ("P10", "wrong_answers", "Mend what your report says first."),
        ("P11", "not_checked", "Have it checked: page “Check an agent”."),
    ]
    able = [tile.player_id for tile in wall(place.league) if tile.passed]
    assert able == ["P01", "P06", "P07"]


def test_half_of_the_time_is_not_slow() -> None:
    place = make.setting(players=2)
    checked(place.players[0].agent, clauses=(clause("join.in_time", elapsed_ms=2500), clause("choice.in_time")))
    assert tiles()[0][1] == "ready"


def test_the_last_verdict_counts_and_the_last_call_more() -> None:
    place = make.setting(players=2)
    agent = place.players[0].agent
    checked(agent, **failing("join.accepts"))
    checked(agent)
    assert tiles()[0][1] == "ready"
    registration.note_ping(agent_id=agent.pk, problem="nobody answers")
    assert tiles()[0][1] == "unreachable"
    registration.note_ping(agent_id=agent.pk, problem="")
    assert tiles()[0][1] == "ready"


def test_with_a_roster_every_student_has_one_tile() -> None:
    place = make.setting(players=4)
    first, second, third, stranger = [member.agent for member in place.players]
    checked(first)
    checked(second)
    checked(third, **failing("join.accepts"))
    student(first, "Ada")
    shared = student(second, "Ben")
    third.owner = shared
    third.save(update_fields=["owner"])
    student(None, "Cleo")
    student(None, "Bea")
    found = [(tile.owner, tile.player_id, tile.state, tile.more) for tile in wall(place.league)]
    assert found == [
        ("Ada", "P01", TileState.READY, 0),
        # Of two agents the one that needs a hand.
        ("Ben", "P03", TileState.WRONG_ANSWERS, 1),
        ("", stranger.code, TileState.NOT_CHECKED, 0),
        ("Bea", "", TileState.NOT_REGISTERED, 0),
        ("Cleo", "", TileState.NOT_REGISTERED, 0),
    ]


def test_an_agent_that_has_left_is_to_register_again() -> None:
    place = make.setting(players=2)
    registration.retire(agent_ids=[place.players[0].agent.pk])
    assert tiles()[0][1:] == ("unreachable", "It has left: register it again.")


def test_a_step_says_nothing_of_the_agents_own_words() -> None:
    place = make.setting(players=1)
    checked(place.players[0].agent, **failing("join.accepts", why="See http://10.1.2.3:8101/mcp <script>"))
    assert [step for _, _, step in tiles()] == ["Answer invitations with accept: true."]


def test_a_report_is_read_once() -> None:
    place = make.setting(players=3)
    for member in place.players:
        checked(member.agent)
    first = cost(place.league)
    again = cost(place.league)
    assert again == first - 1


def many(count: int) -> League:
    """So many agents with reports, and as many students without."""
    league = make.open_league("wall")
    make.crowd(league.pk, count)
    for number, agent in enumerate(Agent.objects.filter(league=league)):
        checked(agent)
        student(agent if number % 2 else None, f"s{number}", "wall")
    return league


def cost(league: League) -> int:
    """How many queries the wall makes."""
    with CaptureQueriesContext(connection) as captured:
        wall(league)
    return len(captured)


def test_the_wall_costs_the_same_for_3_and_for_300() -> None:
    costs = []
    for count in (3, 300):
        League.objects.all().delete()
        costs.append(cost(many(count)))
    assert costs == [4, 4]


def test_old_findings_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "KEPT_FINDINGS", 2)
    place = make.setting(players=4)
    for member in place.players:
        checked(member.agent)
    assert [state for _, state, _ in tiles()] == ["ready"] * 4
    assert len(readiness._findings) == 2
    assert [state for _, state, _ in tiles()] == ["ready"] * 4
