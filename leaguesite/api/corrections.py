"""Endpoints of corrections, with the instructor's key only: preview, make, list, undo."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Schema
from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from league_sdk.protocol.schemas.parts import says
from leaguesite.api.base import answer, refusals, router
from leaguesite.api.keys import KEY
from matches.desk import acting
from matches.desk.actions import ACTIONS, correcting
from matches.league.corrections import queries as correction_queries
from matches.league.corrections.plans import Wish, checked_reason
from matches.league.corrections.queries import CorrectionRow, Preview, correction_row
from matches.league.leagues import get_league
from matches.view import queries
from matches.view.rows import StandingsRow
from matches.words.corrections import ChangeRow, change_rows


class CorrectionWanted(Schema):
    """A correction. ``match_id`` is for void, replay and set_result, ``player_id`` for the others."""

    model_config = ConfigDict(extra="forbid", strict=True)
    kind: str = Field(description="void, replay, set_result, withdraw, disqualify or points")
    reason: str = Field(description="3 to 300 characters; everybody reads it.")
    match_id: str = Field("", description="The match, for void, replay and set_result.")
    player_id: str = Field("", description="The player, for withdraw, disqualify and points.")
    status: str = Field("", description="For set_result: WIN, DRAW or TECHNICAL_LOSS.")
    winner: str | None = Field(None, description="For set_result: a player id; null with TECHNICAL_LOSS: both absent.")
    points: int = Field(0, description="For points: -1000 to 1000.")
    matches_become: str = Field("", description="For withdraw and disqualify: keep, void or lose.")
    preview: bool = Field(False, description="Only say what it would do.")
    fingerprint: str | None = Field(None, description="That of a preview; refused if something else would change now.")


class Undo(Schema):
    """Why a correction is undone, and whether only to show what that would do."""

    model_config = ConfigDict(extra="forbid", strict=True)
    reason: str = Field(description="3 to 300 characters; everybody reads it.")
    preview: bool = Field(False, description="Only say what it would do.")
    fingerprint: str | None = Field(None, description="That of a preview; refused if something else would change now.")


class RowAfter(StandingsRow):
    """A row of the table after a correction."""

    points_by: Annotated[int, says("By how much the points would change.")]
    places_up: Annotated[int, says("How many places higher the player would be; below 0: lower.")]
    changed: Annotated[bool, says("Whether the row would differ at all.")]
    out: Annotated[str | None, says("Why the player would be out, withdrawn or disqualified; null: it is not.")]


class PreviewShown(TypedDict):
    """What a correction would do."""

    fingerprint: Annotated[str, says("Send it with the correction, which is refused if it would do something else.")]
    warnings: Annotated[list[str], says("Sentences to consider.")]
    matches: Annotated[list[ChangeRow], says("The matches that it would change.")]
    before: Annotated[list[StandingsRow], says("The table as it is.")]
    after: Annotated[list[RowAfter], says("The table as it would be.")]


REFUSED = refusals(401, 404, 409, 422, 429)


@router.post(
    "/leagues/{league_id}/corrections",
    auth=KEY,
    tags=["instructor"],
    response={200: PreviewShown, 201: CorrectionRow} | REFUSED,
)
def correct(request: HttpRequest, league_id: str, body: CorrectionWanted) -> HttpResponse:
    """Change what counts: 201 with the correction. With ``preview`` change nothing: 200, the table before and after."""
    league = get_league(league_id)
    wish = Wish(**body.model_dump(exclude={"preview", "fingerprint"}))
    if body.preview:
        plan = correction_queries.plan_for(league, replace(wish, reason=checked_reason(wish.reason)))
        return answer(_shown(correction_queries.preview(league, plan)))
    arguments: dict[str, Any] = {"wish": wish, "fingerprint": body.fingerprint}
    made = acting.carry_out(correcting(wish.kind), by=None, league_id=league.pk, **arguments)
    return answer(correction_row(made), status=201)


@router.get(
    "/leagues/{league_id}/corrections",
    auth=KEY,
    tags=["instructor"],
    response={200: list[CorrectionRow]} | refusals(401, 404, 429),
)
def list_corrections(request: HttpRequest, league_id: str) -> HttpResponse:
    """Every correction of a league, undone ones too, the newest first."""
    made = correction_queries.corrections_made(get_league(league_id))
    return answer([correction_row(correction) for correction in made])


@router.post(
    "/leagues/{league_id}/corrections/{int:number}/undo",
    auth=KEY,
    tags=["instructor"],
    response={200: PreviewShown | CorrectionRow} | REFUSED,
)
def undo(request: HttpRequest, league_id: str, number: int, body: Undo) -> HttpResponse:
    """Put everything back that a correction changed. Of several of one match or one player, undo the latest first."""
    league = get_league(league_id)
    if body.preview:
        plan = correction_queries.plan_to_undo(league, number, checked_reason(body.reason))
        return answer(_shown(correction_queries.preview(league, plan)))
    arguments: dict[str, Any] = {"number": number, "reason": body.reason, "fingerprint": body.fingerprint}
    undone = acting.carry_out(ACTIONS[acting.CORRECTION, "undo"], by=None, league_id=league.pk, **arguments)
    return answer(correction_row(undone))


def _shown(preview: Preview) -> PreviewShown:
    return {
        "fingerprint": preview.plan.fingerprint,
        "warnings": preview.warnings,
        "matches": change_rows(preview.plan),
        "before": [queries.wire_row(line.row) for line in preview.before],
        "after": [
            {
                **queries.wire_row(line.row),
                "points_by": line.points_by,
                "places_up": line.places_up,
                "changed": line.changed,
                "out": line.row.out,
            }
            for line in preview.after
        ],
    }
