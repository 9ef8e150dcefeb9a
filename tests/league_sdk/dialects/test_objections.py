"""Refusals of fields and ids in the words of common validators, and what is sent instead."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import objections


def error(message: Any, **data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": message, **data}}


def detail(*items: dict[str, Any]) -> dict[str, Any]:
    return {"detail": list(items)}


def extra(name: str) -> dict[str, Any]:
    return {"type": "extra_forbidden", "loc": ["body", "params", name], "msg": "Extra inputs are not permitted"}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (detail(extra("player_id"), extra("context")), {"player_id", "context"}),
        (detail({"type": "value_error.extra", "loc": ["body", "x"], "msg": "extra fields not permitted"}), {"x"}),
        (error("GameInvitation.__init__() got an unexpected keyword argument 'player_id'"), {"player_id"}),
        (error("Additional properties are not allowed ('deadline', 'role' were unexpected)"), {"deadline", "role"}),
        (error("Invalid params", data={"errors": ['Unrecognized field "league_token"']}), {"league_token"}),
        ({"error": "Unknown fields in message"}, set()),
        ({"jsonrpc": "2.0", "id": 1, "result": {"error": "unexpected field `deadline`"}}, {"deadline"}),
    ],
)
def test_unwanted_finds_the_rejected_fields(body: Any, fields: set[str]) -> None:
    assert objections.unwanted(body) == fields


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "x",
        error("Method not found"),
        error("Unknown method 'choose_parity'"),
        error("Missing required field 'player_id'"),
        detail({"type": "missing", "loc": ["body", "params", "player_id"], "msg": "Field required"}),
        {"error": {"error": {"error": {"error": {"error": {"error": "unexpected field 'a'"}}}}}},
    ],
)
def test_refusals_for_other_reasons_name_no_fields_and_no_id(body: Any) -> None:
    assert objections.unwanted(body) is None
    assert not objections.wants_text_id(body)


@pytest.mark.parametrize(
    "why",
    ["Handshake not completed, send ping first", "Ping required", "Waiting for a ping", {"error": "PING me first"}],
)
def test_wants_ping_recognises_agents_that_wait_for_one(why: Any) -> None:
    assert objections.wants_ping(error(why))


@pytest.mark.parametrize(
    "why",
    [
        *("Unknown method. Known: ping, choose_parity", "Method not found: ping", "A mapping is needed first"),
        *("pinged", "Send one of: ping, choose_parity", "supported: ping, list_tools (first)", "'ping' field required"),
    ],
)
def test_a_refusal_that_only_mentions_ping_wants_none(why: str) -> None:
    assert not objections.wants_ping(error(why))


@pytest.mark.parametrize("kind", ["string_type", "type_error.str"])
def test_wants_text_id_recognises_validators_of_the_id(kind: str) -> None:
    wrong = {"type": kind, "loc": ["body", "id"], "msg": "Input should be a valid string"}
    assert objections.wants_text_id(detail(wrong))
    assert not objections.wants_text_id(detail(wrong | {"loc": ["body", "params", "round_id"]}))


def test_without_keeps_the_fields_of_the_documents_and_what_identifies_the_match() -> None:
    printed = {"protocol": "league.v2", "message_type": "GAME_INVITATION", "match_id": "R1M1", "opponent_id": "P02"}
    invitation = printed | {"player_id": "P01", "league_token": "t"}
    assert objections.without(invitation, frozenset()) == printed
    del printed["opponent_id"]
    assert objections.without(invitation, frozenset({"opponent_id", "match_id", "message_type"})) == printed


def test_without_drops_only_rejected_fields_of_a_message_that_the_documents_do_not_list() -> None:
    trimmed = objections.without({"message_type": "PING", "a": 1, "b": 2}, frozenset({"a"}))
    assert trimmed == {"message_type": "PING", "b": 2}
