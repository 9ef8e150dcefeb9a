"""How the API handles an instructor's actions (``matches/desk/actions.py``), by their subject: a league, a match, ...

For each kind of subject: how the fields of a request become the arguments of the action, and what the API answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from typing_extensions import TypedDict

from agents_registry.models import Agent, RosterEntry
from agents_registry.rosters.roster import Counts
from league_sdk.protocol.schemas.parts import says
from league_sdk.protocol.transcript import is_storable
from leaguesite.api.base import refusals
from leaguesite.api.staff import (
    PlanRow,
    RoleRow,
    SettingsRow,
    plan_row,
    role_rows,
    settings_row,
)
from matches.audience.pages import notices
from matches.audience.pages.notices import NoticeRow
from matches.checks import report
from matches.checks.report import CheckRow
from matches.desk import acting
from matches.desk.acting import DeskAction, Subject
from matches.desk.facts import agents
from matches.desk.options import GatewayMark
from matches.desk.targets import MAX_BIGINT
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.league.leagues import find_match, get_league, refuse_demo
from matches.models import League
from matches.view import queries, referees, sight, summaries
from matches.view.rows import AgentRow, FreezeRow, LeagueRow, MatchRow, ScreenRow
from matches.view.screens import steering

Fields = dict[str, Any]
WITH_LEAGUE = refusals(401, 404, 409, 422, 429)


class RefereeRow(TypedDict):
    """Whether a referee is given matches."""

    referee_id: Annotated[str, says("The referee.")]
    league_id: Annotated[str | None, says("Its league; null: it judges in every league.")]
    trusted: Annotated[bool, says("Whether it is given matches.")]


class NameDecided(TypedDict):
    """What became of a name that looks like another's."""

    number: Annotated[int, says("The number of the registration that was refused for its name.")]
    came_in: Annotated[
        bool, says("Whether the agent is in the league now; if it is not but was let in, it has to register again.")
    ]


class RosterImported(TypedDict):
    """What a roster file changed."""

    added: Annotated[int, says("People who are new.")]
    updated: Annotated[int, says("People whose name or code changed.")]
    unchanged: Annotated[int, says("People who were on the roster already, with the same name and code.")]


class RosterRemoved(TypedDict):
    """What was taken off a roster."""

    removed: Annotated[int, says("How many people were taken off.")]


class Handling(NamedTuple):
    """How the API handles one kind of subject, that is, of what an action changes.

    Attributes:
        find: turns the fields of path and body into the arguments of the function that carries the action out.
        answer: makes the answer from the same fields and from what that function returned.
        schema: the schema of the answer, for the API's OpenAPI document.
        refused: the schemas of refusals by HTTP status, for the same document.
    """

    find: Callable[[Fields], Fields]
    answer: Callable[[Fields, Any], Any]
    schema: Any
    refused: dict[int, Any] = WITH_LEAGUE


def _of_league(row: Callable[[League], Any]) -> Callable[[Fields, Any], Any]:
    """An answer that shows the league as it is now."""
    return lambda fields, _done: row(get_league(fields["league_id"]))


def _league_row(league: League) -> LeagueRow:
    return summaries.league_row(sight.everything(league))


def _screen_row(league: League) -> ScreenRow:
    now = steering(league.screen)
    return {"league_id": league.pk, "held": now.held, "featured": now.featured}


def _find_match(fields: Fields) -> Fields:
    find_match(fields["league_id"], fields["match_id"])
    return fields


def _match_row(fields: Fields, done: Any) -> MatchRow:
    match = find_match(fields["league_id"], fields["match_id"])
    return queries.match_row(match, sight.everything(match.league))


def _find_referee(fields: Fields) -> Fields:
    referee = referees.find_referee(fields["referee_id"].replace("\x00", "\ufffd"), fields["league_id"])
    if referee is None:
        raise NotFound(_("There is no referee %(referee)s.") % {"referee": fields["referee_id"]})
    return {"agent_ids": [referee.pk], "trusted": fields["trusted"]}


def _referee_row(fields: Fields, done: Any) -> RefereeRow:
    return {"referee_id": fields["referee_id"], "league_id": fields["league_id"], "trusted": fields["trusted"]}


def _agent(fields: Fields) -> Agent:
    """A player of a league, or a referee that could judge in it; of two with one id the league's own.

    Raises:
        NotFound: there is no such league, or no such agent in it.
    """
    league = get_league(fields["league_id"])
    matching = [agent for agent in agents(league) if agent.code == fields["agent_id"]]
    if not matching:
        named = {"agent": fields["agent_id"], "league": league.pk}
        raise NotFound(_("There is no agent %(agent)s in %(league)s.") % named)
    return min(matching, key=lambda agent: agent.league_id is None)


def _find_agent(fields: Fields) -> Fields:
    return {"agent_ids": [_agent(fields).pk]}


def _agent_row(fields: Fields, done: Any) -> AgentRow:
    return queries.agent_row(_agent(fields))


def _find_to_check(fields: Fields) -> Fields:
    agent = _agent(fields)
    if agent.site_key:
        raise ActionRefused(_("The site's own referees take matches from this site only: there is nothing to check."))
    return {"agent_ids": [agent.pk]}


def _edited(fields: Fields) -> Fields:
    """The agent with its new values, which the action then saves."""
    agent = _agent(fields)
    changed = [name for name in ("display_name", "trusted", "readmit", "owner") if fields[name] is not None]
    for name in changed:
        setattr(agent, name, _person(agent, fields[name]) if name == "owner" else fields[name])
    if not is_storable(agent.display_name):
        raise Invalid(
            _("%(field)s holds a character that cannot be stored.") % {"field": "display_name"}, field="display_name"
        )
    try:
        agent.clean_fields(exclude={one.name for one in Agent._meta.fields} - {"display_name"})
    except ValidationError as error:
        raise Invalid(f"display_name: {error.message_dict['display_name'][0]}", field="display_name") from None
    return {"agent": agent, "changed": changed}


def _person(agent: Agent, number: int) -> RosterEntry | None:
    """The person on the roster of an agent's league; None for 0."""
    if number == 0:
        return None
    person = RosterEntry.objects.filter(league_id=agent.league_id, pk=number).first() if agent.league_id else None
    if person is None:
        raise Invalid(_("There is no person %(number)d on the roster.") % {"number": number}, field="owner")
    return person


def _find_host(fields: Fields) -> Fields:
    return {"hosts": [fields["host"]], "gateway": fields["gateway"]}


def _host_row(fields: Fields, done: list[str]) -> Fields:
    return {"host": done[0], "gateway": fields["gateway"]}


def _find_time(fields: Fields) -> Fields:
    """The arguments of an action on a league's plan; only some of them set a time."""
    if "when" not in fields:
        return fields
    return {"league_id": fields["league_id"], "at": fields["when"], "all_rounds": fields["all_rounds"]}


def _find_numbered(fields: Fields) -> Fields:
    number = {"number": min(fields["number"], MAX_BIGINT)} if "number" in fields else {}
    return fields | number


def _name_decided(fields: Fields, done: Any) -> NameDecided:
    return {"number": fields["number"], "came_in": done is True}


def _real_league_id(fields: Fields) -> str:
    """The id of the league, which must not be the demo: at the desk, too, the demo has no roster and no roles.

    Raises:
        ActionRefused: it is the demo.
    """
    league = get_league(fields["league_id"])
    refuse_demo(league)
    return league.pk


def _find_role(fields: Fields) -> Fields:
    names: Fields = {name: fields[name] for name in ("username", "name") if name in fields}
    number: Fields = {"role_id": min(fields["number"], MAX_BIGINT)} if "number" in fields else {}
    return {"league_id": _real_league_id(fields), **names, **number}


def _imported(fields: Fields, done: Counts) -> RosterImported:
    return {"added": done.added, "updated": done.updated, "unchanged": done.unchanged}


def _removed(fields: Fields, done: int) -> RosterRemoved:
    return {"removed": done}


class Deleted(TypedDict):
    """What was deleted."""

    league_id: Annotated[str, says("The id that the league had.")]


_LEAGUE = Handling(dict, _of_league(_league_row), LeagueRow)
_OF_SUBJECT: dict[Subject, Handling] = {
    acting.SITE: _LEAGUE,
    acting.LEAGUE: _LEAGUE,
    acting.CROWD: _LEAGUE,
    acting.MATCH: Handling(_find_match, _match_row, MatchRow),
    acting.AGENT: Handling(_find_agent, _agent_row, AgentRow),
    acting.NAME: Handling(_find_numbered, _name_decided, NameDecided),
    acting.GATEWAY: Handling(_find_host, _host_row, GatewayMark, refusals(401, 422, 429)),
    acting.PLAN: Handling(_find_time, _of_league(plan_row), PlanRow),
    acting.FREEZE: Handling(dict, _of_league(summaries.freeze_row), FreezeRow),
    acting.SCREEN: Handling(dict, _of_league(_screen_row), ScreenRow),
    acting.NOTICE: Handling(_find_numbered, lambda _fields, done: notices.api_row(done), NoticeRow),
    acting.ROLE: Handling(_find_role, _of_league(role_rows), list[RoleRow]),
}
_OF_ACTION: dict[tuple[Subject, str], Handling] = {
    (acting.LEAGUE, "clone"): Handling(dict, lambda _fields, done: _league_row(done), LeagueRow),
    (acting.LEAGUE, "delete"): Handling(dict, lambda fields, _done: {"league_id": fields["league_id"]}, Deleted),
    (acting.LEAGUE, "edit"): Handling(dict, _of_league(settings_row), SettingsRow),
    (acting.LEAGUE, "add_player"): Handling(dict, lambda _fields, done: queries.agent_row(done), AgentRow),
    (acting.AGENT, "let_judge"): Handling(_find_referee, _referee_row, RefereeRow),
    (acting.AGENT, "check"): Handling(_find_to_check, lambda _fields, done: report.api_row(done[0]), CheckRow),
    (acting.AGENT, "edit"): Handling(_edited, _agent_row, AgentRow),
    (acting.ROSTER, "import"): Handling(
        lambda fields: {"league_id": _real_league_id(fields), "text": fields["text"]}, _imported, RosterImported
    ),
    (acting.ROSTER, "remove"): Handling(
        lambda fields: {"league_id": _real_league_id(fields), "entry_ids": fields["people"]}, _removed, RosterRemoved
    ),
}


def handling_of(action: DeskAction) -> Handling:
    """How the API handles an action: in its own way if it has one, else as every action of its subject."""
    return _OF_ACTION.get((action.subject, action.name)) or _OF_SUBJECT[action.subject]
