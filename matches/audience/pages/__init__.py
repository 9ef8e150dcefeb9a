"""READS: what the pages of the audience show, and how they are rendered, whole and by fragment.

The same fragment serves the first load and the live push. Nothing here shows a choice before the draw, nor, to the
public, anything that happened after a freeze (``matches.view.sight``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils import translation

from matches.audience.pages import board, charts, index, join, match, past, player, screen
from matches.audience.pages.keys import PageKey, socket_path
from matches.checks import report
from matches.models import League
from matches.view import sight
from matches.view.sight import View

__all__ = ["KINDS", "Kind", "PageKey", "context_of", "fragments", "render_fragments", "socket_path"]


class Kind(NamedTuple):
    """A kind of page: the names of its fragments, and what a league's page of this kind shows.

    ``context`` is given the league as the audience may see it, and returns None when there is no such page.
    """

    fragments: tuple[str, ...]
    context: Callable[[View, PageKey], dict[str, Any] | None]


KINDS: dict[str, Kind] = {
    "board": Kind(board.FRAGMENTS, board.context),
    "charts": Kind(charts.FRAGMENTS, charts.context),
    "match": Kind(match.FRAGMENTS, match.context),
    "join": Kind(join.FRAGMENTS, join.context),
    "player": Kind(player.FRAGMENTS, player.context),
    "screen": Kind(screen.FRAGMENTS, screen.context),
    "replay": Kind(past.FRAGMENTS, past.context),
}
"""The pages of a league. Besides them there are the list of leagues and the reports of checks."""


def fragments(key: PageKey, language: str) -> dict[str, str] | None:
    """Every fragment of a page, rendered; None when there is no such page any more."""
    with translation.override(language):
        if key.kind == "check":
            return report.fragments(str(key.item), language)
        context = context_of(key)
        if context is None:
            return None
        return render_fragments(index.FRAGMENTS if key.kind == "index" else KINDS[key.kind].fragments, context)


def render_fragments(names: tuple[str, ...], context: dict[str, Any]) -> dict[str, str]:
    """Some fragments of a page, by name."""
    return {name: render_to_string(f"leagues/fragments/{name}.html", context) for name in names}


def context_of(key: PageKey) -> dict[str, Any] | None:
    """A page's context, or None when there is no such page."""
    if key.kind == "check":
        return _check(key)
    if key.kind == "index":
        return index.context(key)
    league = League.objects.filter(pk=key.league_id).first()
    if league is None or key.kind not in KINDS:
        return None
    return KINDS[key.kind].context(sight.view(league, staff=key.staff), key)


def _check(key: PageKey) -> dict[str, Any] | None:
    """The report of a check, or None when there is none. One that has ended changes no more: no socket."""
    found = report.report_page(str(key.item))
    if found is None or not found["check"]["running"]:
        return found
    return found | {"socket_path": socket_path(key)}
