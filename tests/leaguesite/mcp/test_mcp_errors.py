"""Malformed and hostile requests: each gets its JSON-RPC error, and nothing in the database changes (ruling, 5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db.models import F
from django.test import Client

from agents_registry.registering import credentials
from matches.models import Match
from tests import factories as make
from tests import wire
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
UNKNOWN_TOKEN = "tok_" + "0" * 32


@dataclass(frozen=True)
class World:
    """A league in play."""

    made: make.MadeLeague

    @property
    def player(self) -> make.RegisteredAgent:
        return self.made.players[0]

    @property
    def referee(self) -> make.RegisteredAgent:
        return self.made.referees[0]

    def query(self, **changes: Any) -> dict[str, Any]:
        """A LEAGUE_QUERY that is right but for the changes; a None takes a field away."""
        params = make.message_from(self.player, "LEAGUE_QUERY", league_id="fall", query_type="GET_STANDINGS") | changes
        return wire.request("league_query", {key: value for key, value in params.items() if value is not None})

    def report(self, who: make.RegisteredAgent | None = None, **changes: Any) -> dict[str, Any]:
        """A MATCH_RESULT_REPORT that is right but for the changes."""
        fields = make.result_fields(self.made.match("R1M1"), "P01")
        params = make.message_from(who or self.referee, "MATCH_RESULT_REPORT", **fields) | changes
        return wire.request("report_match_result", {key: value for key, value in params.items() if value is not None})

    def progress(self, who: make.RegisteredAgent | None = None, **changes: Any) -> dict[str, Any]:
        """A report_progress that is right but for the changes."""
        matches = [make.progress_item(self.made.match("R1M1"))]
        return wire.request(
            "report_progress", make.message_from(who or self.referee, "REPORT_PROGRESS", matches=matches) | changes
        )


@pytest.fixture
def world() -> World:
    made = make.running_league("fall", players=2)
    make.open_league("other")
    return World(made)


def database() -> dict[str, tuple[int, str]]:
    """Row counts and a digest of all rows, by table."""
    rows_by_table = {}
    for model in apps.get_models():
        rows = [repr(row) for row in model.objects.order_by("pk").values_list()]
        rows_by_table[model._meta.db_table] = (len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())
    return rows_by_table


Body = bytes | dict[str, Any] | list[Any] | Callable[[World], Any]
WRONG = (-32602, "E002")
MISSING = (-32602, "E003")
TOKEN_WRONG = (-32001, "E012")
TOKEN_MISSING = (-32001, "E011")
OLD_PROTOCOL = (-32000, "E018")
NO_LEAGUE = (-32000, "E014")
NO_REFEREE = (-32000, "E013")
NO_METHOD = (-32601, "E002")
RAW: dict[str, tuple[Body, int, str, str | None]] = {
    "no JSON": (b"hello", -32700, "E002", None),
    "batch": ([wire.request("ping", {})], -32600, "E002", "body"),
    "unknown method": (wire.request("drop_tables", {}), *NO_METHOD, "method"),
    "unknown type": (wire.request("mcp_message", {"message_type": "DROP"}), *NO_METHOD, "method"),
    "type is a list": (wire.request("mcp_message", {"message_type": ["PING"]}), *WRONG, "message_type"),
    "no type": (wire.request("mcp_message", {}), *MISSING, "message_type"),
    "a message only we send": (wire.request("notify_round", {}), *NO_METHOD, "method"),
    "params array": (wire.request("league_query", ["GET_STANDINGS"]), *WRONG, "params"),
    "protocol": (lambda w: w.query(protocol="league.v1"), *OLD_PROTOCOL, "protocol"),
    "protocol is a number": (lambda w: w.query(protocol=2), *OLD_PROTOCOL, "protocol"),
    "old version": (lambda w: w.query(protocol_version="1.9.9"), *OLD_PROTOCOL, "protocol_version"),
    "version junk": (lambda w: w.query(protocol_version={}), *OLD_PROTOCOL, "protocol_version"),
    "no sender": (lambda w: w.query(sender=None), *MISSING, "sender"),
    "no timestamp": (lambda w: w.query(timestamp=None), *MISSING, "timestamp"),
    "no conversation_id": (lambda w: w.query(conversation_id=None), *MISSING, "conversation_id"),
    "empty sender": (lambda w: w.query(sender=""), *MISSING, "sender"),
    "league_id is a list": (lambda w: w.query(league_id=["fall"]), *WRONG, "league_id"),
    "league_id is long": (lambda w: w.query(league_id="x" * 65), *WRONG, "league_id"),
    "unknown league": (lambda w: w.query(league_id="nowhere"), *NO_LEAGUE, "league_id"),
    "unknown league and token": (
        lambda w: w.query(league_id="nowhere", auth_token=UNKNOWN_TOKEN),
        *NO_LEAGUE,
        "league_id",
    ),
    "league_id is a token": (lambda w: w.query(league_id=w.player.token), *NO_LEAGUE, "league_id"),
    "no token": (lambda w: w.query(auth_token=None), *TOKEN_MISSING, "auth_token"),
    "empty token": (lambda w: w.query(auth_token=""), *TOKEN_MISSING, "auth_token"),
    "unknown token": (lambda w: w.query(auth_token=UNKNOWN_TOKEN), *TOKEN_WRONG, "auth_token"),
    "token is a number": (lambda w: w.query(auth_token=5), *TOKEN_WRONG, "auth_token"),
    "its league_token": (
        lambda w: w.query(auth_token=credentials.league_token(w.player.agent)),
        *TOKEN_WRONG,
        "auth_token",
    ),
    "a referee's league_token": (
        lambda w: w.report(auth_token=credentials.league_token(w.referee.agent)),
        *TOKEN_WRONG,
        "auth_token",
    ),
    "another league": (lambda w: w.query(league_id="other"), *TOKEN_WRONG, "league_id"),
    "token of another": (lambda w: w.query(auth_token=w.made.players[1].token), *TOKEN_WRONG, "sender"),
    "sender is another": (lambda w: w.query(sender="player:P02"), *TOKEN_WRONG, "sender"),
    "sender of another kind": (lambda w: w.query(sender="referee:P01"), *TOKEN_WRONG, "sender"),
    "sender is a colon": (lambda w: w.query(sender=":"), *TOKEN_WRONG, "sender"),
    "sender is a number": (lambda w: w.query(sender=5), *TOKEN_WRONG, "sender"),
    "sender is a token": (lambda w: w.query(sender=w.made.players[1].token), *TOKEN_WRONG, "sender"),
    "report of a player": (lambda w: w.report(w.player), *NO_REFEREE, "auth_token"),
    "progress of a player": (lambda w: w.progress(w.player), *NO_REFEREE, "auth_token"),
    "unknown match": (lambda w: w.report(match_id="R9M9"), *WRONG, "match_id"),
    "match_id is a number": (lambda w: w.report(match_id=5), *WRONG, "match_id"),
    "no match_id": (lambda w: w.report(match_id=None), *MISSING, "match_id"),
    "report without a league": (lambda w: w.report(league_id=None), *MISSING, "league_id"),
    "attempt junk": (lambda w: w.report(attempt="first"), *WRONG, "attempt"),
    "no result": (lambda w: w.report(result=None), *MISSING, "result"),
    "result is a list": (lambda w: w.report(result=[]), *WRONG, "result"),
    "no winner": (lambda w: w.report(result={}), *MISSING, "result.winner"),
    "winner from elsewhere": (lambda w: w.report(result={"winner": "P03"}), *WRONG, "result.winner"),
    "winner is a list": (lambda w: w.report(result={"winner": ["P01"]}), *WRONG, "result.winner"),
    "status junk": (lambda w: w.report(status=["WIN"]), *WRONG, "status"),
    "no matches": (lambda w: w.progress(matches=None), *MISSING, "matches"),
    "matches is an object": (lambda w: w.progress(matches={}), *WRONG, "matches"),
    "a match is a string": (lambda w: w.progress(matches=["R1M1"]), *WRONG, "matches[0]"),
    "FINISHED in progress": (
        lambda w: w.progress(matches=[make.progress_item(w.made.match("R1M1"), state="FINISHED")]),
        *WRONG,
        "matches[0].state",
    ),
    "query junk": (lambda w: w.query(query_type="DROP"), *WRONG, "query_type"),
    "no query": (lambda w: w.query(query_type=None), *MISSING, "query_type"),
    "meta is a string": (wire.request("register_player", {"player_meta": "me"}), *WRONG, "player_meta"),
    "no referee_meta": (wire.request("register_referee", {}), *MISSING, "referee_meta"),
    "timestamp": (lambda w: w.query(timestamp="2025-01-15T10:30:00"), -32602, "E021", "timestamp"),
    "tool with a bad timestamp": (wire.request("get_standings", {"timestamp": ""}), -32602, "E021", "timestamp"),
}


@pytest.mark.parametrize(("body", "code", "error_code", "field"), sampled(RAW.values(), every=8), ids=RAW.keys())
def test_refused_with_its_error_and_nothing_changed(
    client: Client, world: World, body: Body, code: int, error_code: str, field: str | None
) -> None:
    body = body(world) if callable(body) else body
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    before = database()
    response = wire.post(client, raw)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    reply = response.json()
    assert (reply["jsonrpc"], sorted(reply)) == ("2.0", ["error", "id", "jsonrpc"])
    data = reply["error"]["data"]
    assert (reply["error"]["code"], data["error_code"], data["context"].get("field")) == (code, error_code, field)
    assert (data["message_type"], data["protocol"], data["message"]) == (
        "LEAGUE_ERROR",
        "league.v2",
        reply["error"]["message"],
    )
    assert wire.TOKEN.findall(response.content.decode()) == []
    assert database() == before


def test_digest_sees_a_change(world: World) -> None:
    before = database()
    Match.objects.filter(match_id="R1M1").update(attempt=F("attempt") + 1)
    changed = {table for table, content in database().items() if content != before[table]}
    assert changed == {"matches_match"}


def test_the_whole_error(client: Client, world: World) -> None:
    body = world.query(league_id="nowhere") | {"id": "abc"}
    assert wire.plain(wire.post(client, body).json()) == {
        "jsonrpc": "2.0",
        "id": "abc",
        "error": {
            "code": -32000,
            "message": "There is no league 'nowhere'.",
            "data": {
                "protocol": "league.v2",
                "message_type": "LEAGUE_ERROR",
                "sender": "league_manager:LM01",
                "timestamp": "<time>",
                "conversation_id": "conv-of-the-test",
                "error_code": "E014",
                "error_name": "LEAGUE_NOT_FOUND",
                "error_description": "LEAGUE_NOT_FOUND",
                "legacy_code": "L005",
                "message": "There is no league 'nowhere'.",
                "context": {
                    "field": "league_id",
                    "seen": '"nowhere"',
                    "expected": "a league id",
                    "expected_format": "a league id",
                    "action": "LEAGUE_QUERY",
                },
                "original_message_type": "LEAGUE_QUERY",
                "retryable": False,
            },
        },
    }
