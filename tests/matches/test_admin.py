"""The instructor's desk in the admin: creating, starting, wrong clicks, permissions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group, Permission, User
from django.contrib.messages import get_messages
from django.test import Client

from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.league_settings import LeagueSettings
from matches.desk.settings_form import GROUPS
from matches.league import opening
from matches.models import League
from tests import factories as make

pytestmark = pytest.mark.django_db
ADD = "/admin/matches/league/add/"


def click(desk: Client, league_id: str, action_name: str) -> str:
    """Click a button of the desk; the sentence that answers."""
    answer = desk.post(f"/admin/matches/league/{league_id}/do/{action_name}/")
    assert (answer.status_code, answer["Location"]) == (302, f"/admin/matches/league/{quote(league_id)}/change/")
    *_, message = [str(message) for message in get_messages(answer.wsgi_request)]
    return message


def add_players(league_id: str, count: int) -> list[Agent]:
    """Add this many players to a league."""
    return [make.player(f"Agent {n}", league_id, port=8100 + n).agent for n in range(1, count + 1)]


def test_every_setting_of_a_league_has_one_field() -> None:
    assert sorted(name for _title, names in GROUPS for name in names) == sorted(LeagueSettings.model_fields)


def test_a_league_is_created_with_its_settings(desk: Client) -> None:
    form = {"display_name": "Evening", "league_id": "evening", "game_type": "even_odd", "move_timeout_s": "12.5"}
    answer = desk.post(ADD, form | {"auto_advance": "on", "no_show": "cancel", "error_style": "error"})
    assert answer.status_code == 302, answer.content.decode()
    league = League.objects.get(pk="evening")
    assert league.settings == {"move_timeout_s": 12.5, "auto_advance": True, "no_show": "cancel"}
    assert (league.display_name, league.state) == ("Evening", "REGISTRATION")

    answer = desk.post(
        "/admin/matches/league/evening/change/",
        {"display_name": "Late evening", "win_points": "5", "no_show": "technical_loss", "error_style": "error"},
    )
    assert answer.status_code == 302, answer.content.decode()
    league.refresh_from_db()
    assert (league.display_name, league.settings, league.game_type) == ("Late evening", {"win_points": 5}, "even_odd")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"join_timeout_s": "0"}, "join_timeout_s"),
        ({"max_retries": "99"}, "max_retries"),
        ({"league_id": "no spaces"}, "league_id"),
        ({"league_id": "taken"}, "league_id"),
        ({"game_type": "chess"}, "game_type"),
        ({"display_name": ""}, "display_name"),
    ],
)
def test_a_wrong_value_has_an_error_at_its_field(desk: Client, changes: dict[str, str], field: str) -> None:
    opening.create_league(league_id="taken", display_name="Taken")
    form = {"display_name": "Evening", "league_id": "evening", "game_type": "even_odd"}
    answer = desk.post(ADD, form | {"no_show": "technical_loss", "error_style": "error"} | changes)
    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert list(League.objects.values_list("pk", flat=True)) == ["taken"]


def test_the_answers_of_the_desk_from_registration_to_the_end_of_a_league(desk: Client) -> None:
    opening.create_league(league_id="evening", display_name="Evening")
    assert click(desk, "evening", "close") == ("Evening has 0 of at least 2 players: wait until more have registered.")
    add_players("evening", 2)
    assert click(desk, "evening", "close") == "Registration is closed, the schedule is made."
    assert click(desk, "evening", "close") == "The schedule of Evening is made already: start the next round."
    assert click(desk, "evening", "start") == (
        "No referee may judge even_odd now: start one (manage.py referee), or tick “may judge” at a registered one."
    )
    make.referee("Referee 1")
    assert click(desk, "evening", "pause") == "Paused: matches in play finish, no other starts."
    assert click(desk, "evening", "start") == "Evening is paused: resume it first."
    assert click(desk, "evening", "resume") == "The league goes on."
    assert click(desk, "evening", "start") == "The round is started."
    assert click(desk, "evening", "start") == ("Round 1 is still running (1 match open): wait until it has ended.")
    assert click(desk, "evening", "stop") == "The league is stopped for good."
    assert click(desk, "evening", "start") == "Evening is over: create a new league to play again."


def test_who_has_registered_and_who_answers_is_on_the_page(desk: Client) -> None:
    opening.create_league(league_id="evening", display_name="Evening")
    first, second = add_players("evening", 2)
    registration.note_ping(agent_id=first.pk, problem="")
    registration.note_ping(agent_id=second.pk, problem="no connection: Connection refused")
    shown: dict[str, Any] = desk.get("/admin/matches/league/evening/change/").context["desk"]
    assert [(line["agent"].code, line["answers"]) for line in shown["players"]["rows"]] == [
        ("P02", "no answer: no connection: Connection refused"),
        ("P01", "answered within the last minute"),
    ]
    assert [problem.text for problem in shown["problems"]][1:] == [
        "These players did not answer the last time: P02. They would lose by starting now."
    ]
    assert click(desk, "evening", "check") == "The agents are being asked: their answers appear on this page."
    assert list(Agent.objects.order_by("pk").values_list("ping_wanted", flat=True)) == [True, True]


def test_buttons_need_a_post_and_a_permission(client: Client, desk: Client) -> None:
    opening.create_league(league_id="evening", display_name="Evening")
    assert desk.get("/admin/matches/league/evening/do/pause/").status_code == 405
    assert desk.post("/admin/matches/league/evening/do/dance/").status_code == 404
    staff = Client()
    staff.force_login(User.objects.create_user("assistant", password="x" * 12, is_staff=True))
    assert staff.post("/admin/matches/league/evening/do/pause/").status_code == 403
    assert Client().post("/admin/matches/league/evening/do/pause/").status_code == 302
    assert League.objects.get(pk="evening").paused is False


@pytest.mark.parametrize(
    ("page", "action_name", "row"),
    [
        ("matches/league", "pause_leagues", "a\x00b"),
        ("agents_registry/agent", "check_whole", "None"),
        ("agents_registry/agent", "check_whole", "1" + "0" * 30),
        ("auth/user", "delete_selected", ""),
    ],
)
def test_an_invalid_row_id_is_refused(desk: Client, page: str, action_name: str, row: str) -> None:
    opening.create_league(league_id="evening", display_name="Evening")
    add_players("evening", 2)
    answer = desk.post(f"/admin/{page}/", {"action": action_name, "_selected_action": [row]})
    assert answer.status_code == 400


@pytest.mark.parametrize("row", [str(2**63), "-1" + "0" * 30, "x", "1\x00"])
def test_an_unknown_permission_is_not_given_to_a_group(desk: Client, row: str) -> None:
    answer = desk.post("/admin/auth/group/add/", {"name": "Ours", "permissions": [row]})
    assert answer.status_code == 200
    assert "permissions" in answer.context["adminform"].form.errors
    assert not Group.objects.filter(name="Ours").exists()


def test_a_group_has_the_permissions_that_were_chosen(desk: Client) -> None:
    some = list(Permission.objects.filter(content_type__model="league").order_by("pk")[:2])
    answer = desk.post("/admin/auth/group/add/", {"name": "Ours", "permissions": [one.pk for one in some]})
    assert answer.status_code == 302
    assert list(Group.objects.get(name="Ours").permissions.order_by("pk")) == some


@pytest.mark.parametrize("field", ["groups", "user_permissions"])
def test_an_unknown_group_or_permission_is_not_given_to_an_account(desk: Client, field: str) -> None:
    user = User.objects.create_user("grace")
    form = {"username": "grace", "is_active": "on", "date_joined_0": "2026-01-01", "date_joined_1": "10:00:00"}
    of_leagues = Permission.objects.filter(content_type__model="league")
    some = {"groups": Group.objects.create(name="Ours"), "user_permissions": of_leagues[0]}[field]
    address = f"/admin/auth/user/{user.pk}/change/"
    answer = desk.post(address, form | {field: [str(2**63)]})
    assert field in answer.context["adminform"].form.errors
    answer = desk.post(address, form | {field: [some.pk]})
    assert answer.status_code == 302
    assert list(getattr(user, field).all()) == [some]


@pytest.mark.parametrize("page", ["league", "match"])
def test_the_lists_make_as_many_queries_for_many_rows_as_for_few(desk: Client, page: str) -> None:
    counts = []
    for number in range(1, 41):
        opening.create_league(league_id=f"l{number}", display_name=f"L{number}")
        if number in (3, 40):
            add_players(f"l{number}", number // 3 + 3)
            opening.close_registration(league_id=f"l{number}")
            with make.counting_queries(counts):
                assert desk.get(f"/admin/matches/{page}/").status_code == 200
    assert counts[0] == counts[1]


@pytest.mark.parametrize("league_id", ["league_2025_even_odd", "fall_25", "a-b"])
def test_the_desk_is_reached_from_the_list_whatever_the_id(desk: Client, league_id: str) -> None:
    opening.create_league(league_id=league_id, display_name="The evening")
    listed = desk.get("/admin/matches/league/").content.decode()
    [link] = re.findall(r'href="([^"?]*/change/)[^>]*>The evening', listed)
    page = desk.get(link)
    assert page.context["desk"]["league"].league_id == league_id
    [button] = re.findall(r'formaction="([^"]*/do/pause/[^"]*)"', page.content.decode())
    answer = desk.post(button, follow=True)
    assert answer.redirect_chain == [(link, 302)]
    assert League.objects.get(pk=league_id).paused is True


def test_stopping_a_real_league_asks_first_and_stopping_the_demo_does_not(desk: Client) -> None:
    opening.create_league(league_id="evening", display_name="Evening")
    opening.create_league(league_id="demo", display_name="Demo", demo=True)
    warnings = {}
    for league_id in ("evening", "demo"):
        buttons = desk.get(f"/admin/matches/league/{league_id}/change/").context["desk"]["buttons"]
        warnings[league_id] = [button.name for button in buttons if button.warnings]
    assert warnings == {"evening": ["stop"], "demo": []}
