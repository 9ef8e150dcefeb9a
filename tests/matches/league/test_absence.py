"""A league pauses when its class has gone, and goes on with a click (ruling, section 8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent, RosterEntry
from league_sdk.protocol.league_settings import LeagueSettings
from matches.league import absence, lifecycle, planned
from matches.league.errors import ActionRefused
from matches.models import League, Match
from tests import factories as make

pytestmark = pytest.mark.django_db
ALL = ("P01", "P02", "P03", "P04", "P05", "P06")


def begun(**settings: Any) -> make.MadeLeague:
    """Six players; in round 1, which is over, everybody has answered."""
    made = make.league(players=6, **{"announce_wait_s": 0, **settings})
    make.next_round(made)
    make.finish_round(made)
    return made


def play(made: make.MadeLeague, *silent: str) -> None:
    """Play the next round; these players do not answer."""
    make.next_round(made)
    finish(made, *silent)


def finish(made: make.MadeLeague, *silent: str) -> None:
    for match_id, state in made.states().items():
        if state == "ASSIGNED":
            match = made.match(match_id)
            gone = [code for code in match.player_ids if code in silent]
            make.report(match, match.player_a.code, **(make.no_answer_from(match, *gone) if gone else {}))


def pauses(made: make.MadeLeague) -> list[tuple[int, int, int]]:
    """Round, absent players and called players of each pause that the league has begun by itself."""
    events = made.league.events.filter(kind="paused_as_absent").order_by("seq")
    return [(one.data["round_id"], one.data["absent"], one.data["called"]) for one in events]


def refusal(league_id: str = "fall") -> str:
    with pytest.raises(ActionRefused) as refused:
        lifecycle.refuse_start(League.objects.get(pk=league_id))
    return str(refused.value)


def test_a_league_pauses_when_half_of_its_players_have_gone_and_its_results_stand() -> None:
    made = begun(auto_advance=True)
    make.look()
    make.look()
    make.look()
    finish(made, "P01", "P02", "P03")
    assert (pauses(made), made.league.paused) == ([(2, 3, 6)], True)
    make.look()
    assert list(made.league.rounds.order_by("number").values_list("state", flat=True))[:3] == [
        *("COMPLETED", "COMPLETED", "PENDING"),
    ]
    assert Match.objects.filter(league="fall", round__number=2, state="FINISHED").count() == 3
    # Public, in the feed of pages and of the API.
    sentence = "Paused: 3 of 6 players did not answer in round 2."
    assert sentence in Client().get("/leagues/fall/").content.decode()
    feed = Client().get("/api/leagues/fall/events").json()
    assert [row["data"] for row in feed["events"] if row["kind"] == "paused_as_absent"] == [
        {"round_id": 2, "absent": 3, "called": 6}
    ]


def test_after_going_on_the_same_silent_players_pause_nothing() -> None:
    made = begun()
    play(made, "P01", "P02", "P03")
    lifecycle.resume(league_id="fall")
    play(made, "P01", "P02", "P03")
    play(made, "P01", "P02", "P03")
    assert (len(pauses(made)), made.league.paused) == (1, False)


def test_players_that_go_and_come_back_at_will_pause_it_three_times_at_most() -> None:
    made = make.league(players=10, announce_wait_s=0)
    make.next_round(made)
    make.finish_round(made)
    for _ in range(4):
        play(made, "P01", "P02", "P03", "P04", "P05")
        if made.league.paused:
            lifecycle.resume(league_id="fall")
        play(made)
    assert [number for number, _, _ in pauses(made)] == [2, 4, 6]


@pytest.mark.parametrize(
    ("settings", "silent", "paused"),
    [
        ({}, ("P01", "P02"), False),
        ({}, ("P01", "P02", "P03"), True),
        ({"pause_if_absent": 0}, ALL, False),
        ({"pause_if_absent": None}, ALL, False),
        ({"pause_if_absent": 1}, ALL[:5], False),
        ({"pause_if_absent": {"share": 1}}, ALL, True),
        ({"pause_if_absent": 0.1}, ("P01", "P02"), False),
        ({"no_show": "cancel"}, ALL, True),
        ({"shutdown_after": 1, "suspend_after": 1}, ALL, True),
    ],
)
def test_the_share_decides(settings: dict[str, Any], silent: tuple[str, ...], *, paused: bool) -> None:
    made = begun(**settings)
    play(made, *silent)
    assert (made.league.paused, len(pauses(made))) == (paused, int(paused))


def test_who_never_answered_pauses_nothing() -> None:
    made = make.league(players=6)
    play(made, *ALL)
    assert made.league.paused is False
    # They have registered again, so that their count of silences begins anew.
    Agent.objects.filter(league="fall").update(silences=0, state="ACTIVE")
    play(made, *ALL)
    assert (pauses(made), made.league.paused) == ([], False)


def test_who_registers_again_before_the_round_ends_is_there() -> None:
    made = begun()
    make.next_round(made)
    match = made.match("R2M1")
    make.report(match, None, **make.no_answer_from(match, *match.player_ids))
    Agent.objects.filter(league="fall", code__in=match.player_ids).update(silences=0)
    finish(made, *ALL)
    assert pauses(made) == [(2, 4, 6)]


def test_the_last_round_ends_the_league() -> None:
    made = begun()
    for _round in range(3):
        play(made)
    play(made, *ALL)
    assert (made.league.state, pauses(made)) == ("COMPLETED", [])


def test_the_demo_and_a_league_that_the_instructor_has_paused_are_left_alone() -> None:
    made = begun()
    make.next_round(made)
    lifecycle.pause(league_id="fall")
    finish(made, *ALL)
    assert (pauses(made), absence.own_pause(made.league)) == ([], None)
    lifecycle.resume(league_id="fall")
    League.objects.filter(pk="fall").update(demo=True)
    Agent.objects.filter(league="fall").update(silences=0)
    play(made, *ALL)
    assert pauses(made) == []


# Who is behind the players ------------------------------------------------------------------------


def came_from(addresses: dict[str, str]) -> None:
    for code, address in addresses.items():
        Agent.objects.filter(league="fall", code=code).update(registered_from=address)


def test_the_many_players_of_one_laptop_pause_nothing() -> None:
    made = begun()
    came_from(dict.fromkeys(ALL[:4], "10.0.0.9") | {"P05": "10.0.0.5", "P06": "10.0.0.6"})
    play(made, *ALL[:4])
    assert made.league.paused is False


def test_the_many_players_of_one_laptop_and_a_few_others_that_fail_pause_nothing() -> None:
    made = make.league(players=12)
    make.next_round(made)
    make.finish_round(made)
    came_from({f"P{n:02d}": f"10.0.0.{9 if n <= 6 else n}" for n in range(1, 13)})
    play(made, *[f"P{n:02d}" for n in range(1, 9)])
    assert made.league.paused is False


def test_a_person_with_one_player_that_still_answers_has_not_gone() -> None:
    made = begun()
    came_from(dict(zip(ALL, ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"], strict=True)))
    play(made, "P01", "P03", "P04")
    assert made.league.paused is False


def test_people_of_the_roster_count_wherever_they_come_from() -> None:
    made = begun()
    for number, code in enumerate(ALL):
        person = RosterEntry.objects.create(
            league=made.league, name=code, email=f"{code}@x.org", code=f"code-{number // 3}-{number}"
        )
        Agent.objects.filter(league="fall", code=code).update(owner=person)
    play(made, "P01", "P02", "P03")
    assert made.league.paused is True


def test_a_students_referee_pauses_nothing() -> None:
    made = begun()
    Agent.objects.filter(kind="referee").update(site_key=False)
    play(made, *ALL)
    assert made.league.paused is False


# Going on -----------------------------------------------------------------------------------------


def test_a_start_goes_on_and_the_conductor_does_not() -> None:
    made = begun()
    play(made, *ALL)
    with pytest.raises(ActionRefused, match="is paused: resume it first"):
        lifecycle.start_round(league_id="fall", by_itself=True)
    lifecycle.refuse_start(made.league)
    lifecycle.start_round(league_id="fall")
    assert (made.league.paused, made.events()[-2:]) == (False, ["resumed", "round_started"])


def test_run_all_goes_on_to_the_end() -> None:
    made = begun()
    play(made, *ALL)
    lifecycle.run_all(league_id="fall")
    assert (made.league.paused, made.league.runs_all) == (False, True)


def test_a_planned_start_goes_on() -> None:
    made = begun()
    at = timezone.now() + timedelta(hours=1)
    planned.plan_start(league_id="fall", at=at, all_rounds=False, now=timezone.now())
    make.next_round(made)
    planned.plan_start(league_id="fall", at=at, all_rounds=False, now=timezone.now())
    finish(made, *ALL)
    assert (made.league.paused, made.league.starts_at) == (True, at)
    planned.begin_due(at)
    assert (made.league.paused, made.events()[-1]) == (False, "round_started")


def test_a_pause_by_hand_is_not_ended_by_a_start() -> None:
    made = begun()
    play(made, *ALL)
    lifecycle.resume(league_id="fall")
    lifecycle.pause(league_id="fall")
    assert refusal() == "Fall is paused: resume it first."


def test_the_desk_says_why_and_offers_the_start() -> None:
    made = begun()
    play(made, "P01", "P02", "P03")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    desk = client.get("/admin/matches/league/fall/change/").content.decode()
    assert "3 of 6 players did not answer in round 2, so the league has paused itself" in desk
    assert "Start round 3" in desk
    assert "Resume" in desk
    lifecycle.resume(league_id="fall")
    assert "paused itself" not in client.get("/admin/matches/league/fall/change/").content.decode()
    assert made.league.paused is False


def test_the_settings_name_the_share_and_tell_no_referee() -> None:
    assert LeagueSettings().pause_if_absent == 0.5
    assert "pause_if_absent" not in LeagueSettings().for_referee()
