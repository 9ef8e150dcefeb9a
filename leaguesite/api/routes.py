"""The HTTP API: /api/ for instructors and the public, /health and /metrics."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext as _
from django.views import defaults
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from agents_registry.rosters.files import RosterRefused
from agents_registry.words import too_many_attempts
from league_sdk.protocol.errors import NotARequest, TooOften
from leaguesite.api import (  # noqa: F401 - each module adds its operations to the router
    actions,
    audit,
    checks,
    compatibility,
    corrections,
    events,
    leagues,
    ledger,
    papers,
    practice,
    protocol,
    series,
    staff,
)
from leaguesite.api.base import REFUSED, answer, refusals, router
from leaguesite.api.keys import METRICS_KEY
from leaguesite.observing import health
from leaguesite.observing.health import Health
from leaguesite.observing.logs import keep_out_of_the_log
from leaguesite.serving.paths import is_agent_path
from leaguesite.serving.refusals import refusal
from matches.checks.asking import TooManyChecks
from matches.desk import busy
from matches.league.errors import ActionRefused, Invalid
from matches.observing import metrics


class Api(NinjaAPI):
    """The API and its OpenAPI document."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of an operation in clients that are generated from the OpenAPI document.

        The name stays when an operation moves to another module of this package.
        """
        name = super().get_openapi_operation_id(operation)
        return re.sub("^leaguesite_api_leagues_", "leaguesite_api_routes_", name)

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """The OpenAPI document; each refusal in it says what its status means."""
        document = super().get_openapi_schema(**options)
        operations = [one for path in document["paths"].values() for one in path.values()]
        for status, response in [pair for one in operations for pair in one["responses"].items()]:
            if "Refusal" in str(response.get("content")):
                response["description"] = REFUSED[status]
        return document


api = Api(
    title="leaguesite",
    version="1",
    description=(
        "Everything that the desk does, for scripts: each of its actions is an operation here, with the same checks, "
        "refusals and entries in the log of who did what. It takes the instructor's API key, "
        "`Authorization: Bearer <key>`; reading a league is public. Sentences are in the language of `Accept-Language`."
    ),
    docs_url="/api/docs",
    openapi_url="/api/openapi.json",
    urls_namespace="api",
)
PLAIN_TEXT = {"responses": {200: {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}}}


@api.exception_handler(ActionRefused)
def refused(request: HttpRequest, error: ActionRefused) -> HttpResponse:
    """An action that is refused: a sentence, with the status of the refusal."""
    field = error.field if isinstance(error, Invalid) else None
    response = api.create_response(request, {"error": str(error), "field": field}, status=error.status)
    if isinstance(error, TooManyChecks):
        response["Retry-After"] = str(error.retry_after_s)
    return response


@api.exception_handler(RosterRefused)
def roster_refused(request: HttpRequest, error: RosterRefused) -> HttpResponse:
    """A roster file that cannot be used: a sentence for every wrong line."""
    return api.create_response(request, {"error": str(error), "field": "text"}, status=422)


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """A missing or wrong key, or a body that is not JSON."""
    keyless = _("Send the instructor's API key: Authorization: Bearer <key>.")
    sentence = keyless if error.status_code == 401 else str(error)
    return api.create_response(request, {"error": sentence, "field": None}, status=error.status_code)


@api.exception_handler(TooOften)
def too_often(request: HttpRequest, error: TooOften) -> HttpResponse:
    """Too many wrong keys came, from the sender's IP address or in all."""
    seconds = error.context["retry_after_s"]
    content = {"error": too_many_attempts(seconds), "field": None}
    response = api.create_response(request, content, status=429)
    response["Retry-After"] = str(seconds)
    return response


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
@api.exception_handler(InternalError)
def database_away(request: HttpRequest, error: OperationalError | InterfaceError | InternalError) -> HttpResponse:
    """The database ended the request (a deadlock, a lost connection): it may be sent again."""
    response = api.create_response(request, {"error": busy.sentence(error), "field": None}, status=503)
    response["Retry-After"] = "1"
    return response


@api.exception_handler(ValidationError)
def not_valid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """A body, a query or a file that does not fit its schema: the first field that is wrong."""
    first = error.errors[0]
    # The location begins with "body" and the name of the operation's argument, or with "query" or "file" alone.
    field = ".".join(str(part) for part in first["loc"][2 if first["loc"][0] == "body" else 1 :]) or "body"
    return api.create_response(request, {"error": f"{field}: {first['msg']}", "field": field}, status=422)


# Django wraps its views so that they look for a CSRF token first, which fails on a body that cannot be read.
_page_not_found: Callable[..., HttpResponse] = inspect.unwrap(defaults.page_not_found)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself refuses, such as a foreign Host; agents and scripts get JSON."""
    if isinstance(exception, DisallowedHost):
        sentence, field, expected = "This request was not meant for this site.", "Host", settings.LEAGUE_PUBLIC_URL
    else:
        # Too many parameters or too many bytes: the log says which.
        sentence, field, expected = "This request cannot be read.", "request", "a smaller or simpler one"
    if is_agent_path(request.path) or (request.path == "/" and request.method == "POST"):
        seen = request.META.get("HTTP_HOST", "") if field == "Host" else None
        error = NotARequest(sentence, field=field, seen=seen, expected=expected)
        return HttpResponse(refusal(error), status=400, content_type="application/json")
    if request.path.startswith("/api/") and request.path != "/api/docs":
        return JsonResponse({"error": f"{sentence} Expected: {expected}", "field": field}, status=400)
    # A request that is refused early has chosen no language yet.
    with override(get_language_from_request(request)):
        sentence = _("This request was not meant for this site: open the address that you were given.")
        if field != "Host":
            sentence = _("This request cannot be read: it is too large, or malformed. Go back and send less.")
        return HttpResponseBadRequest(render_to_string("400.html", {"sentence": sentence}))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer for an address that does not exist; scripts get JSON."""
    if request.path.startswith("/api/"):
        return JsonResponse(
            {"error": "There is no such address. Expected: one of /api/docs", "field": None}, status=404
        )
    return _page_not_found(request, exception)


@api.get("/health", tags=["public"], response={200: Health, 503: Health})
def health_endpoint(request: HttpRequest) -> HttpResponse:
    """200 when leagues can be played here now, else 503 with the reason."""
    status = health.status()
    response = answer(status, status=200 if status["status"] == "ok" else 503)
    # 503 is an answer here: Django would log it as an error.
    keep_out_of_the_log(response)
    return response


@api.get("/metrics", auth=METRICS_KEY, tags=["instructor"], response=refusals(401, 429), openapi_extra=PLAIN_TEXT)
def metrics_endpoint(request: HttpRequest) -> HttpResponse:
    """The metrics of this process for Prometheus."""
    return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)


api.add_router("/api", router)
api.add_router("/api/protocol", protocol.router)
