"""Agents' calls go past the middlewares that are for pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

from leaguesite.serving import is_agent_path

Answer = Callable[[HttpRequest], HttpResponseBase]


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
        """The answer to an agent, or whatever comes next.

        Raises:
            DisallowedHost: the call was meant for another site.
            Http404: there is no such address.
        """
        if not is_agent_path(request.path):
            return self.get_response(request)
        request.get_host()
        match = request.resolver_match = _resolved(request.path_info)
        answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return answer
