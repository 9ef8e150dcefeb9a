"""READS: what the audience's pages show, and how they are rendered, as a whole or by fragment.

The same fragment templates serve the first load and live pushes. No page shows a choice before the draw, and no public
page shows what a freeze hides (``matches.view.sight``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils import translation

from matches.audience.pages import board, charts, index, join, match, past, player, practice, screen
from matches.audience.pages.keys import PageKey, socket_path
from matches.checks import report
from matches.models import League
from matches.view import sight
from matches.view.sight import View

__all__ = ["KINDS", "Kind", "PageKey", "charts_of", "context_of", "fragments", "render_fragments", "socket_path"]


class Kind(NamedTuple):
    """A kind of page: the names of its fragments, and the function that builds its context.

    ``context`` gets the league as the audience may see it; it returns None when the page does not exist.
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
"""The kinds of a league's pages. The list of leagues and reports of checks and practice matches are others."""
REPORTS = {"check": report.PAGE, "practice": practice.PAGE}
"""The kinds of reports."""


_CHARTS = frozenset({"ranks", "race", "cross", "times"})


def charts_of(kind: str) -> frozenset[str]:
    """The names of a page's fragments that show many rounds at a glance: they are large, and not urgent."""
    return _CHARTS.intersection(KINDS[kind].fragments) if kind in KINDS else frozenset()


def fragments(
    key: PageKey, language: str, without: Collection[str] = (), hidden: League | None = None
) -> dict[str, str] | None:
    """Render the fragments of a page, by name; None when the page does not exist (any more).

    Args:
        language: its code.
        without: the names of fragments that are not rendered.
        hidden: a league that nobody sees yet, as it is being imported: its own page, or the list with it.
    """
    with translation.override(language):
        if key.kind in REPORTS:
            return report.fragments(REPORTS[key.kind], str(key.item), language)
        context = context_of(key, hidden)
        if context is None:
            return None
        names = index.FRAGMENTS if key.kind == "index" else KINDS[key.kind].fragments
        return render_fragments(tuple(name for name in names if name not in without), context)


def render_fragments(names: tuple[str, ...], context: dict[str, Any]) -> dict[str, str]:
    """Render some fragments of a page, by name."""
    return {name: render_to_string(f"leagues/fragments/{name}.html", context) for name in names}


def context_of(key: PageKey, hidden: League | None = None) -> dict[str, Any] | None:
    """The template context of a page, or None when the page does not exist; ``hidden`` as in :func:`fragments`."""
    if key.kind in REPORTS:
        shown = REPORTS[key.kind].context(str(key.item))
        # A finished one needs no socket.
        if shown is not None and shown[key.kind]["unfinished"]:
            shown["socket_path"] = socket_path(key)
        return shown
    if key.kind == "index":
        return index.context(key, hidden)
    league = hidden or League.objects.filter(pk=key.league_id).first()
    if league is None or key.kind not in KINDS:
        return None
    return KINDS[key.kind].context(sight.view(league, staff=key.staff), key)
