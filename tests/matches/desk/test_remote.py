"""The instructor's phone: what its buttons do, who may press them, what is logged."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from matches.models import AuditEntry
from matches.view.screens import Steering, steering
from tests import factories as make
from tests.matches.audience.hostile import hostile_league
from tests.matches.audience.query_counts import assert_same_query_count
from tests.matches.audience.test_pages import many_players
from tests.matches.desk.clicking import LEAGUES, person, sentences_of
from tests.sizes import sampled

pytestmark = [pytest.mark.django_db]
PAGE = f"{LEAGUES}fall/remote/"


def press(desk: Client, name: str, **data: str) -> list[str]:
    answer = desk.post(f"{LEAGUES}fall/screen/{name}/", data)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    return sentences_of(answer)


def test_the_buttons_steer_the_screens_and_are_logged() -> None:
    made = make.running_league(players=4)
    desk = person("instructor", "fall")
    assert press(desk, "next") == ["Every screen shows the next scene."]
    press(desk, "previous")
    press(desk, "next")
    press(desk, "hold")
    assert press(desk, "feature", match_id="R1M2")[-1] == "R1M2 is large on every screen."
    assert steering(made.league.screen) == Steering(1, True, "R1M2")
    page = desk.get(PAGE).content.decode()
    assert re.findall(r'value="(\w+)" class="next" aria-pressed="true"', page) == ["R1M2"]
    assert "Held: every screen stays at its scene." in page
    press(desk, "release")
    press(desk, "automatic")
    assert steering(made.league.screen) == Steering(1)
    logged = AuditEntry.objects.filter(league_id="fall", action__startswith="screen.").order_by("pk")
    assert list(logged.values_list("action", "target")) == [
        ("screen.next", ""), ("screen.previous", ""), ("screen.next", ""), ("screen.hold", ""),
        ("screen.feature", "R1M2"), ("screen.release", ""), ("screen.automatic", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("match_id", sampled(["R9M9", "", "<script>", "\x00", "x" * 999], every=3))
def test_an_unknown_match_is_refused(match_id: str) -> None:
    made = make.running_league(players=4)
    [sentence] = press(person("instructor", "fall"), "feature", match_id=match_id)
    assert sentence.startswith("There is no match ")
    assert steering(made.league.screen) == Steering()


def test_nobody_but_an_instructor_of_the_league_steers_its_screens(client: Client) -> None:
    made = make.running_league(players=4)
    for visitor in (client, person("assistant", "fall"), person("instructor")):
        for name in ("next", "hold", "automatic"):
            assert visitor.post(f"{LEAGUES}fall/screen/{name}/").status_code in (302, 403)
        assert visitor.post("/api/leagues/fall/screen/next").status_code == 401
    person("instructor", "fall")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="instructor-fall"))
    assert strict.post(f"{LEAGUES}fall/screen/next/").status_code == 403
    assert steering(made.league.screen) == Steering()


def test_hostile_names_are_escaped(client: Client) -> None:
    hostile_league()
    page = person("instructor", "fall").get(f"{PAGE}?part").content.decode()
    assert ("<script>alert" in page, "&lt;script&gt;alert(1)" in page) == (False, True)


def test_the_page_makes_as_many_queries_for_many_players_as_for_few(admin_client: Client) -> None:
    def fill(count: int) -> str:
        many_players(count)
        return f"{LEAGUES}board/remote/"

    assert_same_query_count(admin_client, fill)
