"""A tool of MCP answers as the same call of league.v2 does, from the same cache, and is timed and counted like it."""

from __future__ import annotations

import json
from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from league_sdk.protocol import rpc
from leaguesite.mcp import dispatcher, offering, telemetry
from leaguesite.mcp.calls import Call, Deferred
from leaguesite.serving import threads
from matches.view import queries
from tests import factories as make
from tests import wire
from tests.league_sdk.mcp.talking import handshake_body, stateless
from tests.leaguesite.mcp.schema_checks import assert_fits
from tests.leaguesite.mcp.test_mounting import post
from tests.leaguesite.serving.asgi import Held, answer_of, begin
from tests.matches.agent_server import Agents
from tests.matches.observing.test_metrics import metric_value
from tests.sizes import sampled

HOSTILE = [
    'Ada "the first" \\" \\u2028 \\',
    "🦄\U0010ffff\u2028\u2029 \u202e'<script>",
    '{"data":{"standings":[]}},"content":[',
    "<0123456789abcdef0123456789abcdef>structuredContent",
]
"""Names that would end a JSON string or object early if they were put into an answer unescaped."""
ERAS = ("stateless", "handshake")
QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("league_query", {"query_type": "GET_STANDINGS"}),
    ("league_query", {"query_type": "GET_SCHEDULE", "query_params": {"limit": 1}}),
    ("league_query", {"query_type": "GET_GAMES"}),
    ("get_standings", {}),
    ("get_schedule", {}),
    ("get_next_match", {}),
    ("get_player_stats", {}),
)


@pytest.fixture
def made() -> make.MadeLeague:
    """A league in play, whose players have hostile names."""
    made = make.running_league(players=4)
    for member, name in zip(made.players, HOSTILE, strict=True):
        Agent.objects.filter(pk=member.agent.pk).update(display_name=name)
    make.finish_round(made)
    return made


def result_of(client: Client, era: str, token: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool; the answer must have no key twice in one object, which ``rpc.loads`` refuses."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    body, headers = stateless("tools/call", **params)
    if era == "handshake":
        body, headers = handshake_body("tools/call", **params), {"mcp_protocol_version": "2025-11-25"}
    result: dict[str, Any] = rpc.loads(post(client, body, token, **headers).content)["result"]
    assert result["isError"] is False, result
    return result


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "arguments", "era"), sampled(((*query, era) for query, era in product(QUERIES, ERAS)), every=3)
)
def test_a_tool_answers_what_league_v2_answers(
    client: Client, made: make.MadeLeague, era: str, name: str, arguments: dict[str, Any]
) -> None:
    who = made.players[0]
    kind = arguments.get("query_type", name.upper())
    params = make.message_from(who, "LEAGUE_QUERY", league_id="fall", query_type=kind) | arguments
    answer = wire.ask(client, "league_query", params)
    # The first answer is made, the second comes from the cache.
    for _ in range(2):
        result = result_of(client, era, who.token, name, arguments | {"conversation_id": answer["conversation_id"]})
        structured = result["structuredContent"]
        assert_fits(name, structured)
        assert json.loads(result["content"][0]["text"]) == structured
        if name == "league_query":
            assert structured == answer | {"timestamp": structured["timestamp"]}
        else:
            # A tool of its own has the fields of the data beside those of the envelope.
            assert answer["data"].items() <= structured.items()
            assert not {"data", "success", "error", "query_type"} & structured.keys()
        if era == "stateless":
            assert result.keys() == {"resultType", "content", "structuredContent", "isError", "_meta"}
        else:
            # Older clients of ours look for the fields of the message in the result.
            assert answer["data"].items() <= result["data"].items()
            assert result["query_type"] == kind


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_from_the_cache_waits_for_no_other_query(monkeypatch: pytest.MonkeyPatch, era: str) -> None:
    here = Agents()
    made = await here.in_db(lambda: make.league(players=2))
    body, headers = stateless("tools/call", name="get_standings", arguments={})
    if era == "handshake":
        body, headers = handshake_body("tools/call", name="get_standings"), {"mcp_protocol_version": "2025-11-25"}
    headers |= {"content_type": "application/json", "authorization": f"Bearer {made.players[0].token}"}

    async def ask() -> Any:
        return await begin("POST", "/mcp", json.dumps(body).encode(), **headers)

    held = Held()
    with monkeypatch.context() as patch:
        patch.setitem(threads.THREADS, threads.QUERIES, held.pool)
        # The first answer has to be made, so it waits for its turn among the queries.
        waiting = await held.wait_for(await ask())
        held.end()
        first = (await answer_of(waiting[0])).json["result"]["structuredContent"]
    held = Held()
    with monkeypatch.context() as patch:
        patch.setitem(threads.THREADS, threads.QUERIES, held.pool)
        second = (await answer_of(await ask())).json["result"]["structuredContent"]
        held.end()
    assert second["standings"] == first["standings"] != []


@pytest.mark.django_db
@pytest.mark.parametrize("module", [offering, dispatcher])
def test_the_time_of_a_call_is_that_of_all_its_steps(
    client: Client, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    now = [0.0]

    def perform(call: Call) -> Deferred:
        now[0] += 2

        def make() -> dict[str, Any]:
            now[0] += 3
            return call.message("PONG")

        return make

    monkeypatch.setattr(module, "perform", perform)
    monkeypatch.setattr(telemetry, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    before = metric_value("league_agent_call_seconds_sum", message_type="ping")
    body, headers = stateless("tools/call", name="ping", arguments={})
    if module is dispatcher:
        body, headers = wire.request("ping", {}), {}
    assert post(client, body, **headers).json()["result"]
    assert metric_value("league_agent_call_seconds_sum", message_type="ping") == pytest.approx(before + 5)


@pytest.mark.django_db
def test_a_failure_of_ours_in_a_tool_is_counted_as_one(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make.open_league("fall")
    labels = {"message_type": "get_standings", "outcome": "E009"}
    before = metric_value("league_agent_calls_total", **labels)
    monkeypatch.setattr(queries, "standings_rows", lambda view: 1 / 0)
    body, headers = stateless("tools/call", name="get_standings", arguments={"league_id": "fall"})
    assert post(client, body, **headers).json()["error"]["code"] == -32603
    assert metric_value("league_agent_calls_total", **labels) == before + 1
