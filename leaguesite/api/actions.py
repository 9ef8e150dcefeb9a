"""The API of what an instructor does to leagues, matches and referees."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Schema, Status
from pydantic import ConfigDict

from agents_registry import registration
from leaguesite.api.base import REFUSED, router
from leaguesite.api.keys import KEY
from leaguesite.api.leagues import find_match
from matches.league import lifecycle, opening, play, results
from matches.league.errors import NotFound
from matches.models import League
from matches.view import queries, referees, sight, summaries


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
    find_match(league_id, match_id)
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
    find_match(league_id, match_id)
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


def _line(league: League) -> dict[str, Any]:
    """A league as the instructor sees it."""
    return summaries.league_line(sight.everything(league))


def _match_line(league_id: str, match_id: str) -> dict[str, Any]:
    match = find_match(league_id, match_id)
    return queries.match_line(match, sight.everything(match.league))
