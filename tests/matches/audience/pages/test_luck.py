"""What the pages and the API say of the luck in a table (docs/luck.md)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from league_sdk.ledger.luck.again import play_again
from matches.league import freeze
from matches.view import luck
from matches.view.luck import Keeper
from tests import factories as make
from tests.matches.audience.query_counts import query_count
from tests.matches.audience.tags import Tags
from tests.matches.correcting import make_correction
from tests.matches.view.test_luck import played

pytestmark = pytest.mark.django_db
BOARD, SCREEN, PLAYER = "/leagues/fall/", "/leagues/fall/screen/", "/leagues/fall/players/P01/"


@pytest.fixture(autouse=True)
def luck_at_once(monkeypatch: pytest.MonkeyPatch) -> Keeper:
    """Luck is computed as soon as a page asks for it, not in the background."""
    keeper = Keeper(play_again, lambda function: function())
    monkeypatch.setattr(luck, "keeper", keeper)
    return keeper


def text_of(client: Client, path: str = BOARD) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def bars(text: str) -> list[dict[str, str | None]]:
    """The drawn bars of a page, in order."""
    return [attrs for tag, attrs in Tags(text).found if tag == "svg" and (attrs.get("class") or "").startswith("luck")]


def figures(client: Client) -> Any:
    return client.get("/api/leagues/fall/luck").json()


def test_nothing_is_said_before_there_are_enough_matches(client: Client) -> None:
    make.next_round(played(1))
    for path in (BOARD, SCREEN, PLAYER):
        text = text_of(client, path)
        assert (bars(text), "data-luck" in text) == ([], False)
    answer = figures(client)
    assert (answer["after_round"], answer["players"], answer["current"], answer["coin"]) == (None, [], False, None)


def test_the_board_has_a_bar_for_everyone_and_says_what_they_mean(client: Client) -> None:
    played(2)
    text = text_of(client)
    assert [one["viewbox"] for one in bars(text)] == ["0 0 4 4"] * 4
    assert {one["class"] for one in bars(text)} == {"luck luck-hollow"}
    assert "if rounds 1 to 2 were played again" in text
    assert "every place could be chance" in text
    assert 'href="/docs/luck/"' in text
    # A match whose players chose differently is worth 1.5 points to each; everybody has played two.
    assert re.findall(r'c-expected opt"[^>]*>([\d.]+)<', text) == ["3.0"] * 4


def test_the_figures_of_page_and_api_are_the_same(client: Client) -> None:
    played(3)
    answer = figures(client)
    assert (answer["after_round"], answer["current"], answer["game_of_chance"], answer["coin"]) == (3, True, True, True)
    assert (answer["matches"], answer["kept"], answer["replays"]) == (6, 0, 1000)
    text = text_of(client)
    for one in answer["players"]:
        row = text[text.index(f'id="row-{one["player_id"]}"') :].partition("</tr>")[0]
        (bar,) = [attrs for tag, attrs in Tags(row).found if tag == "rect"]
        assert (bar["x"], bar["width"]) == (str(one["low"] - 1), str(one["high"] - one["low"] + 1))
        assert f">{one['expected_points']:.1f}<" in row
        player_text = text_of(client, f"/leagues/fall/players/{one['player_id']}/")
        assert f"between {one['low']} and {one['high']} of 4 in nine of ten leagues" in player_text


def test_the_champion_of_a_game_of_chance_would_be_first_again_with_a_probability(client: Client) -> None:
    made = played(3)
    assert made.league.state == "COMPLETED"
    text = text_of(client)
    champion = figures(client)["players"][0]
    if [one["place"] for one in figures(client)["players"]].count(1) == 1:
        share = f"{round(100 * champion['first_again'])} %"
        assert f"{champion['player_id']} would be first with a probability of {share}" in text
    else:
        assert "data-luck-champion" not in text
    make_correction("points", player_id="P04", points=50, reason="for the test")
    assert "P04 would be first with a probability of more than 99 %" in text_of(client)


def test_the_screen_has_the_bars_of_its_table(client: Client) -> None:
    played(2)
    assert len(bars(text_of(client, SCREEN))) == 4


def test_my_agent_says_how_much_of_its_place_is_luck(client: Client) -> None:
    made = played(2)
    client.post("/leagues/fall/mine/", {"secret": made.players[0].token})
    text = text_of(client, "/leagues/fall/mine/")
    assert "If rounds 1 to 2 were played again, its place would be between" in text
    assert "what its matches were worth on average: 3.0, give or take 2.1" in text


def test_behind_a_freeze_all_figures_are_those_of_the_rounds_that_are_shown(client: Client, api_key: str) -> None:
    made = played(2)
    shown = [text_of(client, path) for path in (BOARD, PLAYER)]
    before = figures(client)
    freeze.plan(league_id="fall", from_round=3)
    make.next_round(made)
    make.finish_round(made, 0)
    make_correction("points", player_id="P04", points=50, reason="for the test")
    assert figures(client) == before
    for path, text in zip((BOARD, PLAYER), shown, strict=True):
        assert [one["viewbox"] for one in bars(text_of(client, path))] == [one["viewbox"] for one in bars(text)]
        assert "rounds 1 to 2 were" in text_of(client, path)
        assert "data-luck-champion" not in text_of(client, path)
    staff = client.get("/api/leagues/fall/luck?as=staff", headers={"Authorization": f"Bearer {api_key}"})
    assert (before["after_round"], staff.json()["after_round"]) == (2, 3)
    client.post("/leagues/fall/mine/", {"secret": made.players[0].token})
    assert "If rounds 1 to 2 were played again" in text_of(client, "/leagues/fall/mine/")
    # An unveiled place is the final one: the bar of the rounds that are shown would say something else.
    freeze.unveil(league_id="fall")
    assert len(bars(text_of(client))) == 3


def test_the_replay_has_no_bars(client: Client) -> None:
    played(3)
    assert bars(text_of(client, "/leagues/fall/replay/")) == []


def test_the_bars_need_no_query_of_their_own(client: Client, luck_at_once: Keeper) -> None:
    played(3, players=8)
    with_bars = [query_count(client, path) for path in (BOARD, SCREEN, PLAYER)]
    luck_at_once.kept.clear()
    luck_at_once.start = None
    assert [query_count(client, path) for path in (BOARD, SCREEN, PLAYER)] == with_bars


def test_the_sentences_are_in_hebrew_too(client: Client) -> None:
    played(2)
    client.cookies["django_language"] = "he"
    text = text_of(client)
    assert "כל מקום יכול להיות מקרי" in text and "played again" not in text


def test_a_game_of_skill_has_hollow_bars_only_for_those_who_could_be_average(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("league_sdk.rules.even_odd.EvenOdd.chances", lambda self, details: None)
    played(5, players=6)
    answer = figures(client)
    assert not answer["game_of_chance"]
    text = text_of(client)
    hollow = {one["player_id"] for one in answer["players"] if one["coin"]}
    drawn = re.findall(r'id="row-(P\d\d)".*?class="(luck[^"]*)"', text, re.DOTALL)
    assert {player_id for player_id, kind in drawn if kind == "luck luck-hollow"} == hollow
    assert "c-expected" not in text
    assert ("A hollow bar" in text) == (len(hollow) < 6)
