"""Query strings as the database takes them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

NUL, REPLACEMENT = "%00", "%EF%BF%BD"


class WithoutNul:
    """Replaces NUL characters in query strings by U+FFFD: PostgreSQL refuses to look for one, and nothing has one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Change the query string before anybody has read it."""
        query = request.META.get("QUERY_STRING", "")
        if NUL in query:
            request.META["QUERY_STRING"] = query.replace(NUL, REPLACEMENT)
        return self._get_response(request)
