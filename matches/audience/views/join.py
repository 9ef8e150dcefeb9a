"""The join page of a league, and its starter kit."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from matches.audience import kit, pages
from matches.audience.pages import PageKey
from matches.audience.pages import join as way
from matches.models import League


@never_cache
@require_safe
def join(request: HttpRequest, league_id: str) -> HttpResponse:
    """Where to register, with what, and what to do."""
    context = pages.context_of(PageKey("join", league_id))
    if context is None:
        raise Http404
    league = League.objects.get(pk=league_id)
    found = way.way_in(league, _base(request))
    return render(request, "leagues/join.html", context | {"way": found, "caller": request.caller})


@require_safe
def join_kit(request: HttpRequest, league_id: str) -> HttpResponse:
    """The starter kit with this league's address in it."""
    league = get_object_or_404(League, pk=league_id)
    content = kit.make(
        address=f"{_base(request)}/leagues/{league.pk}/mcp",
        league_id=league.pk,
        name=league.display_name,
        game_type=league.game_type,
        code_wanted=bool(way.code_wanted(league)),
    )
    name = f'attachment; filename="league-kit-{league.pk}.zip"'
    return HttpResponse(content, content_type="application/zip", headers={"Content-Disposition": name})


def _base(request: HttpRequest) -> str:
    return way.base_url(f"{request.scheme}://{request.get_host()}", settings.LEAGUE_PUBLIC_URL)
