"""No route that takes a key lets it be found by trying."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from django.test import Client
from limits import RateLimitItemPerSecond

from agents_registry.rate_limits import attempts as counting
from agents_registry.rate_limits.attempts import SAME_SECRET, attempts
from leaguesite.api.routes import api
from leaguesite.hosting import monitor
from tests import factories as make
from tests.agents_registry.rate_limits.test_attempts import SCHOOL

MAX_GUESSES = 5


@pytest.fixture(autouse=True)
def few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "GUESSES_FROM_ADDRESS", RateLimitItemPerSecond(MAX_GUESSES, 600, "guesses"))


def routes_with_key() -> list[tuple[str, str]]:
    """Method and path of every route that takes the key, also of public ones, which take it with ``?as=staff``."""
    return [
        (method, path)
        for path, operations in api.get_openapi_schema()["paths"].items()
        for method, operation in operations.items()
        if "401" in map(str, operation["responses"]) or operation.get("security")
    ]


def status_with_key(client: Client, route: tuple[str, str], key: str) -> int:
    method, path = route
    path = path.replace("{league_id}", "fall").replace("{number}", "1")
    body = {} if method == "get" else {"data": "{}", "content_type": "application/json"}
    answer = getattr(client, method)(
        path + "?as=staff",
        **body,
        headers={"Authorization": f"Bearer {key}"},
        REMOTE_ADDR=SCHOOL,
    )
    return int(answer.status_code)


@pytest.mark.exhaustive
@pytest.mark.django_db
def test_every_route_that_takes_the_key_refuses_a_caller_that_tries_too_many(client: Client, api_key: str) -> None:
    make.open_league("fall")
    refusals: dict[tuple[str, str], Any] = {}
    for route in routes_with_key():
        attempts.forget_all()
        statuses_of_one_key = [status_with_key(client, route, "wrong-key") for _ in range(SAME_SECRET.amount + 1)]
        attempts.forget_all()
        statuses_of_guesses = [status_with_key(client, route, f"key{number}") for number in range(MAX_GUESSES + 1)]
        refusals[route] = (
            statuses_of_one_key,
            statuses_of_guesses,
            status_with_key(client, route, api_key) in (401, 429),
        )
    refused = ([401] * SAME_SECRET.amount + [429], [401] * MAX_GUESSES + [429], False)
    assert refusals == dict.fromkeys(routes_with_key(), refused)
    assert {("post", "/api/checks"), ("post", "/api/leagues/{league_id}/notices"), ("get", "/metrics")} <= set(refusals)


@pytest.mark.django_db
def test_no_route_takes_the_key_without_saying_so_in_the_document(client: Client, api_key: str) -> None:
    """The test above would miss such a route."""
    make.open_league("fall")
    every = {(method, path) for path, found in api.get_openapi_schema()["paths"].items() for method in found}
    others = sorted(every - set(routes_with_key()))
    assert [route for route in others if status_with_key(client, route, "wrong-key") == 401] == []


@pytest.mark.django_db(transaction=True)
async def test_the_conductors_metrics_refuse_a_caller_that_tries_too_many_keys(api_key: str) -> None:
    async with TestClient(TestServer(monitor.application())) as client:
        statuses = []
        for _ in range(SAME_SECRET.amount + 1):
            answer = await client.get("/metrics", headers={"Authorization": "Bearer wrong-key"})
            statuses.append(answer.status)
        assert statuses == [401] * SAME_SECRET.amount + [429]
        assert answer.headers["Retry-After"] == "60"
        assert (await client.get("/metrics", headers={"Authorization": f"Bearer {api_key}"})).status == 200
