"""The first page of the admin: the leagues now, the next step of each, what is wrong."""

from __future__ import annotations

import pytest
from django.test import Client

from matches.league import opening
from matches.models import League
from tests import factories as make
from tests.matches.desk.clicking import count_queries, person

pytestmark = pytest.mark.django_db
HOME = "/admin/"


def home(client: Client) -> list[tuple[str, str | None, int]]:
    """The leagues in detail: id, next step, number of problems."""
    lines = client.get(HOME).context["leagues_now"]
    return [(one["league"].pk, one["step"] and one["step"].label, len(one["problems"])) for one in lines]


def test_a_new_site_offers_to_open_a_league(desk: Client) -> None:
    page = desk.get(HOME).content.decode()
    assert home(desk) == []
    assert "You have no league yet." in page
    assert 'href="/admin/matches/league/add/"' in page


def test_each_league_has_its_next_step_and_what_is_wrong(desk: Client) -> None:
    opening.create_league(league_id="old", display_name="Old")
    League.objects.filter(pk="old").update(state="COMPLETED")
    opening.create_league(league_id="fall", display_name="Fall")
    assert [line[:2] for line in home(desk)] == [
        ("fall", "Close registration and make the schedule"),
        ("old", "Export the league, print evidence sheets"),
    ]
    page = desk.get(HOME).content.decode()
    assert desk.get(HOME).context["leagues_now"][0]["problems"][0].text in page
    assert '<a class="desk-step" href="/admin/matches/league/old/papers/">' in page
    assert 'href="/leagues/fall/">Public board</a>' in page


def test_many_leagues_need_no_more_queries_than_a_few(desk: Client) -> None:
    for number in range(8):
        opening.create_league(league_id=f"some{number}", display_name="Some")
    few = count_queries(desk, HOME)
    for number in range(20):
        opening.create_league(league_id=f"more{number}", display_name="More")
    assert count_queries(desk, HOME) == few
    assert len(desk.get(HOME).context["leagues_other"]) == 20


def test_a_person_sees_the_leagues_of_their_roles(desk: Client) -> None:
    make.open_league("fall")
    make.open_league("other")
    assert [line[0] for line in home(person("assistant", "fall"))] == ["fall"]
