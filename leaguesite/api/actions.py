"""Endpoints for what an instructor does: one for each row of the table of actions that is not written by hand."""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import Any

from django.http import HttpRequest, HttpResponse

from leaguesite.api.base import answer, router
from leaguesite.api.keys import KEY
from leaguesite.api.sides import side_of
from matches.desk import acting
from matches.desk.acting import DeskAction, Endpoint
from matches.desk.actions import ROWS

_KINDS = {"number": int}
"""The fields of paths that are no texts."""


def _add(endpoint: Endpoint, actions: list[DeskAction]) -> None:
    """Add the endpoint of a row, or of the two rows that share it, to the API."""
    side = side_of(actions[0])

    def view(request: HttpRequest, **fields: Any) -> HttpResponse:
        body = fields.pop("options", None) or (endpoint.options() if endpoint.options is not None else None)
        fields |= body.model_dump() if body is not None else {}
        action = actions[0] if not endpoint.switch or fields[endpoint.switch] else actions[1]
        done = acting.carry_out(action, by=None, **side.find(fields))
        return answer(side.answer(fields, done), endpoint.status)

    # Ninja reads path and body off the signature of a view, so we write one.
    names = re.findall(r"\{(\w+)\}", endpoint.path)
    arguments: dict[str, tuple[Any, Any]] = {name: (_KINDS.get(name, str), Parameter.empty) for name in names}
    if endpoint.options is not None:
        required = any(field.is_required() for field in endpoint.options.model_fields.values())
        arguments["options"] = (endpoint.options, Parameter.empty) if required else (endpoint.options | None, None)
    parameters = [Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=HttpRequest)]
    parameters += [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind, default=default)
        for name, (kind, default) in arguments.items()
    ]
    vars(view)["__signature__"] = Signature(parameters)
    view.__name__, view.__doc__ = endpoint.name, endpoint.text
    router.add_api_operation(
        re.sub(r"\{number\}", "{int:number}", endpoint.path),
        ["POST"],
        view,
        auth=KEY,
        tags=["instructor"],
        response={endpoint.status: side.schema} | side.refused,
        operation_id=f"leaguesite_api_{endpoint.module}_{endpoint.name}",
    )


_endpoints: dict[str, tuple[Endpoint, list[DeskAction]]] = {}
for row in ROWS:
    if row.api is not None and not row.api.by_hand:
        _endpoints.setdefault(row.api.path, (row.api, []))[1].append(row)
for one, rows in _endpoints.values():
    _add(one, rows)
