"""The page of a series: the common table of its leagues."""

from __future__ import annotations

from collections import Counter

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_safe

from matches.models import League
from matches.view import roles, sight
from matches.view import series as common
from matches.view.sight import View


@require_safe
def series(request: HttpRequest, series_id: str) -> HttpResponse:
    """The common table; with ``?as=staff`` also what the frozen boards of the user's own leagues hide."""
    found = common.find(series_id)
    if found is None:
        raise Http404
    staff = request.GET.get("as") == "staff"
    own: set[str] = set()
    if staff:
        own = set(roles.leagues(request.user, roles.Permission.WATCH).filter(series=found).values_list("pk", flat=True))
        if not own:
            raise PermissionDenied

    def see(league: League) -> View:
        return sight.view(league, staff=league.pk in own)

    shown = common.series_row(found, see) if staff else common.public_series_row(found)
    ranks = Counter(row["rank"] for row in shown["standings"])
    tied = {rank for rank, persons in ranks.items() if persons > 1}
    decided = any(row["wins"] or row["points"] for row in shown["standings"])
    response = render(
        request, "leagues/series.html", {"series": shown, "tied": tied, "decided": decided, "staff": staff}
    )
    if staff:
        # No proxy and no browser may keep what the public must not see.
        add_never_cache_headers(response)
    return response
