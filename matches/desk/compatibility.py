"""The desk's table of which player understood which message in which way, of one league or all, and the same as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from matches.desk.access import LeagueAccess, csv_download
from matches.models import League
from matches.view import compatibility, roles
from matches.view.compatibility import MESSAGES, Cell, How

AGENTS_PER_PAGE, MAX_CSV_AGENTS, AGENTS_AT_ONCE = 100, 10_000, 200


def words(how: How) -> str:
    """What a cell means."""
    return {
        How.FIRST: _("understood at once"),
        How.OTHER: _("understood in another spelling"),
        How.NOT: _("not understood"),
        How.SILENT: _("no answer"),
        How.SENT: _("sent"),
        How.NEVER: _("never sent"),
    }[how]


class CompatibilityPages(LeagueAccess):
    """Mixed into the admin of leagues."""

    pages = {"compatibility": "compatibility/", "compatibility_file": "compatibility.csv"}

    def compatibility_page(self, request: HttpRequest) -> HttpResponse:
        """The table, of one league with ``?league=``."""
        leagues, chosen = _leagues(request)
        page = Paginator(_players(leagues, chosen), AGENTS_PER_PAGE).get_page(request.GET.get("page"))
        rows = compatibility.ways(list(page.object_list))
        # A message that none of these agents was ever sent, such as one of another game, has no column.
        columns = [n for n in range(len(MESSAGES)) if any(row.cells[n].how != How.NEVER for row in rows)]
        return self.desk_page(
            request,
            "compatibility.html",
            _("Who understood which message"),
            leagues=leagues.order_by("-created_at"),
            chosen=chosen,
            kinds=[MESSAGES[n].split("_") for n in columns],
            lines=[{"agent": row.agent, "cells": [_shown(row.cells[n]) for n in columns]} for row in rows],
            page=page,
            meanings=[(how, words(how)) for how in How],
        )

    def compatibility_file_page(self, request: HttpRequest) -> HttpResponse:
        """Download all pages of the table as one file, up to :data:`MAX_CSV_AGENTS` players."""
        leagues, chosen = _leagues(request)
        return csv_download("who-understood-what.csv", _rows(_players(leagues, chosen)))


def _leagues(request: HttpRequest) -> tuple[QuerySet[League], str]:
    """The leagues that a person may watch, and the one that was chosen; empty for all.

    Raises:
        PermissionDenied: they may watch none.
    """
    leagues = roles.leagues(request.user, roles.Permission.WATCH)
    if not leagues.exists():
        raise PermissionDenied
    return leagues, request.GET.get("league", "").replace("\x00", "\ufffd")


def _players(leagues: QuerySet[League], chosen: str) -> QuerySet[Agent]:
    return compatibility.players(leagues.filter(pk=chosen) if chosen else leagues)


def _shown(cell: Cell) -> dict[str, str]:
    """A cell as the page shows it: with what it means, in the reader's language."""
    return cell._asdict() | {"words": words(cell.how)}


def _rows(players: QuerySet[Agent]) -> Iterator[Sequence[object]]:
    """The rows of the file; not all players are in memory at once."""
    yield ["league_id", "player_id", "display_name", "registered_in", *MESSAGES]
    for group in Paginator(players[:MAX_CSV_AGENTS], AGENTS_AT_ONCE):
        for row in compatibility.ways(list(group.object_list)):
            agent = row.agent
            cells = [f"{cell.how}: {cell.shape}" if cell.shape else str(cell.how) for cell in row.cells]
            yield [agent.league_id, agent.code, agent.display_name, agent.dialect, *cells]
