"""A student's referee is believed about the result of its own match and about nothing else (ruling, section 9)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.errors import RefereeNotRegistered
from league_sdk.protocol.states import HANDED_BACK
from matches.conducting import due
from matches.league import fault_reports, losses, outbox, play, progress_reading, reporting
from matches.league.corrections import applying, plans
from matches.league.corrections.plans import Wish
from matches.models import Event, Match
from tests import factories as make

pytestmark = pytest.mark.django_db
SECRET = "tok_" + "5" * 32


def student(name: str = "Student", *, port: int = 8009, **how: Any) -> make.RegisteredAgent:
    """A student's referee that the instructor trusts."""
    referee = make.referee(name, port=port, trusted=False, **how)
    registration.trust(agent_ids=[referee.agent.pk])
    return referee


def judged_by_student(**settings: Any) -> tuple[make.MadeLeague, make.RegisteredAgent]:
    """A league of four players, in which a student's referee alone may judge; its matches are assigned."""
    made = make.league(players=4, referees=0, **settings)
    referee = student()
    make.next_round(made)
    make.look()
    return made, referee


def state_of(made: make.MadeLeague) -> list[tuple[Any, ...]]:
    """Everything about the players that might follow from a report."""
    names = ("state", "silences", "problem", "heard_at", "spoken", "learned", "endpoint", "notes")
    return [tuple(getattr(one.fresh(), name) for name in names) for one in made.players]


def test_the_result_of_its_own_match_counts_and_nothing_follows_for_the_players() -> None:
    made, _ = judged_by_student(suspend_after=1, shutdown_after=1)
    before, match = state_of(made), made.match("R1M1")
    a, b = match.player_a.code, match.player_b.code
    said = make.no_answer_from(match, b)
    said["faults"][0]["said"] = "I give up"
    more = {
        "spoken": {a: {"GAME_INVITATION": "tools/call"}},
        "learned": {a: {"own": {"CHOOSE_PARITY_CALL": "delete_everything"}}},
        "found_at": {a: "/elsewhere"},
        "proofs": {a: "a" * 64},
    }
    assert make.report(match, None, **said, **more)["status"] == "ACCEPTED"
    done = made.match("R1M1")
    assert (done.status, done.winner, done.said) == ("TECHNICAL_LOSS", match.player_a, {})
    assert [(fault["player_id"], fault["error_code"]) for fault in done.faults] == [(b, "E001")]
    assert state_of(made) == before


def test_an_answer_that_it_reports_clears_no_silence() -> None:
    made, _ = judged_by_student()
    Agent.objects.filter(kind="player").update(state="SUSPENDED", silences=3, problem="no answer")
    before, match = state_of(made), made.match("R1M1")
    make.report(match, match.player_a.code)
    assert state_of(made) == before


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("winner", ["P01", None])
def test_faults_of_whoever_wins_or_draws_are_dropped_for_every_referee(trusted: bool, winner: str | None) -> None:
    made = make.running_league(players=2, suspend_after=1)
    Agent.objects.filter(kind="referee").update(site_key=trusted)
    match = made.match("R1M1")
    faults = [{"player_id": "P01", "error_code": code} for code in ("E001", "E009")]
    make.report(match, winner, faults=faults, status="WIN" if winner else "DRAW")
    assert (made.match("R1M1").faults, made.players[0].fresh().silences) == ([], 0)


def test_a_players_last_fault_is_not_that_of_a_students_referee() -> None:
    made, _ = judged_by_student()
    match = made.match("R1M1")
    said = make.no_answer_from(match, match.player_b.code)
    said["faults"][0]["cause"] = "NAME_LOOKUP"
    make.report(match, None, **said)
    assert made.match("R1M1").faults[0]["cause"] == "NAME_LOOKUP"
    assert fault_reports.not_called(match.player_b)["cause"] == "DEADLINE"


def test_its_view_is_stored_without_tokens_and_addresses() -> None:
    made, _ = judged_by_student()
    item = make.progress_item(made.match("R1M1"), state="DRAWING_NUMBER")
    item["view"] = {"seen": SECRET, "deep": [{"at": "http://10.0.0.7:8101/mcp"}], "auth_token": "x"}
    [read] = progress_reading.read_progress({"matches": [item]})
    assert read.view == {"seen": "tok_…", "deep": [{"at": "[address]"}], "auth_token": "tok_…"}


def test_what_it_says_of_joining_moves_and_spoilt_tries_does_not_reach_the_next_referee() -> None:
    made, _ = judged_by_student()
    match = made.match("R1M1")
    player = match.player_a.code
    spoilt = [{"player_id": player, "message_type": "GAME_INVITATION", "evidence": "late", "counted": "no"}] * 3
    make.progress(match, state="COLLECTING_CHOICES", joined=[player], excused=spoilt)
    make.progress(match, state=HANDED_BACK, cause="LEAGUE", why="the site is slow", excused=spoilt)
    after = made.match("R1M1")
    assert (after.joined, after.excused, after.lost_attempts) == ([], [], 1)
    assert [event.data["cause"] for event in Event.objects.filter(kind="attempt_lost")] == ["REFEREE"]


def test_heartbeats_do_not_prolong_its_attempt_beyond_the_longest_match() -> None:
    made, referee = judged_by_student(referee_lease_s=20)
    ours = make.referee("Ours", port=8001)
    match = made.match("R1M1")
    longest = play.longest_s(match)
    begun = timezone.now() - timedelta(seconds=longest - 5)
    Match.objects.update(lifecycle=[play.lifecycle_step("ASSIGNED", begun)])
    assert make.progress(made.match("R1M1")) == "ok"
    left = (made.match("R1M1").lease_until - timezone.now()).total_seconds()
    assert 0 < left <= 5
    Match.objects.update(lifecycle=[play.lifecycle_step("ASSIGNED", begun - timedelta(seconds=6))])
    make.progress(made.match("R1M1"), state="COLLECTING_CHOICES")
    make.look()
    after = made.match("R1M1")
    assert (after.attempt, after.lost_attempts, after.referee) == (2, 1, ours.agent)
    assert referee.fresh().silences == 1
    assert Event.objects.get(kind="attempt_lost").data["why"] == {"code": "NO_RESULT_IN_TIME", "args": {}}


def test_a_match_that_it_alone_hands_back_without_a_reason_is_held_after_three() -> None:
    made, _ = judged_by_student()
    for _ in range(3):
        make.progress(made.match("R1M1"), state=HANDED_BACK)
        make.look()
    assert (made.match("R1M1").state, made.match("R1M1").lost_attempts) == ("HELD", 3)


def test_a_start_that_it_is_too_busy_for_counts() -> None:
    made, _ = judged_by_student()
    match = made.match("R1M1")
    losses.undeliverable(losses.UntakenStart(match.pk, 1, match.lease_until, "busy"))
    assert made.match("R1M1").lost_attempts == 1


def test_it_is_passed_over_after_three_lost_matches_until_it_is_trusted_again() -> None:
    made = make.league(players=8, referees=1)
    crooked = student(room=10)
    make.next_round(made)
    make.look()
    theirs = [made.match(match_id) for match_id in made.states()]
    theirs = [match for match in theirs if match.referee == crooked.agent]
    assert len(theirs) == 2

    def may_judge() -> list[str]:
        return [referee.code for referee in outbox.referees_of(made.league)]

    make.report(theirs[0], None)
    for match in (theirs[1], theirs[1]):
        Match.objects.filter(pk=match.pk).update(state="ASSIGNED", referee=crooked.agent)
        losses.lose_attempt(matches=Match.objects.filter(pk=match.pk), why="it crashed")
    assert (crooked.fresh().silences, may_judge()) == (2, ["REF01", "REF02"])
    Match.objects.filter(pk=theirs[1].pk).update(state="ASSIGNED", lost_attempts=0)
    losses.lose_attempt(matches=Match.objects.filter(pk=theirs[1].pk), why="it crashed")
    assert (crooked.fresh().silences, may_judge()) == (3, ["REF01"])
    registration.heard_from_referee(agent_id=crooked.agent.pk)
    make.referee("Student", port=8009, trusted=False)
    assert may_judge() == ["REF01"], "neither a heartbeat nor a registration brings it back"
    registration.suspend_referee(agent_id=made.referees[0].agent.pk, problem="gone")
    assert may_judge() == ["REF02"], "if there is no other, it judges"
    registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
    registration.trust(agent_ids=[crooked.agent.pk])
    assert may_judge() == ["REF01", "REF02"]


def test_the_sites_referee_has_not_lost_the_matches_of_one_that_had_its_name_and_port() -> None:
    made = make.league(players=2, referees=1)
    squatter = student("Referee 2", port=8002)
    Agent.objects.filter(pk=squatter.agent.pk).update(silences=outbox.MAX_LOST_MATCHES)
    ours = make.referee("Referee 2", port=8002)
    assert (ours.agent.pk, ours.fresh().silences) == (squatter.agent.pk, 0)
    assert [referee.code for referee in outbox.referees_of(made.league)] == ["REF01", "REF02"]


def test_a_result_between_lost_matches_does_not_make_up_for_them() -> None:
    made, referee = judged_by_student()
    Agent.objects.filter(pk=referee.agent.pk).update(silences=2)
    make.report(made.match("R1M1"), None)
    assert referee.fresh().silences == 2


def test_a_match_that_is_played_again_goes_to_a_referee_of_the_site() -> None:
    made, crooked = judged_by_student()
    match = made.match("R1M1")
    make.report(match, match.player_a.code)
    ours = make.referee("Ours", port=8001)
    wish = Wish(kind=plans.REPLAY, match_id="R1M1", reason="the referee cheated")
    applying.make(league_id="fall", wish=wish, by="teacher")
    make.look()
    assert (made.match("R1M1").referee, made.match("R1M1").attempt) == (ours.agent, 2)
    late = make.result_fields(match, match.player_a.code) | {"attempt": None}
    with pytest.raises(RefereeNotRegistered):
        report_by(crooked.fresh(), late)


def report_by(referee: Agent, fields: dict[str, Any]) -> dict[str, Any]:
    """A report of R1M1, whoever judges it."""
    about = {"league_id": "fall", "match_id": "R1M1", "attempt": fields["attempt"]}
    return reporting.report(referee=referee, params=fields, transcript=[], **about)


def test_its_room_counts_for_no_more_than_that_of_one_of_the_site() -> None:
    made = make.league(players=2, referees=1)
    student("Greedy", port=8009, room=30000)

    def rooms() -> list[int]:
        return [referee.max_concurrent for referee in outbox.referees_of(made.league)]

    assert rooms() == [10, 10]
    student("Greedy too", port=8010, room=30000)
    student("Modest", port=8011, room=1)
    assert rooms() == [10, 3, 3, 1], "those of one place share it"
    Agent.objects.filter(name="Greedy too").update(registered_from="192.0.2.7")
    assert rooms() == [10, 5, 10, 1]
    Agent.objects.filter(site_key=True).update(trusted=False)
    assert rooms() == [outbox.MAX_STUDENTS_ROOM // 2, outbox.MAX_STUDENTS_ROOM, 1]


def test_a_match_does_not_wait_for_its_room_longer_than_a_match_takes() -> None:
    made = make.league(players=4, referees=1)
    slow = student(room=10)
    make.next_round(made)
    Agent.objects.filter(pk=slow.agent.pk).update(max_concurrent=1)
    Match.objects.filter(round__number=1).update(state="READY", referee=slow.agent, attempt=0)
    due.look(busy_agents=(), draining=False)
    assert [made.states()[one] for one in ("R1M1", "R1M2")] == ["ASSIGNED", "READY"]
    made.league.rounds.update(started_at=timezone.now() - timedelta(seconds=play.longest_s(made.match("R1M1")) + 1))
    due.look(busy_agents=(), draining=False)
    assert [made.states()[one] for one in ("R1M1", "R1M2")] == ["ASSIGNED", "ASSIGNED"]


def test_a_new_referee_with_the_id_of_a_deleted_one_is_not_told_of_its_lost_attempt() -> None:
    made, referee = judged_by_student()
    make.progress(made.match("R1M1"), state=HANDED_BACK)
    make.look()
    match = made.match("R1M1")
    assert match.attempt == 2

    late = make.result_fields(match, None, attempt=1)
    ours = make.referee("Ours", port=8001)
    Match.objects.update(referee=ours.agent)
    assert report_by(referee.fresh(), late)["status"] == "IGNORED"
    referee.agent.delete()
    successor = student("Successor", port=8010)
    assert successor.agent.code == "REF01"
    with pytest.raises(RefereeNotRegistered):
        report_by(successor.agent, late)
