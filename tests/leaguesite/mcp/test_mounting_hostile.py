"""What somebody in the room can try by MCP to harm others: use up their share, ask for what takes long or fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.test import Client

from agents_registry.rate_limits.attempts import STRANGERS, attempts
from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.mcp.listening import Filter
from leaguesite.inbox import answering
from leaguesite.mcp import mounting
from leaguesite.mcp.tools import TOOLS
from leaguesite.serving.known_tokens import known_tokens
from matches.view import lists, queries
from tests import factories as make
from tests.league_sdk.mcp.talking import handshake, stateless
from tests.leaguesite.mcp.test_mounting import ask, call, leave_room, post, read

pytestmark = pytest.mark.django_db
HERE = "127.0.0.1"
HOSTILE: list[Any] = [None, "", 0, -1, 1.5, True, [], {}, [[]], {"a": {}}, "x" * 300, "R1M1\n", 10**30, "\ufeff"]


def use_up() -> None:
    """Use up the calls that strangers may make from this address."""
    while attempts.count_call(STRANGERS, HERE) is None:
        pass


def status_of(client: Client, method: str, token: str = "", **params: Any) -> int:
    body, headers = stateless(method, **params)
    return int(post(client, body, token, **headers).status_code)


# Others' share ------------------------------------------------------------------------------------


def test_an_agent_that_only_reads_is_known_after_a_restart(client: Client) -> None:
    token = make.setting(players=2).players[0].token
    known_tokens.forget_all()
    use_up()
    assert status_of(client, "resources/read", uri="league://standings") == 429
    assert status_of(client, "resources/read", "tok_of_nobody", uri="league://standings") == 429
    assert status_of(client, "resources/read", token, uri="league://standings") == 200


def test_calls_of_unknown_tools_are_limited_as_well(client: Client) -> None:
    use_up()
    assert status_of(client, "tools/call", name="no_such_tool") == 429
    assert status_of(client, "tools/call") == 429


def test_an_agent_keeps_its_session_when_others_behind_its_address_open_more(client: Client) -> None:
    leave_room(3)
    token = make.setting(players=2).players[0].token
    hello = handshake("initialize", protocolVersion="2025-11-25", capabilities={})
    own = post(client, hello, token).headers["Mcp-Session-Id"]
    for number in range(6):
        # An IPv6 network has one share as well.
        client.post("/mcp", hello, content_type="application/json", REMOTE_ADDR=f"2001:db8::{number}")
    assert post(client, handshake("ping"), token, mcp_session_id=own).status_code == 200
    mounting.server.close()


# What takes long ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "where", "function_name"),
    [
        ("standings", queries, "standings_rows"),
        ("agents", queries, "agents_of"),
        ("rounds", lists, "schedule"),
        ("players/P01/history", queries, "player_stats"),
    ],
)
def test_a_resource_that_grows_with_a_league_is_made_once_for_many_readers(
    client: Client, monkeypatch: pytest.MonkeyPatch, name: str, where: Any, function_name: str
) -> None:
    make.playing(players=2)
    original, calls = getattr(where, function_name), []

    def noted(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        return original(*arguments, **named)

    monkeypatch.setattr(where, function_name, noted)
    first = read(client, f"league://fall/{name}")
    assert first == read(client, f"league://fall/{name}")
    assert len(calls) == 1


def test_a_long_schedule_comes_in_part_and_says_so(client: Client) -> None:
    make.playing(players=60)
    found = read(client, "league://fall/rounds")
    assert (found["total"], found["next_cursor"] is None) == (60 * 59 // 2, False)


async def test_many_changes_of_a_league_are_told_to_listeners_at_once() -> None:
    uris, telling, others = [], mounting.Telling(), asyncio.Event()
    uri_filter = Filter(uris={"league://fall/standings", "league://fall/matches/R1M1"})
    ways = [(lambda method, params: uris.append(params["uri"])), (lambda method, params: others.set())]
    listeners = [mounting.server.listeners.add(uri_filter, HERE, way, print) for way in ways]
    running = asyncio.create_task(telling.run())
    try:
        for _ in range(50):
            telling.hear({"leagues": {"fall": ["R1M1"]}})
        assert uris == []
        await others.wait()
    finally:
        running.cancel()
        for listener in listeners:
            mounting.server.listeners.remove(listener)
    assert uris == ["league://fall/matches/R1M1", "league://fall/standings"]


# What fails ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("singly", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["all", "singly"])
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_tool_fails_whatever_its_arguments(
    client: Client, tool: DeclaredTool, singly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether one argument alone is hostile or all of them are."""
    monkeypatch.setattr(answering, "MAX_WAIT_S", 0.0)
    place = make.playing(players=2)
    fields = (*tool.properties, "match_id", "round_id", "message_type", "params", "player_meta", "message")
    hostile: list[dict[str, Any]] = [{}] + [dict.fromkeys(fields, value) for value in HOSTILE]
    if singly:
        hostile = [{name: value} for name in fields for value in HOSTILE]
    for token in (place.players[0].token, ""):
        for arguments in hostile:
            result = ask(client, "tools/call", token, name=tool.name, arguments=arguments)
            assert result["structuredContent"] or not result["isError"], arguments


def test_leagues_are_listed_with_times_as_in_messages(client: Client) -> None:
    make.playing(players=2)
    [line] = call(client, "list_leagues")["leagues"]
    assert (line["league_id"], line["completed_at"], line["created_at"][-1]) == ("fall", None, "Z")


@pytest.mark.parametrize("typed", ["x" * 60_000, "%" * 60_000, "_", "%"])
def test_a_text_that_begins_no_id_is_completed_to_nothing(client: Client, typed: str) -> None:
    make.open_league("fall")
    reference = {"type": "ref/resource", "uri": "league://{id}/standings"}
    answer = ask(client, "completion/complete", ref=reference, argument={"name": "id", "value": typed})
    assert answer["completion"]["values"] == []


@pytest.mark.parametrize("part", ["%00", "a%2Fb", "%ed%a0%80", "x" * 200, "..", "'", "%25", "7%0a8"])
@pytest.mark.parametrize(
    "uri", ["league://{}/standings", "league://fall/matches/{}", "league://fall/players/{}/history"]
)
def test_a_hostile_uri_is_400(client: Client, uri: str, part: str) -> None:
    make.setting(players=2)
    assert status_of(client, "resources/read", uri=uri.format(part)) == 400
