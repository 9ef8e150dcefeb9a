"""Makes the API's endpoints for an instructor's actions from their rows in ``matches/desk/actions.py``.

A few endpoints are written by hand instead; their rows say so (``by_hand``).
"""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import Any

from django.http import HttpRequest, HttpResponse

from leaguesite.api.base import answer, router
from leaguesite.api.handling import handling_of
from leaguesite.api.keys import KEY
from matches.desk import acting
from matches.desk.acting import DeskAction, Endpoint
from matches.desk.actions import ROWS
from matches.desk.shown import options_of, split

_PATH_TYPES = {"number": int}
"""The types of the fields in paths; a field that is not here is a str."""


def _add(endpoint: Endpoint, actions: list[DeskAction]) -> None:
    """Add the endpoint of an action to the API, or of two that share it: its switch field says which is meant."""
    handling = handling_of(actions[0])
    options = options_of(actions[0].shown, endpoint.options, f"{endpoint.name.title().replace('_', '')}Known")

    def view(request: HttpRequest, **fields: Any) -> HttpResponse:
        body = fields.pop("options", None) or (options() if options is not None else None)
        given, shown = split(actions[0].shown, body)
        fields |= given
        action = actions[0] if not endpoint.switch or fields[endpoint.switch] else actions[1]
        done = acting.carry_out(action, by=None, shown=shown, **handling.find(fields))
        return answer(handling.answer(fields, done), endpoint.status)

    # Django Ninja finds out the fields of path and body from a view's signature, so we write one.
    names = re.findall(r"\{(\w+)\}", endpoint.path)
    arguments: dict[str, tuple[Any, Any]] = {name: (_PATH_TYPES.get(name, str), Parameter.empty) for name in names}
    if options is not None:
        required = any(field.is_required() for field in options.model_fields.values())
        arguments["options"] = (options, Parameter.empty) if required else (options | None, None)
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
        response={endpoint.status: handling.schema} | handling.refused,
        operation_id=f"leaguesite_api_{endpoint.module}_{endpoint.name}",
    )


_endpoints: dict[str, tuple[Endpoint, list[DeskAction]]] = {}
for row in ROWS:
    if row.api is not None and not row.api.by_hand:
        _endpoints.setdefault(row.api.path, (row.api, []))[1].append(row)
for one, rows in _endpoints.values():
    _add(one, rows)
