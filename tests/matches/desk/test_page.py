"""The desk of a league: next step, who would lose by a start, problems and remedies, freeze, planned start."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent, RosterEntry
from agents_registry.registering import registration
from league_sdk.protocol.states import AgentState
from matches.desk import overview
from matches.league import freeze, lifecycle, losses, opening, planned, play
from matches.models import ConductorLease, Delivery, League, Match, Round
from matches.view.roles import Permission
from tests import factories as make
from tests.matches.correcting import in_round_two, make_correction
from tests.matches.desk.clicking import DESK, LEAGUES, NOW, count_queries, person, post, shown
from tests.matches.inbox.stalling import stalled_site
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def next_steps(desk: Client) -> list[str]:
    return [button.name or button.label for button in shown(desk)["buttons"] if button.is_next]


def texts(desk: Client) -> list[str]:
    return [problem.text for problem in shown(desk)["problems"]]


def remedies(desk: Client) -> list[list[str]]:
    return [[one.label for one in problem.remedies] for problem in shown(desk)["problems"]]


def note_silence(member: make.RegisteredAgent, problem: str = "no connection: Connection refused") -> None:
    registration.note_ping(agent_id=member.agent.pk, problem=problem)


# What comes next ------------------------------------------------------------------------------------


def test_the_desk_highlights_one_next_step_from_registration_to_the_end_of_a_league(desk: Client) -> None:
    made = make.league(players=2)
    seen = [next_steps(desk)]
    opening.close_registration(league_id="fall")
    seen.append(next_steps(desk))
    make.next_round(made)
    seen.append(next_steps(desk))
    lifecycle.pause(league_id="fall")
    seen.append(next_steps(desk))
    # Nothing starts in a league that is paused.
    assert [one.name for one in shown(desk)["buttons"]] == ["resume", "check_all", "check", "stop"]
    lifecycle.resume(league_id="fall")
    make.finish_round(made)
    seen.append(next_steps(desk))
    assert seen == [["close"], ["start"], ["pause"], ["resume"], ["Export the league, print evidence sheets"]]
    assert made.league.state == "COMPLETED"


def test_while_a_schedule_is_being_made_only_the_buttons_that_make_it_say_so(desk: Client) -> None:
    made = make.league(players=2)
    # A league that is open for registration and has a round is one whose schedule is being made.
    Round.objects.create(league=made.league, number=1)
    assert post(desk, "do/start") == "Registration is closed: the schedule is being made."
    assert post(desk, "do/check_all") == "The players are being checked: the results appear on this page."
    assert post(desk, "do/pause") == "Paused: matches in play finish, no other starts."
    assert post(desk, "do/resume") == "The league goes on."


def test_the_start_button_warns_by_name_of_players_that_would_not_answer(desk: Client) -> None:
    made = make.league(players=4)
    assert [button.warnings for button in shown(desk)["buttons"] if button.name == "start"] == [[]]
    note_silence(made.players[3])
    buttons = {button.name: button.warnings for button in shown(desk)["buttons"]}
    warning = ["1 of 4 would not answer: P04 Player 4."]
    assert (buttons["start"], buttons["run_all"], buttons["pause"]) == (warning, warning, ())
    page = desk.get(DESK).content.decode()
    [confirm] = re.findall(r'<details class="desk-confirm" id="confirm-start">(.*?)</details>', page, re.S)
    assert ("1 of 4 would not answer: P04 Player 4." in confirm, "Start all the same" in confirm) == (True, True)


def test_a_player_that_is_being_asked_is_not_listed_as_a_problem(desk: Client) -> None:
    made = make.league(players=4)
    note_silence(made.players[3])
    assert post(desk, "do/check") == "The agents are being asked: their answers appear on this page."
    now = shown(desk)
    assert (now["pending"], now["answering"], texts(desk)) == (True, "5 agents are being asked …", [])
    for member in (*made.players, *made.referees):
        registration.note_ping(agent_id=member.agent.pk, problem="")
    now = shown(desk)
    assert (now["pending"], now["answering"]) == (False, "All 4 players answered when they were last called.")


@pytest.mark.parametrize(
    ("silent", "answering", "expected"),
    sampled(
        [
            (0, 0, "No player was called yet."),
            (0, 2, "2 of 3 players answered when they were last called. 1 player was not called yet."),
            (1, 1, "1 of 3 players answered when they were last called. 1 player was not called yet."),
            (0, 1, "1 of 3 players answered when they were last called. 2 players were not called yet."),
            (1, 2, "2 of 3 players answered when they were last called."),
        ],
        every=2,
    ),
)
def test_the_desk_counts_who_answered_and_who_was_not_called(
    desk: Client, silent: int, answering: int, expected: str
) -> None:
    players = make.league(players=3).players
    for number in range(answering + silent):
        problem = "no answer within 2 s" if number >= answering else ""
        registration.note_ping(agent_id=players[number].agent.pk, problem=problem)
    assert shown(desk)["answering"] == expected


def test_the_live_fragment_equals_that_part_of_the_page(desk: Client) -> None:
    make.league(players=3)
    cut = re.compile(r'<section id="fragment-desk".*</section>', re.S)
    clock = re.compile(r"as of [0-9:]+ UTC|<span[^>]*data-light[^>]*>.*?</span>")
    page, live = (desk.get(path).content.decode() for path in (DESK, NOW))
    matched = cut.search(page)
    assert matched is not None
    whole = matched.group().partition('\n  <div class="desk-controls">')[0]
    assert clock.sub("", live).strip() in clock.sub("", whole) + "</section>"
    assert desk.get(NOW)["Cache-Control"].count("no-store") == 1


def test_the_desk_needs_as_many_queries_for_24_players_as_for_4(desk: Client) -> None:
    counts = []
    for league_id, players in (("few", 4), ("many", 24)):
        make.open_league(league_id)
        members = [make.player(f"{league_id} {n}", league_id, port=8100 + n) for n in range(players)]
        make.referee()
        lifecycle.start_league(league_id=league_id)
        for member in members[::2]:
            note_silence(member)
        Match.objects.filter(league_id=league_id, state="READY").update(state="HELD", held_at=datetime.now(UTC))
        counts += [count_queries(desk, f"{LEAGUES}{league_id}/{path}/") for path in ("change", "now")]
    assert counts[:2] == counts[2:]


def test_the_desk_says_when_several_programs_fetch_one_agents_messages(desk: Client) -> None:
    made = make.league(players=3)
    registration.note_lines(opened={}, closed=[], contested=[made.players[1].agent.pk])
    [text] = texts(desk)
    assert text.startswith(
        "Several programs fetch the messages of these agents, each with the agent's auth_token: P02."
    )
    Agent.objects.update(contested_at=timezone.now() - timedelta(hours=1))
    assert texts(desk) == []


def test_the_desk_escapes_names_and_problems(desk: Client) -> None:
    make.league(players=2)
    evil = make.player('<script>alert("1")</script>\u202e', "fall", port=8150)
    note_silence(evil, '<img src=x onerror="alert(1)">')
    page = desk.get(DESK).content.decode()
    assert ("<script>alert" in page, "<img src=x" in page, "&lt;script&gt;alert" in page) == (False, False, True)


# Problems -------------------------------------------------------------------------------------------


def test_the_desk_shows_each_problem_with_causes_and_remedies(desk: Client) -> None:
    made = make.league(players=3, referees=0)
    note_silence(made.players[1], "no answer within 2 s")
    foreign = make.referee("Foreign", port=8050, trusted=False, own_league="fall")
    assert texts(desk) == [
        "No referee may judge even_odd now: start one (manage.py referee), or tick “may judge” at one below.",
        "These players did not answer the last time: P02. They would lose by starting now.",
    ]
    assert remedies(desk) == [
        ["Ask all agents whether they answer", f"Let {foreign.agent.code} judge"],
        ["Ask all agents whether they answer"],
    ]
    assert shown(desk)["problems"][1].causes == ["P02 Player 2: no answer within 2 s"]
    assert post(desk, f"agent/{foreign.agent.pk}/let_judge") == f"{foreign.agent.code} may judge from now on."
    assert len(texts(desk)) == 1


def test_too_few_players_and_players_that_are_shut_down_are_problems(desk: Client) -> None:
    made = make.league(players=1)
    assert texts(desk) == ["Registered: 1; needed: at least 2. Give your students the address of this league."]
    assert remedies(desk) == [["Join page for students", "Add an agent by hand"]]
    make.player("Player 2", "fall", port=8102)
    opening.close_registration(league_id="fall")
    Agent.objects.filter(pk=made.players[0].agent.pk).update(state=AgentState.SHUTDOWN)
    assert texts(desk) == ["These players are shut down after too many silences and are not called any more: P01."]
    assert post(desk, f"agent/{made.players[0].agent.pk}/bring_back") == "P01 plays the rounds that are still to come."
    assert texts(desk) == []


def test_a_held_match_is_a_problem_until_it_is_released(desk: Client) -> None:
    made = make.running_league(players=4, referees=1)
    for _ in range(play.MAX_LOST_ATTEMPTS):
        Match.objects.filter(match_id="R1M1").update(state="ASSIGNED")
        losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why="it crashed")
    now = shown(desk)
    assert [problem.text for problem in now["problems"]] == [
        "1 match is held after three lost attempts. It is tried again by itself, or decide now."
    ]
    address = made.referees[0].agent.endpoint
    assert now["problems"][0].causes == [f"R1M1: REF01 ({address}): it crashed"]
    assert [(match["row"].match_id, sorted(match["buttons"])) for match in now["held"]] == [
        ("R1M1", ["cancel", "release"])
    ]
    assert post(desk, "match/R1M1/release") == "R1M1 is played again."
    assert made.states()["R1M1"] == "READY"
    assert texts(desk) == []


def test_a_try_that_is_not_excused_is_a_problem_with_its_evidence(desk: Client) -> None:
    made = make.running_league(players=2)
    late = {"player_id": "P01", "message_type": "GAME_INVITATION", "evidence": "late for 2.0 s of 5 s"}
    tries = [late | {"counted": "no"}] * 3
    make.progress(made.match("R1M1"), excused=tries)
    assert texts(desk) == []
    make.progress(made.match("R1M1"), excused=[*tries, late | {"counted": "yes"}])
    (problem,) = shown(desk)["problems"]
    assert problem.text.startswith("In 1 match the referee's own machine failed once more than is excused")
    assert problem.causes == ["R1M1: P01, GAME_INVITATION: late for 2.0 s of 5 s"]
    # A match that is being played cannot be played again yet.
    assert problem.remedies == []


def test_a_match_with_two_unexcused_tries_is_counted_once_and_links_to_the_replay_form(desk: Client) -> None:
    made = make.running_league(players=4)
    late = {"player_id": "P01", "message_type": "GAME_INVITATION", "evidence": "late", "counted": "yes"}
    make.progress(made.match("R1M1"), excused=[late, late | {"player_id": "P02"}])
    make.report(made.match("R1M1"), "P01")
    (problem,) = [one for one in shown(desk)["problems"] if "more than is excused" in one.text]
    assert (problem.text[:10], len(problem.causes)) == ("In 1 match", 2)
    (again,) = problem.remedies
    assert (again.label, again.name) == ("Play R1M1 again…", "")
    form = desk.get(again.url).context["form"]
    assert (form.kind, form.initial["match_id"]) == ("replay", "R1M1")


def test_a_referee_that_does_not_reach_whom_another_reached_is_named(desk: Client) -> None:
    made = make.running_league(players=4, referees=2)
    match, first = made.match("R1M1"), made.referee_of("R1M1").agent
    unreached = {"player": "P02", "referee_pk": first.pk, "attempt": 1}
    Match.objects.filter(pk=match.pk).update(unreached=unreached, attempt=2, referee=made.referees[1].agent)
    assert texts(desk) == []
    make.report(made.match("R1M1"), "P01")
    named = f"{first.code} ({first.endpoint}) could not reach P02, who answered another referee"
    assert [one for one in texts(desk) if named in one]


def test_a_match_with_a_seal_cannot_be_cancelled(desk: Client) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    assert [one["buttons"].keys() for one in shown(desk)["open"]] == [{"cancel"}]
    seal = {"status": "WIN", "winner_player_id": "P01", "reason": "", "details": {}, "faults": [], "draw": 2}
    told_seal = seal | {"conversation_id": match.conversation_id}
    assert make.progress(match, state="DRAWING_NUMBER", seal=told_seal) == "sealed"
    (line,) = shown(desk)["open"]
    assert (line["buttons"], line["telling"]) == ({}, True)
    assert "Its result is being told to its players." in desk.get(DESK).content.decode()
    post(desk, "match/R1M1/cancel")
    assert made.match("R1M1").status == ""


def test_at_most_three_agents_on_the_same_machine_are_named(desk: Client) -> None:
    make.league(players=6)
    line = shown(desk)["players"]["rows"][0]
    assert (line["shares"], line["more"]) == ("P02, P03, P04", 2)
    assert "on the same machine as P02, P03, P04 and 2 others" in desk.get(DESK).content.decode()


def test_a_long_table_of_agents_is_shortened_until_all_rows_are_asked_for(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MAX_AGENT_ROWS", 10)
    players = overview.MAX_AGENT_ROWS + 3
    made = make.league(players=players)
    note_silence(made.players[-1])
    table = shown(desk)["players"]
    first = [row["agent"].code for row in table["rows"][:2]]
    assert first == [f"P{players}", "P01"], "who needs attention stands first"
    assert (len(table["rows"]), table["total"], table["more"]) == (overview.MAX_AGENT_ROWS, players, 3)
    assert "3 more are not shown" in desk.get(NOW).content.decode()
    whole = desk.get(DESK, {"all": "1"}).context["desk"]
    assert (len(whole["players"]["rows"]), whole["players"]["more"]) == (players, 0)
    assert desk.get(whole["fragment_url"]).context["desk"]["players"]["more"] == 0, "the live part stays whole"


def test_a_suspended_referee_is_a_problem(desk: Client) -> None:
    made = make.league(players=2, referees=2)
    registration.suspend_referee(agent_id=made.referees[0].agent.pk, problem="no sign of life")
    assert texts(desk) == ["These referees are given no match until they are heard of again: REF01."]
    assert shown(desk)["problems"][0].causes == [f"REF01 ({made.referees[0].agent.endpoint}): no sign of life"]


def test_a_trusted_referee_that_refuses_connections_is_named_with_its_address_and_the_error(desk: Client) -> None:
    made = make.league(players=2, referees=0)
    student = make.referee("Student", port=8009, trusted=False, progress=False)
    registration.trust(agent_ids=[student.agent.pk])
    make.next_round(made)
    Delivery.objects.update(state="SETTLED")
    make.look()
    match = made.match("R1M1")
    why = "no connection: Connection refused"
    losses.undeliverable(losses.UntakenStart(match.pk, 1, match.lease_until, why, counts=True))
    assert texts(desk) == ["Referees are registered and may judge even_odd, but none of them can be given a match now."]
    assert shown(desk)["problems"][0].causes == ["REF01 (http://localhost:8009/mcp): no connection: Connection refused"]


def test_referees_that_are_not_heard_of_are_not_to_be_started_again(desk: Client) -> None:
    made = make.league(players=2, referees=1)
    Agent.objects.filter(pk=made.referees[0].agent.pk).update(heard_at=timezone.now() - timedelta(minutes=1))
    [text] = texts(desk)
    assert text.startswith("Referees are registered and may judge even_odd, but none was heard of lately.")


def test_redis_that_is_away_and_a_process_that_stands_still_are_named(desk: Client) -> None:
    make.league(players=2, referees=1)
    with stalled_site():
        assert texts(desk) == [
            "Something of this site is away, or was a moment ago: Redis, which carries messages between the processes "
            "of this site, did not answer. That is no player's fault."
        ]
    assert texts(desk) == []


def test_a_conductor_that_does_not_run_is_named_once_it_is_needed(desk: Client) -> None:
    ConductorLease.objects.all().delete()
    made = make.league(players=2, referees=1)
    assert texts(desk) == []
    make.next_round(made)
    [text] = texts(desk)
    assert text.startswith("No conductor of this site runs")


def test_a_students_referee_that_loses_match_after_match_is_a_problem_until_it_is_trusted_again(desk: Client) -> None:
    make.league(players=2, referees=1)
    student = make.referee("Student", port=8009, trusted=False)
    registration.trust(agent_ids=[student.agent.pk])
    assert texts(desk) == []
    for _ in range(3):
        registration.count_lost_match(agent_id=student.agent.pk)
    assert texts(desk) == [
        "These students' referees lost or handed back several matches, and are given none while there is "
        "another referee: REF02."
    ]
    assert remedies(desk) == [["Let REF02 judge"]]
    assert post(desk, f"agent/{student.agent.pk}/let_judge") == "REF02 may judge from now on."
    assert texts(desk) == []


def test_a_stopped_league_has_no_problems(desk: Client) -> None:
    made = make.league(players=1, referees=0)
    note_silence(made.players[0])
    lifecycle.stop(league_id="fall")
    assert texts(desk) == []


# Matches in play ------------------------------------------------------------------------------------


def test_a_match_in_play_is_cancelled_with_a_second_click(desk: Client) -> None:
    made = make.running_league(players=4)
    page = desk.get(DESK).content.decode()
    [confirm] = re.findall(r'<details class="desk-confirm" id="confirm-cancel-R1M1">(.*?)</details>', page, re.S)
    assert "Yes, cancel R1M1" in confirm
    first, second = made.match("R1M1").player_a.code, made.match("R1M1").player_b.code
    assert f"Neither player gets points for it: {first} stays at 0, {second} at 0." in confirm
    assert "last open match" not in confirm
    assert post(desk, "match/R1M1/cancel") == "R1M1 is cancelled and counts nowhere."
    assert made.match("R1M1").status == "CANCELLED"
    [left] = shown(desk)["open"]
    assert left["row"].match_id == "R1M2"
    assert left["buttons"]["cancel"].warnings[-1] == "It is the last open match of its round: the round ends with it."


def test_the_desk_says_what_ends_with_a_cancelled_match_also_beside_a_replay(desk: Client) -> None:
    made = in_round_two()
    make.finish_round(made)
    make.next_round(made)
    make_correction("replay", match_id="R1M1")
    make.report(made.match("R3M1"), None)
    ends_round = "It is the last open match of its round: the round ends with it."
    assert last_open_match_sentences(desk) == {"R1M1": [], "R3M2": [ends_round]}
    make.report(made.match("R3M2"), None)
    assert last_open_match_sentences(desk) == {"R1M1": ["It is the last open match: the league ends with it."]}
    assert made.league.state == "RUNNING"
    post(desk, "match/R1M1/cancel")
    assert made.league.state == "COMPLETED"


def test_the_desk_announces_no_end_with_a_cancelled_replay_of_a_league_that_is_over(desk: Client) -> None:
    made = make.running_league(players=2)
    make.finish_round(made)
    make_correction("replay", match_id="R1M1")
    assert made.league.state == "COMPLETED"
    assert last_open_match_sentences(desk) == {"R1M1": []}


def last_open_match_sentences(desk: Client) -> dict[str, list[str]]:
    """What the second click of cancelling each open match says of the end of a round or of the league."""
    return {
        line["row"].match_id: [one for one in line["buttons"]["cancel"].warnings if "last open match" in one]
        for line in shown(desk)["open"]
    }


def test_the_stop_button_says_what_it_would_do(desk: Client) -> None:
    make.running_league(players=4)
    [stop] = [button for button in shown(desk)["buttons"] if button.name == "stop"]
    assert stop.warnings == [
        "Open matches are given up and no round can be played any more.",
        "6 matches that are not finished will never be played (in the present round: 2).",
        "The table stays as it is after the finished matches, and nobody can resume the league.",
    ]


def test_an_assistant_sees_only_buttons_and_links_that_an_assistant_may_use() -> None:
    make.running_league(players=4)
    client = person("assistant", "fall")
    now = shown(client)
    assert [button.name for button in now["buttons"]] == ["check_all", "check"]
    assert [match["buttons"] for match in now["open"]] == [{}, {}]
    page = client.get(DESK).content.decode()
    assert re.findall(r"/(plan|freeze|roster|people|settings)/", page) == []


# A planned start ------------------------------------------------------------------------------------


def test_a_start_is_planned_in_the_browsers_time_zone_and_called_off(desk: Client) -> None:
    make.league(players=4)
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    local = (at + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M")
    sentence = post(desk, "plan/start", when=local, utc=at.isoformat().replace("+00:00", "Z"), all_rounds="on")
    assert sentence == "The start is planned. A pause, or a start by hand before it, calls it off."
    league = League.objects.get(pk="fall")
    assert (league.starts_at, league.starts_all) == (at, True)
    assert f'<time datetime="{at.isoformat()}" data-local>' in desk.get(NOW).content.decode()
    assert post(desk, "plan/call-off") == "The planned start is called off."
    assert League.objects.get(pk="fall").starts_at is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "Start at: This field is required."),
        pytest.param({"when": "soon"}, "Start at: Enter a valid date/time.", marks=pytest.mark.exhaustive),
        ({"when": "2030-01-01T10:00", "utc": "soon"}, "This is not a time: choose a date and a time."),
        pytest.param(
            {"when": "2030-01-01T10:00", "utc": "2030-13-41T10:00:00Z"},
            "This is not a time: choose a date and a time.",
            marks=pytest.mark.exhaustive,
        ),
        (
            {"when": "2030-01-01T10:00", "utc": "0001-01-01T00:00:00+14:00"},
            "This is not a time: choose a date and a time.",
        ),
        ({"when": "2020-01-01T10:00"}, "This time is over: choose a later one."),
    ],
)
def test_a_planned_start_with_an_invalid_time_is_refused_with_a_sentence(
    desk: Client, data: dict[str, str], expected: str
) -> None:
    make.league(players=4)
    assert post(desk, "plan/start", **data) == expected
    assert League.objects.get(pk="fall").starts_at is None


def test_a_planned_start_without_a_script_is_in_utc(desk: Client) -> None:
    make.league(players=4)
    day = datetime.now(UTC) + timedelta(days=30)
    post(desk, "plan/start", when=f"{day:%Y-%m-%d}T18:30")
    assert League.objects.get(pk="fall").starts_at == datetime(day.year, day.month, day.day, 18, 30, tzinfo=UTC)


def test_a_planned_start_that_failed_is_a_problem_until_it_is_put_aside(desk: Client) -> None:
    make.league(players=1)
    at = datetime(2025, 1, 15, 18, 0, tzinfo=UTC)
    League.objects.filter(pk="fall").update(starts_at=at)
    planned.begin_due(at)
    assert texts(desk)[0] == (
        "The start that was planned for 2025-01-15 18:00 UTC was refused: "
        "Fall has 1 of at least 2 players: wait until more have registered."
    )
    assert remedies(desk)[0] == ["Start now", "Put this aside"]
    assert post(desk, "plan/forget") == "Put aside."
    assert len(texts(desk)) == 1


# Freeze ---------------------------------------------------------------------------------------------


def test_the_board_is_frozen_and_unveiled_from_the_desk(desk: Client) -> None:
    made = make.league(players=4)
    assert (
        post(desk, "freeze/plan", from_round="2")
        == "The public sees no results of that round and of the ones after it."
    )
    assert shown(desk)["freeze"]["planned"] == 2
    assert post(desk, "freeze/call-off") == "The board will not be frozen."
    assert post(desk, "freeze/plan") == "Freeze from round: This field is required."
    post(desk, "freeze/plan", from_round="2")
    for _ in range(3):
        make.next_round(made)
        make.finish_round(made)
    now = shown(desk)["freeze"]
    assert (now["frozen"], now["after"], now["place"], now["staff_url"]) == (True, 1, 4, "/leagues/fall/?as=staff")
    assert desk.get(now["staff_url"]).status_code == 200
    assert post(desk, "freeze/unveil") == "One more place is shown."
    assert shown(desk)["freeze"]["place"] == 3
    assert post(desk, "freeze/lift") == "Everybody sees everything."
    assert shown(desk)["freeze"]["frozen"] is False
    assert post(desk, "freeze/lift") == "The board of Fall is not frozen."


def test_the_desk_offers_to_freeze_only_rounds_that_have_not_started(desk: Client) -> None:
    made = make.league(players=4)
    assert (shown(desk)["freeze"]["from"], shown(desk)["freeze"]["to"]) == (1, None)
    make.next_round(made)
    assert (shown(desk)["freeze"]["from"], shown(desk)["freeze"]["to"], shown(desk)["freeze"]["fits"]) == (2, 3, True)
    freeze.plan(league_id="fall", from_round=3)
    make.finish_round(made)
    for _ in range(2):
        make.next_round(made)
        make.finish_round(made)
    assert shown(desk)["freeze"]["fits"] is False


# Other pages ----------------------------------------------------------------------------------------


def test_every_link_of_the_desk_opens_a_page(desk: Client) -> None:
    make.league(players=2)
    links = [link.url for link in shown(desk)["links"]]
    assert {"/admin/matches/league/fall/roster/", "/admin/matches/league/fall/people/"} < set(links)
    assert [desk.get(url).status_code for url in links] == [200] * len(links)


def test_the_settings_page_saves_and_redirects_to_the_desk(desk: Client) -> None:
    make.league(players=2)
    page = desk.get("/admin/matches/league/fall/settings/").content.decode()
    assert ('id="desk-post"' in page, DESK in page, 'name="move_timeout_s"' in page) == (False, True, True)
    form = {"display_name": "Autumn", "no_show": "cancel", "error_style": "error"}
    answer = desk.post("/admin/matches/league/fall/settings/", form)
    assert (answer.status_code, answer["Location"]) == (302, DESK)
    league = League.objects.get(pk="fall")
    assert (league.display_name, league.settings) == ("Autumn", {"no_show": "cancel"})


def test_the_desk_says_what_a_call_found_and_what_the_owner_has_to_do(desk: Client) -> None:
    made = make.league(players=2)
    call_found = "a web page is at its address (HTTP 200)"
    registration.note_ping(agent_id=made.players[0].agent.pk, problem="", found=call_found)
    registration.note_lines(opened={made.players[1].agent.pk: "websocket"}, closed=[], contested=[])
    page = html.unescape(desk.get(DESK).content.decode())
    assert f"The last call there found: {call_found}." in page
    assert "Register its own address, or use --dial-out." in page
    assert f"{made.players[1].agent.endpoint} · dials out (WebSocket)" in page


# Agents of one person -------------------------------------------------------------------------------


def test_matches_between_agents_of_one_person_are_counted_and_marked_for_who_may_see_owners(desk: Client) -> None:
    made = make.running_league(players=4)
    [match] = Match.objects.filter(match_id="R1M1")
    code, email = "one-code", "ada@school.example"
    owner = RosterEntry.objects.create(league=made.league, name="Ada Geheim", email=email, code=code)
    assert shown(desk)["siblings"] == ""
    Agent.objects.filter(pk__in=[match.player_a_id, match.player_b_id]).update(owner=owner)
    # Those who share an address, and not an owner, may be a whole class.
    Agent.objects.update(registered_from="192.0.2.50")
    pair = " – ".join(match.player_ids)
    assert shown(desk)["siblings"] == f"1 match between agents of one person: R1M1 ({pair})."
    assert {line["row"].match_id: line["siblings"] for line in shown(desk)["open"]} == {"R1M1": True, "R1M2": False}
    assert "same person" in desk.get(NOW).content.decode()
    assistant = frozenset({Permission.WATCH, Permission.RERUN})
    seen = overview.context(made.league, assistant)["desk"]
    assert (seen["siblings"], [line["siblings"] for line in seen["open"]]) == ("", [False, False])
    make.finish_round(made)
    assert "R1M1" in shown(desk)["siblings"]
    everybody = Client()
    for page in ("/leagues/fall/", "/leagues/fall/matches/R1M1/", "/api/leagues/fall/matches/R1M1"):
        public = everybody.get(page).content.decode().lower()
        assert not any(word in public for word in ("same person", "one person", "sibling", "own_agents"))
