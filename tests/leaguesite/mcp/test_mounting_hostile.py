"""What somebody in the room can try by MCP to harm others: use up their share, ask for what takes long or fails."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.rate_limits.attempts import STRANGERS, attempts
from league_sdk.mcp.declaring import DeclaredTool
from leaguesite.inbox import answering
from leaguesite.mcp import mounting
from leaguesite.mcp.tools import TOOLS
from leaguesite.serving.known_tokens import known_tokens
from matches.models import League
from matches.view import lists, queries
from tests import factories as make
from tests.league_sdk.mcp.talking import handshake_body, stateless
from tests.leaguesite.mcp.test_mounting import ask, call, leave_room, post, read
from tests.sizes import sampled

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
    token = make.league(players=2).players[0].token
    known_tokens.bearers.clear()
    use_up()
    assert status_of(client, "resources/read", uri="league://standings") == 429
    assert status_of(client, "resources/read", "tok_of_nobody", uri="league://standings") == 429
    assert status_of(client, "resources/read", token, uri="league://standings") == 200


def test_calls_of_unknown_tools_are_limited_as_well(client: Client) -> None:
    use_up()
    assert status_of(client, "tools/call", name="no_such_tool") == 429
    assert status_of(client, "tools/call") == 429


# The addresses of an IPv6 network have one share in common.
@pytest.mark.parametrize("address", [HERE, "2001:db8::{}"])
def test_an_agent_keeps_its_session_when_strangers_of_one_address_open_many(client: Client, address: str) -> None:
    leave_room(3)
    token = make.league(players=2).players[0].token
    hello = handshake_body("initialize", protocolVersion="2025-11-25", capabilities={})
    own = post(client, hello, token).headers["Mcp-Session-Id"]
    for number in range(6):
        client.post("/mcp", hello, content_type="application/json", REMOTE_ADDR=address.format(number))
    assert post(client, handshake_body("ping"), token, mcp_session_id=own).status_code == 200
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
    make.running_league(players=2)
    original, calls = getattr(where, function_name), []

    def noted(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        return original(*arguments, **named)

    monkeypatch.setattr(where, function_name, noted)
    first = read(client, f"league://fall/{name}")
    assert first == read(client, f"league://fall/{name}")
    assert len(calls) == 1


def test_a_long_schedule_comes_in_part_and_says_so(client: Client) -> None:
    make.running_league(players=60)
    found = read(client, "league://fall/rounds")
    assert (found["total"], found["next_cursor"] is None) == (60 * 59 // 2, False)


# What fails ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("singly", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["all", "singly"])
@pytest.mark.parametrize("tool", sampled(TOOLS, every=3), ids=lambda tool: tool.name)
def test_no_tool_fails_whatever_its_arguments(
    client: Client, tool: DeclaredTool, singly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether one argument alone is hostile or all of them are."""
    monkeypatch.setattr(answering, "MAX_WAIT_S", 0.0)
    made = make.running_league(players=2)
    fields = (*tool.properties, "match_id", "round_id", "message_type", "params", "player_meta", "message")
    hostile: list[dict[str, Any]] = [{}] + [dict.fromkeys(fields, value) for value in HOSTILE]
    if singly:
        hostile = [{name: value} for name in fields for value in HOSTILE]
    for token in (made.players[0].token, ""):
        for arguments in hostile:
            result = ask(client, "tools/call", token, name=tool.name, arguments=arguments)
            assert result["structuredContent"] or not result["isError"], arguments


def test_leagues_are_listed_with_times_as_in_messages(client: Client) -> None:
    make.running_league(players=2)
    [line] = call(client, "list_leagues")["leagues"]
    assert (line["league_id"], line["completed_at"], line["created_at"][-1]) == ("fall", None, "Z")


def test_a_league_in_the_archive_is_not_listed(client: Client) -> None:
    for league_id, archived_at in (("spring", timezone.now()), ("fall", None)):
        make.open_league(league_id)
        League.objects.filter(pk=league_id).update(archived_at=archived_at)
    assert [line["league_id"] for line in call(client, "list_leagues")["leagues"]] == ["fall"]


@pytest.mark.parametrize("typed", ["x" * 60_000, "%" * 60_000, "_", "%"])
def test_a_text_that_begins_no_id_is_completed_to_nothing(client: Client, typed: str) -> None:
    make.open_league("fall")
    reference = {"type": "ref/resource", "uri": "league://{id}/standings"}
    answer = ask(client, "completion/complete", ref=reference, argument={"name": "id", "value": typed})
    assert answer["completion"]["values"] == []


@pytest.mark.parametrize(
    ("uri", "part"),
    # Every third of them has each part once.
    sampled(
        product(
            ["league://{}/standings", "league://fall/matches/{}", "league://fall/players/{}/history"],
            ["%00", "a%2Fb", "%ed%a0%80", "x" * 200, "..", "'", "%25", "7%0a8"],
        ),
        every=3,
    ),
)
def test_a_hostile_uri_is_400(client: Client, uri: str, part: str) -> None:
    make.league(players=2)
    assert status_of(client, "resources/read", uri=uri.format(part)) == 400
