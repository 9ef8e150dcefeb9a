"""An action on ticked rows that asks first: what the page says of each row, and what its second click does."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from agents_registry.models import Agent
from matches.league import lifecycle, opening, staffing
from matches.models import AuditEntry, League
from tests import factories as make
from tests.matches.desk.clicking import LEAGUES, confirm, person, sentences_of

pytestmark = pytest.mark.django_db
AGENTS = "/admin/agents_registry/agent/"


def tick(desk: Client, action: str, *rows: Any, **more: Any) -> Any:
    """Choose an action of a list for some of its rows."""
    page = AGENTS if isinstance(rows[0], int) else LEAGUES
    return desk.post(
        page + more.pop("query", ""), {"action": action, "_selected_action": list(rows), "index": 0, **more}
    )


def text_of(answer: HttpResponse) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<script.*?</script>|<[^>]*>", " ", answer.content.decode(), flags=re.S))


def make_silent(made: make.MadeLeague) -> None:
    """The first player of a league does not answer."""
    Agent.objects.filter(pk=made.players[0].agent.pk).update(problem="timeout", ping_wanted=False)


def have_started(*league_ids: str) -> list[bool]:
    return [League.objects.get(pk=one).rounds.exclude(state="PENDING").exists() for one in league_ids]


def has_tokens(*agents: Agent) -> list[bool]:
    return [agent.tokens.exists() for agent in agents]


@pytest.fixture
def leagues() -> list[make.MadeLeague]:
    """Three leagues: one with a silent player, one in order, one that is over."""
    made_leagues = [make.league(name, players=4) for name in ("fall", "winter", "spring")]
    make_silent(made_leagues[0])
    lifecycle.stop(league_id="spring")
    return made_leagues


def test_a_start_with_warnings_needs_a_second_click_and_says_what_it_would_do_to_each_row(
    desk: Client, leagues: list[make.MadeLeague]
) -> None:
    question = tick(desk, "start_next_round", "fall", "winter", "spring")
    text = text_of(question)
    assert (question.status_code, have_started("fall", "winter", "spring")) == (200, [False] * 3)
    assert "Registration is closed, the schedule is made, and round 1 starts." in text
    assert "1 of 4 would not answer: P01" in text
    assert "It would be refused: " in text
    assert "is over: create a new league to play again." in text
    done = confirm(desk, question)
    assert (done.status_code, have_started("fall", "winter", "spring")) == (302, [True, True, False])
    assert sorted(sentences_of(done))[0] == "Fall: The round is started."
    assert AuditEntry.objects.filter(action="league.start").count() == 2


def test_an_action_without_warnings_is_carried_out_at_once(desk: Client, leagues: list[make.MadeLeague]) -> None:
    assert tick(desk, "start_next_round", "winter").status_code == 302
    assert tick(desk, "pause_leagues", "fall", "winter").status_code == 302
    assert (have_started("winter"), League.objects.filter(paused=True).count()) == ([True], 2)


@pytest.mark.parametrize("action", ["revoke_tokens", "let_register_again"])
def test_revoking_tokens_and_letting_register_again_need_a_second_click(desk: Client, action: str) -> None:
    made = make.league(players=3)
    one, two = (made.players[number].agent for number in (0, 1))
    question = tick(desk, action, one.pk, two.pk)
    assert (question.status_code, has_tokens(one, two)) == (200, [True, True])
    assert not Agent.objects.filter(readmit=True).exists()
    text = text_of(question)
    assert (one.display_name in text, two.display_name in text, "P03" in text) == (True, True, False)
    assert confirm(desk, question).status_code == 302
    changed = [not has for has in has_tokens(one, two)] if action == "revoke_tokens" else readmitted(one, two)
    assert changed == [True, True]


def readmitted(*agents: Agent) -> list[bool]:
    return [Agent.objects.get(pk=agent.pk).readmit for agent in agents]


def test_if_the_effect_has_changed_in_between_the_page_says_so_and_asks_again(
    desk: Client, leagues: list[make.MadeLeague]
) -> None:
    question = tick(desk, "start_next_round", "fall", "winter")
    lifecycle.start_league(league_id="winter")
    again = confirm(desk, question)
    text = text_of(again)
    assert (again.status_code, have_started("fall", "winter")) == (200, [False, True])
    assert "What would happen has changed since this was shown: look again, then confirm." in text
    assert (text.count("This is new."), "Round 1 is still running" in text) == (1, True)
    assert confirm(desk, again).status_code == 302
    assert have_started("fall") == [True]


def test_a_row_that_left_the_list_in_between_is_reported(desk: Client, leagues: list[make.MadeLeague]) -> None:
    question = tick(desk, "start_next_round", "fall", "winter", query="?state=REGISTRATION")
    lifecycle.start_league(league_id="winter")
    again = confirm(desk, question)
    assert (again.status_code, have_started("fall")) == (200, [False])
    assert "1 row is no longer in the list." in text_of(again)
    assert confirm(desk, again).status_code == 302
    assert have_started("fall") == [True]


def test_if_all_rows_are_gone_the_second_click_leads_back_to_the_list(
    desk: Client, leagues: list[make.MadeLeague]
) -> None:
    question = tick(desk, "start_next_round", "fall", query="?state=REGISTRATION")
    opening.close_registration(league_id="fall")
    again = confirm(desk, question)
    assert (again.status_code, have_started("fall")) == (302, [False])
    assert sentences_of(again)[-1] == "1 row is no longer in the list."


@pytest.mark.parametrize(
    "seen",
    ["", "{", '{"fall": 7}', *(pytest.param(seen, marks=pytest.mark.exhaustive) for seen in ("[]", "null", "{}"))],
)
def test_a_second_click_without_what_was_shown_counts_as_a_first_one(
    desk: Client, leagues: list[make.MadeLeague], seen: str
) -> None:
    answer = tick(desk, "start_next_round", "fall", shown=seen)
    assert (answer.status_code, have_started("fall")) == (200, [False])


@pytest.mark.parametrize("action", ["start_next_round", "revoke_tokens"])
def test_a_second_click_for_another_row_than_was_shown_does_nothing(
    desk: Client, leagues: list[make.MadeLeague], action: str
) -> None:
    agent = leagues[0].players[0].agent
    row = "fall" if action == "start_next_round" else agent.pk
    answer = tick(desk, action, row, shown='{"x": "y", "1": "z"}')
    assert (answer.status_code, have_started("fall"), has_tokens(agent)) == (302, [False], [True])


def test_the_permission_is_checked_at_both_clicks(leagues: list[make.MadeLeague]) -> None:
    instructor = person("instructor", "fall", "winter")
    question = tick(instructor, "start_next_round", "fall", "winter")
    assert question.status_code == 200
    staffing.give_role(league_id="fall", username="instructor-fall-winter", name="assistant")
    assert (confirm(instructor, question).status_code, have_started("fall", "winter")) == (403, [False, False])


def test_only_agents_that_were_shown_are_touched_when_all_rows_of_the_list_are_chosen(desk: Client) -> None:
    made = make.league(players=3)
    first = made.players[0].agent
    question = tick(desk, "revoke_tokens", first.pk, select_across="1", query="?kind__exact=player")
    assert all(member.agent.display_name in text_of(question) for member in made.players)
    late = make.player("Late", "fall", port=8190).agent
    assert confirm(desk, question).status_code == 302
    assert has_tokens(*(member.agent for member in made.players), late) == [False, False, False, True]


def test_the_page_that_asks_makes_as_many_queries_for_many_agents_as_for_few(desk: Client) -> None:
    make.league(players=3)
    few = list(Agent.objects.filter(kind="player").values_list("pk", flat=True))
    make.insert_players("fall", 40, letter="Q")
    many = list(Agent.objects.filter(kind="player").values_list("pk", flat=True))
    counts: list[int] = []
    with make.counting_queries(counts):
        tick(desk, "revoke_tokens", *few)
    with make.counting_queries(counts):
        tick(desk, "revoke_tokens", *many)
    assert counts[0] == counts[1]


def test_the_page_that_asks_is_in_hebrew(desk: Client, leagues: list[make.MadeLeague]) -> None:
    desk.cookies["django_language"] = "he"
    question = tick(desk, "start_next_round", "fall", "spring")
    text = text_of(question)
    assert "הרישום ייסגר, לוח המשחקים ייקבע וסיבוב 1 יתחיל." in text
    assert ("Nothing changes" in text, "would" in text) == (False, False)


def test_running_all_rounds_says_that_the_others_follow(desk: Client, leagues: list[make.MadeLeague]) -> None:
    lifecycle.start_league(league_id="winter")
    text = text_of(tick(desk, "play_all_rounds", "fall", "winter"))
    follows = "The rounds that follow start by themselves."
    first = f"Registration is closed, the schedule is made, and round 1 starts. {follows}"
    assert (first in text, text.count(follows)) == (True, 2)
