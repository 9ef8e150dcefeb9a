"""The templates of games: all render in every state, a package may bring its own, and a broken one is replaced."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.template import engines
from django.utils import translation

from league_sdk.rules import registry
from league_sdk.rules.connect_four import ConnectFour
from league_sdk.rules.registry import games, get_game
from matches.audience import drawn
from matches.audience.drawn import draw
from matches.view.drawings import Drawing, Seat, drawing_of

A, B = Seat("P01", joined=True), Seat("P02")


def played(game_type: str) -> list[Drawing]:
    """Drawings of a match before, in and after its game."""
    game = get_game(game_type)
    state = game.new_state(("P01", "P02"))
    drawings = [drawing_of(game_type, game.view(state, None), (A, B), commitment="ab12cd34")]
    while game.outcome(state) is None:
        movers = game.to_move(state)
        if not movers:
            state = state | {"number": 8}
            continue
        state = game.apply(state, movers[0], game.options(state, movers[0])[0])
        drawings.append(drawing_of(game_type, game.view(state, None), (A._replace(locked_in=True), B)))
    outcome = game.outcome(state)
    assert outcome is not None
    won = A._replace(won=outcome.winner == "P01"), B._replace(won=outcome.winner == "P02")
    return [
        *drawings,
        drawing_of(game_type, outcome.details, won, over=True),
        drawing_of(game_type, {}, (A, B), over=True),
    ]


@pytest.mark.parametrize("game_type", list(games()))
@pytest.mark.parametrize("language", ["en", "he"])
def test_every_game_is_drawn_in_every_state(game_type: str, language: str, caplog: pytest.LogCaptureFixture) -> None:
    with translation.override(language):
        for drawing in played(game_type):
            for size in ("small", "large"):
                html = draw(drawing, size)
                assert ('class="game game-' in html, "style=" in html, "<script" in html) == (True, False, False)
                assert 'aria-label=""' not in html
    assert caplog.records == []


def test_a_move_is_a_short_path_and_the_winning_line_is_drawn_only_at_the_end() -> None:
    pictures = [draw(drawing, "small") for drawing in played("tic_tac_toe")]
    assert 'd="M05 05m' in pictures[1]
    assert [picture.count("g-won") for picture in pictures[-3:-1]] == [1, 1]
    assert pictures[3].count("g-won") == 0


def test_choices_and_number_are_drawn_only_at_the_end() -> None:
    *before, after, _not_played = (draw(drawing, "small") for drawing in played("even_odd"))
    assert [("g-choice" in picture, "g-drawn" in picture) for picture in before] == [(False, False)] * len(before)
    assert (after.count("g-choice"), "g-drawn" in after, "g-check" in after) == (2, True, True)
    assert "ab12cd34" in before[0]


def test_a_drawing_that_has_not_changed_is_not_rendered_again() -> None:
    drawing, same = played("connect_four")[3], played("connect_four")[3]
    assert draw(drawing, "small") is draw(same, "small")
    assert draw(None, "small") == ""


def test_texts_in_a_referees_view_are_escaped(caplog: pytest.LogCaptureFixture) -> None:
    view = {"board": [["<b>", "&"]], "column_names": ["<i>", "&"], "to_move": "P01"}
    html = draw(drawing_of("gone", view, (A, B)), "small")
    assert ("<b>" in html, "<i>" in html, "&lt;b&gt;" in html, caplog.records) == (False, False, True, [])
    assert "<script" not in draw(drawing_of("gone", {"<script>": "<script>"}, (A, B)), "small")


# Games of packages --------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package ``race`` with a game and a folder of templates; returns its folder and its drawing."""
    module = ModuleType("race")
    module.__file__ = str(tmp_path / "race.py")
    monkeypatch.setitem(sys.modules, "race", module)
    game_class = type("Race", (ConnectFour,), {"game_type": "race", "drawing": "race", "__module__": "race"})
    monkeypatch.setattr(registry, "games", lambda: games() | {"race": game_class()})
    monkeypatch.setattr(drawn, "games", lambda: games() | {"race": game_class()})
    folder = tmp_path / "templates" / "games" / "race"
    folder.mkdir(parents=True)
    engines["django"].engine.template_loaders[0].reset()
    drawn._rendered.cache_clear()
    yield folder, Drawing("race", A, B, text='{"total": 7}')
    engines["django"].engine.template_loaders[0].reset()
    drawn._rendered.cache_clear()


def test_a_package_brings_its_own_templates(package: Any) -> None:
    folder, drawing = package
    (folder / "small.html").write_text("<b>{{ drawing.view.total }} {{ drawing.a.player_id }}</b>")
    assert [draw(drawing, size) for size in ("small", "large")] == ["<b>7 P01</b>"] * 2
    (folder / "large.html").write_text("large")
    drawn._rendered.cache_clear()
    engines["django"].engine.template_loaders[0].reset()
    assert draw(drawing, "large") == "large"


@pytest.mark.parametrize("broken", ["{% nonsense %}", "{% include 'games/none.html' %}"])
def test_a_template_that_fails_is_replaced_by_the_view_in_words(
    package: Any, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder, drawing = package
    (folder / "small.html").write_text(broken)
    html = draw(drawing, "small")
    assert ("game-plain" in html, "total" in html, len(caplog.records)) == (True, True, 1)


def test_a_package_replaces_no_template_of_the_site(package: Any) -> None:
    folder, _drawing = package
    (folder.parent / "discs").mkdir()
    (folder.parent / "discs" / "small.html").write_text("mine")
    (folder.parents[1] / "base_of_race.html").write_text("mine")
    assert "mine" not in draw(played("connect_four")[0], "small")
    loader = drawn.GameTemplates(engines["django"].engine)
    assert list(loader.get_template_sources("base_of_race.html")) == []
