"""The pages of the audience."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from matches import pages
from matches.pages import PageKey


def index(request: HttpRequest) -> HttpResponse:
    """All leagues."""
    return _page(request, "leagues/index.html", PageKey())


def board(request: HttpRequest, league_id: str) -> HttpResponse:
    """A league: standings, the current round, recent results."""
    return _page(request, "leagues/board.html", PageKey(league_id))


def match(request: HttpRequest, league_id: str, match_id: str) -> HttpResponse:
    """One match with its transcript."""
    return _page(request, "leagues/match.html", PageKey(league_id, match_id))


def _page(request: HttpRequest, template: str, key: PageKey) -> HttpResponse:
    context = pages.context_of(key)
    if context is None:
        raise Http404
    return render(request, template, context)
