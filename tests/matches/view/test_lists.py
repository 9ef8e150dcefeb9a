"""Lists that grow with a league: their cache and their parts (``matches.view``)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.test import Client

from leaguesite.serving import threads
from matches.models import Match
from matches.view import kept, lists, queries, sight
from matches.view.kept import Kept
from tests import factories as make
from tests import wire
from tests.clock import Clock
from tests.leaguesite.script import Script
from tests.leaguesite.serving.asgi import Held, answer_of, begin
from tests.matches.agent_server import Agents
from tests.sizes import sampled


def ask(client: Client, tool: str, **more: Any) -> dict[str, Any]:
    data: dict[str, Any] = wire.ask(client, tool, {"league_id": "fall"} | more)["data"]
    return data


# The cache ---------------------------------------------------------------------------------------


def test_a_large_answer_is_cached_for_a_second_and_a_small_one_until_a_change() -> None:
    clock, made = Clock(100.0), []
    answers: Kept[str] = Kept(100, clock)

    def get(key: str, mark: int, *, large: bool) -> str:
        return answers.get(key, mark, lambda: (made.append(key) or f"{key}{mark}", 1, large))

    assert [get("L", 1, large=True), get("L", 2, large=True), get("S", 1, large=False)] == ["L1", "L1", "S1"]
    assert get("S", 1, large=False) == "S1"
    assert get("S", 2, large=False) == "S2"
    clock.now += kept.KEPT_S
    assert answers.ready("L", 2) is None
    assert get("L", 2, large=True) == "L2"
    assert made == ["L", "S", "S", "L"]


def test_an_answer_that_takes_long_to_make_is_cached_longer() -> None:
    clock = Clock(100.0)
    answers: Kept[str] = Kept(100, clock)

    def slowly() -> tuple[str, int, bool]:
        clock.now += 2
        return "slow", 1, True

    answers.get("A", 1, slowly)
    clock.now += 2 * kept.KEPT_FACTOR - 0.1
    assert answers.ready("A", 2) == "slow"
    clock.now += 0.2
    assert answers.ready("A", 2) is None


def test_the_cache_evicts_the_oldest_answers() -> None:
    answers: Kept[str] = Kept(10, Clock(100.0))
    for key in "ABC":
        answers.get(key, 1, lambda: ("x", 4, True))
    assert [answers.ready(key, 1) for key in "ABC"] == [None, "x", "x"]


@pytest.mark.django_db
def test_repeated_requests_share_one_list(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make.running_league(players=4)
    made: list[str] = []
    monkeypatch.setattr(lists, "standings", lambda view, want: made.append("made") or lists.rows_of([], want))
    for _ in range(5):
        ask(client, "get_standings")
    assert made == ["made"]


@pytest.mark.django_db
def test_a_result_is_in_the_next_answer_of_a_small_league(client: Client) -> None:
    made = make.running_league(players=2)
    assert ask(client, "get_standings")["standings"][0]["points"] == 0
    make.report(made.match("R1M1"), "P01")
    assert ask(client, "get_standings")["standings"][0]["points"] == 3
    assert ask(client, "get_schedule")["rounds"][0]["matches"][0]["winner"] == "P01"


# Parts -------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("limit", sampled([1, 2, 7, 3, 100], every=2))
def test_the_parts_of_a_schedule_add_up_to_the_whole(client: Client, limit: int) -> None:
    make.running_league(players=6)
    whole = ask(client, "get_schedule")
    assert sorted(whole) == ["rounds"]
    matches: list[str] = []
    cursor = None
    while True:
        part = ask(client, "get_schedule", limit=limit, cursor=cursor)
        match_ids = [match["match_id"] for one in part["rounds"] for match in one["matches"]]
        assert 0 < len(match_ids) <= limit
        assert part["total"] == 15
        matches += match_ids
        cursor = part["next_cursor"]
        if cursor is None:
            break
    assert matches == [match["match_id"] for one in whole["rounds"] for match in one["matches"]]


@pytest.mark.django_db
def test_the_parts_of_a_table_follow_the_cursor(client: Client) -> None:
    make.running_league(players=5)
    first = ask(client, "get_standings", query_params={"limit": 3})
    second = ask(client, "get_standings", query_params={"limit": 3, "cursor": first["next_cursor"]})
    assert (first["total"], second["next_cursor"]) == (5, None)
    ids = [row["player_id"] for row in first["standings"] + second["standings"]]
    assert ids == ["P01", "P02", "P03", "P04", "P05"]


@pytest.mark.django_db
@pytest.mark.parametrize("tool", ["get_schedule", "get_standings"])
def test_a_list_that_is_too_large_is_cut_at_a_row_and_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    make.running_league(players=6)
    whole = len(json.dumps(ask(client, tool)))
    monkeypatch.setattr(lists, "MAX_BYTES", whole // 2)
    reply = wire.post(client, wire.request(tool, {"league_id": "fall"}))
    part = reply.json()["result"]["data"]
    assert part["next_cursor"] is not None
    assert len(reply.content) < whole
    rest = ask(client, tool, cursor=part["next_cursor"])
    assert rest["total"] == part["total"]


@pytest.mark.django_db
def test_an_answer_in_a_repeating_dialect_is_cut_earlier(client: Client) -> None:
    make.running_league(players=60)
    assert "next_cursor" not in ask(client, "get_schedule")
    called = wire.ask(client, "tools/call", {"name": "get_schedule", "arguments": {"league_id": "fall"}})
    assert called["data"]["next_cursor"]
    assert called["structuredContent"]["data"] == called["data"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("params", "field"),
    sampled(
        [
            ({"limit": 0}, "limit"),
            ({"limit": True}, "limit"),
            ({"limit": 1.5}, "limit"),
            ({"limit": "1e3"}, "limit"),
            ({"limit": lists.MAX_ROWS + 1}, "limit"),
            ({"cursor": 3}, "cursor"),
            ({"cursor": "-1"}, "cursor"),
            ({"cursor": "1.2.3"}, "cursor"),
            ({"cursor": "9" * 40}, "cursor"),
        ]
    ),
)
def test_a_malformed_limit_or_cursor_is_refused(client: Client, params: dict[str, Any], field: str) -> None:
    make.running_league(players=2)
    data = wire.refused(client, "get_schedule", {"league_id": "fall"} | params)
    assert (data["error_code"], data["context"]["field"]) == ("E002", f"query_params.{field}")


@pytest.mark.django_db
def test_the_http_api_has_the_cursor_of_the_next_part_in_a_header(client: Client, public: Script) -> None:
    make.running_league(players=4)
    whole = public.get("/leagues/fall/matches")[1]
    first = client.get("/api/leagues/fall/matches?limit=4")
    assert (first.headers["X-Next-Cursor"], first.headers["X-Total"]) == ("3.0", "6")
    second = client.get("/api/leagues/fall/matches?limit=4&cursor=3.0")
    assert first.json() + second.json() == whole
    assert "X-Next-Cursor" not in second.headers
    assert client.get("/api/leagues/fall/matches?limit=no").status_code == 422


@pytest.mark.django_db
def test_the_http_api_has_the_total_of_an_empty_list_too(client: Client) -> None:
    make.open_league("fall")
    empty = client.get("/api/leagues/fall/matches?limit=4")
    assert (empty.json(), empty.headers["X-Total"]) == ([], "0")


@pytest.mark.django_db
@pytest.mark.parametrize("of_the_past", [False, True])
def test_lines_made_from_columns_are_those_made_from_instances(of_the_past: bool) -> None:
    made = make.running_league(players=4)
    make.report(made.match("R1M1"), None)
    view = sight.public(made.league)
    if of_the_past:
        view = sight.View(made.league, view.moment, is_present=False)
    lines = json.loads(lists.matches(view, lists.Wanted()).rows)
    assert lines == [queries.match_row(match, view) for match in queries.matches_of(view.league)]
    rounds = json.loads(lists.schedule(view, lists.Wanted(), for_messages=True).rows)
    assert rounds == queries.schedule(view, for_messages=True)


# The thread for lists -----------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_neither_a_ping_nor_a_cached_list_waits_for_a_list_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    db_thread = Agents()
    await db_thread.in_db(lambda: make.running_league(players=4))

    async def call(method: str, params: dict[str, Any]) -> ApplicationCommunicator:
        raw = json.dumps(wire.request(method, params)).encode()
        return await begin("POST", "/mcp", raw, content_type="application/json")

    async def result(talk: ApplicationCommunicator) -> Any:
        return (await answer_of(talk)).json["result"]

    known = await result(await call("get_standings", {"league_id": "fall"}))
    monkeypatch.setattr(kept, "KEPT_S", 3600.0)
    await result(await call("get_standings", {"league_id": "fall", "limit": 2}))
    held = Held()
    monkeypatch.setitem(threads.THREADS, "queries", held.pool)
    try:
        waiting = await held.wait_for(await call("get_schedule", {"league_id": "fall"}))
        assert await result(await call("ping", {})) == {"status": "ok"}
        again = await result(await call("get_standings", {"league_id": "fall", "limit": 2}))
        assert again["data"]["standings"] == known["data"]["standings"][:2]
    finally:
        held.end()
    answers = await asyncio.gather(*(result(talk) for talk in waiting))
    count = sum(len(one["matches"]) for one in answers[0]["data"]["rounds"])
    assert count == await db_thread.in_db(Match.objects.count)
