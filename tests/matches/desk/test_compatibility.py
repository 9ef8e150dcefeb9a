"""The desk's table of who understood which message, its CSV, the API's answer, and what students see of it."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents_registry.models import Agent
from matches.league import staffing
from matches.view.compatibility import kept_most
from tests import factories as make
from tests.conftest import API_KEY
from tests.matches.audience.hostile import HOSTILE, assert_harmless
from tests.matches.audience.query_counts import query_count
from tests.matches.audience.tags import Tags

pytestmark = pytest.mark.django_db
PAGE, FILE, API = (
    "/admin/matches/league/compatibility/",
    "/admin/matches/league/compatibility.csv",
    "/api/compatibility",
)


@pytest.fixture
def ada(client: Client) -> Client:
    """The instructor of ``fall``, logged in."""
    make.league("fall", players=3)
    make.open_league("winter")
    make.insert_players("winter", 2, letter="W")
    user = User.objects.create_user("ada", password="x" * 12, is_staff=True)
    staffing.give_role(league_id="fall", username="ada", name="instructor")
    client.force_login(user)
    Agent.objects.filter(code="P01").update(spoken={"GAME_INVITATION": "canonical", "CHOOSE_PARITY_CALL": "flat"})
    return client


def rows(client: Client, path: str = FILE) -> list[dict[str, str]]:
    text = client.get(path).content.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def api(client: Client, query: str = "") -> Any:
    return client.get(f"{API}{query}", headers={"Authorization": f"Bearer {API_KEY}"})


def test_the_table_has_the_players_of_the_own_leagues_only(ada: Client) -> None:
    text = ada.get(PAGE).content.decode()
    assert re.findall(r">(\w\d\d)</a>", text) == ["P01", "P02", "P03"]
    assert "understood in another spelling: flat" in text
    marks = [attrs["data-how"] for _, attrs in Tags(text).found if attrs.get("class") == "how"]
    # First the legend, then the rows; a message type that no agent was sent has no column.
    assert marks[6:] == ["first", "other", *["never"] * 4]
    assert re.findall(r'<bdi dir="ltr">([A-Z_<wbr>]+)</bdi>', text) == [
        "GAME_<wbr>INVITATION",
        "CHOOSE_<wbr>PARITY_<wbr>CALL",
    ]
    assert [row["player_id"] for row in rows(ada)] == ["P01", "P02", "P03"]
    assert rows(ada, f"{FILE}?league=winter") == []
    first = rows(ada, f"{FILE}?league=fall")[0]
    assert (first["GAME_INVITATION"], first["CHOOSE_PARITY_CALL"], first["GAME_OVER"]) == (
        "first: canonical", "other: flat", "never",
    )  # fmt: skip


def test_a_hostile_name_harms_neither_page_nor_file(ada: Client) -> None:
    Agent.objects.filter(code="P01").update(display_name=HOSTILE[:60])
    Agent.objects.filter(code="P02").update(display_name="=cmd|' /C calc'!A0")
    text = ada.get(PAGE).content.decode()
    assert "&lt;script&gt;alert(1)" in text and "<script>alert(1)" not in text
    assert [row["display_name"] for row in rows(ada)][1].startswith("'=cmd")


@pytest.mark.parametrize("query", ["?league=%00", "?page=99999999999999999999", "?page=x&league=nowhere"])
def test_any_query_is_answered(ada: Client, query: str) -> None:
    assert ada.get(PAGE + query).status_code == 200
    assert ada.get(FILE + query).status_code == 200


def test_the_page_makes_as_many_queries_for_3_players_as_for_93(ada: Client) -> None:
    before = query_count(ada, PAGE)
    make.insert_players("fall", 90, letter="Q")
    assert query_count(ada, PAGE) == before


def test_the_api_answers_the_whole_site_in_parts_and_only_with_the_key(ada: Client, api_key: str) -> None:
    assert ada.get(API).status_code == 401
    page = api(ada, "?limit=2").json()
    assert ([one["player_id"] for one in page["agents"]], page["next"]) == (["W01", "W02"], 2)
    page = api(ada, "?limit=3&start=2").json()
    assert ([one["player_id"] for one in page["agents"]], page["next"]) == (["P01", "P02", "P03"], None)
    cells = {one["message_type"]: one for one in page["agents"][0]["messages"]}
    assert cells["CHOOSE_PARITY_CALL"] == {
        "message_type": "CHOOSE_PARITY_CALL", "how": "other", "shape": "flat", "own": "",
    }  # fmt: skip
    assert [one["player_id"] for one in api(ada, "?league_id=fall").json()["agents"]] == ["P01", "P02", "P03"]
    assert api(ada, "?league_id=%00").json() == {"agents": [], "next": None}


def test_students_see_what_most_agents_understand_and_no_name(ada: Client) -> None:
    make.insert_players("fall", 8, letter="Q")
    Agent.objects.filter(code__startswith="Q").update(spoken={"GAME_INVITATION": "canonical"})
    Agent.objects.filter(code="Q01").update(spoken={"GAME_INVITATION": "legacy"})
    kept_most.forget_all()
    text = Client().get("/leagues/fall/join/").content.decode()
    part = text[text.index('id="join-most"') :].partition("</section>")[0]
    assert "handle_game_invitation" in part and "about 90 %" in part
    assert not re.search(r"legacy|flat|\b[PQW]\d\d\b|Player", part)
    assert_harmless(part, shown=False)


def test_students_see_nothing_while_few_agents_have_understood_a_message(ada: Client) -> None:
    assert 'id="join-most"' not in Client().get("/leagues/fall/join/").content.decode()
