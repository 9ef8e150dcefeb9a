"""A league from its creation to its end, as the instructor moves it; every wrong click has its sentence (004 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from agents_registry.models import Agent
from matches.league import lifecycle, losses, opening
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import Delivery, League, Match, Round
from matches.view import sight
from tests import factories as make

pytestmark = pytest.mark.django_db
NO_REFEREE = (
    "No referee may judge even_odd now: start one (manage.py referee), or tick “may judge” at a registered one."
)


def refusal(click: Callable[[], Any]) -> str:
    """Assert that a click is refused and changes nothing; returns the sentence."""
    before = rows()
    with pytest.raises(ActionRefused) as caught:
        click()
    assert rows() == before
    return str(caught.value)


def rows() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (League, Round, Match, Agent, Delivery)]


def states(league_id: str = "fall") -> tuple[str, list[str]]:
    """The state of a league and of its rounds."""
    league = League.objects.get(pk=league_id)
    return league.state, [one.state for one in league.rounds.order_by("number")]


# Creating -----------------------------------------------------------------------------------------


def test_a_league_is_created_with_its_defaults() -> None:
    league = opening.create_league(league_id="fall", display_name="", settings={"move_timeout_s": 2.5})
    league.refresh_from_db()
    assert (league.display_name, league.state, league.game_type, league.settings, league.paused, league.demo) == (
        "fall",
        "REGISTRATION",
        "even_odd",
        {"move_timeout_s": 2.5},
        False,
        False,
    )
    assert (league.rules.move_timeout_s, league.rules.join_timeout_s) == (2.5, 5)
    assert [(one.seq, one.kind) for one in league.events.all()] == [(1, "league_created")]


def test_an_id_that_is_taken_is_refused() -> None:
    make.open_league("fall")
    sentence = refusal(lambda: make.open_league("fall"))
    assert sentence == "A league with the id fall exists already: choose another id."


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"league_id": ""}, "league_id"),
        ({"league_id": "a b"}, "league_id"),
        ({"league_id": "-a"}, "league_id"),
        ({"league_id": "a\n"}, "league_id"),
        ({"league_id": "a/../b"}, "league_id"),
        ({"league_id": "x" * 65}, "league_id"),
        ({"display_name": "x" * 65}, "display_name"),
        ({"game_type": "chess"}, "game_type"),
        ({"settings": ["x"]}, "settings"),
        ({"settings": {"move_timeout": 5}}, "move_timeout"),
        ({"settings": {"move_timeout_s": 0}}, "move_timeout_s"),
        ({"settings": {"move_timeout_s": float("nan")}}, "move_timeout_s"),
        ({"settings": {"move_timeout_s": "soon"}}, "move_timeout_s"),
        ({"settings": {"max_retries": 1.5}}, "max_retries"),
        ({"settings": {"no_show": "forfeit"}}, "no_show"),
        ({"settings": {"min_players": 5, "max_players": 4}}, "settings"),
        ({"settings": {"suspend_after": 5, "shutdown_after": 4}}, "settings"),
    ],
)
def test_an_unusable_field_of_a_new_league_is_named(changes: dict[str, Any], field: str) -> None:
    values = {"league_id": "fall", "display_name": "Fall"} | changes
    with pytest.raises(Invalid) as caught:
        opening.create_league(**values)
    assert (caught.value.field, caught.value.status, League.objects.count()) == (field, 422, 0)


def test_a_bad_setting_is_refused_with_its_name_and_value() -> None:
    sentence = refusal(lambda: make.open_league("fall", move_timeout_s=-1))
    assert sentence == "Setting move_timeout_s: Input should be greater than 0 (seen: -1)."


def test_settings_are_stored_with_their_types() -> None:
    league = make.open_league("fall", auto_advance="true", max_retries="2")
    league.refresh_from_db()
    assert league.settings == {"auto_advance": True, "max_retries": 2}


def test_name_and_settings_of_a_league_are_changed() -> None:
    make.open_league("fall")
    league = opening.edit_league(league_id="fall", display_name="Autumn", settings={"win_points": 2})
    assert (league.display_name, league.rules.win_points) == ("Autumn", 2)
    refusal(lambda: opening.edit_league(league_id="fall", display_name="x", settings={"win_points": 1000}))
    with pytest.raises(NotFound):
        opening.edit_league(league_id="spring", display_name="x", settings={})


# Closing and starting -----------------------------------------------------------------------------


def test_closing_registration_makes_the_schedule_of_004_table_9() -> None:
    make.league(players=4)
    opening.close_registration(league_id="fall")
    schedule = [
        (match.match_id, {match.player_a.code, match.player_b.code}, match.state)
        for match in Match.objects.select_related("player_a", "player_b").order_by("pk")
    ]
    assert schedule == [
        ("R1M1", {"P01", "P02"}, "PENDING"),
        ("R1M2", {"P03", "P04"}, "PENDING"),
        ("R2M1", {"P03", "P01"}, "PENDING"),
        ("R2M2", {"P04", "P02"}, "PENDING"),
        ("R3M1", {"P04", "P01"}, "PENDING"),
        ("R3M2", {"P03", "P02"}, "PENDING"),
    ]
    assert states() == ("SCHEDULED", ["PENDING"] * 3)


def test_of_five_players_each_rests_in_one_round() -> None:
    make.league(players=5)
    opening.close_registration(league_id="fall")
    byes = [one.bye.code for one in Round.objects.select_related("bye").order_by("number")]
    assert sorted(byes) == ["P01", "P02", "P03", "P04", "P05"]
    for one in Round.objects.order_by("number"):
        playing = [code for pair in one.matches.values_list("player_a__code", "player_b__code") for code in pair]
        assert sorted([*playing, one.bye.code]) == ["P01", "P02", "P03", "P04", "P05"]


def no_referee(**changes: Any) -> Callable[[], None]:
    """A league that could start if its only referee were able to judge."""

    def prepare() -> None:
        make.league()
        opening.close_registration(league_id="fall")
        Agent.objects.filter(kind="referee").update(**changes)

    return prepare


def a_referee_of_another_league() -> None:
    make.open_league("other")
    make.referee(own_league="other")
    make.league(referees=0)
    opening.close_registration(league_id="fall")


def scheduled() -> None:
    make.league()
    opening.close_registration(league_id="fall")


def half_a_round() -> None:
    made = make.running_league()
    make.report(made.match("R1M1"), None)


RUNNING = "Round 1 is still running (1 match open): wait until it has ended."
NO_SCHEDULE = "Fall has no schedule yet: close registration first."
TOO_FEW = "Fall has 1 of at least 2 players: wait until more have registered."
MADE = "The schedule of Fall is made already: start the next round."


@pytest.mark.parametrize(
    ("prepare", "click", "sentence"),
    [
        (lambda: make.league(players=1), opening.close_registration, TOO_FEW),
        (scheduled, opening.close_registration, MADE),
        (make.league, lifecycle.start_round, NO_SCHEDULE),
        (half_a_round, lifecycle.start_round, RUNNING),
        pytest.param(half_a_round, lifecycle.start_league, RUNNING, marks=pytest.mark.exhaustive),
        (no_referee(trusted=False), lifecycle.start_round, NO_REFEREE),
        (no_referee(state="SUSPENDED"), lifecycle.start_round, NO_REFEREE),
        pytest.param(no_referee(state="SHUTDOWN"), lifecycle.start_round, NO_REFEREE, marks=pytest.mark.exhaustive),
        (no_referee(game_types=["chess"]), lifecycle.start_round, NO_REFEREE),
        (a_referee_of_another_league, lifecycle.start_round, NO_REFEREE),
    ],
)
def test_a_wrong_click_is_refused_with_a_sentence_that_says_what_to_do(
    prepare: Callable[[], Any], click: Callable[..., Any], sentence: str
) -> None:
    prepare()
    assert refusal(lambda: click(league_id="fall")) == sentence


def test_starting_a_league_changes_everything_or_nothing() -> None:
    make.league(players=1)
    refusal(lambda: lifecycle.start_league(league_id="fall", auto_advance=True))
    make.player("Second", "fall", port=8102)
    Agent.objects.filter(kind="referee").update(trusted=False)
    assert refusal(lambda: lifecycle.start_league(league_id="fall", auto_advance=True)) == NO_REFEREE
    Agent.objects.filter(kind="referee").update(trusted=True)
    league = lifecycle.start_league(league_id="fall", auto_advance=True)
    assert (league.state, league.settings, league.runs_all) == ("RUNNING", {}, True)
    assert league.started_at is not None
    assert states() == ("RUNNING", ["ANNOUNCING"])
    assert {one.state for one in Agent.objects.filter(kind="player")} == {"ACTIVE"}


def test_a_referee_that_names_no_game_judges_every_game() -> None:
    made = make.league()
    Agent.objects.filter(kind="referee").update(game_types=[])
    lifecycle.start_league(league_id="fall")
    assert made.states()["R1M1"] == "READY"


def test_the_database_allows_one_active_round() -> None:
    make.running_league()
    with pytest.raises(IntegrityError), transaction.atomic():
        Round.objects.filter(number=2).update(state="RUNNING")


def test_run_all_lets_the_rounds_follow_a_running_round() -> None:
    made = make.running_league()
    lifecycle.run_all(league_id="fall")
    assert (made.league.runs_all, made.league.settings) == (True, {})
    assert states() == ("RUNNING", ["RUNNING", "PENDING", "PENDING"])
    assert made.events()[-1] == "auto_advance_on"


def test_run_all_starts_a_league_whose_rounds_follow_each_other() -> None:
    made = make.league()
    assert lifecycle.run_all(league_id="fall").state == "RUNNING"
    assert (made.league.runs_all, states()[1]) == (True, ["ANNOUNCING", "PENDING", "PENDING"])


@pytest.mark.parametrize("by_setting", [False, True])
def test_the_rounds_stop_following_each_other_when_the_instructor_says_so(*, by_setting: bool) -> None:
    made = make.league(players=4, announce_wait_s=0, **({"auto_advance": True} if by_setting else {}))
    lifecycle.run_all(league_id="fall")
    make.look()
    lifecycle.run_all(league_id="fall", on=False)
    make.finish_round(made)
    make.look()
    assert states() == ("RUNNING", ["COMPLETED", "PENDING", "PENDING"])
    assert made.events().count("auto_advance_off") == 1
    lifecycle.run_all(league_id="fall")
    assert states() == ("RUNNING", ["COMPLETED", "ANNOUNCING", "PENDING"])


def test_a_start_of_one_round_leaves_how_the_rounds_follow_each_other() -> None:
    made = make.league(players=4)
    lifecycle.run_all(league_id="fall")
    lifecycle.pause(league_id="fall")
    lifecycle.resume(league_id="fall")
    assert made.league.runs_all is True
    refusal(lambda: lifecycle.start_league(league_id="fall", auto_advance=False))
    assert made.league.runs_all is True


# Pause and stop -----------------------------------------------------------------------------------


def test_no_match_starts_between_pause_and_resume() -> None:
    made = make.running_league()
    assert refusal(lambda: lifecycle.resume(league_id="fall")) == "Fall is not paused."
    assert lifecycle.pause(league_id="fall").paused is True
    assert refusal(lambda: lifecycle.pause(league_id="fall")) == "Fall is paused already."
    for click in (lifecycle.start_round, lifecycle.start_league, lifecycle.run_all):
        assert refusal(lambda click=click: click(league_id="fall")) == "Fall is paused: resume it first."
    assert make.report(made.match("R1M1"), "P01") == {"status": "ACCEPTED", "reason": None}
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M2"), why="test")
    assert make.look().starts == []
    assert lifecycle.resume(league_id="fall").paused is False
    assert [start.match_pk for start in make.look().starts] == [made.match("R1M2").pk]


def test_no_round_opens_or_follows_while_paused() -> None:
    made = make.league(players=4, auto_advance=True, announce_wait_s=0)
    lifecycle.start_league(league_id="fall")
    lifecycle.pause(league_id="fall")
    make.look()
    assert states() == ("RUNNING", ["ANNOUNCING", "PENDING", "PENDING"])
    lifecycle.resume(league_id="fall")
    make.look()
    assert states() == ("RUNNING", ["RUNNING", "PENDING", "PENDING"])
    assert (made.states()["R1M1"], made.states()["R1M2"]) == ("ASSIGNED", "ASSIGNED")
    lifecycle.pause(league_id="fall")
    make.finish_round(made)
    make.look()
    assert states() == ("RUNNING", ["COMPLETED", "PENDING", "PENDING"])
    lifecycle.resume(league_id="fall")
    make.look()
    assert states()[1][1] != "PENDING"


def test_a_stopped_league_gives_up_its_open_matches() -> None:
    made = make.running_league()
    make.report(made.match("R1M1"), "P01")
    match = made.match("R1M2")
    lifecycle.stop(league_id="fall")
    assert states() == ("STOPPED", ["PENDING"] * 3)
    assert (made.states()["R1M1"], made.states()["R1M2"]) == ("FINISHED", "PENDING")
    assert {one.fresh().state for one in made.players} == {"SHUTDOWN"}
    assert make.progress(match) == "lost"
    assert set(Delivery.objects.values_list("state", "problem")) == {("DROPPED", "league stopped")}
    plan = make.look()
    assert (plan.starts, plan.parcels) == ([], {})


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda made: make.report(made.match("R1M1"), "P01"), "COMPLETED"),
        (lambda made: lifecycle.stop(league_id="fall"), "STOPPED"),
    ],
)
def test_a_pause_ends_with_the_league(end: Callable[[make.MadeLeague], Any], state: str) -> None:
    made = make.running_league(players=2)
    lifecycle.pause(league_id="fall")
    end(made)
    league = made.league
    assert (league.state, league.paused, sight.moment(league).paused) == (state, False, False)
    assert refusal(lambda: lifecycle.resume(league_id="fall")) == "Fall is over: there is nothing to pause or resume."


def test_a_stopped_league_is_not_paused_stopped_or_started_again() -> None:
    make.running_league()
    lifecycle.stop(league_id="fall")
    assert refusal(lambda: lifecycle.pause(league_id="fall")) == "Fall is over: there is nothing to pause or resume."
    assert refusal(lambda: lifecycle.stop(league_id="fall")) == "Fall is stopped already."
    over = "Fall is over: create a new league to play again."
    for click in (lifecycle.start_round, lifecycle.start_league, lifecycle.run_all, opening.close_registration):
        assert refusal(lambda click=click: click(league_id="fall")) == over


@pytest.mark.parametrize(
    "verb",
    [
        opening.close_registration,
        lifecycle.start_league,
        lifecycle.run_all,
        lifecycle.start_round,
        lifecycle.pause,
        lifecycle.resume,
        lifecycle.stop,
    ],
)
def test_an_unknown_league_cannot_be_moved(verb: Callable[..., object]) -> None:
    with pytest.raises(NotFound) as caught:
        verb(league_id="nowhere")
    assert (str(caught.value), caught.value.status) == ("There is no league nowhere.", 404)
