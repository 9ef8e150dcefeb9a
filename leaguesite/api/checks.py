"""The API of the check: asking for one, and reading its report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Schema, Status
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from agents_registry.callers import Caller
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from leaguesite.api.base import Refusal, router
from leaguesite.api.keys import KEY
from matches.checks import asking, report
from matches.league.errors import NotFound


class NotDone(Refusal):
    """Why it is refused, and what to do."""


class Wanted(Schema):
    """What to check: with the instructor's key any address, else the caller's own or that of the token's agent."""

    model_config = ConfigDict(extra="forbid")
    endpoint: str = Field(default="", max_length=MAX_ENDPOINT_CHARS)
    role: str = Field(default="", max_length=40)
    game_type: str = Field(default="", max_length=64)
    auth_token: str = Field(default="", max_length=200)


@router.post(
    "/checks",
    tags=["check"],
    response={201: dict, 400: NotDone, 401: NotDone, 403: NotDone, 422: NotDone, 429: NotDone},
)
def ask_for_check(request: HttpRequest, wanted: Wanted) -> Status[dict[str, Any]]:
    """Have an agent checked against every message; one that is on its way for this address is returned as it is."""
    asked = asking.ask(
        endpoint=wanted.endpoint,
        role=wanted.role,
        game_type=wanted.game_type,
        token=wanted.auth_token,
        caller=_caller(request),
    )
    return Status(201, report.wire(asked))


@router.get("/checks/{check_id}", tags=["check"], response={200: dict, 404: NotDone})
def show_check(request: HttpRequest, check_id: str) -> dict[str, Any]:
    """A check; its report is there when it is DONE."""
    found = report.find(check_id)
    if found is None:
        raise NotFound(_("There is no such check: reports are kept for a while only."))
    return report.wire(found)


def _caller(request: HttpRequest) -> Caller:
    """Whoever calls, or the instructor by the API key. A key that is wrong is refused, not passed over."""
    if not request.headers.get("Authorization"):
        return request.caller
    if KEY(request) is None:
        raise HttpError(401, "")
    return replace(request.caller, instructor=True)
