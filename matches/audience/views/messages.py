"""What was sent and received in a match, for the page that opens it and for whoever saves it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.cache import add_never_cache_headers

from matches.audience.pages import match as page
from matches.audience.views.audience import staff_asked
from matches.models import League
from matches.view import sight


def match_messages(request: HttpRequest, league_id: str, match_id: str) -> JsonResponse:
    """Every message of a match as JSON, or with ``?message=ATTEMPT-NUMBER`` one of them."""
    staff = staff_asked(request, league_id)
    view = sight.view(get_object_or_404(League, pk=league_id), staff=staff)
    only = request.GET.get("message")
    found = page.messages(view, match_id, only, staff=staff)
    if found is None:
        raise Http404
    shown = found if only is None else found[only]
    answer = JsonResponse(shown, safe=False, json_dumps_params={"ensure_ascii": False, "indent": 2})
    if staff:
        add_never_cache_headers(answer)
    return answer
