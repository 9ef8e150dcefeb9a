"""The reports of checks and of practice matches, as pages and as JSON; who knows the id of one may read it."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from matches.audience.pages import PageKey
from matches.audience.views.audience import page
from matches.checks import practices, report


@never_cache
@require_safe
def as_page(request: HttpRequest, report_id: UUID, kind: str) -> HttpResponse:
    """The report of a check or a practice match; it updates itself until it has ended."""
    return page(request, f"{kind}/report.html", PageKey(kind, item=str(report_id)))


@never_cache
@require_safe
def as_json(request: HttpRequest, report_id: UUID, kind: str) -> HttpResponse:
    """The same as JSON."""
    found = report.find(report_id) if kind == "check" else practices.find(report_id)
    if found is None:
        raise Http404
    row = practices.api_row(found) if found.is_practice else report.api_row(found)
    return JsonResponse(row, json_dumps_params={"ensure_ascii": False, "indent": 2})
