"""Referees that are lost, matches that are held, and how matches are handed out (ruling, section 10)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from league_sdk.protocol.states import MatchState
from league_sdk.rules.registry import get_game
from matches.conducting import due
from matches.league import lifecycle, losses, opening, play, progress, results
from matches.league.errors import ActionRefused
from matches.models import Event, Match
from matches.view import sight
from tests import factories as make
from tests.matches.races import call_before

pytestmark = pytest.mark.django_db


def expire(match_id: str = "R1M1") -> due.Plan:
    """Let the lease of a match run out, and look."""
    Match.objects.filter(match_id=match_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    return make.look()


def test_the_lease_is_the_leagues_or_the_longest_match_for_a_referee_without_heartbeats() -> None:
    begun = timezone.now()
    made = make.running_league(players=4, referees=1, referee_lease_s=20, join_timeout_s=100, move_timeout_s=3600)
    lease = (made.match("R1M1").lease_until - begun).total_seconds()
    assert 20 <= lease < 60
    made.referees[0].agent.sends_progress = False
    # Joining and moving may take request_patience_s each; then come two GAME_OVERs and the report.
    assert play.lease_s_of(made.match("R1M1"), made.referees[0].agent) == 130 + 130 + 2 * 5 + 10


@pytest.mark.parametrize("again", ["ASSIGNED", "COLLECTING_CHOICES", "HANDED_BACK"])
def test_what_a_report_says_of_a_match_that_it_has_handed_back_is_answered_with_lost(again: str) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    items = [make.progress_of(match, state=state) for state in ("HANDED_BACK", again)]
    answers = progress.progress(referee=made.referees[0].agent, items=items)
    assert [answer["status"] for answer in answers] == ["ok", "lost"]
    assert made.match("R1M1").state == MatchState.READY


def test_a_game_of_many_turns_has_its_own_longest_match() -> None:
    made = make.running_league(players=2)
    referee = made.referees[0].agent
    referee.sends_progress = False
    match = made.match("R1M1")
    assert play.lease_s_of(match, referee) == match.league.rules.longest_match_s()
    match.league.game_type = "connect_four"
    assert play.lease_s_of(match, referee) == get_game("connect_four").max_round_time_sec


def test_a_match_with_recorded_moves_is_not_started_again_by_a_students_referee() -> None:
    """It would ignore the recorded moves (ruling, section 12), and give the losing player a second game."""
    student = make.referee("Student", port=8009, trusted=False, progress=False, room=9)
    opening.create_league(league_id="fall", display_name="Fall", game_type="tic_tac_toe")
    members = [make.player(f"Player {n}", "fall", port=8100 + n, games=["tic_tac_toe"]) for n in (1, 2)]
    league = make.MadeLeague("fall", members, [make.referee("Ours", port=8001), student])
    Agent.objects.filter(kind="referee").update(game_types=[])
    make.next_round(league)
    match = league.match("R1M1")
    assert match.referee == league.referees[0].agent
    moved = [["P01", 5], ["P02", 1]]
    assert make.progress(match, state="COLLECTING_CHOICES", moves=moved) == "ok"
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    Match.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert make.look().starts == []
    assert (league.match("R1M1").state, league.match("R1M1").moves) == ("READY", moved)
    Agent.objects.filter(pk=league.referees[0].agent.pk).update(state="ACTIVE", problem="", heard_at=timezone.now())
    [start] = make.look().starts
    assert json.loads(start.message)["moves"] == moved
    assert league.match("R1M1").referee == league.referees[0].agent


def test_a_start_planned_before_its_referee_restarted_has_an_old_token() -> None:
    """The start may still be being sent when the restarted referee has registered again and lost that attempt."""
    made = make.running_league(players=2)
    old = credentials.league_token(made.referees[0].agent)
    again = make.referee()
    assert again.agent.pk == made.referees[0].agent.pk
    assert made.states()["R1M1"] == "READY"
    assert credentials.league_token(again.fresh()) != old
    [start] = make.look().starts
    assert json.loads(start.message)["auth_token"] == credentials.league_token(again.fresh())


def test_a_start_that_is_sent_again_renews_the_lease() -> None:
    made = make.running_league(players=2)
    soon = timezone.now() + timedelta(seconds=1)
    Match.objects.update(lease_until=soon)
    [start] = due.look(busy_agents=(), draining=False, again=True).starts
    match = made.match("R1M1")
    assert (start.attempt, match.attempt, match.state) == (1, 1, "ASSIGNED")
    assert match.lease_until > soon + timedelta(seconds=5)


def test_a_lost_referee_is_suspended_and_the_match_goes_to_another() -> None:
    made = make.running_league(players=2, referees=2)
    lost = made.referee_of("R1M1")
    old = made.match("R1M1")
    plan = expire()
    match = made.match("R1M1")
    assert (match.state, match.attempt, match.lost_attempts) == ("ASSIGNED", 2, 1)
    assert match.referee_id != lost.agent.pk
    assert (lost.fresh().state, lost.fresh().problem) == ("SUSPENDED", "no sign of life")
    assert match.conversation_id != old.conversation_id
    assert [(start.match_pk, start.attempt, start.endpoint) for start in plan.starts] == [
        (match.pk, 2, made.referee_of("R1M1").agent.endpoint)
    ]
    assert make.progress(old) == "lost"
    (event,) = Event.objects.filter(kind="attempt_lost")
    assert event.data["why"] == {"code": "NO_SIGN_OF_LIFE", "args": {}}


def test_a_new_attempt_keeps_who_had_joined_but_not_who_had_chosen_or_the_view() -> None:
    made = make.running_league(players=2, referees=2)
    make.progress(made.match("R1M1"), state="COLLECTING_CHOICES", joined=["P01"], locked_in=["P01"], view={"move": 1})
    expire()
    match = made.match("R1M1")
    assert (match.joined, match.locked_in, match.view) == (["P01"], [], {})


def test_only_matches_whose_lease_has_run_out_are_lost() -> None:
    made = make.running_league(players=4)
    expire("R1M1")
    assert (made.states()["R1M1"], made.states()["R1M2"]) == ("READY", "ASSIGNED")
    assert make.progress(made.match("R1M2")) == "ok"
    make.look()
    assert made.match("R1M1").attempt == 2


def test_a_progress_report_may_contain_one_match_or_hundreds() -> None:
    made = make.running_league(players=25)
    referee = made.referees[0].agent
    matches = Match.objects.filter(league=made.league)
    matches.update(state="ASSIGNED", attempt=1, referee_id=referee.pk)
    everything = [make.progress_of(match, state=MatchState.DRAWING_NUMBER) for match in matches.order_by("pk")]
    start = 0
    for end in (1, 9, 40, 300):
        items = everything[start:end]
        answers = progress.progress(referee=referee, items=[*items, replace(items[0], match_id="R99M1")])
        assert [one["status"] for one in answers] == ["ok"] * len(items) + ["lost"]
        assert matches.filter(state=MatchState.DRAWING_NUMBER).count() == end
        start = end


def lose_three_times(made: make.MadeLeague) -> None:
    for _ in range(3):
        registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
        make.look()
        expire()


def test_after_three_lost_attempts_a_match_is_held() -> None:
    made = make.running_league(players=4)
    lose_three_times(made)
    match = made.match("R1M1")
    assert (match.state, match.attempt, match.lost_attempts, match.held_at is None) == ("HELD", 3, 3, False)
    registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
    assert make.look().starts == []
    assert made.states()["R1M2"] == "ASSIGNED"
    assert made.events().count("match_held") == 1


def test_releasing_a_held_match_resets_its_lost_attempts() -> None:
    made = make.running_league(players=2)
    lose_three_times(made)
    play.release(league_id="fall", match_id="R1M1")
    registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
    make.look()
    match = made.match("R1M1")
    assert (match.state, match.attempt, match.lost_attempts, match.held_at) == ("ASSIGNED", 4, 0, None)
    with pytest.raises(ActionRefused) as caught:
        play.release(league_id="fall", match_id="R1M1")
    assert str(caught.value) == "R1M1 is not held: there is nothing to release."


def test_a_held_match_is_cancelled_and_the_round_closes() -> None:
    made = make.running_league(players=2)
    lose_three_times(made)
    results.cancel(league_id="fall", match_id="R1M1", why="said so")
    match = made.match("R1M1")
    assert (match.state, match.status, match.winner, match.reason) == ("FINISHED", "CANCELLED", None, "said so")
    assert made.league.state == "COMPLETED"
    assert [row.played for row in sight.everything(made.league).standings] == [0, 0]


@pytest.mark.parametrize("match_id", ["R1M1", "R2M1", "R9M9"])
def test_a_match_that_is_not_open_cannot_be_cancelled(match_id: str) -> None:
    made = make.running_league(players=4)
    make.report(made.match("R1M1"), None)
    with pytest.raises(ActionRefused) as caught:
        results.cancel(league_id="fall", match_id=match_id, why="")
    sentence = f"{match_id} is not open: only a match without a result, in a round that has begun, can be cancelled."
    assert str(caught.value) == sentence


def test_a_match_in_play_is_cancelled_and_its_referee_is_told_that_it_is_lost() -> None:
    made = make.running_league(players=4)
    match = made.match("R1M1")
    results.cancel(league_id="fall", match_id="R1M1", why="said so")
    assert make.progress(match) == "lost"
    assert make.report(match, "P01")["duplicate"] is True
    assert made.match("R1M1").status == "CANCELLED"


def test_a_held_match_is_cancelled_after_hold_s() -> None:
    made = make.running_league(players=2, hold_s=60)
    lose_three_times(made)
    Match.objects.update(held_at=timezone.now() - timedelta(seconds=30))
    make.look()
    assert made.match("R1M1").state == "HELD"
    Match.objects.update(held_at=timezone.now() - timedelta(seconds=60))
    make.look()
    assert (made.match("R1M1").status, made.match("R1M1").reason) == (
        "CANCELLED",
        "held for 60 s after 3 lost referees",
    )


def test_hold_s_does_not_cancel_a_match_that_was_just_released(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.running_league(players=2, hold_s=60)
    lose_three_times(made)
    Match.objects.update(held_at=timezone.now() - timedelta(seconds=60))
    call_before(monkeypatch, results, "cancel", lambda: Match.objects.update(state="READY", held_at=None))
    make.look()
    assert made.match("R1M1").status == ""


@pytest.mark.parametrize("counts", [False, True])
def test_an_undeliverable_start_suspends_the_referee(counts: bool) -> None:
    made = make.running_league(players=2, referees=2)
    match, judge = made.match("R1M1"), made.referee_of("R1M1")
    losses.undeliverable(losses.UntakenStart(match.pk, 1, match.lease_until, "no connection", counts))
    again = made.match("R1M1")
    assert (again.state, again.lost_attempts) == ("READY", int(counts))
    assert (judge.fresh().state, judge.fresh().problem) == ("SUSPENDED", "no connection")
    make.look()
    assert made.referee_of("R1M1") != judge
    late = losses.UntakenStart(match.pk, 1, made.match("R1M1").lease_until, "no connection, told late")
    losses.undeliverable(late)
    assert made.match("R1M1").state == "ASSIGNED"


def test_a_match_whose_starts_reach_no_referee_is_held_after_three_of_them() -> None:
    """The referee is alive, and its heartbeats bring it back each time; it only listens elsewhere."""
    made = make.running_league(players=2, referees=1)
    for attempt in range(1, play.MAX_LOST_ATTEMPTS + 1):
        match = made.match("R1M1")
        losses.undeliverable(losses.UntakenStart(match.pk, attempt, match.lease_until, "no connection", counts=True))
        registration.heard_from_referee(agent_id=made.referees[0].agent.pk)
        make.look()
    assert (made.match("R1M1").state, made.match("R1M1").attempt) == ("HELD", 3)


def test_an_untaken_start_is_ignored_after_the_start_was_sent_again() -> None:
    """The conductor that sent the first start was suspended meanwhile."""
    made = make.running_league(players=2, referees=2)
    sent = made.match("R1M1")
    until = play.renew_lease(match_pk=sent.pk, attempt=1, lease_s=60)
    losses.undeliverable(losses.UntakenStart(sent.pk, 1, sent.lease_until, "no connection"))
    assert (made.match("R1M1").state, made.referee_of("R1M1").fresh().problem) == ("ASSIGNED", "")
    losses.undeliverable(losses.UntakenStart(sent.pk, 1, until, "no connection"))
    assert (made.match("R1M1").state, made.match("R1M1").lease_until) == ("READY", None)


def test_no_lease_runs_out_because_the_site_was_suspended() -> None:
    made = make.running_league(players=2)
    Match.objects.update(lease_until=timezone.now() - timedelta(seconds=5))
    play.extend_leases(seconds=30)
    make.look()
    assert (made.match("R1M1").state, made.match("R1M1").attempt) == ("ASSIGNED", 1)


# Handing out --------------------------------------------------------------------------------------


def test_matches_are_spread_over_referees_by_their_room() -> None:
    make.referee("Small", port=8001, room=1)
    make.referee("Large", port=8002, room=3)
    made = make.league(players=8, referees=0)
    lifecycle.start_league(league_id="fall")
    judges = list(Match.objects.filter(round__number=1).order_by("pk").values_list("referee__name", flat=True))
    assert sorted(judges) == ["Large", "Large", "Large", "Small"]
    assert set(made.states().values()) == {"READY", "PENDING"}


def test_a_referee_gets_no_more_than_it_has_room_for() -> None:
    make.referee(room=1)
    made = make.league(players=4, referees=0)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    assert [start.match_pk for start in make.look().starts] == [made.match("R1M1").pk]
    assert make.look().starts == []
    make.report(made.match("R1M1"), None)
    assert [start.match_pk for start in make.look().starts] == [made.match("R1M2").pk]
