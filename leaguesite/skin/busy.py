"""The desk's forms while the database is busy or away: a page that says so, and keeps what was typed in the browser."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from leaguesite.serving import paths
from matches.desk import busy

Answer = Callable[[HttpRequest], HttpResponseBase]


class TryAgain:
    """503 for a form of the admin that the database has ended. Buttons: ``matches.desk.access``."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The page, without anything that asks the database."""
        if not isinstance(exception, busy.AWAY) or request.method != "POST" or not request.path.startswith(paths.DESK):
            return None
        page = render_to_string("503.html", {"sentence": busy.sentence(exception)})
        return HttpResponse(page, status=503, headers={"Retry-After": "1"})
