"""The metrics: only with a key, with labels of the site only, and also while the database cannot be reached."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from agents_registry.rate_limits.attempts import LOGINS
from leaguesite.serving.threads import pages_thread
from matches.observing import metrics
from matches.observing.metrics import REGISTRY
from tests import factories as make
from tests import rich, wire
from tests.leaguesite.serving.asgi import send

pytestmark = pytest.mark.django_db
PLANTED = "tok_" + "5" * 32


def metric_value(name: str, **labels: str) -> float:
    """A metric as it is now; 0 for one that has not been counted yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def read(client: Client, key: str) -> str:
    answer = client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {key}")
    assert (answer.status_code, answer["Content-Type"]) == (200, metrics.CONTENT_TYPE)
    return str(answer.content.decode())


def test_the_api_key_and_the_metrics_key_open_the_metrics(
    client: Client, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_METRICS_KEY", "watcher-of-the-tests")
    for key in (api_key, "watcher-of-the-tests"):
        assert "league_database_reachable 1.0" in read(client, key)
    make.open_league("fall")
    statuses = {
        key: client.get("/api/leagues/fall?as=staff", HTTP_AUTHORIZATION=f"Bearer {key}").status_code
        for key in (api_key, "watcher-of-the-tests")
    }
    assert statuses == {api_key: 200, "watcher-of-the-tests": 401}


def over_and_frozen() -> make.MadeLeague:
    return rich.over(frozen=True)


@pytest.mark.parametrize(
    "history",
    [
        lambda: None,
        over_and_frozen,
        *(pytest.param(history, marks=pytest.mark.exhaustive) for history in (rich.begun, rich.over)),
    ],
)
def test_without_the_key_the_metrics_give_the_same_answer_whatever_has_happened(
    client: Client, api_key: str, history: Callable[[], Any]
) -> None:
    history()
    expected = b'{"error": "Send the instructor\'s API key: Authorization: Bearer <key>.", "field": null}'
    for key in ("", "Bearer wrong", "Basic key-of-the-tests", "Bearer "):
        answer = client.get("/metrics", **({"HTTP_AUTHORIZATION": key} if key else {}))
        assert (answer.status_code, answer.content) == (401, expected), key


def test_an_empty_metrics_key_opens_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_METRICS_KEY", "")
    assert client.get("/metrics", HTTP_AUTHORIZATION="Bearer ").status_code == 401


def test_the_metrics_count_leagues_matches_and_referees_by_state(client: Client, api_key: str) -> None:
    make.running_league(players=4, referees=2)
    metrics_text = read(client, api_key)
    assert 'league_leagues{state="RUNNING"} 1.0' in metrics_text
    assert sum(float(count) for count in re.findall(r"league_matches\{state=\"\w+\"\} (\S+)", metrics_text)) == 6
    assert sum(float(count) for count in re.findall(r"league_referees\{state=\"\w+\"\} (\S+)", metrics_text)) == 2
    assert re.search(r"^league_outbox_waiting \d", metrics_text, re.MULTILINE)


def test_the_metrics_need_at_most_five_queries(
    client: Client, api_key: str, django_assert_max_num_queries: Any
) -> None:
    make.running_league(players=12)
    with django_assert_max_num_queries(5):
        read(client, api_key)


def test_the_metrics_say_that_the_database_cannot_be_reached(client: Client, api_key: str) -> None:
    def away(*_: Any) -> Any:
        raise OperationalError("no connection")

    with connection.execute_wrapper(away):
        metrics_text = read(client, api_key)
    assert "league_database_reachable 0.0" in metrics_text
    assert "league_http_requests" in metrics_text


def test_the_metrics_say_whether_redis_answers(
    client: Client, api_key: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEAGUE_LIMITS_REDIS_URL = None
    assert "league_redis_reachable" not in read(client, api_key)
    # Nobody listens at port 1.
    settings.LEAGUE_LIMITS_REDIS_URL = "redis://127.0.0.1:1/0"
    assert "league_redis_reachable 0.0" in read(client, api_key)
    monkeypatch.setattr("redis.Redis.ping", lambda _: True)
    assert "league_redis_reachable 1.0" in read(client, api_key)


def test_calls_are_counted_by_what_they_were_answered_with(client: Client) -> None:
    made = make.running_league(players=2)
    before = metric_value("league_agent_calls_total", message_type="LEAGUE_QUERY", outcome="ok")
    refused = metric_value("league_agent_calls_total", message_type="LEAGUE_QUERY", outcome="E012")
    query = make.message_from(made.players[0], "LEAGUE_QUERY", league_id="fall", query_type="GET_STANDINGS")
    wire.ask(client, "league_query", query)
    wire.post(client, wire.request("league_query", query | {"auth_token": PLANTED}))
    assert metric_value("league_agent_calls_total", message_type="LEAGUE_QUERY", outcome="ok") == before + 1
    assert metric_value("league_agent_calls_total", message_type="LEAGUE_QUERY", outcome="E012") == refused + 1
    assert metric_value("league_agent_call_seconds_count", message_type="LEAGUE_QUERY") >= 2


def test_a_result_is_counted_once_it_is_on_record(django_capture_on_commit_callbacks: Any) -> None:
    made = make.running_league(players=2)
    make.look()
    before = metric_value("league_results_total", status="WIN")
    with django_capture_on_commit_callbacks(execute=True):
        make.finish_round(made)
        assert metric_value("league_results_total", status="WIN") == before
    assert metric_value("league_results_total", status="WIN") == before + 1


@pytest.mark.django_db(transaction=True)
async def test_nothing_that_a_caller_sent_is_a_label() -> None:
    unknown = f'{{"jsonrpc": "2.0", "id": 1, "method": "{PLANTED}", "params": {{"league_id": "{PLANTED}"}}}}'
    json = {"content-type": "application/json"}
    await send("POST", "/mcp", unknown.encode(), **json)
    await send("POST", "/mcp", b"no json", **json)
    await send("GET", f"/nowhere/{PLANTED}")
    await send("GET", f"/leagues/{PLANTED}/")
    metrics_text = await asyncio.get_running_loop().run_in_executor(pages_thread, lambda: metrics.text().decode())
    assert PLANTED not in metrics_text and "nowhere" not in metrics_text
    assert 'league_http_requests_total{route="other",status="404"}' in metrics_text
    assert 'league_agent_calls_total{message_type="other",outcome="E002"}' in metrics_text
    assert 'league_agent_calls_total{message_type="unreadable",outcome="E002"}' in metrics_text
    labels = re.findall(r"(\w+)=\"([^\"]*)\"", metrics_text)
    assert {name for name, _ in labels} <= {
        *("route", "status", "thread", "message_type", "outcome", "limit", "state", "le", "generation", "way")
    }


def test_a_request_that_a_limit_refused_is_counted(client: Client) -> None:
    before = metric_value("league_limited_total", limit="logins")
    wrong = {"username": "ada", "password": "wrong"}
    statuses = [client.post("/admin/login/", wrong).status_code for _ in range(LOGINS[0].amount + 1)]
    assert statuses == [200] * LOGINS[0].amount + [429]
    assert metric_value("league_limited_total", limit="logins") == before + 1
