"""Endpoints that only the instructor may read: they show what the actions (POST) at or below the same paths change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from django.http import HttpRequest, HttpResponse
from typing_extensions import TypedDict

from agents_registry.addresses import programs
from agents_registry.models import Kind, NameRefused
from agents_registry.names import lookalikes
from agents_registry.rosters import roster
from league_sdk.protocol.schemas.parts import one_of, says
from leaguesite.api.base import answer, refusals, router
from leaguesite.api.keys import KEY
from matches.league.leagues import get_league
from matches.models import League, RoleName
from matches.view import summaries
from matches.view.rows import FreezeRow

REFUSALS_OF_ONE = refusals(401, 404, 429)
_View = TypeVar("_View", bound=Callable[..., HttpResponse])


class SettingsRow(TypedDict):
    """A league's name and settings."""

    league_id: Annotated[str, says("The league.")]
    display_name: Annotated[str, says("Its name.")]
    settings: Annotated[
        dict[str, bool | int | float | str | None],
        says("Every setting by name, also `registration_code`, the class code; times in seconds."),
    ]


class PlanRow(TypedDict):
    """The planned start of a league."""

    league_id: Annotated[str, says("The league.")]
    when: Annotated[datetime | None, says("When it starts, in UTC; null: no start is planned.")]
    all_rounds: Annotated[bool, says("Whether every later round follows by itself.")]


class RoleRow(TypedDict):
    """A role in a league."""

    number: Annotated[int, says("Its number, by which it is taken away.")]
    username: Annotated[str, says("The user.")]
    name: Annotated[str, one_of(RoleName.values), says("The role.")]


class PersonRow(TypedDict):
    """A person on the roster."""

    number: Annotated[int, says("The person's number, by which it is removed.")]
    name: Annotated[str, says("The name.")]
    email: Annotated[str, says("The e-mail address.")]
    code: Annotated[str, says("The personal code, a secret of that person.")]
    agents: Annotated[list[str], says("The ids of the person's agents.")]


class NameRow(TypedDict):
    """A registration that was refused because its name looks like another's."""

    number: Annotated[int, says("Its number, by which it is let in or put aside.")]
    kind: Annotated[str, one_of(Kind.values), says("What wanted to register.")]
    name: Annotated[str, says("The name that it gave.")]
    endpoint: Annotated[str, says("The address that it gave.")]
    caller: Annotated[str, says("The IP address it came from; empty when a proxy hides it.")]
    resembles: Annotated[str, says("The id of the agent whose name it looks like.")]
    at: Annotated[datetime, says("When it came last, in UTC.")]


def settings_row(league: League) -> SettingsRow:
    """Name and settings of a league."""
    return {"league_id": league.pk, "display_name": league.display_name, "settings": league.rules.model_dump()}


def plan_row(league: League) -> PlanRow:
    """The planned start of a league."""
    return {"league_id": league.pk, "when": league.starts_at, "all_rounds": league.starts_all}


def role_rows(league: League) -> list[RoleRow]:
    """Who has which role in a league."""
    held = league.roles.select_related("user").order_by("-name", "user__username")
    return [{"number": role.pk, "username": role.user.get_username(), "name": role.name} for role in held]


def _name_row(row: NameRefused) -> NameRow:
    return {
        "number": row.pk,
        "kind": row.kind,
        "name": row.name,
        "endpoint": row.endpoint,
        "caller": row.caller,
        "resembles": row.resembles.code,
        "at": row.at,
    }


def _read(path: str, row: Any, action: str) -> Callable[[_View], _View]:
    """The decorator of an endpoint at ``path``.

    Args:
        row: the schema of the answer.
        action: the name under which the metrics count requests of this path: that of the action at it, if there is
            one.
    """
    decorator: Callable[[_View], _View] = router.get(
        f"/leagues/{{league_id}}{path}",
        auth=KEY,
        tags=["instructor"],
        response={200: row} | REFUSALS_OF_ONE,
        url_name=action,
    )
    return decorator


@router.get(
    "/gateways",
    auth=KEY,
    tags=["instructor"],
    response={200: list[str]} | refusals(401, 429),
    operation_id="leaguesite_api_gateways_show_gateways",
)
def show_gateways(request: HttpRequest) -> list[str]:
    """The hosts that are marked as gateways."""
    return sorted(programs.gateways())


@_read("/settings", SettingsRow, "change_settings")
def show_settings(request: HttpRequest, league_id: str) -> HttpResponse:
    """Name and settings of a league."""
    return answer(settings_row(get_league(league_id)))


@_read("/plan", PlanRow, "plan_start")
def show_plan(request: HttpRequest, league_id: str) -> HttpResponse:
    """The planned start of a league."""
    return answer(plan_row(get_league(league_id)))


@_read("/freeze", FreezeRow, "plan_freeze")
def show_freeze(request: HttpRequest, league_id: str) -> HttpResponse:
    """From which round on the public sees no results, and how much of the end is unveiled."""
    return answer(summaries.freeze_row(get_league(league_id)))


@_read("/roles", list[RoleRow], "give_role")
def show_roles(request: HttpRequest, league_id: str) -> HttpResponse:
    """Who has which role in a league; superusers need none."""
    return answer(role_rows(get_league(league_id)))


@_read("/roster", list[PersonRow], "import_roster")
def show_roster(request: HttpRequest, league_id: str) -> HttpResponse:
    """Who may bring agents to a league, with their personal codes and their agents. The same as CSV: `roster.csv`."""
    people: list[PersonRow] = [
        {
            "number": person.pk,
            "name": person.name,
            "email": person.email,
            "code": person.code,
            "agents": [agent.code for agent in person.agents.all()],
        }
        for person in roster.people(get_league(league_id).pk)
    ]
    return answer(people)


@_read("/names", list[NameRow], "show_names")
def show_names(request: HttpRequest, league_id: str) -> HttpResponse:
    """Registrations that were refused because their names look like others', and that nobody has let in."""
    rows = lookalikes.refused(league_id=get_league(league_id).pk)
    return answer([_name_row(row) for row in rows])
