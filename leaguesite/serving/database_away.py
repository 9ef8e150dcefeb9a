"""What a request is answered whose database is away or busy: 503 with Retry-After, and a page that tries again."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from league_sdk.protocol.errors import InternalError
from leaguesite.observing.logs import keep_out_of_the_log
from leaguesite.serving.paths import is_agent_path
from leaguesite.serving.refusals import refusal
from matches.desk import busy

RETRY_AFTER_S = 3
"""When the caller may try again, and a page does so by itself, in seconds."""


class Away(InternalError):
    """The database was away or busy; the sender may retry after ``retry_after_s`` (in the context)."""

    http_status = 503

    def __init__(self) -> None:
        sentence = "The database does not answer, or was busy: send it again."
        super().__init__(sentence, expected="patience", retry_after_s=RETRY_AFTER_S)


def failed(request: HttpRequest) -> HttpResponse:
    """Django's handler of an error: the database's own is no error of the site. In its ``except`` block."""
    error = sys.exc_info()[1]
    if not isinstance(error, busy.DATABASE_ERRORS):
        return server_error(request)
    response = _answer(request, busy.sentence(error))
    response.status_code = 503
    response["Retry-After"] = str(RETRY_AFTER_S)
    keep_out_of_the_log(response)
    return response


def _answer(request: HttpRequest, sentence: str) -> HttpResponse:
    if is_agent_path(request.path) or (request.path == "/" and request.method == "POST"):
        return HttpResponse(refusal(Away()), content_type="application/json")
    if request.path.startswith("/api/"):
        return JsonResponse({"error": sentence, "field": None})
    # What was read is read again. A form is not sent again: its commit may have arrived.
    reads = request.method in ("GET", "HEAD")
    context = {"retry_after_s": RETRY_AFTER_S} if reads else {"sentence": sentence}
    return HttpResponse(render_to_string("503.html", context))
