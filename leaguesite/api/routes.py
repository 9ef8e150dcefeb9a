"""The HTTP API: /api/ for instructors and the public, /health and /metrics."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views import defaults
from ninja import NinjaAPI, Router, Schema, Status
from ninja.errors import HttpError, ValidationError
from pydantic import ConfigDict

from agents_registry import registration
from league_sdk.protocol.errors import NotARequest
from leaguesite.api import checks, corrections, events, gateways, ledger, notices, protocol
from leaguesite.api.keys import KEY, METRICS_KEY, TooManyKeys
from leaguesite.observing import health, metrics
from leaguesite.serving.paths import is_agent_path
from leaguesite.serving.refusals import refusal
from matches.desk import busy
from matches.league import lifecycle, opening, play, results
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import League
from matches.view import kept, lists, queries, referees, sight, summaries
from matches.view.masking import without_addresses
from matches.view.sight import View


class Refusal(Schema):
    """Why an action was refused, and what to do."""

    error: str
    field: str | None = None


class NewLeague(Schema):
    """A league to open for registration."""

    model_config = ConfigDict(extra="forbid")
    league_id: str
    display_name: str = ""
    game_type: str = "even_odd"
    settings: dict[str, Any] = {}


class Start(Schema):
    """How to start: with ``auto_advance`` the rounds follow each other to the end."""

    model_config = ConfigDict(extra="forbid")
    auto_advance: bool | None = None


class Trust(Schema):
    """Whether a referee may judge; ``league_id`` for one that registered under a league's own address."""

    model_config = ConfigDict(extra="forbid")
    trusted: bool = True
    league_id: str | None = None


api = NinjaAPI(
    title="leaguesite",
    version="1",
    description="What the admin does, for scripts; reading is public.",
    docs_url="/api/docs",
    openapi_url="/api/openapi.json",
    urls_namespace="api",
)
router = Router()
SHOWN = {200: dict, 401: Refusal, 404: Refusal, 429: Refusal, 503: Refusal}
LISTED = {200: list[dict], 401: Refusal, 404: Refusal, 422: Refusal, 429: Refusal, 503: Refusal}
REFUSED = {400: Refusal, 401: Refusal, 404: Refusal, 409: Refusal, 422: Refusal, 429: Refusal, 503: Refusal}
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


@router.post("/leagues", auth=KEY, tags=["instructor"], response={201: dict, **REFUSED})
def create_league(request: HttpRequest, league: NewLeague) -> Status[dict[str, Any]]:
    """Open a league for registration."""
    made = opening.create_league(**league.model_dump())
    return Status(201, _line(made))


@router.post("/leagues/{league_id}/close", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def close_registration(request: HttpRequest, league_id: str) -> dict[str, Any]:
    """Close registration and make the schedule."""
    return _line(opening.close_registration(league_id=league_id))


@router.post("/leagues/{league_id}/start", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def start_league(request: HttpRequest, league_id: str, options: Start | None = None) -> dict[str, Any]:
    """Close registration, make the schedule, start the next round; with auto_advance play to the end."""
    advance = options.auto_advance if options else None
    return _line(lifecycle.start_league(league_id=league_id, auto_advance=advance))


@router.post("/leagues/{league_id}/rounds/start", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def start_round(request: HttpRequest, league_id: str) -> dict[str, Any]:
    """Start the next round."""
    lifecycle.start_round(league_id=league_id)
    return _line(lifecycle.get_league(league_id))


@router.post("/leagues/{league_id}/pause", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def pause(request: HttpRequest, league_id: str) -> dict[str, Any]:
    """No round and no match starts; matches in play finish and count."""
    return _line(lifecycle.pause(league_id=league_id))


@router.post("/leagues/{league_id}/resume", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def resume(request: HttpRequest, league_id: str) -> dict[str, Any]:
    """Go on after a pause."""
    return _line(lifecycle.resume(league_id=league_id))


@router.post("/leagues/{league_id}/stop", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def stop(request: HttpRequest, league_id: str) -> dict[str, Any]:
    """End a league for good."""
    return _line(lifecycle.stop(league_id=league_id))


@router.post(
    "/leagues/{league_id}/matches/{match_id}/release",
    auth=KEY,
    tags=["instructor"],
    response={200: dict, **REFUSED},
)
def release(request: HttpRequest, league_id: str, match_id: str) -> dict[str, Any]:
    """Play a held match again."""
    _match(league_id, match_id)
    play.release(league_id=league_id, match_id=match_id)
    return _match_line(league_id, match_id)


@router.post(
    "/leagues/{league_id}/matches/{match_id}/cancel",
    auth=KEY,
    tags=["instructor"],
    response={200: dict, **REFUSED},
)
def cancel(request: HttpRequest, league_id: str, match_id: str) -> dict[str, Any]:
    """End an open match of the current round so that it counts nowhere."""
    _match(league_id, match_id)
    results.cancel(league_id=league_id, match_id=match_id, why=_("cancelled by the instructor"))
    return _match_line(league_id, match_id)


@router.post("/referees/{referee_id}/trust", auth=KEY, tags=["instructor"], response={200: dict, **REFUSED})
def trust_referee(request: HttpRequest, referee_id: str, options: Trust | None = None) -> dict[str, Any]:
    """Let a registered referee judge, or no longer; one of the site, or of the league named."""
    wanted = options or Trust()
    referee = referees.find_referee(referee_id.replace("\x00", "\ufffd"), wanted.league_id)
    if referee is None:
        raise NotFound(_("There is no referee %(referee)s.") % {"referee": referee_id})
    registration.trust(agent_ids=[referee.pk], trusted=wanted.trusted)
    return {"referee_id": referee.code, "league_id": referee.league_id, "trusted": wanted.trusted}


@router.get("/leagues", tags=["public"], response=list[dict])
def list_leagues(request: HttpRequest) -> list[dict[str, Any]]:
    """Every league."""
    return summaries.league_lines(League.objects.order_by("-created_at"))


@router.get("/leagues/{league_id}", tags=["public"], response=SHOWN)
def show_league(request: HttpRequest, league_id: str) -> dict[str, Any]:
    """Status, round, rounds, matches done, champion."""
    return summaries.league_line(_view(request, league_id))


@router.get("/leagues/{league_id}/standings", tags=["public"], response=LISTED)
def show_standings(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """The table as it is now, or as it was when the board was frozen."""
    return _list(request, league_id, "standings", lists.standings)


@router.get("/leagues/{league_id}/rounds", tags=["public"], response=LISTED)
def show_rounds(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """The schedule with the state of every round and match; ``limit`` counts matches."""
    return _list(request, league_id, "rounds", partial(lists.schedule, wire=False))


@router.get("/leagues/{league_id}/matches", tags=["public"], response=LISTED)
def show_matches(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """Every match."""
    return _list(request, league_id, "matches", lists.matches)


@router.get("/leagues/{league_id}/matches/{match_id}", tags=["public"], response=SHOWN)
def show_match(request: HttpRequest, league_id: str, match_id: str) -> dict[str, Any]:
    """One match: lifecycle with times, transcript, result; with ``?as=staff`` and the key also addresses, and
    answers that are no messages of the league."""
    staff = _is_staff(request)
    view = _view(request, league_id)
    found = queries.match_detail(_match(league_id, match_id), view, staff=staff)
    return found if staff else dict(without_addresses(found))


@router.get("/leagues/{league_id}/agents", tags=["public"], response=LISTED)
def show_agents(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """Players and referees; no token, no address."""
    return _list(request, league_id, "agents", lambda view, want: lists.rows_of(queries.agents_of(view), want))


@router.get("/games", tags=["public"], response=dict)
def show_games(request: HttpRequest) -> dict[str, Any]:
    """The games registry (004 3.8.3)."""
    return queries.game_registry()


def _view(request: HttpRequest, league_id: str) -> View:
    """A league as the caller may see it: with ``?as=staff`` and the instructor's key also what a freeze hides."""
    league = lifecycle.get_league(league_id)
    staff = _is_staff(request)
    if staff and KEY(request) is None:
        raise HttpError(401, "")
    return sight.view(league, staff=staff)


def _list(
    request: HttpRequest, league_id: str, name: str, make: Callable[[View, lists.Wanted], lists.Part]
) -> HttpResponse:
    """A list that grows with a league: an array, at most 1 MiB of it; the headers say what comes after and how many."""
    try:
        want = lists.wanted(request.GET.get("limit"), request.GET.get("cursor"))
    except lists.NotWanted as error:
        raise Invalid(str(error), field=error.field) from None
    staff = _is_staff(request)
    view = _view(request, league_id) if staff else None
    league = view.league if view is not None else lifecycle.get_league(league_id)

    def made(seen: View) -> bytes:
        part = make(seen, want)
        head = {f"X-{key.replace('_', '-').title()}": str(value) for key, value in part.more(want).items() if value}
        return json.dumps(head).encode() + b"\n" + part.rows.encode()

    head, _newline, rows = kept.answer(league, ("api", name, staff, want), view, made).partition(b"\n")
    return HttpResponse(rows, content_type="application/json; charset=utf-8", headers=json.loads(head))


def _is_staff(request: HttpRequest) -> bool:
    """Whether the staff's view is asked for; :func:`_view` sees to it that they may."""
    return request.GET.get("as") == "staff"


def _line(league: League) -> dict[str, Any]:
    """A league as the instructor sees it."""
    return summaries.league_line(sight.everything(league))


def _match_line(league_id: str, match_id: str) -> dict[str, Any]:
    match = _match(league_id, match_id)
    return queries.match_line(match, sight.everything(match.league))


def _match(league_id: str, match_id: str) -> Any:
    league = lifecycle.get_league(league_id)
    # No id holds a NUL, and PostgreSQL would not even look for one.
    wanted = match_id.replace("\x00", "\ufffd")
    match = queries.matches_of(league).select_related("league").filter(match_id=wanted).first()
    if match is None:
        raise NotFound(_("%(league)s has no match %(match)s.") % {"league": league.pk, "match": match_id})
    return match


api.add_router("/api", router)
api.add_router("/api/protocol", protocol.router)
api.add_router("/api", checks.router)
api.add_router("/api", corrections.router)
api.add_router("/api", events.router)
api.add_router("/api", ledger.router)
api.add_router("/api", gateways.router)
api.add_router("/api", notices.router)
