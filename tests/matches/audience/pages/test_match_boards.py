"""What the audience sees of a game: the match page move by move, the lines on the league's page, and the drawings."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from league_sdk.rules.registry import get_game
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.league import lifecycle, opening
from matches.models import Event, League, Match
from tests import factories as make

pytestmark = pytest.mark.django_db


def playing(game_type: str) -> Match:
    """R1M1 of a league of two."""
    make.referee()
    Agent.objects.update(game_types=[game_type])
    opening.create_league(league_id="fall", display_name="Fall", game_type=game_type)
    for number in (1, 2):
        make.player(f"Player {number}", "fall", port=8100 + number, games=[game_type])
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    return reload()


def reload() -> Match:
    return Match.objects.select_related("referee", "player_a", "player_b", "league").get()


def state_after(game_type: str, *moves: Any) -> tuple[Any, dict[str, Any]]:
    """The game, and its state after the two players' moves in turn."""
    game, players = get_game(game_type), ("P01", "P02")
    state = game.new_state(players)
    for turn, move in enumerate(moves):
        state = game.apply(state, players[turn % 2], move)
    return game, state


def show_board(match: Match, *moves: Any) -> None:
    """The referee reports the board after these moves."""
    game, state = state_after(match.league.game_type, *moves)
    progress = {"state": "COLLECTING_CHOICES", "joined": ["P01", "P02"], "view": game.view(state, None)}
    assert make.progress(match, **progress) == "ok"


def finish(match: Match, details: dict[str, Any], winner: str | None, **changes: Any) -> None:
    result = {"winner": winner, "score": {}, "details": details}
    status = "WIN" if winner else "DRAW"
    assert make.report(reload(), winner, **{"status": status, "result": result} | changes)["status"] == "ACCEPTED"


def words(page: str) -> str:
    """The text of a page, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def page_of(client: Client) -> str:
    answer = client.get("/leagues/fall/matches/R1M1/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def grid(page: str) -> str:
    """The board of a page, as HTML."""
    return page[page.index('<table class="grid"') :].partition("</table>")[0]


def cells(page: str) -> list[str]:
    """The mark in each cell of the grid, empty if there is none."""
    return [mark.strip() for mark in re.findall(r'<span\s+class="cell[^"]*">([^<]*)', grid(page))]


def test_the_board_grows_with_every_move(client: Client) -> None:
    match = playing("tic_tac_toe")
    assert 'class="grid"' not in page_of(client)
    shown = []
    for moves in ((), (4,), (4, 0), (4, 0, 8)):
        show_board(reload(), *moves)
        shown.append(cells(page_of(client)))
    assert shown == [
        [""] * 9,
        ["", "", "", "", "X", "", "", "", ""],
        ["O", "", "", "", "X", "", "", "", ""],
        ["O", "", "", "", "X", "", "", "", "X"],
    ]
    text = words(page_of(client))
    assert "The board after 3 moves. P01 plays X. P02 plays O." in text
    assert "P02 to move Move 4." in text
    assert "1. P01 4 2. P02 0 3. P01 8" in text
    assert match.match_id == "R1M1"


def test_a_game_in_turns_without_a_board_says_which_move_it_waits_for(client: Client) -> None:
    match = playing("tic_tac_toe")
    make.progress(match, state="COLLECTING_CHOICES", joined=["P01", "P02"])
    assert "collecting choices Move 1." in words(page_of(client))
    Match.objects.update(moves=[["P01", 4]])
    text = words(page_of(client))
    assert "collecting choices Move 2." in text
    assert "to choose" not in text


def test_a_screen_reader_is_told_what_colours_and_marks_show(client: Client) -> None:
    """The last move, the winning line and the empty cells are also said in words."""
    show_board(playing("connect_four"), 3)
    shown = grid(page_of(client))
    assert shown.count("the last move") == 1
    assert len(re.findall(r">empty<", shown)) == 41
    assert re.findall(r'<th scope="col">(\d)</th>', shown) == ["0", "1", "2", "3", "4", "5", "6"]
    game, state = state_after("connect_four", 0, 1, 0, 1, 0, 1, 0)
    outcome = game.outcome(state)
    finish(reload(), outcome.details, outcome.winner)
    page = page_of(client)
    assert grid(page).count("in the winning line") == grid(page).count("cell-won") == 4
    assert "P01 won · 7 moves" in words(page)
    assert "chose" not in words(page)


def test_lines_of_the_board_page_say_whose_turn_it_is_and_how_it_ended(client: Client) -> None:
    show_board(playing("tic_tac_toe"), 4)
    assert "P02 to move" in words(str(client.get("/leagues/fall/").content.decode()))
    game, state = state_after("tic_tac_toe", 0, 1, 2, 4, 3, 5, 7, 6, 8)
    finish(reload(), game.outcome(state).details, None)
    text = words(str(client.get("/leagues/fall/").content.decode()))
    assert "draw · 9 moves" in text
    assert client.get("/").status_code == 200


def test_an_unfinished_match_shows_its_board_if_it_had_a_move(client: Client) -> None:
    playing("tic_tac_toe")
    game, state = state_after("tic_tac_toe", 4)
    finish(reload(), game.unfinished(state), "P01", status="TECHNICAL_LOSS")
    assert cells(page_of(client)) == ["", "", "", "", "X", "", "", "", ""]
    ended = Event.objects.get(kind="match_finished")
    Event.objects.update(data=ended.data | {"details": game.unfinished(game.new_state(("P01", "P02")))})
    assert 'class="grid"' not in page_of(client)


def test_the_numbers_game_shows_both_choices_and_the_sum(client: Client) -> None:
    playing("even_odd_numbers")
    game = get_game("even_odd_numbers")
    state = game.apply(game.apply(game.new_state(("P01", "P02")), "P01", 3), "P02", 5)
    outcome = game.outcome(state | {"number": 7})
    assert outcome is not None
    finish(reload(), outcome.details, outcome.winner)
    text = words(page_of(client))
    assert "7 sum 15 odd" in text
    assert "chose 3" in text and "chose 5" in text
    assert "P02 won · 15 odd" in text


def test_a_league_whose_game_is_not_installed_is_still_shown(client: Client) -> None:
    """The package that contains the game was removed, or fails to load."""
    playing("tic_tac_toe")
    League.objects.update(game_type="removed_game")
    for path in ("/", "/leagues/fall/", "/leagues/fall/matches/R1M1/"):
        answer = client.get(path)
        assert (answer.status_code, "removed_game" in answer.content.decode()) == (200, True)


def test_a_hostile_board_is_escaped_or_not_drawn(client: Client) -> None:
    match = playing("tic_tac_toe")
    bad = {"board": [["<b>", "&"]], "marks": {"P01": "<b>"}, "moves": ["<script>"]}
    for view in (bad, {"board": "<script>"}, {"board": [["<script>"]]}, {"board": [[{}]], "moves": {}}):
        make.progress(match, state="COLLECTING_CHOICES", view=view)
        page = page_of(client)
        assert "<b>" not in page
        assert "<script>" not in page


# Drawings on the projector and on the board -----------------------------------------------------


PAGES_WITH_DRAWINGS = ("screen", "board")


def drawn_on(kind: str, *, staff: bool = False) -> str:
    """All fragments of a page."""
    fragments = pages.fragments(PageKey(kind, "fall", staff=staff), "en")
    assert fragments is not None
    return "".join(fragments.values())


@pytest.mark.parametrize("kind", PAGES_WITH_DRAWINGS)
def test_the_same_drawing_is_on_the_projector_and_on_the_board(kind: str) -> None:
    show_board(playing("connect_four"), 3, 3, 4)
    text = drawn_on(kind)
    assert text.count('class="game game-grid game-discs"') == 1
    assert ('d="M35 55h0M45 55h0"' in text, 'd="M35 45h0"' in text) == (True, True)
    assert "P02 to move" in words(text)


@pytest.mark.parametrize("kind", [*PAGES_WITH_DRAWINGS, "match"])
@pytest.mark.parametrize("state", ["COLLECTING_CHOICES", "DRAWING_NUMBER"])
def test_choices_that_a_referee_reports_too_early_are_in_no_drawing(kind: str, state: str) -> None:
    match = playing("even_odd")
    view = {"choices": {"P01": "odd", "P02": "odd"}, "drawn_number": 7, "number_parity": "odd"}
    progress = {"joined": ["P01", "P02"], "locked_in": ["P01", "P02"], "view": view}
    make.progress(match, state="COLLECTING_CHOICES", **progress)
    make.progress(reload(), state=state, **progress)
    item = "R1M1" if kind == "match" else None
    fragments = pages.fragments(PageKey(kind, "fall", item), "en")
    assert fragments is not None
    text = "".join(fragments.values())
    assert (text.count('class="g-lock"'), "g-choice" in text, "g-drawn" in text) == (2, False, False)


@pytest.mark.parametrize("kind", PAGES_WITH_DRAWINGS)
def test_a_frozen_board_draws_nothing_that_happens_behind_it(kind: str) -> None:
    playing("tic_tac_toe")
    League.objects.update(frozen_seq=1, frozen={"after": 0, "names": {}, "summary": {}, "agents": [], "states": {}})
    before = drawn_on(kind)
    show_board(reload(), 4, 0)
    assert drawn_on(kind) == before
    assert "game-grid" not in before
    assert "game-grid" in drawn_on(kind, staff=True)
