"""Finds what a button acts on: arguments of the verb and values for the sentences, from the URL and the form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from agents_registry.isolating import isolated
from agents_registry.models import NameRefused
from league_sdk.protocol.limits import MAX_ID_CHARS
from matches.desk import acting
from matches.desk.acting import DeskAction, Subject
from matches.desk.facts import agents
from matches.models import League
from matches.view.roles import Permission

Target = tuple[dict[str, Any], dict[str, Any]]
"""The arguments of the verb, and the values of placeholders in sentences."""
MAX_BIGINT = 2**63 - 1
"""The largest primary key that a database can compare."""
MAX_TICKED = 5000
"""How many people one request can remove from the roster."""


def _placed(request: HttpRequest, league: League, action: DeskAction, **place: Any) -> Target:
    """What the rest of the URL names."""
    return {"league_id": league.pk, **place}, {"match": place.get("match_id", "")}


def _agent(request: HttpRequest, league: League, action: DeskAction, number: int) -> Target:
    agent = next((agent for agent in agents(league) if agent.pk == number), None)
    if agent is None:
        raise Http404
    if agent.league_id is None and action.needs != Permission.RERUN and not request.user.is_superuser:
        # A referee that belongs to no league judges in all of them: only a superuser may decide.
        raise PermissionDenied
    return {"agent_ids": [agent.pk]}, {"agent": agent.code}


def _name(request: HttpRequest, league: League, action: DeskAction, number: int) -> Target:
    row = NameRefused.objects.filter(pk=number).first()
    if row is not None and row.league_id is None and not request.user.is_superuser:
        # A referee that belongs to no league judges in all of them: only a superuser may decide.
        raise PermissionDenied
    return {"league_id": league.pk, "number": number}, {"name": isolated(row.name) if row is not None else ""}


def _crowd(request: HttpRequest, league: League, action: DeskAction) -> Target:
    return {"league_id": league.pk, "address": request.POST.get("address", "")[:45]}, {}


def _gateway(request: HttpRequest, league: League, action: DeskAction) -> Target:
    hosts = request.POST.get("host", "").split(",")
    return {"league_id": league.pk, "hosts": hosts}, {"host": isolated(", ".join(hosts))}


def _screen(request: HttpRequest, league: League, action: DeskAction) -> Target:
    if action.name != "feature":
        return {"league_id": league.pk}, {}
    match_id = request.POST.get("match_id", "")[:MAX_ID_CHARS]
    return {"league_id": league.pk, "match_id": match_id}, {"match": isolated(match_id)}


def _roster(request: HttpRequest, league: League, action: DeskAction) -> Target:
    ticked = [int(pk) for pk in request.POST.getlist("person") if re.fullmatch("[0-9]{1,18}", pk)]
    return {"league_id": league.pk, "entry_ids": ticked[:MAX_TICKED]}, {}


FINDERS: dict[Subject, Callable[..., Target]] = {
    acting.LEAGUE: _placed,
    acting.MATCH: _placed,
    acting.AGENT: _agent,
    acting.NAME: _name,
    acting.CROWD: _crowd,
    acting.GATEWAY: _gateway,
    acting.PLAN: _placed,
    acting.FREEZE: _placed,
    acting.SCREEN: _screen,
    acting.NOTICE: _placed,
    acting.ROLE: _placed,
    acting.ROSTER: _roster,
}
"""The finder of each subject that has buttons; it is called with the request, the league, the action, and the rest of
the URL as keyword arguments."""
