"""Refusals of fields and of ids, in the words of the usual validators, and what is sent instead."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.dialects import objections


def error(message: Any, **data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": message, **data}}


def detail(*items: dict[str, Any]) -> dict[str, Any]:
    return {"detail": list(items)}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (
            detail(
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "params", "player_id"],
                    "msg": "Extra inputs are not permitted",
                },
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "params", "context"],
                    "msg": "Extra inputs are not permitted",
                },
            ),
            {"player_id", "context"},
        ),
        (detail({"type": "value_error.extra", "loc": ["body", "x"], "msg": "extra fields not permitted"}), {"x"}),
        (error("GameInvitation.__init__() got an unexpected keyword argument 'player_id'"), {"player_id"}),
        (
            error("Additional properties are not allowed ('deadline', 'attempt' were unexpected)"),
            {"deadline", "attempt"},
        ),
        (error("Invalid params", data={"errors": ['Unrecognized field "league_token"']}), {"league_token"}),
        ({"error": "Unknown fields in message"}, set()),
        ({"jsonrpc": "2.0", "id": 1, "result": {"error": "unexpected field `deadline`"}}, {"deadline"}),
    ],
)
def test_fields_that_are_too_many(body: Any, fields: set[str]) -> None:
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
def test_refusals_of_another_kind(body: Any) -> None:
    assert objections.unwanted(body) is None
    assert not objections.wants_text_id(body)


@pytest.mark.parametrize("kind", ["string_type", "type_error.str"])
def test_an_id_that_must_be_a_text(kind: str) -> None:
    wrong = {"type": kind, "loc": ["body", "id"], "msg": "Input should be a valid string"}
    assert objections.wants_text_id(detail(wrong))
    assert not objections.wants_text_id(detail(wrong | {"loc": ["body", "params", "round_id"]}))


def test_what_is_left_of_a_message() -> None:
    invitation = {
        "protocol": "league.v2",
        "message_type": "GAME_INVITATION",
        "match_id": "R1M1",
        "opponent_id": "P02",
        "player_id": "P01",
        "league_token": "t",
    }
    printed = {name: invitation[name] for name in ("protocol", "message_type", "match_id", "opponent_id")}
    assert objections.without(invitation, frozenset()) == printed
    del printed["opponent_id"]
    assert objections.without(invitation, frozenset({"opponent_id", "match_id", "message_type"})) == printed


def test_a_message_of_no_table_loses_only_what_was_named() -> None:
    assert objections.without({"message_type": "PING", "a": 1, "b": 2}, frozenset({"a"})) == {
        "message_type": "PING",
        "b": 2,
    }
