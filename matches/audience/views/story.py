"""The views of the page to share: the page, its picture for previews, and the page as one file."""

from __future__ import annotations

import threading
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from matches.audience.pages import story as shared
from matches.models import League
from matches.view import sight
from matches.view.recent import Recent
from matches.view.sight import View

MAX_PICTURES = 20
"""Pictures that are cached, of a few dozen kilobytes each."""

_lock = threading.Lock()
_pictures: Recent[tuple[str, str | None], bytes] = Recent(MAX_PICTURES)


@require_safe
def story(request: HttpRequest, league_id: str) -> HttpResponse:
    """The page; 404 unless the league was played to its end and nothing of it is hidden."""
    _view, context = _seen(league_id)
    return _fresh(render(request, "leagues/story.html", context))


@require_safe
def file(request: HttpRequest, league_id: str) -> HttpResponse:
    """The page as one file that needs nothing else, to download."""
    view, _context = _seen(league_id)
    response = HttpResponse(shared.file(view))
    response["Content-Disposition"] = f'attachment; filename="league-{league_id}.html"'
    return _fresh(response)


@require_safe
def picture(request: HttpRequest, league_id: str) -> HttpResponseBase:
    """The picture for previews of a link to the page, as a PNG."""
    view, context = _seen(league_id)
    key = (shared.version(view), get_language())
    with _lock:
        content = _pictures.get(key)
        # Under the lock: a thousand simultaneous requests draw the picture once.
        if content is None:
            content = _pictures[key] = shared.png(view, context["evening"])
    etag = f'"{"-".join(map(str, key))}"'
    response = HttpResponse(content, content_type="image/png", headers={"ETag": etag})
    return get_conditional_response(request, etag=etag, response=_fresh(response)) or response


def _seen(league_id: str) -> tuple[View, dict[str, Any]]:
    """What everybody may see of the league, and the page's context.

    Raises:
        Http404: there is no such page.
    """
    view = sight.public(get_object_or_404(League, pk=league_id))
    context = shared.context(view)
    if context is None:
        raise Http404
    return view, context


def _fresh(response: HttpResponse) -> HttpResponse:
    """A correction, or a new league of the same id, must be seen: nothing is shown from a cache without asking."""
    response["Cache-Control"] = "no-cache"
    return response
