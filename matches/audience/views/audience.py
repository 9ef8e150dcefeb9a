"""The pages of the audience."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.view import roles


def index(request: HttpRequest) -> HttpResponse:
    """All leagues."""
    return page(request, "leagues/index.html", PageKey())


def board(request: HttpRequest, league_id: str) -> HttpResponse:
    """A league: standings, the current round, recent results."""
    return page(request, "leagues/board.html", PageKey("board", league_id, staff=staff_asked(request, league_id)))


def charts(request: HttpRequest, league_id: str) -> HttpResponse:
    """The charts of a league."""
    return page(request, "leagues/charts.html", PageKey("charts", league_id, staff=staff_asked(request, league_id)))


def match(request: HttpRequest, league_id: str, match_id: str) -> HttpResponse:
    """One match with its transcript."""
    return page(request, "leagues/match.html", PageKey("match", league_id, match_id, staff_asked(request, league_id)))


def player(request: HttpRequest, league_id: str, player_id: str) -> HttpResponse:
    """One player: record, matches, choices, answer times, faults."""
    staff = staff_asked(request, league_id)
    return page(request, "leagues/player.html", PageKey("player", league_id, player_id, staff))


def screen(request: HttpRequest, league_id: str) -> HttpResponse:
    """The projector: scenes that follow each other by themselves."""
    return page(request, "leagues/screen.html", PageKey("screen", league_id, staff=staff_asked(request, league_id)))


def staff_asked(request: HttpRequest, league_id: str) -> bool:
    """Whether this request asks for what a frozen board hides (``?as=staff``), which is for the staff only.

    Not everything at once for whoever is logged in: it is the instructor's browser that stands on the wall.
    """
    if request.GET.get("as") != "staff":
        return False
    if not roles.may(request.user, roles.Action.WATCH, league_id):
        raise PermissionDenied
    return True


def page(request: HttpRequest, template: str, key: PageKey) -> HttpResponse:
    """A page that keeps itself up to date; 404 when there is none."""
    context = pages.context_of(key)
    if context is None:
        raise Http404
    answer = render(request, template, context)
    if key.staff:
        # What is hidden stays in no cache: not in a proxy's, not in that of a browser that logs out.
        add_never_cache_headers(answer)
    return answer
