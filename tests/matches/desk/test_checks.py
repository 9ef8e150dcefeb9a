"""Checks in the admin: who is ready, the buttons, and what the desk says before the schedule is made."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.checks import asking, runs, taking
from matches.league import opening
from matches.models import Check
from tests import factories as make
from tests.matches.desk.clicking import count_queries, person, shown
from tests.matches.reports import report

pytestmark = pytest.mark.django_db
AGENTS = "/admin/agents_registry/agent/"


def checked(member: make.RegisteredAgent, *, passed: bool) -> Check:
    [check] = asking.ask_for_agents(agent_ids=[member.agent.pk])
    [job] = taking.take(now=timezone.now())
    runs.finish(check_id=check.pk, run=job.run, report=report(passed=passed))
    return check


def ready_cells(desk: Client) -> list[str]:
    text = desk.get(AGENTS).content.decode()
    return [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r'<td class="field-ready[^>]*>(.*?)</td>', text)]


def test_the_list_of_agents_shows_the_results_of_checks_and_links_to_reports(desk: Client) -> None:
    made = make.league(players=4, referees=0)
    passed = checked(made.players[0], passed=True)
    checked(made.players[1], passed=False)
    asking.ask_for_agents(agent_ids=[made.players[2].agent.pk])
    assert ready_cells(desk) == ["ready", "wrong answers", "checking", "not checked"]
    failed = desk.get(f"{AGENTS}{made.players[1].agent.pk}/change/").content.decode()
    assert "wrong answers</a>: Answer GAME_INVITATION with accept: true." in failed
    assert f'<a href="/check/{passed.pk}">ready</a>' in desk.get(AGENTS).content.decode()
    assert f'<a href="/check/{passed.pk}">ready</a>' in (
        desk.get(f"{AGENTS}{made.players[0].agent.pk}/change/").content.decode()
    )


def test_the_list_of_agents_needs_as_many_queries_for_27_agents_as_for_3(desk: Client) -> None:
    counts = []
    for league_id, players in (("few", 3), ("many", 24)):
        make.open_league(league_id)
        for number in range(players):
            checked(make.player(f"{league_id} {number}", league_id, port=8100 + number), passed=True)
        counts.append(count_queries(desk, AGENTS))
    assert counts[0] == counts[1]


def test_an_action_of_the_list_and_a_button_start_checks(desk: Client) -> None:
    made = make.league(players=3, referees=0)
    chosen = [member.agent.pk for member in made.players[:2]]
    answer = desk.post(AGENTS, {"action": "check_whole", "_selected_action": chosen}, follow=True)
    assert "2 agents are being checked: reload this page in a few seconds." in answer.content.decode()
    assert list(Check.objects.order_by("created_at").values_list("agent_id", flat=True)) == chosen
    third = made.players[2].agent.pk
    button = f"{AGENTS}{third}/check/"
    assert f'action="{button}"' in desk.get(f"{AGENTS}{third}/change/").content.decode()
    answer = desk.post(button)
    assert (answer.status_code, answer["Location"]) == (302, f"/check/{Check.objects.get(agent=third).pk}")


def test_the_sites_own_referees_are_not_checked(desk: Client) -> None:
    own = make.referee()
    answer = desk.post(f"{AGENTS}{own.agent.pk}/check/", follow=True)
    assert "own referees take matches from this site only" in answer.content.decode()
    assert Check.objects.count() == 0


def test_the_check_button_needs_a_post_and_a_permission(desk: Client) -> None:
    made = make.league(players=1, referees=0)
    button = f"{AGENTS}{made.players[0].agent.pk}/check/"
    assert desk.get(button).status_code == 405
    assert desk.post(f"{AGENTS}999999/check/").status_code == 404
    assert [person("assistant").post(button).status_code, Client().post(button).status_code] == [403, 302]
    assert Check.objects.count() == 0


def test_the_desk_names_players_that_closing_registration_leaves_out(desk: Client) -> None:
    made = make.league(players=4, require_check=True)
    for number, passed in ((0, True), (1, False), (2, True)):
        checked(made.players[number], passed=passed)
    before = shown(desk)
    assert [(line["agent"].code, line["ready"].label) for line in before["players"]["rows"]] == [
        ("P01", "ready"),
        ("P02", "wrong answers"),
        ("P03", "ready"),
        ("P04", "not checked"),
    ]
    assert [problem.text for problem in before["problems"]] == [
        "These players have not passed the check and would be left out by closing now: "
        "P02 (wrong answers), P04 (not checked)."
    ]
    opening.close_registration(league_id="fall")
    after = shown(desk)
    assert (after["problems"], after["left_out"]) == ([], {"P02": "wrong answers", "P04": "not checked"})


def test_a_button_of_the_desk_checks_all_players(desk: Client) -> None:
    make.league(players=3, referees=1)
    assert desk.post("/admin/matches/league/fall/do/check_all/").status_code == 302
    assert Check.objects.filter(role="player", asked_by="instructor").count() == 3


# The public board -------------------------------------------------------------------------------


def board(league_id: str = "fall") -> dict[str, Any]:
    context = pages.context_of(PageKey("board", league_id))
    assert context is not None
    return context


@pytest.mark.parametrize(("demanded", "last"), [(True, ("not_checked", "not checked")), (False, None)])
def test_the_board_shows_the_result_of_each_players_check_before_the_start(
    client: Client, demanded: bool, last: Any
) -> None:
    made = make.league(players=3, require_check=demanded)
    checked(made.players[0], passed=True)
    checked(made.players[1], passed=False)
    ready = [line.ready for line in board()["standings"]]
    assert [one and (one.word, str(one.label)) for one in ready] == [
        ("ready", "ready"),
        ("wrong_answers", "wrong answers"),
        last,
    ]
    text = client.get("/leagues/fall/").content.decode()
    assert re.findall(r'data-ready="(\w+)"', text)[:2] == ["ready", "wrong_answers"]
    assert [member.agent.endpoint for member in made.players if member.agent.endpoint in text] == []


def test_the_api_says_who_is_ready(client: Client) -> None:
    made = make.league(players=2, referees=0)
    checked(made.players[0], passed=True)
    assert [agent["ready"] for agent in client.get("/api/leagues/fall/agents").json()] == ["ready", "not_checked"]


def test_the_board_lists_players_that_were_left_out_and_does_not_count_them(client: Client) -> None:
    made = make.league(players=3, require_check=True)
    for number in (0, 2):
        checked(made.players[number], passed=True)
    opening.close_registration(league_id="fall")
    shown = board()
    assert [line.row.player_id for line in shown["standings"]] == ["P01", "P03"]
    assert shown["left_out"] == {"P02": "not checked"}
    assert (shown["league"].summary.players, client.get("/api/leagues/fall").json()["players"]) == (2, 2)
    assert [event.text for event in shown["feed"]][1] == "Not in the schedule, as their check had not passed: P02."
