"""Endpoints of the check of an agent: asking for one, and reading its report."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Schema
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from agents_registry.addresses.callers import Caller, sender_of
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from leaguesite.api.base import answer, refusals, router
from leaguesite.api.keys import KEY
from matches.checks import asking, report
from matches.checks.report import CheckRow
from matches.league.errors import NotFound


class CheckWanted(Schema):
    """What to check. With the instructor's key any address; else the caller's own or that of the token's agent."""

    model_config = ConfigDict(extra="forbid")
    endpoint: str = Field(
        default="", max_length=MAX_ENDPOINT_CHARS, description="Its address; empty: that of the token's agent."
    )
    role: str = Field(default="", max_length=40, description="player, referee or manager; empty: as it registered.")
    game_type: str = Field(default="", max_length=64, description="The game to play; empty: those the agent plays.")
    auth_token: str = Field(default="", max_length=200, description="The agent's token, if it is registered.")


@router.post("/checks", tags=["check"], response={201: CheckRow} | refusals(401, 403, 422, 429))
def ask_for_check(request: HttpRequest, body: CheckWanted) -> HttpResponse:
    """Have an agent checked against every message. A check of this address that is not done yet is returned instead."""
    check = asking.ask(
        endpoint=body.endpoint,
        role=body.role,
        game_type=body.game_type,
        token=body.auth_token,
        caller=_caller(request),
    )
    return answer(report.api_row(check), status=201)


@router.get("/checks/{check_id}", tags=["check"], response={200: CheckRow} | refusals(404))
def show_check(request: HttpRequest, check_id: str) -> HttpResponse:
    """A check; it has a report when it is DONE."""
    check = report.find(check_id)
    if check is None:
        raise NotFound(_("There is no such check: reports are kept for a while only."))
    return answer(report.api_row(check))


def _caller(request: HttpRequest) -> Caller:
    """The caller, or the instructor if the API key is sent. A wrong key is refused, not ignored."""
    if not request.headers.get("Authorization"):
        return sender_of(request)
    if not KEY(request):
        raise HttpError(401, "")
    return replace(sender_of(request), instructor=True)
