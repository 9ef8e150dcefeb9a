"""The desk's forms while the database is busy or away: a page says so, and the browser keeps what was typed."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from leaguesite.serving import paths
from matches.desk import busy

Answer = Callable[[HttpRequest], HttpResponseBase]


class TryAgain:
    """Middleware: 503 for a form of the admin whose request the database ended.

    For the desk's buttons ``matches.desk.busy`` has the answer.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer with a page that needs no query."""
        of_desk = request.method == "POST" and request.path.startswith(paths.DESK)
        if not (of_desk and isinstance(exception, busy.DATABASE_ERRORS)):
            return None
        page = render_to_string("503.html", {"sentence": busy.sentence(exception)})
        return HttpResponse(page, status=503, headers={"Retry-After": "1"})
