"""The API of what everybody may read of leagues: themselves, their tables, rounds, matches and agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja.errors import HttpError

from leaguesite.api.base import Refusal, router
from leaguesite.api.keys import KEY
from matches.league import lifecycle
from matches.league.errors import Invalid, NotFound
from matches.models import League, Match
from matches.view import kept, lists, queries, sight, summaries
from matches.view.masking import without_addresses
from matches.view.sight import View

SHOWN = {200: dict, 401: Refusal, 404: Refusal, 429: Refusal, 503: Refusal}
LISTED = {200: list[dict], 401: Refusal, 404: Refusal, 422: Refusal, 429: Refusal, 503: Refusal}


# The first name of an address is what the metrics call it: it was written beside the action of the same path.
@router.get("/leagues", tags=["public"], response=list[dict], url_name="create_league")
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
    found = queries.match_detail(find_match(league_id, match_id), view, staff=staff)
    return found if staff else dict(without_addresses(found))


@router.get("/leagues/{league_id}/agents", tags=["public"], response=LISTED)
def show_agents(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """Players and referees; no token, no address."""
    return _list(request, league_id, "agents", lambda view, want: lists.rows_of(queries.agents_of(view), want))


@router.get("/games", tags=["public"], response=dict)
def show_games(request: HttpRequest) -> dict[str, Any]:
    """The games registry (ruling, section 7)."""
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


def find_match(league_id: str, match_id: str) -> Match:
    """A match of a league.

    Raises:
        NotFound: there is no such league, or no such match in it.
    """
    league = lifecycle.get_league(league_id)
    # No id holds a NUL, and PostgreSQL would not even look for one.
    wanted = match_id.replace("\x00", "\ufffd")
    match = queries.matches_of(league).select_related("league").filter(match_id=wanted).first()
    if match is None:
        raise NotFound(_("%(league)s has no match %(match)s.") % {"league": league.pk, "match": match_id})
    return match
