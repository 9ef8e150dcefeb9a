"""Links between pages, hidden matches, and right-to-left texts."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from matches.desk import overview
from matches.league import lifecycle
from matches.words import states
from matches.words.events import happened
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def made() -> make.MadeLeague:
    """Four players; round 1 was played, then the board was frozen, then round 2 was played."""
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.finish_round(made)
    return made


def _links(page: str) -> set[str]:
    return set(re.findall(r'<a[^>]* href="(/leagues/fall/[^"]*)"', page))


@pytest.mark.parametrize("path", ["", "charts/", "players/P01/", "matches/R2M1/"])
def test_links_on_pages_for_staff_lead_to_pages_for_staff(made: make.MadeLeague, path: str) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("boss"))
    links = _links(staff.get(f"/leagues/fall/{path}?as=staff").content.decode())
    # Projector, My agent and join page are for others to see: their links lead to the public pages.
    league_links = {link for link in links if not link.endswith(("/screen/", "/mine/", "/join/"))}
    assert league_links and [link for link in league_links if "as=staff" not in link] == []


def test_links_for_the_public_never_lead_to_pages_for_staff(client: Client, made: make.MadeLeague) -> None:
    for path in ("", "charts/", "players/P01/", "matches/R2M1/"):
        assert "as=staff" not in client.get(f"/leagues/fall/{path}").content.decode(), path


def test_a_hidden_match_does_not_say_who_has_joined(client: Client, made: make.MadeLeague) -> None:
    page = client.get("/leagues/fall/matches/R2M1/").content.decode()
    assert "not yet joined" not in page
    assert re.search(r'<section id="fragment-match_transcript"[^>]* hidden', page)


def test_board_charts_and_replay_link_my_agent(client: Client, made: make.MadeLeague) -> None:
    for path in ("", "charts/", "replay/"):
        assert "/leagues/fall/mine/" in _links(client.get(f"/leagues/fall/{path}").content.decode())


def test_the_desk_lists_agents_with_problems_first(made: make.MadeLeague) -> None:
    last = made.players[-1].agent
    last.problem = "no connection"
    last.save()
    desk = overview.context(made.league)["desk"]
    assert [line["agent"].code for line in desk["players"]["rows"]][:2] == [last.code, made.players[0].agent.code]


def test_results_and_names_are_isolated_in_right_to_left_text() -> None:
    details = {"drawn_number": 8, "number_parity": "even"}
    assert states.result_summary("WIN", "P01", details) == "P01 won · 8 even"
    data = {"player_id": "P01", "name": "<b>Itai</b>"}
    assert happened("player_registered", data) == "P01 <b>Itai</b> registered."
    with translation.override("he"):
        # Without the mark "P01 · 8" is one left-to-right word, and the number is read as the winner.
        assert "P01\u200f · 8" in states.result_summary("WIN", "P01", details)
        assert "\u2068<b>Itai</b>\u2069" in happened("player_registered", data)
