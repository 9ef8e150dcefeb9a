"""Results of referees that students wrote: when they count, and what they teach (ruling, sections 9 and 10)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from league_sdk.protocol.errors import RefereeNotRegistered
from matches.conducting import due
from matches.league import lifecycle, outbox, reporting
from matches.models import Match, Round
from tests import factories as make
from tests import wire
from tests.matches.races import call_before

pytestmark = pytest.mark.django_db


def report_without_attempt(
    match: Match, who: make.RegisteredAgent, winner: str | None, **changes: Any
) -> dict[str, Any]:
    """Report a result without ``attempt``, as a student's referee does; returns the fields of the answer."""
    fields = make.result_fields(match, winner, **changes)
    del fields["attempt"]
    return reporting.report(
        referee=who.fresh(),
        league_id=match.league_id,
        match_id=match.match_id,
        attempt=None,
        params=fields,
        transcript=[],
    )


def league_with_announced_round(**settings: Any) -> make.MadeLeague:
    """Round 1 of a league is ANNOUNCING, R1M1 belongs to a student's referee; nothing was sent yet."""
    student = make.referee("Student", port=9001, trusted=False, progress=False)
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    make.open_league("fall", **settings)
    members = [make.player(f"Player {n}", "fall", port=8100 + n) for n in (1, 2)]
    lifecycle.start_league(league_id="fall")
    return make.MadeLeague("fall", members, [student])


def deliver_and_open() -> None:
    """Settle the announcements to everybody, and open the round."""
    for _ in ("the players", "their referee"):
        plan = make.look()
        outbox.settle([(parcel.delivery_pk, "") for parcels in plan.parcels.values() for parcel in parcels])
    make.open_round("fall")


def test_a_students_referee_gets_the_announcement_of_a_round_after_its_players() -> None:
    league = league_with_announced_round()
    student, players = league.referees[0].agent.pk, [one.agent.pk for one in league.players]
    plan = make.look()
    assert sorted(plan.parcels) == sorted(players)
    outbox.settle([(plan.parcels[players[0]][0].delivery_pk, "")])
    assert sorted(due.look(busy_agents=players, draining=False).parcels) == []
    outbox.settle([(plan.parcels[players[1]][0].delivery_pk, "no connection")])
    assert (sorted(make.look().parcels), league.league.rounds.get().state) == ([student], "ANNOUNCING")


def test_matches_of_an_open_round_start_only_after_their_referee_got_the_announcement() -> None:
    league = league_with_announced_round()
    make.open_round("fall")
    plan = make.look()
    assert (plan.starts, len(plan.parcels)) == ([], 3)
    outbox.settle([(plan.parcels[league.referees[0].agent.pk][0].delivery_pk, "")])
    assert [start.attempt for start in make.look().starts] == [1]


@pytest.mark.parametrize("open_first", [False, True])
def test_a_result_may_come_before_the_league_has_started_the_match(open_first: bool) -> None:
    league = league_with_announced_round()
    if open_first:
        make.open_round("fall")
    match, judge = league.match("R1M1"), league.referees[0]
    assert (match.state, Round.objects.get().state) == ("READY", "RUNNING" if open_first else "ANNOUNCING")
    assert report_without_attempt(match, judge, "P02") == {"status": "ACCEPTED", "reason": None}
    assert report_without_attempt(match, judge, "P01") == {
        "status": "ACCEPTED",
        "duplicate": True,
        "reason": "a result is on record; the first one stands",
    }
    match = league.match("R1M1")
    assert (match.state, match.attempt, match.winner.code) == ("FINISHED", 1, "P02")
    assert [step["state"] for step in match.lifecycle] == ["ASSIGNED", "FINISHED"]
    if not open_first:
        make.open_round("fall")
    assert (make.look().starts, league.league.state) == ([], "COMPLETED")
    assert league.events().count("match_finished") == 1


def test_a_result_that_comes_while_the_match_is_being_started_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    league = league_with_announced_round()
    deliver_and_open()
    call_before(monkeypatch, reporting, "assign", make.look)
    answer = report_without_attempt(league.match("R1M1"), league.referees[0], "P01")
    assert answer == {"status": "ACCEPTED", "reason": None}
    match = league.match("R1M1")
    assert (match.state, match.attempt, league.events().count("match_finished")) == ("FINISHED", 1, 1)


def test_only_the_announced_referee_may_report_before_its_start() -> None:
    league = league_with_announced_round()
    match, judge = league.match("R1M1"), league.referees[0]
    other = make.referee("Another", port=9002, trusted=True, progress=False)
    with pytest.raises(RefereeNotRegistered):
        report_without_attempt(match, other, "P01")
    registration.trust(agent_ids=[judge.agent.pk], trusted=False)
    assert report_without_attempt(match, judge, "P01")["status"] == "IGNORED"
    Agent.objects.filter(pk=judge.agent.pk).update(trusted=True, sends_progress=True)
    assert report_without_attempt(match, judge, "P01")["status"] == "IGNORED"
    assert league.states() == {"R1M1": "READY"}


def test_a_report_of_an_attempt_to_come_takes_no_match() -> None:
    """It would hold both players for as long as a match may take, beyond the referee's room, and while paused."""
    league = league_with_announced_round()
    match = league.match("R1M1")
    fields = make.result_fields(match, "P01", attempt=2)
    about = {"league_id": "fall", "match_id": "R1M1", "attempt": 2}
    answer = reporting.report(referee=league.referees[0].fresh(), **about, params=fields, transcript=[])
    assert (answer["status"], league.states()) == ("IGNORED", {"R1M1": "READY"})


def test_a_referee_cannot_report_an_attempt_that_it_has_lost() -> None:
    league = league_with_announced_round()
    deliver_and_open()
    make.look()
    Match.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    make.look()
    assert league.states() == {"R1M1": "READY"}
    answer = report_without_attempt(league.match("R1M1"), league.referees[0], "P01")
    assert answer == {"status": "IGNORED", "reason": "attempt 1 is over"}
    assert league.states() == {"R1M1": "READY"}


def test_a_report_may_name_draw_as_the_winner_and_use_the_fields_of_game_over() -> None:
    league = league_with_announced_round()
    changes = {"game_result": {"winner_player_id": "DRAW", "drawn_number": 4, "choices": {"P01": "odd", "P02": "odd"}}}
    report_without_attempt(league.match("R1M1"), league.referees[0], None, result=None, **changes)
    match = league.match("R1M1")
    assert (match.status, match.winner, match.details) == (
        "DRAW",
        None,
        {"drawn_number": 4, "choices": {"P01": "odd", "P02": "odd"}},
    )


@pytest.mark.parametrize("believed", [True, False])
def test_how_players_speak_is_learned_from_a_report_of_a_referee_of_the_site(believed: bool) -> None:
    league = make.running_league(players=2)
    Agent.objects.filter(kind="referee").update(site_key=believed)
    ways = {"P01": {"GAME_INVITATION": "handle_message"}, "P02": {"GAME_INVITATION": "sung"}, "P09": {}}
    make.report(league.match("R1M1"), "P01", spoken=ways)
    known = {"GAME_INVITATION": "handle_message"} if believed else {}
    assert [one.fresh().spoken for one in league.players] == [known, {}]


def test_the_match_of_a_report_that_names_no_league_is_found(client: Client) -> None:
    league = league_with_announced_round()
    fields = make.result_fields(league.match("R1M1"), "P02")
    del fields["attempt"], fields["league_id"]
    params = make.message_from(league.referees[0], "MATCH_RESULT_REPORT", **fields)
    other = wire.refused(client, "MATCH_RESULT", params | {"match_id": "R9M9"})
    assert (other["error_code"], other["context"]["field"]) == ("E003", "league_id")
    # Document 002 calls the method MATCH_RESULT.
    answer = wire.ask(client, "MATCH_RESULT", params)
    assert (answer["status"], answer["league_id"], league.match("R1M1").winner.code) == ("ACCEPTED", "fall", "P02")


def test_a_referee_of_two_leagues_with_the_same_match_id_must_name_the_league(client: Client) -> None:
    league = league_with_announced_round()
    make.open_league("other")
    for number in (1, 2):
        make.player(f"Other {number}", "other", port=8200 + number)
    lifecycle.start_league(league_id="other")
    fields = make.result_fields(league.match("R1M1"), "P02")
    del fields["league_id"]
    params = make.message_from(league.referees[0], "MATCH_RESULT_REPORT", **fields)
    assert wire.refused(client, "report_match_result", params)["error_code"] == "E003"
    assert league.states() == {"R1M1": "READY"}


def test_a_students_referee_that_sends_progress_gets_no_token_that_is_good_in_other_matches() -> None:
    """With such a token it could answer for the player in any match."""
    made = make.league(players=2, referees=0)
    student = make.referee("Student", port=9001, trusted=False, progress=True)
    registration.trust(agent_ids=[student.agent.pk], trusted=True)
    make.next_round(made)
    Match.objects.update(state="READY", attempt=0)
    [start] = make.look().starts
    start_message = json.loads(start.message)
    tokens = {start_message[seat]["league_token"] for seat in ("player_A", "player_B")}
    assert len(tokens) == 2
    assert tokens.isdisjoint(credentials.league_token(one.fresh()) for one in made.players)
