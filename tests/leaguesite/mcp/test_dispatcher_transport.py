"""What surrounds a message at POST /mcp: size, content type, ids, notifications, error_style, our own failures."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from league_sdk.protocol.limits import MAX_BODY_BYTES
from matches.view import queries
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db


def error_of(response: Any) -> tuple[int, int, str, dict[str, Any]]:
    """HTTP status, JSON-RPC code, E-code and context."""
    error = response.json()["error"]
    return response.status_code, error["code"], error["data"]["error_code"], error["data"]["context"]


def padded(size: int) -> bytes:
    """A good ping of exactly that many bytes."""
    frame = b'{"jsonrpc":"2.0","method":"ping","id":1,"params":{"a":"%s"}}'
    return frame % (b"x" * (size - len(frame) + 2))


def test_a_body_of_64_kib_is_read(client: Client) -> None:
    raw = padded(MAX_BODY_BYTES)
    assert len(raw) == MAX_BODY_BYTES
    assert wire.post(client, raw).json()["result"] == {"status": "ok"}


def test_one_byte_more_is_413_with_a_json_rpc_body(client: Client) -> None:
    found = error_of(wire.post(client, padded(MAX_BODY_BYTES + 1)))
    context = {"field": "body", "seen": '"65537 bytes"', "expected": "at most 65536 bytes"}
    assert found == (413, -32600, "E002", context)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json2"])
def test_another_content_type_is_refused(client: Client, content_type: str) -> None:
    response = client.post("/mcp", padded(100), content_type=content_type)
    context = {"field": "Content-Type", "seen": f'"{content_type}"', "expected": "application/json"}
    assert error_of(response) == (200, -32600, "E002", context)


@pytest.mark.parametrize("content_type", ["application/json", "", "Application/JSON; charset=utf-8"])
def test_json_by_any_spelling_is_read(client: Client, content_type: str) -> None:
    assert client.post("/mcp", padded(100), content_type=content_type).json()["result"] == {"status": "ok"}


def test_no_csrf_token_and_no_trailing_slash_is_asked_for() -> None:
    strict = Client(enforce_csrf_checks=True)
    for path in ("/mcp", "/leagues/nowhere/mcp"):
        assert wire.ask(strict, "ping", {}, path) == {"status": "ok"}


@pytest.mark.parametrize("rpc_id", [0, 7, -1, 2**53, 1.5, "7", "", None])
def test_the_id_is_echoed_with_its_type(client: Client, rpc_id: Any) -> None:
    for method in ("ping", "nothing"):
        found = wire.post(client, wire.request(method, {}, rpc_id)).json()["id"]
        assert (found, type(found)) == (rpc_id, type(rpc_id))


@pytest.mark.parametrize("method", ["ping", "nothing", "get_standings"])
def test_a_notification_is_answered_with_204_and_nothing(client: Client, method: str) -> None:
    response = wire.post(client, {"jsonrpc": "2.0", "method": method})
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize("extra", [{}, {"params": None}, {"params": {}}, {"jsonrpc": "2.0", "params": {}}])
def test_params_and_jsonrpc_may_be_missing(client: Client, extra: dict[str, Any]) -> None:
    assert wire.post(client, {"method": "ping", "id": 1} | extra).json() == {
        "jsonrpc": "2.0",
        "result": {"status": "ok"},
        "id": 1,
    }


def test_list_tools(client: Client) -> None:
    tools = wire.ask(client, "list_tools", {})["tools"]
    assert sorted(tool["name"] for tool in tools) == [
        "create_schedule",
        "get_games",
        "get_next_match",
        "get_player_stats",
        "get_schedule",
        "get_standings",
        "league_query",
        "list_tools",
        "ping",
        "register_player",
        "register_referee",
        "report_match_result",
        "report_progress",
    ]
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools)


def test_e018_says_what_is_supported(client: Client) -> None:
    make.open_league("fall")
    data = wire.refused(client, "register_player", wire.player_request(protocol="league.v3"))
    assert (data["error_code"], data["context"]) == (
        "E018",
        {
            "supported_protocols": ["league.v2"],
            "field": "protocol",
            "seen": '"league.v3"',
            "expected": "league.v2",
        },
    )


@pytest.mark.parametrize(
    ("version", "word"),
    [("2.0.0", "ACCEPTED"), ("2.1.0", "ACCEPTED"), ("2.9", "ACCEPTED"), ("league.v2", "REGISTERED")],
)
def test_versions_from_2_0_0_on_are_taken(client: Client, version: str, word: str) -> None:
    make.open_league("fall")
    params = wire.player_request()
    params["player_meta"]["protocol_version"] = version
    assert wire.ask(client, "register_player", params)["status"] == word


@pytest.mark.parametrize("stamp", ["2025-01-15T10:30:00Z", "2025-01-15T10:30:00+00:00", "2025-01-15T10:30:00.123456Z"])
def test_timestamps_of_004_table_3_are_taken(client: Client, stamp: str) -> None:
    make.open_league("fall")
    assert wire.ask(client, "get_standings", {"league_id": "fall", "timestamp": stamp})["success"] is True


@pytest.mark.parametrize(
    ("method", "params", "path", "code"),
    [
        ("league_query", {"league_id": "fall"}, "/mcp", "E003"),
        ("get_standings", {"league_id": "fall", "timestamp": "now"}, "/mcp", "E021"),
        ("get_player_stats", {"league_id": "fall", "player_id": "P99"}, "/mcp", "E005"),
        ("get_player_stats", {"player_id": "P99"}, "/leagues/fall/mcp", "E005"),
        ("register_player", {"league_id": "fall"}, "/mcp", "E003"),
        ("get_standings", {"league_id": "fall", "auth_token": "tok_x"}, "/mcp", "E012"),
    ],
)
def test_error_style_result(client: Client, method: str, params: dict[str, Any], path: str, code: str) -> None:
    make.open_league("fall", error_style="result")
    result = wire.ask(client, method, params, path)
    assert (result["message_type"], result["error_code"]) == ("LEAGUE_ERROR", code)


def test_error_style_result_leaves_json_rpcs_own_errors_alone(client: Client) -> None:
    make.open_league("fall", error_style="result")
    reply = wire.post(client, wire.request("nothing", {"league_id": "fall"}), "/leagues/fall/mcp").json()
    assert reply["error"]["code"] == -32601


def test_our_own_failure_is_said_and_is_not_a_500(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make.open_league("fall")
    monkeypatch.setattr(queries, "standings_rows", lambda league: 1 / 0)
    response = wire.post(client, wire.request("get_standings", {"league_id": "fall"}))
    assert error_of(response) == (200, -32603, "E009", {})
    assert response.json()["error"]["data"]["retryable"] is True
    assert [record.message for record in caplog.records] == ["a call of get_standings failed"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("%00", "E002"), ("x" * 300, "E002"), ("%F0%9F%8E%B2", "E014"), ("%ff", "E014"), ("'%20or%201=1", "E014")],
)
def test_a_strange_league_in_the_address(client: Client, name: str, code: str) -> None:
    path = f"/leagues/{name}/mcp"
    assert wire.refused(client, "get_standings", {}, path)["error_code"] == code
    assert wire.refused(client, "register_player", wire.player_request(), path)["error_code"] == "E014"
    assert wire.refused(client, "register_referee", wire.referee_request(), path)["error_code"] == "E014"


@pytest.mark.parametrize("path", ["/mcp", "/leagues/fall/mcp"])
def test_other_verbs_are_not_allowed(client: Client, path: str) -> None:
    assert [client.get(path).status_code, client.put(path).status_code, client.delete(path).status_code] == [405] * 3


def test_an_endless_name_is_not_repeated_whole(client: Client) -> None:
    answer = wire.post(client, wire.request("x" * 60_000, {}))
    assert answer.json()["error"]["data"]["original_message_type"] == "x" * 64
    assert len(answer.content) < 2000
