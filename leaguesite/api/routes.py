"""The HTTP API: /api/ for instructors and the public, /health and /metrics."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views import defaults
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation

from league_sdk.protocol.errors import NotARequest
from leaguesite.api import (  # noqa: F401 - each adds its operations to the router
    actions,
    checks,
    corrections,
    events,
    gateways,
    leagues,
    ledger,
    notices,
    protocol,
)
from leaguesite.api.base import Refusal, router
from leaguesite.api.keys import METRICS_KEY, TooManyKeys
from leaguesite.observing import health, metrics
from leaguesite.serving.paths import is_agent_path
from leaguesite.serving.refusals import refusal
from matches.desk import busy
from matches.league.errors import ActionRefused, Invalid


class Api(NinjaAPI):
    """The API with its document."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name that clients made from the document call an operation by.

        It stays when an operation moves to another module of this package.
        """
        name = super().get_openapi_operation_id(operation)
        return re.sub("^leaguesite_api_leagues_", "leaguesite_api_routes_", name)


api = Api(
    title="leaguesite",
    version="1",
    description="What the admin does, for scripts; reading is public.",
    docs_url="/api/docs",
    openapi_url="/api/openapi.json",
    urls_namespace="api",
)
PLAIN_TEXT = {"responses": {200: {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}}}


@api.exception_handler(ActionRefused)
def refused(request: HttpRequest, error: ActionRefused) -> HttpResponse:
    """Every refused action is a sentence, under its status."""
    field = error.field if isinstance(error, Invalid) else None
    return api.create_response(request, {"error": str(error), "field": field}, status=error.status)


@api.exception_handler(HttpError)
def not_taken(request: HttpRequest, error: HttpError) -> HttpResponse:
    """No key, or a body that is not JSON, in the same shape."""
    keyless = _("Send the instructor's API key: Authorization: Bearer <key>.")
    sentence = keyless if error.status_code == 401 else str(error)
    response = api.create_response(request, {"error": sentence, "field": None}, status=error.status_code)
    if isinstance(error, TooManyKeys):
        response["Retry-After"] = str(error.seconds)
    return response


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
def database_away(request: HttpRequest, error: OperationalError | InterfaceError) -> HttpResponse:
    """A deadlock, a lost connection: no fault of the caller's, and no bug."""
    response = api.create_response(request, {"error": busy.sentence(error), "field": None}, status=503)
    response["Retry-After"] = "1"
    return response


@api.exception_handler(ValidationError)
def not_valid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """A body that does not fit: the first field that is wrong."""
    first = error.errors[0]
    # The location begins with "body" and the name of the operation's argument, or with "query" alone.
    field = ".".join(str(part) for part in first["loc"][1 if first["loc"][0] == "query" else 2 :]) or "body"
    return api.create_response(request, {"error": f"{field}: {first['msg']}", "field": field}, status=422)


# As Django has them they look for a CSRF token in the body first, and fail on one that cannot be read.
_bad_request: Callable[..., HttpResponse] = defaults.bad_request.__wrapped__  # type: ignore[attr-defined]
_page_not_found: Callable[..., HttpResponse] = defaults.page_not_found.__wrapped__  # type: ignore[attr-defined]


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What Django refuses itself, such as a Host that is not this site's: agents and scripts get it as JSON."""
    if isinstance(exception, DisallowedHost):
        sentence, field, expected = "This request was not meant for this site.", "Host", settings.LEAGUE_PUBLIC_URL
    else:
        # Too many parameters, too many bytes: what it is stands in the log.
        sentence, field, expected = "This request cannot be read.", "request", "a smaller or simpler one"
    if is_agent_path(request.path) or (request.path == "/" and request.method == "POST"):
        seen = request.META.get("HTTP_HOST", "") if field == "Host" else None
        error = NotARequest(sentence, field=field, seen=seen, expected=expected)
        return HttpResponse(refusal(error), status=400, content_type="application/json")
    if request.path.startswith("/api/") and request.path != "/api/docs":
        return JsonResponse({"error": f"{sentence} Expected: {expected}", "field": field}, status=400)
    return _bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that leads nowhere: scripts get that as JSON, too."""
    if request.path.startswith("/api/"):
        return JsonResponse(
            {"error": "There is no such address. Expected: one of /api/docs", "field": None}, status=404
        )
    return _page_not_found(request, exception)


@api.get("/health", tags=["public"])
def health_endpoint(request: HttpRequest) -> HttpResponse:
    """200 when leagues can be played here now, else 503 with the reason."""
    found = health.status()
    response = api.create_response(request, found, status=200 if found["status"] == "ok" else 503)
    # "Not yet" is an answer here, not an error for the log.
    response._has_been_logged = True
    return response


@api.get(
    "/metrics",
    auth=METRICS_KEY,
    tags=["instructor"],
    response={401: Refusal, 429: Refusal},
    openapi_extra=PLAIN_TEXT,
)
def metrics_endpoint(request: HttpRequest) -> HttpResponse:
    """The metrics of this process for Prometheus."""
    return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)


api.add_router("/api", router)
api.add_router("/api/protocol", protocol.router)
