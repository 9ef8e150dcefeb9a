"""The board and charts as pages: their queries, their size, and their links."""

from __future__ import annotations

import gzip
import re

import pytest
from django.conf import settings
from django.test import Client

from matches.models import Delivery, Match, Message
from tests import factories as make
from tests.matches.audience.query_counts import assert_same_query_count
from tests.matches.audience.test_pages import many_players

pytestmark = pytest.mark.django_db


MAX_LOADED_BYTES = 150_000


def fill(count: int) -> str:
    """Make a league of ``count`` players: half of its first round was played, and messages wait for every player.

    Returns:
        The path of its charts page.
    """
    many_players(count)
    finished = Match.objects.filter(status="WIN").select_related("player_a")
    Message.objects.bulk_create(
        Message(
            match=match,
            attempt=0,
            n=n,
            entry=make.entry(n, sender=match.player_a.code, message_type="GAME_JOIN_ACK", elapsed_ms=9),
        )
        for match in finished
        for n in range(3)
    )
    assert Delivery.objects.filter(state="PENDING").count() >= count
    return "/leagues/board/charts/"


def test_the_charts_make_as_many_queries_for_few_players_as_for_many(client: Client) -> None:
    assert_same_query_count(client, fill)


def test_a_league_without_results_says_so_instead_of_showing_empty_charts(client: Client) -> None:
    make.league()
    sentence = "No match has been played yet. The chart begins with the results of the first round."
    for path, charts in (("/leagues/fall/", 2), ("/leagues/fall/charts/", 3)):
        text = client.get(path).content.decode()
        assert (text.count(sentence), text.count("data-plot")) == (charts, 0)


def test_every_cell_of_the_cross_table_leads_to_its_match(client: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    text = client.get("/leagues/fall/charts/").content.decode()
    links = re.findall(r'<a\s+class="x-(\w)" href="([^"]+)">(\w)</a>', text)
    assert sorted(links) == [
        (letter, f"/leagues/fall/matches/{match_id}/", letter) for letter in "LW" for match_id in ("R1M1", "R1M2")
    ]
    assert {client.get(address).status_code for _sign, address, _letter in links} == {200}


def test_the_board_of_a_league_of_30_loads_less_than_150_kb(client: Client) -> None:
    """Everything that the board loads, also later for its charts, compressed as a server or its proxy would."""
    many_players(30)
    text = client.get("/leagues/board/").content
    [static] = settings.STATICFILES_DIRS
    named = set(re.findall(r'/static/([\w./-]+\.(?:css|js|svg))"', text.decode()))
    later = {str(path.relative_to(static)) for path in (static / "vendor/uplot").glob("uPlot*")} | {"css/plot.css"}
    files = {name: len(gzip.compress((static / name).read_bytes())) for name in named | later}
    assert len(later) == 3
    assert len(gzip.compress(text)) + sum(files.values()) < MAX_LOADED_BYTES
