"""The API of what an instructor does: an endpoint for each row of the table of actions that has one."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Status

from leaguesite.api import gateways  # noqa: F401 - what it reads comes first: the metrics call the address so
from leaguesite.api.base import REFUSED, Refused, router
from leaguesite.api.keys import KEY
from leaguesite.api.leagues import find_match
from leaguesite.api.notices import Said
from matches.audience.pages import notices
from matches.desk import acting
from matches.desk.acting import DeskAction, Subject
from matches.desk.actions import ROWS
from matches.desk.options import GatewayMark
from matches.league import lifecycle
from matches.league.errors import NotFound
from matches.models import Notice
from matches.view import queries, referees, sight, summaries

Given = dict[str, Any]


class Side(NamedTuple):
    """How the API sees what actions are done to.

    Attributes:
        find: of what came in the path and in the body, what the verb is called with.
        answer: of the same and of what the verb returned, the answer.
        schema: of the answer in the document.
        refused: the same of a refusal, by its status.
    """

    find: Callable[[Given], Given]
    answer: Callable[[Given, Any], Any]
    schema: Any = dict
    refused: dict[int, Any] = REFUSED


def _league_line(came: Given, done: Any) -> Given:
    """The league as the instructor sees it."""
    return summaries.league_line(sight.everything(lifecycle.get_league(came["league_id"])))


def _find_match(came: Given) -> Given:
    find_match(came["league_id"], came["match_id"])
    return came


def _match_line(came: Given, done: Any) -> Given:
    match = find_match(came["league_id"], came["match_id"])
    return queries.match_line(match, sight.everything(match.league))


def _find_referee(came: Given) -> Given:
    referee = referees.find_referee(came["referee_id"].replace("\x00", "\ufffd"), came["league_id"])
    if referee is None:
        raise NotFound(_("There is no referee %(referee)s.") % {"referee": came["referee_id"]})
    return {"agent_ids": [referee.pk], "trusted": came["trusted"]}


def _referee_line(came: Given, done: Any) -> Given:
    return {name: came[name] for name in ("referee_id", "league_id", "trusted")}


def _find_host(came: Given) -> Given:
    return {"hosts": [came["host"]], "gateway": came["gateway"]}


def _host_line(came: Given, done: list[str]) -> Given:
    return {"host": done[0], "gateway": came["gateway"]}


def _notice_line(came: Given, done: Notice) -> Given:
    return notices.wire(done)


def _refused(*statuses: int) -> dict[int, Any]:
    return dict.fromkeys(statuses, Refused)


SIDES: dict[Subject, Side] = {
    acting.SITE: Side(dict, _league_line),
    acting.LEAGUE: Side(dict, _league_line),
    acting.MATCH: Side(_find_match, _match_line),
    acting.AGENT: Side(_find_referee, _referee_line),
    acting.GATEWAY: Side(_find_host, _host_line, GatewayMark, _refused(400, 401, 422, 429, 503)),
    acting.NOTICE: Side(dict, _notice_line, Said, _refused(400, 401, 404, 409, 422, 429)),
}
"""For each subject of which a row has an endpoint."""


def _add(action: DeskAction) -> None:
    """Add the endpoint of a row to the API."""
    way = action.api
    if way is None or way.by_hand:
        return
    side = SIDES[action.subject]

    def view(request: HttpRequest, **came: Any) -> Status[Any]:
        body = came.pop("options", None) or (way.options() if way.options is not None else None)
        came |= body.model_dump() if body is not None else {}
        done = acting.carry_out(action, by=None, **side.find(came))
        return Status(way.status, side.answer(came, done))

    # What the path and the body are, as Ninja reads it off a view that is written by hand.
    places = dict.fromkeys(re.findall(r"\{(\w+)\}", way.path), (str, Parameter.empty))
    if way.options is not None:
        needed = any(field.is_required() for field in way.options.model_fields.values())
        places["options"] = (way.options, Parameter.empty) if needed else (way.options | None, None)
    taken = [Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=HttpRequest)]
    taken += [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind, default=default)
        for name, (kind, default) in places.items()
    ]
    view.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    view.__name__, view.__doc__ = way.name, way.text
    router.add_api_operation(
        way.path,
        ["POST"],
        view,
        auth=KEY,
        tags=["instructor"],
        response={way.status: side.schema} | side.refused,
        operation_id=f"leaguesite_api_{way.module}_{way.name}",
    )


for one in ROWS:
    _add(one)
