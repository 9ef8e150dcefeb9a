"""Endpoints that everybody may read: series and their common tables."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from leaguesite.api.base import answer, refusals, router
from matches.league.errors import NotFound
from matches.view import series
from matches.view.series import SeriesLine, SeriesRow


@router.get("/series", tags=["public"], response={200: list[SeriesLine]} | refusals())
def list_series(request: HttpRequest) -> HttpResponse:
    """Every series with a league that is not in the archive."""
    return answer(series.lines())


@router.get("/series/{series_id}", tags=["public"], response={200: SeriesRow} | refusals(404))
def show_series(request: HttpRequest, series_id: str) -> HttpResponse:
    """A series with the common table of its leagues; each counts as far as the public sees it."""
    found = series.find(series_id)
    if found is None:
        raise NotFound(_("There is no series %(id)s.") % {"id": series_id})
    return answer(series.public_series_row(found))
