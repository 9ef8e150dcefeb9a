"""The pages of the audience."""

from __future__ import annotations

from collections.abc import Callable

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


def of(kind: str) -> Callable[..., HttpResponse]:
    """The view of one kind of page of a league, such as ``board`` (``pages.KINDS``).

    Returns a view that takes the league's id and, by any name, the id of what in it is shown, where the kind has one.
    """

    def show(request: HttpRequest, league_id: str, **ids: str) -> HttpResponse:
        key = PageKey(kind, league_id, next(iter(ids.values()), None), staff_asked(request, league_id))
        return page(request, f"leagues/{kind}.html", key)

    return show


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
