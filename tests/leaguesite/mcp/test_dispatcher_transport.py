"""What surrounds a message at POST /mcp: size, content type, ids, notifications, versions, our own failures."""

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
    return response.status_code, error["code"], error["data"]["error_code"], wire.context_of(error["data"])


def padded(size: int) -> bytes:
    """A valid ping of exactly ``size`` bytes."""
    frame = b'{"jsonrpc":"2.0","method":"ping","id":1,"params":{"a":"%s"}}'
    return frame % (b"x" * (size - len(frame) + 2))


def test_a_body_of_64_kib_is_read(client: Client) -> None:
    raw = padded(MAX_BODY_BYTES)
    assert len(raw) == MAX_BODY_BYTES
    assert wire.post(client, raw).json()["result"] == {"status": "ok"}


@pytest.mark.parametrize("content_type", ["application/json", "", "Application/JSON; charset=utf-8"])
def test_a_body_is_read_whatever_the_spelling_of_its_content_type(client: Client, content_type: str) -> None:
    assert client.post("/mcp", padded(100), content_type=content_type).json()["result"] == {"status": "ok"}


def test_no_csrf_token_and_no_trailing_slash_is_asked_for() -> None:
    strict = Client(enforce_csrf_checks=True)
    for path in ("/mcp", "/leagues/nowhere/mcp"):
        assert wire.ask(strict, "ping", {}, path) == {"status": "ok"}


@pytest.mark.parametrize("rpc_id", [0, 7, -1, 2**53, 1.5, "7", "", None])
def test_the_id_is_echoed_with_its_type(client: Client, rpc_id: Any) -> None:
    for method in ("ping", "nothing"):
        echoed_id = wire.post(client, wire.request(method, {}, rpc_id)).json()["id"]
        assert (echoed_id, type(echoed_id)) == (rpc_id, type(rpc_id))


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


def test_an_unsupported_protocol_is_e018_and_names_the_supported_one(client: Client) -> None:
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


def test_error_style_result_leaves_json_rpcs_own_errors_alone(client: Client) -> None:
    make.open_league("fall", error_style="result")
    reply = wire.post(client, wire.request("nothing", {"league_id": "fall"}), "/leagues/fall/mcp").json()
    assert reply["error"]["code"] == -32601


def test_our_own_failure_is_an_internal_error_and_no_500(
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
def test_an_unknown_league_in_the_address_is_refused(client: Client, name: str, code: str) -> None:
    path = f"/leagues/{name}/mcp"
    assert wire.refused(client, "get_standings", {}, path)["error_code"] == code
    assert wire.refused(client, "register_player", wire.player_request(), path)["error_code"] == "E014"
    assert wire.refused(client, "register_referee", wire.referee_request(), path)["error_code"] == "E014"


@pytest.mark.parametrize("path", ["/mcp", "/leagues/fall/mcp"])
def test_other_http_methods_are_405(client: Client, path: str) -> None:
    assert [client.get(path).status_code, client.put(path).status_code, client.delete(path).status_code] == [405] * 3


def test_a_very_long_method_name_is_shortened_in_the_error(client: Client) -> None:
    answer = wire.post(client, wire.request("x" * 60_000, {}))
    assert answer.json()["error"]["data"]["original_message_type"] == "x" * 64
    assert len(answer.content) < 2000
