"""Agents' calls bypass the middlewares that are for pages."""

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


# There are few addresses, and each is called all the time. Errors are not cached.
_resolved = lru_cache(maxsize=256)(resolve)


class AgentCalls:
    """Middleware that gives an agent's call to its handler at once.

    The middlewares below it in the list are of no use to agents: they have no session, language or form, and some
    cannot unpack the compression that they claim to accept. Passing them took as long as one or two SQL statements.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer an agent, pass anything else on; refuse (403) a POST from a page of another site.

        Raises:
            DisallowedHost: the Host is not this site's.
            Http404: there is no such address.
        """
        if not is_agent_path(request.path):
            return self.get_response(request)
        host = request.get_host()
        origin = request.META.get("HTTP_ORIGIN")
        if origin is not None and request.method == "POST" and not is_ours(origin, host):
            # Agents send no Origin. A page of another site would call from the browser of somebody in the room.
            return HttpResponse(refusal(_NOT_OURS), status=403, content_type="application/json")
        match = request.resolver_match = _resolved(request.path_info)
        answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return answer
