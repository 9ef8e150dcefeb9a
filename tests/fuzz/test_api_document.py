"""Any request to the API: its answers conform to its own OpenAPI document."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from leaguesite.api.routes import api
from tests.fuzz.profile import long_count, many, seeded
from tests.fuzz.site import Answer, Request, Site, noting
from tests.fuzz.world import LEAGUES, World
from tests.fuzz.writes import rolled_back
from tests.leaguesite.api.document import strict

QUICK, LONG = 3, 300
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = [
    f"{method.upper()} {path}" for path, found in api.get_openapi_schema()["paths"].items() for method in found
]
KNOWN: dict[str, tuple[Any, ...]] = {
    "match_id": ("R1M1", "R1M2"),
    "referee_id": ("REF01", "REF03"),
    "message_type": ("GAME_OVER", "PING"),
    "number": (1, 2),
    "game_type": ("even_odd",),
    "agent_id": ("P01", "REF01"),
    "name": ("league.json", "standings.csv"),
}
"""Values of parameters in paths, most of which exist in a league; at most two of each are tried."""


@cache
def document() -> Any:
    load_all_checks()
    # The loader changes the document that it is given.
    return schemathesis.openapi.from_dict(copy.deepcopy(strict()))


def cases(operation: str) -> st.SearchStrategy[Any]:
    """Requests that conform to the document and requests that do not, most of them with ids that exist."""
    method, path = operation.split(" ")
    documented = document()[path][method]
    named = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    real: list[dict[str, Any]] = [{}]
    for league in LEAGUES:
        choices = KNOWN | {"league_id": (league,)}
        real += [
            {name: choices[name][turn % len(choices[name])] for name in named if name in choices} for turn in (0, 1)
        ]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    return st.one_of(
        [
            documented.as_strategy(mode, path_parameters=one or None)
            for mode in modes
            for one in (real if named else [{}])
        ]
    )


def keys(key: str) -> st.SearchStrategy[str | None]:
    """Authorization headers: mostly the valid key, else none, a wrong or a malformed one."""
    return st.sampled_from([f"Bearer {key}"] * 5 + [None, None, "Bearer wrong", "Basic eDp5", "Bearer", "Bearer é\x7f"])


def send(site: Site, case: Any, key: str | None) -> tuple[Any, Answer]:
    """Send a case; returns the request as schemathesis sees it, and the answer."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="http://testserver")).prepare()
    headers = {name.lower(): value for name, value in prepared.headers.items() if name.lower() != "authorization"}
    if key is not None:
        headers["authorization"] = key
    raw = tuple((_bytes(name), _bytes(value)) for name, value in headers.items())
    body = prepared.body.encode() if isinstance(prepared.body, str) else bytes(prepared.body or b"")
    request = Request(str(prepared.method), str(prepared.path_url), raw, body)
    with noting(request):
        answer = rolled_back(lambda: site.send(request), may_not_write=lambda one: one.status >= 400)
    return prepared, answer


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin1", "replace")


def run(site: Site, operation: str, key: str, count: int) -> int:
    sent = 0

    @many(count)
    @seeded(operation)
    @given(case=cases(operation), sent_key=keys(key))
    def send_one(case: Any, sent_key: str | None) -> None:
        nonlocal sent
        prepared, answer = send(site, case, sent_key)
        sent += 1
        response = schemathesis.Response(answer.status, answer.headers, answer.body, prepared, 0.0, False)
        case.validate_response(response, checks=CHECKS)

    send_one()
    return sent


@pytest.mark.exhaustive
def test_every_operation_conforms_to_the_document(site: Site, world: World, api_key: str) -> None:
    for operation in OPERATIONS:
        assert run(site, operation, api_key, QUICK) > 0, operation


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_conforms_to_the_document_at_length(
    site: Site, world: World, api_key: str, operation: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, operation, api_key, long_count(LONG)))
