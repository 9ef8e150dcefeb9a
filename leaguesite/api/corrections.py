"""The API of corrections: a look before, making one, the list, undoing one. With the instructor's key only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import ConfigDict, Field

from leaguesite.api.base import Refused, router
from leaguesite.api.keys import KEY
from matches.desk import acting
from matches.desk.actions import ACTIONS
from matches.league import lifecycle
from matches.league.corrections import queries as correction_queries
from matches.league.corrections.plans import Wish, checked_reason
from matches.league.corrections.queries import Preview, correction_line
from matches.view import queries
from matches.words.corrections import change_lines


class Wanted(Schema):
    """A correction. ``match_id`` is for void, replay and set_result, ``player_id`` for the others."""

    model_config = ConfigDict(extra="forbid", strict=True)
    kind: str = Field(description="void, replay, set_result, withdraw, disqualify or points")
    reason: str = Field(description="3 to 300 characters; everybody reads it.")
    match_id: str = ""
    player_id: str = ""
    status: str = Field("", description="For set_result: WIN, DRAW or TECHNICAL_LOSS.")
    winner: str | None = Field(None, description="For set_result: a player id; null with TECHNICAL_LOSS: both absent.")
    points: int = Field(0, description="For points: -1000 to 1000.")
    matches_become: str = Field("", description="For withdraw and disqualify: keep, void or lose.")
    preview: bool = Field(False, description="Only say what it would do.")
    fingerprint: str | None = Field(None, description="That of a preview: refused when it would do something else now.")


class Undo(Schema):
    """Why a correction is undone."""

    model_config = ConfigDict(extra="forbid", strict=True)
    reason: str
    preview: bool = False
    fingerprint: str | None = None


REFUSED = {400: Refused, 401: Refused, 404: Refused, 409: Refused, 422: Refused, 429: Refused}
DONE = {200: dict, 201: dict, **REFUSED}


@router.post("/leagues/{league_id}/corrections", auth=KEY, tags=["instructor"], response=DONE)
def correct(request: HttpRequest, league_id: str, wanted: Wanted) -> Status[dict[str, Any]]:
    """Change what counts: 201 with the correction; with ``preview`` 200 with the table before and after."""
    league = lifecycle.get_league(league_id)
    wish = Wish(**wanted.model_dump(exclude={"preview", "fingerprint"}))
    if wanted.preview:
        plan = correction_queries.plan_for(league, replace(wish, reason=checked_reason(wish.reason)))
        return Status(200, _shown(correction_queries.preview(league, plan)))
    given = {"wish": wish, "fingerprint": wanted.fingerprint}
    made = acting.carry_out(ACTIONS[acting.CORRECTION, "make"], by=None, league_id=league.pk, **given)
    return Status(201, correction_line(made))


@router.get("/leagues/{league_id}/corrections", auth=KEY, tags=["instructor"], response={200: list[dict], **REFUSED})
def list_corrections(request: HttpRequest, league_id: str) -> list[dict[str, Any]]:
    """Every correction of a league, undone ones too, the newest first."""
    return [correction_line(one) for one in correction_queries.corrections_made(lifecycle.get_league(league_id))]


@router.post("/leagues/{league_id}/corrections/{int:number}/undo", auth=KEY, tags=["instructor"], response=DONE)
def undo(request: HttpRequest, league_id: str, number: int, wanted: Undo) -> Status[dict[str, Any]]:
    """Put everything back that a correction changed; the latest of a match or player first."""
    league = lifecycle.get_league(league_id)
    if wanted.preview:
        plan = correction_queries.plan_to_undo(league, number, checked_reason(wanted.reason))
        return Status(200, _shown(correction_queries.preview(league, plan)))
    given = {"number": number, "reason": wanted.reason, "fingerprint": wanted.fingerprint}
    undone = acting.carry_out(ACTIONS[acting.CORRECTION, "undo"], by=None, league_id=league.pk, **given)
    return Status(200, correction_line(undone))


def _shown(preview: Preview) -> dict[str, Any]:
    return {
        "fingerprint": preview.plan.fingerprint,
        "warnings": preview.warnings,
        "matches": change_lines(preview.plan),
        "before": [queries.wire_row(line.row) for line in preview.before],
        "after": [
            queries.wire_row(line.row)
            | {"points_by": line.points_by, "places_up": line.places_up, "changed": line.changed, "out": line.row.out}
            for line in preview.after
        ],
    }
