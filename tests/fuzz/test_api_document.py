"""The API against its own OpenAPI document: what it answers is what is written there, whatever is asked."""

from __future__ import annotations

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
from tests.fuzz.profile import long, many, seeded
from tests.fuzz.site import Answer, Request, Site, told
from tests.fuzz.world import LEAGUES, World
from tests.fuzz.writes import put_back

QUICK, LONG = 8, 300
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = [
    f"{method.upper()} {path}" for path, found in api.get_openapi_schema()["paths"].items() for method in found
]
KNOWN = {
    "match_id": ("R1M1", "R1M2", "R2M1", "R9M9"),
    "referee_id": ("REF01", "REF03"),
    "message_type": ("GAME_OVER", "PING"),
    "number": (1, 2, 99),
    "game_type": ("even_odd",),
}


@cache
def document() -> Any:
    load_all_checks()
    return schemathesis.openapi.from_dict(api.get_openapi_schema())


def cases(operation: str) -> st.SearchStrategy[Any]:
    """Requests that fit the document, and such that do not; half of them about something that is there."""
    method, path = operation.split(" ")
    found = document()[path][method]
    named = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    real: list[dict[str, Any]] = [{}]
    for league in LEAGUES:
        choices = KNOWN | {"league_id": (league,)}
        real += [
            {name: choices[name][turn % len(choices[name])] for name in named if name in choices} for turn in (0, 1)
        ]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    return st.one_of(
        [found.as_strategy(mode, path_parameters=one or None) for mode in modes for one in (real if named else [{}])]
    )


def keys(key: str) -> st.SearchStrategy[str | None]:
    return st.sampled_from([f"Bearer {key}"] * 5 + [None, None, "Bearer wrong", "Basic eDp5", "Bearer", "Bearer é\x7f"])


def put(site: Site, case: Any, key: str | None) -> tuple[Any, Answer]:
    """Send a case; the request as schemathesis sees it, and what came back."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="http://testserver")).prepare()
    headers = {name.lower(): value for name, value in prepared.headers.items() if name.lower() != "authorization"}
    if key is not None:
        headers["authorization"] = key
    raw = tuple((_bytes(name), _bytes(value)) for name, value in headers.items())
    body = prepared.body.encode() if isinstance(prepared.body, str) else bytes(prepared.body or b"")
    request = Request(str(prepared.method), str(prepared.path_url), raw, body)
    with told(request):
        answer = put_back(lambda: site.send(request), refused=lambda one: one.status >= 400)
    return prepared, answer


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin1", "replace")


def run(site: Site, operation: str, key: str, count: int) -> int:
    sent = 0

    @many(count)
    @seeded(operation)
    @given(case=cases(operation), shown=keys(key))
    def one(case: Any, shown: str | None) -> None:
        nonlocal sent
        prepared, answer = put(site, case, shown)
        sent += 1
        response = schemathesis.Response(answer.status, answer.headers, answer.body, prepared, 0.0, False)
        case.validate_response(response, checks=CHECKS)

    one()
    return sent


def test_every_operation(site: Site, world: World, api_key: str) -> None:
    for operation in OPERATIONS:
        assert run(site, operation, api_key, QUICK) > 0, operation


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_at_length(
    site: Site, world: World, api_key: str, operation: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, operation, api_key, long(LONG)))
