"""Endpoints of practice matches: asking for one, and reading its report."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Schema
from pydantic import ConfigDict, Field

from agents_registry.addresses.callers import sender_of
from leaguesite.api.base import answer, refusals, router
from matches.checks import practices, practising
from matches.checks.practices import PracticeRow
from matches.league.errors import NotFound


class PracticeWanted(Schema):
    """Who plays what. The agent is called by the way that it registered, at no address that is named here."""

    model_config = ConfigDict(extra="forbid")
    auth_token: str = Field(max_length=200, description="The agent's token.")
    game_type: str = Field(default="", max_length=64, description="One that it plays; empty: that of its league.")
    opponent: str = Field(default="medium", max_length=40, description="The house agent: easy, medium or hard.")
    second: bool = Field(default=False, description="The house agent is PLAYER_A, who begins in games with turns.")


@router.post("/practice", tags=["check"], response={201: PracticeRow} | refusals(403, 422, 429))
def ask_for_practice(request: HttpRequest, body: PracticeWanted) -> HttpResponse:
    """Have an agent play a house agent, outside any league. One like it that is not over yet is returned instead."""
    practice = practising.ask_with_token(
        token=body.auth_token,
        caller=sender_of(request),
        opponent=body.opponent,
        game_type=body.game_type,
        second=body.second,
    )
    return answer(practices.api_row(practice), status=201)


@router.get("/practice/{practice_id}", tags=["check"], response={200: PracticeRow} | refusals(404))
def show_practice(request: HttpRequest, practice_id: str) -> HttpResponse:
    """A practice match, with what was played so far."""
    practice = practices.find(practice_id)
    if practice is None:
        raise NotFound(_("There is no such practice match: reports are kept for a while only."))
    return answer(practices.api_row(practice))
