"""Late clicks: an action is carried out in the state that it was shown for, or refused in a sentence that says why."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents_registry.models import Agent, RosterEntry
from matches.league import staffing
from matches.models import League, Notice, Role, Round
from tests import factories as make
from tests.matches.desk.clicking import LEAGUES, person, post, sentences_of

pytestmark = pytest.mark.django_db


def address(page: str, action: str) -> str:
    """Where the button of an action leads, on a page as a browser got it."""
    found = re.search(rf'(?:form)?action="([^"]*/{action}/[^"]*)"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


def hidden(page: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(f'name="{name}" value="([^"]*)"', page)
    assert found is not None
    return html.unescape(found[1])


def page_of(desk: Client, path: str = "change") -> str:
    return desk.get(f"{LEAGUES}fall/{path}/").content.decode()


def said(answer: Any) -> str:
    return plain(sentences_of(answer)[-1])


def plain(text: str) -> str:
    return re.sub("[\u2066-\u2069]", "", html.unescape(text))


def started() -> list[int]:
    return list(Round.objects.exclude(state="PENDING").order_by("number").values_list("number", flat=True))


def play(made: make.MadeLeague) -> None:
    """Play the round that has been announced, if one was."""
    if Round.objects.filter(state="ANNOUNCING").exists():
        make.open_round(made.league_id)
        make.finish_round(made)


def test_three_clicks_on_one_page_start_one_round(desk: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    start = address(page_of(desk), "start")
    answers = []
    for _ in range(3):
        answers.append(said(desk.post(start)))
        play(made)
    assert started() == [1, 2]
    assert answers[0] == "The round is started."
    who = r"\(last change on record: \w+, \d\d:\d\d:\d\d UTC\)"
    refused = rf"Round 2 has been started already {who}; nothing was changed\."
    assert [bool(re.fullmatch(refused, answer)) for answer in answers[1:]] == [True, True]


def test_two_clicks_on_one_page_unveil_one_place(desk: Client) -> None:
    made = make.league_before_freeze()
    for _ in range(2):
        make.next_round(made)
        make.finish_round(made)
    unveil = address(page_of(desk), "unveil")
    answers = [said(desk.post(unveil)) for _ in range(2)]
    assert answers[0] == "One more place is shown."
    assert answers[1].startswith("Another place has been unveiled already (last change on record: instructor, ")
    assert League.objects.get().unveiled == 1


def test_a_result_that_comes_meanwhile_stops_no_click(desk: Client) -> None:
    made = make.running_league(players=4)
    page, notices = page_of(desk), page_of(desk, "notices")
    make.report(made.match("R1M1"), None)
    assert said(desk.post(address(page, "pause"))) == "Paused: matches in play finish, no other starts."
    make.report(made.match("R1M2"), None)
    notice = {"text": "Well played", "player_id": "", "notices": hidden(notices, "notices")}
    assert said(desk.post(f"{LEAGUES}fall/notices/", notice)).startswith("The room sees it now")
    again = desk.post(f"{LEAGUES}fall/notices/", notice)
    assert "A notice has been published since this was shown (last change on record: " in again.content.decode()
    assert Notice.objects.count() == 1


def test_a_colleague_who_was_quicker_is_named(desk: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    start, pause = (address(page_of(desk), action) for action in ("start", "pause"))
    ann = person("instructor", "fall")
    assert post(ann, "do/start") == "The round is started."
    assert post(ann, "do/pause").startswith("Paused")
    assert "Round 2 has been started already (last change on record: instructor-fall, " in said(desk.post(start))
    assert "The league has been paused already (last change on record: instructor-fall, " in said(desk.post(pause))


def test_ticked_leagues_are_started_in_the_state_that_the_list_showed(desk: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    at = re.search(r'name="at" value="([\d.]+)"', desk.get(LEAGUES).content.decode())
    assert at is not None
    chosen = {"action": "start_next_round", "_selected_action": "fall", "index": 0, "at": at[1]}
    answers = []
    for _ in range(2):
        answers.append(said(desk.post(LEAGUES, chosen)))
        play(made)
    assert answers[0] == "Fall: The round is started."
    assert "Round 2 has been started already (last change on record: instructor, " in answers[1]
    assert started() == [1, 2]


@pytest.mark.parametrize("forged", ["x", "-1", "nan", "9e999", "\x00"])
def test_no_forged_time_of_a_list_starts_a_round_or_breaks_it(desk: Client, forged: str) -> None:
    make.league(players=4)
    chosen = {"action": "start_next_round", "_selected_action": "fall", "index": 0, "at": forged}
    assert desk.post(LEAGUES, chosen).status_code == 302
    assert started() == []


def test_an_agent_that_has_registered_again_is_shown_again_before_its_tokens_are_revoked(desk: Client) -> None:
    make.open_league()
    agent = make.player("Alpha", "fall").agent
    agents = "/admin/agents_registry/agent/"
    chosen = {"action": "revoke_tokens", "_selected_action": [agent.pk], "index": 0}
    shown = desk.post(agents, chosen).context["shown"]
    Agent.objects.update(registered_at=agent.registered_at + timedelta(minutes=1))
    again = desk.post(agents, chosen | {"shown": shown})
    assert again.status_code == 200
    assert agent.tokens.exists()
    assert desk.post(agents, chosen | {"shown": again.context["shown"]}).status_code == 302
    assert not agent.tokens.exists()


def test_a_role_that_a_colleague_has_given_is_not_replaced_unseen(desk: Client) -> None:
    make.open_league()
    User.objects.create_user("bob", is_staff=True)
    ann = person("instructor", "fall")
    give = {"username": "bob", "name": "assistant", "roles": hidden(page_of(desk, "people"), "roles")}
    mine = {"username": "bob", "name": "instructor", "roles": hidden(page_of(ann, "people"), "roles")}
    assert ann.post(f"{LEAGUES}fall/people/", mine).status_code == 302
    page = desk.post(f"{LEAGUES}fall/people/", give).content.decode()
    assert "Changed since this was shown: bob: instructor (last change on record: instructor-fall, " in plain(page)
    assert Role.objects.get(user__username="bob").name == "instructor"
    assert desk.post(f"{LEAGUES}fall/people/", give | {"roles": hidden(page, "roles")}).status_code == 302
    assert Role.objects.get(user__username="bob").name == "assistant"


def test_a_roster_that_a_colleague_has_changed_is_imported_over_on_purpose_only(desk: Client) -> None:
    make.open_league()
    address = f"{LEAGUES}fall/roster/"
    desk.post(address, {"text": "name,email,code\nDana,dana@example.org,code-one1\n"})
    seen = hidden(page_of(desk, "roster"), "roster")
    first = {"text": "name,email,code\nDana,dana@example.org,code-two22\n", "roster": seen}
    assert desk.post(address, first).status_code == 302
    second = {"text": "name,email,code\nEli,eli@example.org,\nDana L,dana@example.org,\n", "roster": seen}
    page = desk.post(address, second).content.decode()
    assert "dana@example.org: Dana (code-two22)" in page
    assert "(last change on record: instructor, " in plain(page)
    assert RosterEntry.objects.get().name == "Dana"
    assert desk.post(address, second | {"roster": hidden(page, "roster")}).status_code == 302
    assert RosterEntry.objects.count() == 2


@pytest.mark.parametrize("forged", ["", "x", "[]", '{"a": 1}', "{" * 5000, "\x00"])
def test_no_forged_roster_or_roles_break_a_page(desk: Client, forged: str) -> None:
    make.open_league()
    User.objects.create_user("bob", is_staff=True)
    give = {"username": "bob", "name": "assistant", "roles": forged}
    assert desk.post(f"{LEAGUES}fall/people/", give).status_code == 200
    sent = {"text": "name,email,code\nDana,dana@example.org,\n", "roster": forged}
    assert desk.post(f"{LEAGUES}fall/roster/", sent).status_code == 200
    assert (Role.objects.count(), RosterEntry.objects.count()) == (0, 0)


def test_what_was_deleted_in_another_tab_is_said_in_a_sentence(desk: Client) -> None:
    make.open_league()
    User.objects.create_user("bob", is_staff=True)
    role = staffing.give_role(league_id="fall", username="bob", name="instructor")
    agent = make.player("Alpha", "fall").agent
    people = page_of(desk, "people")
    agent_page = f"/admin/agents_registry/agent/{agent.pk}/change/"
    take = f"{LEAGUES}fall/people/{role.pk}/take/"
    assert said(desk.post(take, {"roles": hidden(people, "roles")})) == "The role is taken away."
    assert "Changed since this was shown: bob: –" in said(desk.post(take, {"roles": hidden(people, "roles")}))
    assert said(desk.post(take)) == "This role is gone already: look again."
    agent.delete()
    assert "Perhaps it was deleted?" in said(desk.post(agent_page, {"display_name": "Beta"}))
    start, settings = address(page_of(desk), "close"), f"{LEAGUES}fall/settings/"
    League.objects.all().delete()
    assert [desk.post(path).status_code for path in (start, settings, f"{LEAGUES}fall/roster/")] == [404] * 3


@pytest.mark.parametrize("forged", ["", "x", "-1", "9" * 5000, "١", "2\x00"])
def test_no_forged_state_starts_a_round_or_breaks_the_page(desk: Client, forged: str) -> None:
    make.league(players=4)
    assert "nothing was changed" in said(desk.post(f"{LEAGUES}fall/do/start/", {"round": forged}))
    assert started() == []


@pytest.mark.parametrize("name", ["Spring Term", "אביב"])
def test_two_clicks_open_or_clone_one_league(desk: Client, name: str) -> None:
    make.open_league()
    form = {"display_name": name, "game_type": "even_odd", "league_id": ""}
    pages = [desk.post(f"{LEAGUES}add/", form) for _ in range(2)]
    assert "There is a league of this name already" in pages[1].content.decode()
    clone = {"do": "clone", "display_name": f"{name} 2"}
    pages = [desk.post(f"{LEAGUES}fall/season/", clone) for _ in range(2)]
    assert "There is a league of this name already" in pages[1].content.decode()
    assert League.objects.count() == 3
    assert desk.post(f"{LEAGUES}fall/season/", clone | {"wanted_id": "another"}).status_code == 302
