"""Endpoints of whole files: the export of a league, its evidence sheets and its roster, and the import of a league."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from django.http import FileResponse, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import File, UploadedFile
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from agents_registry.isolating import plain
from agents_registry.rosters import roster
from league_sdk.ledger.documents import LEAGUE_FORMAT
from league_sdk.protocol.schemas.parts import says
from leaguesite.api.base import answer, refusals, router
from leaguesite.api.keys import KEY
from matches.desk import acting, papers
from matches.desk.actions import ACTIONS
from matches.league.errors import NotFound
from matches.league.leagues import get_league
from matches.view import sight, summaries
from matches.view.rows import LeagueRow

REFUSED = refusals(401, 404, 429)
_Items = list[dict[str, Any]]


@with_config(ConfigDict(extra="allow"))
class Export(TypedDict):
    """The document of a whole league, league.json; docs/exports.md describes its lists."""

    format: Annotated[str, says(f"The form of this document: {LEAGUE_FORMAT}.")]
    written_by: Annotated[str, says("The program and its version.")]
    people: Annotated[bool, says("Whether it has what only the instructor may see.")]
    league: Annotated[dict[str, Any], says("The league: name, game, settings, state.")]
    roster: NotRequired[Annotated[_Items, says("The people; empty without `people`.")]]
    agents: Annotated[_Items, says("Players and referees.")]
    rounds: Annotated[_Items, says("The rounds.")]
    events: Annotated[_Items, says("The events, links of the chain.")]
    corrections: Annotated[_Items, says("The corrections.")]
    notices: Annotated[_Items, says("What the instructor said.")]
    checks: Annotated[_Items, says("The checks of its agents; empty without `people`.")]
    matches: Annotated[_Items, says("The matches with their transcripts.")]


class Imported(TypedDict):
    """A league that was imported."""

    league: Annotated[LeagueRow, says("The league.")]
    matches: Annotated[int, says("How many matches it has.")]
    stopped: Annotated[bool, says("Whether it was still being played where it comes from; here it is stopped.")]
    ledger: Annotated[str, says("Whether the chain of its events holds, in a sentence.")]


def _files(**schemas: Any) -> dict[str, Any]:
    """What the OpenAPI document says of an answer that is a file, by media type."""
    content = {media: {"schema": schema} for media, schema in schemas.items()}
    return {"responses": {200: {"description": "The file.", "content": content}}}


_BYTES, _TEXT = {"type": "string", "format": "binary"}, {"type": "string"}
_EXPORT = _files(
    **{
        "application/json": TypeAdapter(Export).json_schema(),
        "application/zip": _BYTES,
        "text/csv": _TEXT,
    }
)


@router.get(
    "/leagues/{league_id}/export/{name}",
    auth=KEY,
    tags=["instructor"],
    response=refusals(401, 404, 422, 429),
    openapi_extra=_EXPORT,
)
def export(request: HttpRequest, league_id: str, name: str, people: bool = False) -> FileResponse:
    """The whole league: league.json, league.zip, or a table such as standings.csv; `people` includes what only the
    instructor may see. docs/exports.md lists the tables."""
    file = papers.export(get_league(league_id), name, people=people, by=None)
    if file is None:
        raise NotFound(_("There is no file of this name."))
    return file


@router.get(
    "/leagues/{league_id}/evidence",
    auth=KEY,
    tags=["instructor"],
    response=REFUSED,
    openapi_extra=_files(**{"text/html": _TEXT}),
)
def show_evidence(request: HttpRequest, league_id: str, player: str = "") -> HttpResponse:
    """The evidence sheets as a page to print; of one player, or of all."""
    page = papers.sheets(request, get_league(league_id), player, by=None)
    if page is None:
        raise NotFound(_("There is no agent %(agent)s in %(league)s.") % {"agent": player, "league": league_id})
    return page


@router.get(
    "/leagues/{league_id}/roster.csv",
    auth=KEY,
    tags=["instructor"],
    response=REFUSED,
    openapi_extra=_files(**{"text/csv": _TEXT}),
)
def export_roster(request: HttpRequest, league_id: str) -> HttpResponse:
    """The roster with its personal codes, as `POST roster` takes it."""
    content = roster.export_csv(get_league(league_id).pk)
    return HttpResponse(content, content_type="text/csv; charset=utf-8")


@router.post(
    "/import",
    auth=KEY,
    tags=["instructor"],
    response={201: Imported} | refusals(401, 409, 422, 429),
    operation_id="leaguesite_api_routes_import_league",
)
def import_league(request: HttpRequest, file: File[UploadedFile]) -> HttpResponse:
    """Take a league from its export, league.json or the ZIP, as history: it can be read, and not played on."""
    done = acting.carry_out(ACTIONS[acting.SITE, "import"], by=None, file=file)
    row: Imported = {
        "league": summaries.league_row(sight.everything(done.league)),
        "matches": done.matches,
        "stopped": done.stopped,
        "ledger": plain(done.ledger),
    }
    return answer(row, status=201)
