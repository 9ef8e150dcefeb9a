"""Time travel and the embedded table."""

from __future__ import annotations

import hashlib

from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.cache import add_never_cache_headers, get_conditional_response
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from matches.audience import pages
from matches.audience.pages import PageKey, past
from matches.audience.views.audience import page, staff_asked

KEPT_S = 3600
"""How long a browser keeps a moment of the past without asking again."""


@require_safe
def replay(request: HttpRequest, league_id: str) -> HttpResponse:
    """The board as it stood after event ``?at=``, and a slider."""
    return page(request, "leagues/replay.html", _key(request, league_id))


@require_safe
def replay_fragments(request: HttpRequest, league_id: str) -> HttpResponseBase:
    """The same by fragment, for the slider. With the page's version in the address a past moment never changes."""
    key = _key(request, league_id)
    context = pages.context_of(key)
    if context is None:
        raise Http404
    found = context["replay"]
    shown = {name: found[name] for name in ("at", "time", "text", "fixed")}
    response = JsonResponse(shown | {"fragments": pages.render_fragments(past.FRAGMENTS, context)})
    response["ETag"] = etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    if key.staff:
        add_never_cache_headers(response)
    elif found["fixed"] and request.GET.get("v") == found["version"]:
        response["Cache-Control"] = f"private, max-age={KEPT_S}, immutable"
    else:
        response["Cache-Control"] = "no-cache"
    return get_conditional_response(request, etag=etag, response=response) or response


@csp_replace({"frame-ancestors": None})
@xframe_options_exempt
@require_safe
def embed(request: HttpRequest, league_id: str) -> HttpResponse:
    """The table alone, live, for a frame in someone else's page; the public's, whoever looks."""
    return page(request, "leagues/embed.html", PageKey("board", league_id))


def _key(request: HttpRequest, league_id: str) -> PageKey:
    return PageKey("replay", league_id, request.GET.get("at"), staff_asked(request, league_id))
