"""The pages of the board and the charts: what they cost, what they weigh, whose text they show."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from matches.league import lifecycle
from matches.models import Delivery, Match, Message
from tests import factories as make
from tests.matches.audience.looking import HOSTILE, assert_costs_the_same, assert_harmless
from tests.matches.audience.test_pages import many_players
from tests.matches.correcting import do

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("schedules_at_once")]


LIGHT = 150_000


def fill(count: int) -> str:
    """A league of so many players, half of the first round played, with answers, and news that wait for everybody."""
    many_players(count)
    first = Match.objects.filter(status="WIN").select_related("player_a")
    Message.objects.bulk_create(
        Message(
            match=match,
            attempt=0,
            n=n,
            entry=make.line(n, sender=match.player_a.code, message_type="GAME_JOIN_ACK", elapsed_ms=9),
        )
        for match in first
        for n in range(3)
    )
    assert Delivery.objects.filter(state="PENDING").count() >= count
    return "/leagues/board/charts/"


def test_the_charts_cost_the_same_for_3_players_and_for_300(client: Client) -> None:
    assert_costs_the_same(client, fill)


def test_a_name_breaks_out_of_no_chart(client: Client) -> None:
    place = make.setting(players=0)
    for number in (1, 2, 3, 4):
        make.join(HOSTILE, "fall", port=8100 + number)
    lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    make.finish_round(place)
    do("points", player_id="P01", points=1, reason=HOSTILE, by="x")
    do("set_result", match_id="R1M1", status="DRAW", winner=None, reason=HOSTILE, by="x")
    for path in ("/leagues/fall/", "/leagues/fall/charts/"):
        assert_harmless(client.get(path).content.decode())


def test_a_league_without_results_says_so_instead_of_showing_empty_charts(client: Client) -> None:
    make.setting()
    words = "No match has been played yet. This fills with the results of the first round."
    for path, charts in (("/leagues/fall/", 2), ("/leagues/fall/charts/", 3)):
        text = client.get(path).content.decode()
        assert (text.count(words), text.count("data-plot")) == (charts, 0)


def test_every_cell_of_the_cross_table_leads_to_its_match(client: Client) -> None:
    place = make.playing(players=4)
    make.finish_round(place)
    text = client.get("/leagues/fall/charts/").content.decode()
    links = re.findall(r'<a class="x-(\w)" href="([^"]+)">(\w)</a>', text)
    assert sorted(links) == [
        (letter, f"/leagues/fall/matches/{match_id}/", letter) for letter in "LW" for match_id in ("R1M1", "R1M2")
    ]
    assert {client.get(address).status_code for _sign, address, _letter in links} == {200}


def test_a_league_of_thirty_is_light_to_load(client: Client) -> None:
    """Everything the board asks for, compressed as a server or its proxy would; what charts load later included."""
    many_players(30)
    text = client.get("/leagues/board/").content
    static = Path(settings.BASE_DIR) / "static"
    named = set(re.findall(r'/static/([\w./-]+\.(?:css|js|svg))"', text.decode()))
    later = {str(path.relative_to(static)) for path in (static / "vendor/uplot").glob("uPlot*")} | {"css/plot.css"}
    files = {name: len(gzip.compress((static / name).read_bytes())) for name in named | later}
    assert len(later) == 3
    assert len(gzip.compress(text)) + sum(files.values()) < LIGHT
