"""The views of the list of leagues, and of a league's pages except "My agent" and the page to share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import add_never_cache_headers, get_conditional_response
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from agents_registry.addresses.callers import sender_of
from agents_registry.addresses.public import site_address_for_page
from matches.audience import kit, pages
from matches.audience.pages import PageKey, match, past
from matches.audience.pages import join as join_page
from matches.models import League
from matches.view import compatibility, roles, sight
from matches.words import rules

PAST_MAX_AGE_S = 3600
"""How long a browser may cache a moment of the past."""


def index(request: HttpRequest) -> HttpResponse:
    """All leagues but those in the archive."""
    return page(request, "leagues/index.html", PageKey())


def of(kind: str) -> Callable[..., HttpResponse]:
    """The view of a kind of page of a league, such as ``board`` (``pages.KINDS``).

    The view takes the league's id and, under any name, the id of the match or player that the page shows, if any.
    """

    def show(request: HttpRequest, league_id: str, **ids: str) -> HttpResponse:
        key = PageKey(kind, league_id, next(iter(ids.values()), None), staff_asked(request, league_id))
        return page(request, f"leagues/{kind}.html", key)

    return show


def staff_asked(request: HttpRequest, league_id: str) -> bool:
    """Whether this request asks for what a frozen board hides (``?as=staff``); only the staff may.

    Being logged in does not suffice without the query, as the projector shows the instructor's browser to the class.
    """
    if request.GET.get("as") != "staff":
        return False
    if not roles.may(request.user, roles.Permission.WATCH, league_id):
        raise PermissionDenied
    return True


def page(request: HttpRequest, template: str, key: PageKey, **more: str) -> HttpResponse:
    """Render a page, with ``more`` in the context of its template; 404 if there is no such page."""
    context = pages.context_of(key)
    if context is None:
        raise Http404
    response = render(request, template, context | more)
    if key.staff:
        # No proxy and no browser may cache what the public must not see.
        add_never_cache_headers(response)
    return response


# Messages ---------------------------------------------------------------------------------------


def match_messages(request: HttpRequest, league_id: str, match_id: str) -> JsonResponse:
    """Every message of a match as JSON, or with ``?message=ATTEMPT-NUMBER`` one of them."""
    staff = staff_asked(request, league_id)
    view = sight.view(get_object_or_404(League, pk=league_id), staff=staff)
    key = request.GET.get("message")
    bodies = match.messages(view, match_id, key, staff=staff)
    if bodies is None:
        raise Http404
    content = bodies if key is None else bodies[key]
    response = JsonResponse(content, safe=False, json_dumps_params={"ensure_ascii": False, "indent": 2})
    if staff:
        add_never_cache_headers(response)
    return response


# Time travel and the embedded table -------------------------------------------------------------


@require_safe
def replay(request: HttpRequest, league_id: str) -> HttpResponse:
    """The board as it stood after event ``?at=``, and a slider."""
    return page(request, "leagues/replay.html", _replay_key(request, league_id), site=site_address_for_page(request))


@require_safe
def replay_fragments(request: HttpRequest, league_id: str) -> HttpResponseBase:
    """The replay's fragments, for the slider; a past moment with the page's version in its address is cacheable."""
    key = _replay_key(request, league_id)
    context = pages.context_of(key)
    if context is None:
        raise Http404
    replayed: past.Replay = context["replay"]
    shown = {"at": replayed.at, "time": replayed.time, "text": replayed.text, "fixed": replayed.fixed}
    response = JsonResponse(shown | {"fragments": pages.render_fragments(past.FRAGMENTS, context)})
    response["ETag"] = etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    if key.staff:
        add_never_cache_headers(response)
    elif replayed.fixed and request.GET.get("v") == replayed.version:
        response["Cache-Control"] = f"private, max-age={PAST_MAX_AGE_S}, immutable"
    else:
        response["Cache-Control"] = "no-cache"
    return get_conditional_response(request, etag=etag, response=response) or response


def _replay_key(request: HttpRequest, league_id: str) -> PageKey:
    return PageKey("replay", league_id, request.GET.get("at"), staff_asked(request, league_id))


@csp_replace({"frame-ancestors": None})  # type: ignore[arg-type]  # it declares views that take only the request
@xframe_options_exempt
@require_safe
def embed(request: HttpRequest, league_id: str) -> HttpResponse:
    """The live table alone, for a frame in another site's page; always the public view."""
    return page(request, "leagues/embed.html", PageKey("board", league_id))


# The join page and the starter kit -----------------------------------------------------------------


@never_cache
@require_safe
def join(request: HttpRequest, league_id: str) -> HttpResponse:
    """The join page."""
    league = get_object_or_404(League, pk=league_id)
    view = sight.public(league)
    context = join_page.context(view, PageKey("join", league_id))
    more: dict[str, Any] = {
        "caller": sender_of(request),
        "arrived": join_page.arrived(league, sender_of(request).machine_ip),
    }
    if request.GET.get("part"):
        return render(request, "leagues/join_arrived.html", context | more)
    more |= {"way": join_page.way_in(league, site_address_for_page(request))}
    more |= {"rules": rules.rules(league.game_type), "limits": rules.limits(view.rules)}
    more["most"] = compatibility.site_most()
    return render(request, "leagues/join.html", context | more)


@require_safe
def protocol(request: HttpRequest) -> HttpResponse:
    """The document of the protocol, as it stands in the repository."""
    text = (settings.LEAGUE_DOCS_DIR / "protocol.md").read_text(encoding="utf-8")
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
def join_kit(request: HttpRequest, league_id: str, language: str = kit.DEFAULT_LANGUAGE) -> HttpResponse:
    """Download the starter kit in one language, configured for this league."""
    if language not in kit.LANGUAGES:
        raise Http404
    league = get_object_or_404(League, pk=league_id)
    set_up = kit.ForLeague(
        address=f"{site_address_for_page(request)}/leagues/{league.pk}/mcp",
        league_id=league.pk,
        name=league.display_name,
        game_type=league.game_type,
        code=bool(join_page.code_wanted(league)),
    )
    content = kit.make(language, set_up)
    name = f'attachment; filename="league-kit-{league.pk}-{language}.zip"'
    return HttpResponse(content, content_type="application/zip", headers={"Content-Disposition": name})
