"""The example of ``docs/games.md`` is a game: it keeps the contract of every game, and is won as the page says."""

from __future__ import annotations

import re
from typing import Any

from django.template import engines

from league_sdk.rules.game import Game
from matches.view.drawings import Seat, drawing_of
from tests.contracts.game import PLAYERS, GameContract
from tests.paths import ROOT

PAGE = ROOT / "docs" / "games.md"
[EXAMPLE] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def example() -> Game:
    """The game of the page."""
    names: dict[str, Any] = {}
    exec(compile(EXAMPLE, str(PAGE), "exec"), names)  # noqa: S102 - a page of ours
    game: Game = names["RaceToTen"]()
    return game


class TestTheExample(GameContract):
    game = example()


def test_the_player_that_reaches_ten_wins() -> None:
    game = example()
    state = game.new_state(PLAYERS)
    for turn, move in enumerate((3, 3, 3)):
        state = game.apply(state, PLAYERS[turn % 2], move)
        assert game.outcome(state) is None
    outcome = game.outcome(game.apply(state, "P02", "1"))
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == ("P02", "P02 reached 10")


def test_the_template_of_the_page_draws_the_example() -> None:
    [html] = re.findall(r"^    <svg.*?</svg>$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    game = example()
    state = game.apply(game.new_state(PLAYERS), "P01", 3)
    drawing = drawing_of("race", game.view(state, None), (Seat("P01"), Seat("P02")))
    shown = engines["django"].from_string(html).render({"drawing": drawing})
    assert ('aria-label="3 of 10"' in shown, 'width="30"' in shown) == (True, True)
