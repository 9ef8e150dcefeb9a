"""The public page of a series, and which users see the results there that frozen boards hide."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from matches.league import series
from tests import factories as make
from tests.matches.desk.clicking import count_queries, person

pytestmark = pytest.mark.django_db
PAGE = "/series/course"
HOSTILE = '<script>alert("x")</script>'


def points(client: Client, page: str = PAGE) -> list[int]:
    return [row["points"] for row in client.get(page).context["series"]["standings"]]


def test_everybody_reads_the_common_table(client: Client) -> None:
    made = make.running_league(players=2)
    make.finish_round(made)
    series.put(league_id="fall", series_id="course", series_name=HOSTILE)
    page = client.get(PAGE)
    assert page.status_code == 200
    text = page.content.decode()
    assert HOSTILE not in text
    assert '<a href="/leagues/fall/">' in text
    assert points(client) == [3, 0]
    assert client.get(f"{PAGE}/").status_code == 200
    assert f'href="{PAGE}"' in client.get("/").content.decode()
    assert client.get("/series/none").status_code == 404
    assert client.post(PAGE).status_code == 405


def test_a_shared_place_has_an_equals_sign(client: Client) -> None:
    made = make.running_league(players=3)
    make.finish_round(made)
    series.put(league_id="fall", series_id="course")
    ranks = re.findall(r'<td class="num rank"><bdi dir="ltr">(.*?)</bdi>', client.get(PAGE).content.decode())
    assert ranks == ["1", "=2", "=2"]


def test_only_staff_of_a_league_see_what_its_board_hides(client: Client) -> None:
    made = make.league_before_freeze()
    series.put(league_id="fall", series_id="course")
    make.next_round(made)
    make.finish_round(made)
    assert (sum(points(client)), client.get(f"{PAGE}?as=staff").status_code) == (6, 403)
    assistant = person("assistant", "fall")
    assert (sum(points(assistant)), sum(points(assistant, f"{PAGE}?as=staff"))) == (6, 12)
    assert "no-store" in assistant.get(f"{PAGE}?as=staff")["Cache-Control"]
    make.open_league("other")
    other_instructor = person("instructor", "other")
    assert other_instructor.get(f"{PAGE}?as=staff").status_code == 403
    # Staff of one league of the series do not see the hidden results of its other leagues.
    series.put(league_id="other", series_id="course")
    assert sum(points(other_instructor, f"{PAGE}?as=staff")) == 6


def test_the_page_makes_as_many_queries_for_many_people_as_for_few(desk: Client) -> None:
    # The public page is cached and makes fewer queries the second time, so the page of the staff is measured.
    staff_page = f"{PAGE}?as=staff"
    make.league(players=3)
    series.put(league_id="fall", series_id="course")
    few = count_queries(desk, staff_page)
    make.insert_players("fall", 60, letter="Q")
    assert count_queries(desk, staff_page) == few
