"""The readiness wall: one tile per student with the next step, and its queries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry.models import Agent, AgentToken, Kind, RosterEntry
from agents_registry.registering import registration
from agents_registry.requests.reading import read_request
from league_sdk.protocol.notes import Code, note
from matches.audience.pages import join
from matches.league import entry
from matches.models import Check, League
from matches.view import readiness
from matches.view.readiness import Ready
from matches.view.wall import NotRegistered, wall
from tests import factories as make
from tests import wire
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db
REFUSED = str(note(Code.NOBODY_LISTENS))
PAGE = str(note(Code.WEB_PAGE, status=200))


def store_check(agent: Agent, *, at: datetime | None = None, running: bool = False, **how: Any) -> Check:
    """Store a check of an agent's address, finished or running."""
    now = at or timezone.now()
    finished_report = report(**how)
    return Check.objects.create(
        role="player",
        endpoint=agent.endpoint,
        endpoint_key=agent.endpoint_key,
        address=agent.endpoint_key,
        agent=agent,
        state="RUNNING" if running else "DONE",
        report={} if running else finished_report,
        passed=None if running else finished_report["can_play"],
        problem="" if running else finished_report["next_step"],
        due_at=now,
        created_at=now,
        finished_at=None if running else now,
    )


def failing(name: str, **changes: Any) -> dict[str, Any]:
    """The arguments of a report in which this clause fails, after one that is tolerated."""
    return {"passed": False, "clauses": (clause("rpc.id", "tolerated"), clause(name, "fails", **changes))}


def tiles(league_id: str = "fall") -> list[tuple[str, str, str]]:
    """Who, state and step of every tile."""
    return [(tile.player_id, tile.state.value, tile.step) for tile in wall(League.objects.get(pk=league_id))]


def add_student(agent: Agent | None, name: str, league_id: str = "fall") -> RosterEntry:
    """Add a person to the roster, with this agent."""
    entry = RosterEntry.objects.create(league_id=league_id, name=name, email=f"{name}@school.example", code=name * 4)
    if agent is not None:
        agent.owner = entry
        agent.save(update_fields=["owner"])
    return entry


def test_every_verdict_on_an_agent_has_a_next_step() -> None:
    made = make.league(players=11)
    agents = [member.agent for member in made.players]
    store_check(agents[0])
    store_check(agents[1], **failing("http.reached", came=None))
    store_check(agents[2], **failing("choice.legal"))
    store_check(agents[3], **failing("join.accepts"))
    store_check(agents[4], **failing("choice.in_time"))
    store_check(agents[5], clauses=(clause("join.in_time", elapsed_ms=3900), clause("join.accepts")))
    store_check(agents[6], clauses=(clause("choice.in_time", elapsed_ms=15_001),))
    store_check(agents[7], running=True)
    registration.note_ping(agent_id=agents[8].pk, problem="connection refused at http://127.0.0.1:8109/mcp")
    store_check(agents[9], **failing("second.join"))
    assert tiles() == [
        ("P01", "ready", "Leave it running."),
        ("P02", "unreachable", "Start it; check address, port, firewall."),
        ("P03", "wrong_answers", "Choose exactly “even” or “odd”."),
        ("P04", "wrong_answers", "Answer invitations with accept: true."),
        ("P05", "too_slow", "Choose within 30 s."),
        ("P06", "slow", "Accept faster: 3.9 s of 5 s."),
        ("P07", "slow", "Choose faster: 15.0 s of 30 s."),
        ("P08", "checking", "Leave it running."),
        ("P09", "unreachable", "Start it; check address, port, firewall."),
        ("P10", "wrong_answers", "Mend what your report says first."),
        ("P11", "not_checked", "Have it checked: page “Check an agent”."),
    ]
    able = [tile.player_id for tile in wall(made.league) if tile.able]
    assert able == ["P01", "P06", "P07"]


def test_the_step_of_an_unreachable_agent_says_what_was_found_at_its_address_only_if_that_is_proved_its_own() -> None:
    made = make.league(players=2)
    for player, found in zip(made.players, (REFUSED, PAGE), strict=True):
        registration.note_ping(agent_id=player.agent.pk, problem=found, found=found)
    assert [step for _who, _state, step in tiles()] == [
        "Nobody listens at its address. Start it at its port, or with --dial-out.",
        "A web page is at its address (HTTP 200). Register its own address, or use --dial-out.",
    ]
    AgentToken.objects.filter(agent=made.players[1].agent).update(proven=False)
    assert tiles()[1] == ("P02", "unreachable", "Start it; check address, port, firewall.")


def test_an_agent_that_uses_half_of_its_time_is_not_slow() -> None:
    made = make.league(players=2)
    store_check(made.players[0].agent, clauses=(clause("join.in_time", elapsed_ms=2500), clause("choice.in_time")))
    assert tiles()[0][1] == "ready"


def test_a_failed_call_outweighs_the_last_check() -> None:
    made = make.league(players=2)
    agent = made.players[0].agent
    store_check(agent, **failing("join.accepts"))
    store_check(agent)
    assert tiles()[0][1] == "ready"
    registration.note_ping(agent_id=agent.pk, problem="nobody answers")
    assert tiles()[0][1] == "unreachable"
    registration.note_ping(agent_id=agent.pk, problem="")
    assert tiles()[0][1] == "ready"


def test_with_a_roster_every_student_has_one_tile() -> None:
    made = make.league(players=4)
    first, second, third, without_owner = [member.agent for member in made.players]
    store_check(first)
    store_check(second)
    store_check(third, **failing("join.accepts"))
    add_student(first, "Ada")
    shared = add_student(second, "Ben")
    third.owner = shared
    third.save(update_fields=["owner"])
    add_student(None, "Cleo")
    add_student(None, "Bea")
    tiles = [(tile.owner, tile.player_id, tile.state, tile.more) for tile in wall(made.league)]
    assert tiles == [
        ("Ada", "P01", Ready.READY, 0),
        # Of two agents of one person, the one that needs help is shown.
        ("Ben", "P03", Ready.WRONG_ANSWERS, 1),
        ("", without_owner.code, Ready.NOT_CHECKED, 0),
        ("Bea", "", NotRegistered.NOT_REGISTERED, 0),
        ("Cleo", "", NotRegistered.NOT_REGISTERED, 0),
    ]


def test_a_retired_agent_is_told_to_register_again() -> None:
    made = make.league(players=2)
    registration.retire(agent_ids=[made.players[0].agent.pk])
    assert tiles()[0][1:] == ("unreachable", "It has left: register it again.")


def test_a_step_does_not_quote_the_agent() -> None:
    made = make.league(players=1)
    store_check(made.players[0].agent, **failing("join.accepts", why="See http://10.1.2.3:8101/mcp <script>"))
    assert [step for _, _, step in tiles()] == ["Answer invitations with accept: true."]


def test_the_wall_reads_each_finished_report_once() -> None:
    made = make.league(players=3)
    for member in made.players:
        store_check(member.agent)
    first = query_count(made.league)
    again = query_count(made.league)
    assert again == first - 1


def league_with_wall(count: int) -> League:
    """Add this many agents with reports, and as many students without agents."""
    league = make.open_league("wall")
    make.insert_players(league.pk, count)
    for number, agent in enumerate(Agent.objects.filter(league=league)):
        store_check(agent)
        add_student(agent if number % 2 else None, f"s{number}", "wall")
    return league


def query_count(league: League) -> int:
    """How many queries the wall makes."""
    with CaptureQueriesContext(connection) as captured:
        wall(league)
    return len(captured)


def test_the_wall_makes_as_many_queries_for_3_agents_as_for_300() -> None:
    query_counts = []
    for count in (3, 300):
        League.objects.all().delete()
        query_counts.append(query_count(league_with_wall(count)))
    assert query_counts == [5, 5]


def test_the_cache_of_findings_is_limited() -> None:
    made = make.league(players=4)
    for member in made.players:
        store_check(member.agent)
    assert [state for _, state, _ in tiles()] == ["ready"] * 4
    now = timezone.now()
    others = [
        Check(state="DONE", report=report(), passed=True, due_at=now, created_at=now)
        for _ in range(readiness.MAX_CACHED_FINDINGS)
    ]
    Check.objects.bulk_create(others)
    assert len(readiness.load_findings([other.pk for other in others])) == len(others)
    assert len(readiness._findings) == readiness.MAX_CACHED_FINDINGS
    assert [state for _, state, _ in tiles()] == ["ready"] * 4


def test_the_wall_tells_who_dials_out_and_who_stopped_fetching() -> None:
    made = make.league(players=2)
    fetching, gone = (member.agent for member in made.players)
    store_check(gone)
    Agent.objects.filter(pk=gone.pk).update(endpoint=f"inbox://{gone.pk}/")
    registration.note_lines(opened={fetching.pk: "poll", gone.pk: "websocket"}, closed=[], contested=[])
    assert [tile.line for tile in wall(made.league)] == ["poll", "websocket"]
    registration.note_lines(opened={}, closed=[gone.pk], contested=[])
    assert tiles()[1] == ("P02", "unreachable", "Start it: it fetches no messages.")


def test_a_personal_code_does_not_have_the_wall_tell_what_is_at_another_machine() -> None:
    make.open_league("fall")
    code = add_student(None, "ada").code
    params = wire.player_request("Ada", endpoint="http://192.0.2.7:9200/mcp", code=code)
    request = read_request(params, kind=Kind.PLAYER, caller="192.0.2.66")
    agent = entry.register_player(request=request, named="fall").agent
    assert agent is not None
    registration.note_ping(agent_id=agent.pk, problem=REFUSED, found=REFUSED)
    assert tiles() == [("P01", "unreachable", "Start it; check address, port, firewall.")]
    assert [one.reach.found for one in join.arrived(League.objects.get(), "192.0.2.66")] == [""]
    # The instructor has entered the address.
    Agent.objects.update(by_hand=True)
    assert tiles()[0][2] == "Nobody listens at its address. Start it at its port, or with --dial-out."
