"""A line of the board's table is rendered once for all the values that it shows, and again if one changes."""

from __future__ import annotations

import re
from dataclasses import fields, replace

import pytest
from django.urls import set_script_prefix
from django.utils import translation

from agents_registry.models import Agent
from matches.audience.pages import PageKey, board, luck, table
from matches.models import League
from matches.view import sight
from matches.view.readiness import Readiness, Ready
from tests import factories as make
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def lines() -> list[table.BoardRow]:
    return list(board.context(sight.public(League.objects.get(pk="fall")), PageKey("board", "fall"))["standings"])


def test_a_line_that_shows_the_same_is_not_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    before = [line.html for line in lines()]
    rendered: list[str] = []
    render = table.render_to_string

    def counting_render(name: str, context: dict[str, object]) -> str:
        rendered.append(name)
        return render(name, context)

    monkeypatch.setattr(table, "render_to_string", counting_render)
    assert [line.html for line in lines()] == before
    assert rendered == []
    Agent.objects.filter(code="P01").update(display_name="Grace")
    assert sum(line.html not in before for line in lines()) == len(rendered) == 1


CHANGES = {
    "url": "/elsewhere/",
    "delta": 2,
    "agent_state": "SUSPENDED",
    "ready": Readiness(Ready.READY, passed=True),
    "behind": True,
    "given": "+7",
    "why": "a reason",
    "unveiled": True,
    "spark": "0,0 1,-3",
    "luck": luck.Bar(0, 2, "0.5", 4, True, "places 1 to 2", "1.5", "+0.5"),
    "columns": table.Columns(True, True, "0 -3 3 3"),
}
"""Another value of each attribute of a line."""


@pytest.mark.parametrize("name", sampled(one.name for one in fields(table.BoardRow) if one.name != "row"))
def test_a_change_of_any_attribute_changes_the_line(name: str) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    # Only a line with sparkline, bar and points from the instructor shows the values of all attributes.
    full_line = replace(
        lines()[0], columns=table.Columns(True, True, "0 -6 3 6"), given="+1", why="once", spark="0,0 1,-1"
    )
    if name == "why":
        full_line = replace(full_line, row=replace(full_line.row, out="withdrawn"))
    assert f'points="{full_line.spark}"' in full_line.html
    assert replace(full_line, **{name: CHANGES[name]}).html != full_line.html


def test_a_line_is_rendered_in_each_language() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    english = lines()[0].html
    with translation.override("he"):
        hebrew = lines()[0].html
    assert re.findall(r'title="([^"]+)">W', english) == ["Win"]
    assert english != hebrew
    assert lines()[0].html == english


def test_links_have_the_path_prefix_of_their_own_request() -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    set_script_prefix("/mounted/")
    try:
        assert all(line.url.startswith("/mounted/leagues/") for line in lines())
    finally:
        set_script_prefix("/")
    assert all(line.url.startswith("/leagues/") for line in lines())
