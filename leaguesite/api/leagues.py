"""Endpoints that everybody may read: leagues, tables, rounds, matches, agents, notices and games."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from django.http import HttpRequest, HttpResponse
from ninja.errors import HttpError

from league_sdk.protocol.masking import without_addresses
from leaguesite.api.base import answer, refusals, router
from leaguesite.api.keys import KEY
from matches.audience.pages import notices
from matches.audience.pages.notices import NoticeRow
from matches.league.errors import Invalid
from matches.league.leagues import find_match, get_league
from matches.models import League
from matches.view import kept, lists, luck, queries, sight, summaries
from matches.view.rows import AgentRow, GameRegistry, LeagueRow, LuckRow, MatchDetail, MatchRow, RoundRow, StandingsRow
from matches.view.sight import View

REFUSALS_OF_ONE = refusals(401, 404, 429)
REFUSALS_OF_LIST = refusals(401, 404, 422, 429)
_HEADERS = {
    "X-Next-Cursor": "Only if there are more rows: send it as `cursor` for the next part.",
    "X-Total": "How many rows there are in all (of the schedule: matches); only if there are more than those sent, or "
    "if `limit` or `cursor` was.",
}
IN_PARTS = {
    "responses": {
        200: {"headers": {name: {"description": text, "schema": {"type": "string"}} for name, text in _HEADERS.items()}}
    }
}
"""For the OpenAPI document: the headers of a list that comes in parts."""
_listed = partial(router.get, tags=["public"], openapi_extra=IN_PARTS)


# ``url_name`` here and below: the metrics count requests by path, under the name of the action that has the same path.
@router.get("/leagues", tags=["public"], response={200: list[LeagueRow]} | refusals(), url_name="create_league")
def list_leagues(request: HttpRequest) -> HttpResponse:
    """Every league that is not in the archive."""
    shown = League.objects.filter(archived_at__isnull=True)
    return answer(summaries.league_rows(shown.order_by("-created_at")))


@router.get("/leagues/{league_id}", tags=["public"], response={200: LeagueRow} | REFUSALS_OF_ONE)
def show_league(request: HttpRequest, league_id: str) -> HttpResponse:
    """One league: its status, its current round, how many rounds and matches there are and are done, its champion."""
    return answer(summaries.league_row(_view(request, league_id)))


@_listed("/leagues/{league_id}/standings", response={200: list[StandingsRow]} | REFUSALS_OF_LIST)
def show_standings(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """The table as it is now, or as it was when the board was frozen."""
    return _list(request, league_id, "standings", lists.standings)


@router.get("/leagues/{league_id}/luck", tags=["public"], response={200: LuckRow} | REFUSALS_OF_ONE)
def show_luck(request: HttpRequest, league_id: str) -> HttpResponse:
    """How much of the table is luck (docs/luck.md): computed a while after each round, so empty at first."""
    return answer(luck.row(_view(request, league_id)))


@_listed("/leagues/{league_id}/rounds", response={200: list[RoundRow]} | REFUSALS_OF_LIST)
def show_rounds(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """The schedule with the state of every round and match; ``limit`` counts matches."""
    return _list(request, league_id, "rounds", partial(lists.schedule, for_messages=False))


@_listed("/leagues/{league_id}/matches", response={200: list[MatchRow]} | REFUSALS_OF_LIST)
def show_matches(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """Every match."""
    return _list(request, league_id, "matches", lists.matches)


@router.get("/leagues/{league_id}/matches/{match_id}", tags=["public"], response={200: MatchDetail} | REFUSALS_OF_ONE)
def show_match(request: HttpRequest, league_id: str, match_id: str) -> HttpResponse:
    """One match: lifecycle with times, transcript, result; with ``?as=staff`` and the key also addresses, and
    answers that are not messages of the league."""
    staff = _asks_for_staff(request)
    view = _view(request, league_id)
    match = queries.match_detail(find_match(league_id, match_id), view, staff=staff)
    return answer(match if staff else without_addresses(match))


@_listed("/leagues/{league_id}/agents", response={200: list[AgentRow]} | REFUSALS_OF_LIST)
def show_agents(request: HttpRequest, league_id: str, limit: str = "", cursor: str = "") -> HttpResponse:
    """Players and referees; no token, no address."""
    return _list(request, league_id, "agents", lambda view, want: lists.rows_of(queries.agents_of(view), want))


@router.get(
    "/leagues/{league_id}/notices",
    tags=["public"],
    response={200: list[NoticeRow]} | REFUSALS_OF_ONE,
    url_name="say",
    operation_id="leaguesite_api_notices_show_notices",
)
def show_notices(request: HttpRequest, league_id: str) -> HttpResponse:
    """What the instructor has said to the room, the latest first; with ``?as=staff`` and the key also what was said to
    the owner of one player."""
    league = get_league(league_id)
    shown = notices.for_instructor(league) if _may_see_all(request) else notices.to_room(league)
    return answer([notices.api_row(notice) for notice in shown])


@router.get("/games", tags=["public"], response={200: GameRegistry} | refusals())
def show_games(request: HttpRequest) -> HttpResponse:
    """The games registry (ruling, section 7)."""
    return answer(queries.game_registry())


def _view(request: HttpRequest, league_id: str) -> View:
    """A league as the caller may see it; ``?as=staff`` with the instructor's key shows what a freeze hides, too."""
    league = get_league(league_id)
    return sight.view(league, staff=_may_see_all(request))


def _list(
    request: HttpRequest, league_id: str, name: str, make: Callable[[View, lists.Wanted], lists.Part]
) -> HttpResponse:
    """Answer with a list that grows with a league, at most 1 MiB of it; headers hold the next cursor and the total."""
    try:
        want = lists.wanted(request.GET.get("limit"), request.GET.get("cursor"))
    except lists.NotUsable as error:
        raise Invalid(str(error), field=error.field) from None
    staff = _asks_for_staff(request)
    view = _view(request, league_id) if staff else None
    league = view.league if view is not None else get_league(league_id)

    def render(seen: View) -> bytes:
        part = make(seen, want)
        head = {
            f"X-{key.replace('_', '-').title()}": str(value)
            for key, value in part.more(want).items()
            if value is not None
        }
        return json.dumps(head).encode() + b"\n" + part.rows.encode()

    head, _newline, rows = kept.answer(league, ("api", name, staff, want), view, render).partition(b"\n")
    return HttpResponse(rows, content_type="application/json; charset=utf-8", headers=json.loads(head))


def _asks_for_staff(request: HttpRequest) -> bool:
    """Whether the request asks for the staff's view; :func:`_may_see_all` checks that the caller may have it."""
    return request.GET.get("as") == "staff"


def _may_see_all(request: HttpRequest) -> bool:
    """Whether the staff's view is asked for, by a caller with the key.

    Raises:
        HttpError: 401, the staff's view is asked for without the key.
    """
    staff = _asks_for_staff(request)
    if staff and not KEY(request):
        raise HttpError(401, "")
    return staff
