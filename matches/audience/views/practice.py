"""The report of a practice match, as a page and as JSON; it is asked for on "My agent" or by API."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from matches.audience.pages import PageKey
from matches.audience.views.audience import page
from matches.checks import practices


@never_cache
@require_safe
def practice_report(request: HttpRequest, practice_id: UUID) -> HttpResponse:
    """The report of a practice match; it updates itself while the match is played."""
    return page(request, "practice/report.html", PageKey("practice", item=str(practice_id)))


@never_cache
@require_safe
def practice_json(request: HttpRequest, practice_id: UUID) -> HttpResponse:
    """The report of a practice match as JSON."""
    practice = practices.find(practice_id)
    if practice is None:
        raise Http404
    return JsonResponse(practices.api_row(practice), json_dumps_params={"ensure_ascii": False, "indent": 2})
