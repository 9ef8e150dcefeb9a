"""The page to share: when there is one, what it contains for previews, its picture, and the page as one file."""

from __future__ import annotations

import re

import pytest
from django.test import Client, override_settings

from matches.audience.views import story
from matches.league import freeze, lifecycle
from tests import factories as make
from tests.matches.audience.query_counts import assert_same_query_count
from tests.matches.audience.tags import Tags
from tests.matches.audience.test_pages import many_players
from tests.matches.correcting import make_correction, play_to_end

pytestmark = pytest.mark.django_db

PATH = "/leagues/fall/story/"
PICTURE, FILE = f"{PATH}picture.png", f"{PATH}league.html"


def statuses(client: Client) -> set[int]:
    """The status codes of page, picture and file, also with the queries of the staff and of a past moment."""
    return {
        client.get(path + query).status_code
        for path in (PATH, PICTURE, FILE)
        for query in ("", "?as=staff", "?v=1&at=99")
    }


def test_there_is_no_page_before_the_league_is_over(client: Client) -> None:
    assert statuses(client) == {404}
    made = make.league(players=4)
    assert statuses(client) == {404}
    make.next_round(made)
    make.finish_round(made)
    assert statuses(client) == {404}
    play_to_end(made)
    assert statuses(client) == {200}


def test_a_stopped_league_has_no_page_to_share(client: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    lifecycle.stop(league_id="fall")
    assert statuses(client) == {404}


def test_there_is_no_page_for_anybody_until_the_last_place_is_unveiled(client: Client, admin_client: Client) -> None:
    play_to_end(make.league_before_freeze())
    for _ in range(3):
        assert statuses(client) | statuses(admin_client) == {404}
        freeze.unveil(league_id="fall")
    assert statuses(client) | statuses(admin_client) == {404}
    freeze.unveil(league_id="fall")
    assert statuses(client) == {200}


@override_settings(LEAGUE_PUBLIC_URL="https://league.example.org")
def test_previews_get_absolute_addresses_of_the_public_site(client: Client) -> None:
    play_to_end(make.running_league(players=4))
    tags = Tags(client.get(PATH).content.decode()).found
    properties = {one["property"]: one["content"] for tag, one in tags if tag == "meta" and "property" in one}
    assert properties["og:title"] == "Fall"
    assert properties["og:description"] == "Champion: Player 1. 4 players, 6 matches."
    assert properties["og:url"] == "https://league.example.org/leagues/fall/story/"
    image = str(properties["og:image"])
    assert image.startswith("https://league.example.org/leagues/fall/story/picture.png?v=")
    picture = client.get(image.removeprefix("https://league.example.org"))
    assert (picture["Content-Type"], picture.content[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")


def test_a_browser_asks_whether_its_cached_picture_is_current_and_a_correction_changes_it(client: Client) -> None:
    play_to_end(make.running_league(players=4))
    first = client.get(PICTURE)
    assert first["Cache-Control"] == "no-cache"
    again = client.get(PICTURE, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    make_correction("points", player_id="P04", points=50)
    assert client.get(PICTURE, headers={"If-None-Match": first["ETag"]}).content != first.content


def test_a_picture_is_drawn_once_for_many_requests(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    play_to_end(make.running_league(players=4))
    drawn: list[int] = []
    monkeypatch.setattr(story.shared, "png", lambda view, known: drawn.append(1) or b"png")
    for number in range(20):
        client.get(f"{PICTURE}?v={number}")
    assert len(drawn) == 1
    story._pictures.clear()


def test_the_file_loads_nothing_else(client: Client) -> None:
    play_to_end(make.running_league(players=4))
    answer = client.get(FILE)
    text = answer.content.decode()
    assert answer["Content-Disposition"] == 'attachment; filename="league-fall.html"'
    tags = Tags(text).found
    assert [tag for tag, attrs in tags if "src" in attrs or "href" in attrs or tag in ("script", "link", "form")] == []
    assert re.findall(r"https?:|url\(|@import", text) == []
    assert "Player 1" in text


def many_players_over(count: int) -> str:
    """A league of this many players that is over."""
    many_players(count)
    make.set_completed("board")
    return "/leagues/board/story/"


@pytest.mark.parametrize(
    "path",
    [
        "/leagues/board/story/",
        pytest.param("/leagues/board/screen/", marks=pytest.mark.exhaustive),
        pytest.param("/leagues/board/", marks=pytest.mark.exhaustive),
    ],
)
def test_pages_of_a_finished_league_make_as_many_queries_for_many_players_as_for_few(client: Client, path: str) -> None:
    def fill(count: int) -> str:
        many_players_over(count)
        return path

    assert_same_query_count(client, fill)
