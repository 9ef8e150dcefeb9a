"""Agents' calls go past the middlewares that are for pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import resolve

from league_sdk.protocol.errors import NotARequest
from leaguesite.serving.origins import is_ours
from leaguesite.serving.paths import is_agent_path
from leaguesite.serving.refusals import refusal

Answer = Callable[[HttpRequest], HttpResponseBase]

_NOT_OURS = NotARequest(
    "A page of another site may not call this address.",
    field="Origin",
    seen="a page that is not the league's",
    expected="no Origin, or that of the league; the site's operator may allow more (LEAGUE_TRUSTED_ORIGINS)",
)


# There are a few addresses, and each is called all the time; those that lead nowhere are not kept.
_resolved = lru_cache(maxsize=256)(resolve)


class AgentsDirectly:
    """Gives a call of an agent to its handler at once.

    What stands below this in the list has nothing to do there: agents have no session, no language and no form, and not
    every one of them can unpack what it says it takes. To pass through all of it took as long as a statement or two.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The answer to an agent, or whatever comes next; 403 to a browser's page that is not ours.

        Raises:
            DisallowedHost: the call was meant for another site.
            Http404: there is no such address.
        """
        if not is_agent_path(request.path):
            return self.get_response(request)
        host = request.get_host()
        origin = request.META.get("HTTP_ORIGIN")
        if origin is not None and request.method == "POST" and not is_ours(origin, host):
            # No agent sends one. A page of another site would speak from the browser of somebody in the room.
            return HttpResponse(refusal(_NOT_OURS), status=403, content_type="application/json")
        match = request.resolver_match = _resolved(request.path_info)
        answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return answer
