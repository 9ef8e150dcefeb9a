"""Reading an agent's answer, wherever in its reply it is (ruling, section 3)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.dialects.answers import (
    ACCEPT_FIELDS,
    CHOICE_FIELDS,
    NO_WORDS,
    YES_WORDS,
    Understanding,
    accepted,
    choice,
    oddities,
    read_answer,
    understanding,
)
from league_sdk.protocol.notes import Code, Note, note

ACK = {"message_type": "GAME_JOIN_ACK", "accept": True}
PICK = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd"}


def texts(notes: Iterable[Note]) -> list[str]:
    return [str(one) for one in notes]


def rpc(result: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "result": result} | more


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        (rpc(PICK), ()),
        ([rpc(PICK)], (str(note(Code.LIST)),)),
        (rpc(PICK, id=1), ("id was 1, expected 7",)),
        (rpc(PICK, error=None), ("error beside a result",)),
        (PICK, ("no JSON-RPC around the reply",)),
        ({"jsonrpc": "2.0", "method": "x", "params": PICK, "id": "u"}, ("a request in place of a reply",)),
        (rpc({"content": [{"type": "text", "text": json.dumps(PICK)}]}), ("the message was inside a tool result",)),
        (rpc({"structuredContent": PICK, "content": []}), ("the message was inside a tool result",)),
        (rpc({"envelope": {"message_type": "x"}, "payload": PICK}), ("the message was nested",)),
        (rpc({"status": "ok", "data": PICK}), ("the message was nested",)),
        (rpc({"message": PICK}), ("the message was nested",)),
        (rpc(json.dumps(PICK)), ()),
        (rpc("odd"), ("a bare value in place of a message",)),
        ({"jsonrpc": "2.0", "id": 7} | PICK, ("the message stood beside result, not in it",)),
        ({"jsonrpc": "2.0", "id": 7, "result": None} | PICK, ("the message stood beside result, not in it",)),
    ],
)
def test_read_answer_finds_the_message_in_every_place(body: Any, notes: tuple[str, ...]) -> None:
    answer = read_answer(body, rpc_id=7)
    assert (choice(answer.message, "parity_choice"), answer.refused, texts(answer.notes)) == ("odd", None, [*notes])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"accept": True}, True),
        ({"accept": False}, False),
        ({"accepted": True}, True),
        ({"accept": "true"}, True),
        ({"accepted": "no"}, False),
        ({"joined": True}, True),
        ({"status": "ACCEPTED"}, True),
        ({"status": "received"}, True),
        ({"status": "ACK"}, True),
        ({"status": "REJECTED"}, False),
        ({"status": "ok"}, None),
        ({"accept": False, "status": "ACK"}, False),
        ({}, None),
        *(({name: yes}, yes) for name in ACCEPT_FIELDS for yes in (True, False)),
        *(({"status": word}, True) for word in sorted(YES_WORDS)),
        *(({"status": word}, False) for word in sorted(NO_WORDS)),
    ],
)
def test_accepted_reads_every_spelling_of_yes_and_no(message: dict[str, Any], expected: bool | None) -> None:
    assert accepted(message) is expected


@pytest.mark.parametrize(
    ("message", "field", "expected"),
    [
        ({"parity_choice": "even", "choice": "odd"}, "parity_choice", "even"),
        ({"choice": "odd"}, "parity_choice", "odd"),
        ({"move": "odd"}, "parity_choice", "odd"),
        ({"move_data": {"choice": 4}}, "position", 4),
        ({"move_data": {"position": 0}}, "position", 0),
        ({"move": {"position": 3}}, "position", 3),
        ({"parity_choice": {"a": 1}}, "parity_choice", {"a": 1}),
        ({"parity_choice": None}, "parity_choice", None),
        ({"other": "even"}, "parity_choice", None),
        *(({name: "odd"}, "parity_choice", "odd") for name in CHOICE_FIELDS),
    ],
)
def test_choice_finds_the_move_under_every_name(message: dict[str, Any], field: str, expected: Any) -> None:
    assert choice(message, field) == expected


NOT_UNDERSTOOD = [
    (200, {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "Method not found"}}),
    (400, {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "Method not found"}}),
    (404, {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "Method not found"}}),
    (200, {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "Invalid params"}}),
    (500, {"detail": "Internal Server Error"}),
    (404, {"detail": "Not Found"}),
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}),
    (200, rpc({"error": "Unknown method"})),
    (200, {"error": "Unknown method"}),
    (200, rpc({"status": "unknown_message_type"})),
    (200, rpc({"success": False})),
    (200, rpc({"isError": True, "content": [{"type": "text", "text": "Unknown tool"}]})),
    (200, rpc({"status": "error", "message": "no"})),
    (200, rpc({"message_type": "GAME_ERROR", "error_code": "E002"})),
    (307, None),
]


@pytest.mark.parametrize(("status", "body"), NOT_UNDERSTOOD)
@pytest.mark.parametrize("kind", ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"])
def test_understanding_takes_refusals_and_failures_for_not_understood(status: int, body: Any, kind: str) -> None:
    understood = understanding(
        read_answer(body, rpc_id=7), status=status, readable=body is not None, message_type=kind, field="parity_choice"
    )
    assert understood is Understanding.NOT_UNDERSTOOD


@pytest.mark.parametrize(
    ("kind", "body", "status", "expected"),
    [
        ("GAME_INVITATION", rpc(ACK), 200, Understanding.ANSWERED),
        ("GAME_INVITATION", rpc(ACK), 500, Understanding.ANSWERED),
        ("GAME_INVITATION", rpc({"accept": False, "reason": "busy"}), 200, Understanding.ANSWERED),
        ("GAME_INVITATION", rpc({"accept": False, "error": "Unknown method"}), 200, Understanding.NOT_UNDERSTOOD),
        ("GAME_INVITATION", rpc({"status": "RECEIVED"}), 200, Understanding.ANSWERED),
        ("GAME_INVITATION", rpc({"status": "ok"}), 200, Understanding.VAGUE),
        ("GAME_INVITATION", rpc(True), 200, Understanding.ANSWERED),
        ("GAME_INVITATION", rpc("ok"), 200, Understanding.VAGUE),
        ("GAME_INVITATION", None, 200, Understanding.VAGUE),
        ("GAME_INVITATION", None, 202, Understanding.RECEIPT),
        ("CHOOSE_PARITY_CALL", rpc("ok"), 200, Understanding.VAGUE),
        ("CHOOSE_PARITY_CALL", None, 204, Understanding.RECEIPT),
        ("CHOOSE_PARITY_CALL", rpc({"status": "RECEIVED"}), 200, Understanding.RECEIPT),
        ("CHOOSE_PARITY_CALL", rpc({"status": "ok"}), 200, Understanding.VAGUE),
        ("CHOOSE_PARITY_CALL", rpc(ACK), 200, Understanding.VAGUE),
        ("CHOOSE_PARITY_CALL", rpc({"success": True, "parity_choice": "odd"}), 200, Understanding.ANSWERED),
        ("GAME_OVER", rpc({"status": "ok"}), 200, Understanding.ANSWERED),
        ("GAME_OVER", rpc({}), 200, Understanding.ANSWERED),
    ],
)
def test_understanding_tells_answers_from_receipts_and_vague_successes(
    kind: str, body: Any, status: int, expected: Understanding
) -> None:
    answer = read_answer(body, rpc_id=7)
    assert understanding(answer, status=status, readable=True, message_type=kind, field="parity_choice") is expected


def test_oddities_lists_what_is_wrong_with_an_invitation_answer() -> None:
    message = {"sender": "player:P01", "player_id": "P01", "match_id": "M9", "timestamp": "20261121T202723Z"}
    assert texts(oddities(message, match_id="R1M1", player_id="P07", expected_type="GAME_JOIN_ACK")) == [
        "match_id was 'M9', expected R1M1",
        "player_id was 'P01', expected P07",
        "sender was 'player:P01', expected player:P07",
        "message_type was missing, expected GAME_JOIN_ACK",
        "accept was missing, read from another field",
        "auth_token was missing",
        "timestamp not UTC",
    ]


def test_meta_data_of_mcp_is_not_read_as_an_answer() -> None:
    meta = {"fastmcp": {"wrap_result": True, "choice": "even"}}
    answer = read_answer(rpc({"content": [], "structuredContent": {"result": "odd"}, "_meta": meta}), rpc_id=7)
    assert choice(answer.message, "parity_choice") == "odd"
    assert texts(answer.notes) == ["the message was inside a tool result"]


def test_oddities_lists_what_is_wrong_with_a_choice() -> None:
    message = {"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "odd", "arrival_timestamp": "2025-01-15T10:00:00"}
    notes = oddities(message, match_id="R1M1", player_id="P07", expected_type="CHOOSE_PARITY_RESPONSE")
    assert texts(notes) == [
        "parity_choice was missing, read from another field",
        "player_id was missing",
        "auth_token was missing",
        "timestamp was missing",
        "arrival_timestamp not UTC",
    ]


@pytest.mark.parametrize(("move", "odd"), [("3", True), (3, False), ("rock", False), (None, False)])
@pytest.mark.parametrize("where", ["choice", "move", "move_data"])
def test_oddities_notes_a_number_sent_as_a_string(move: Any, odd: bool, where: str) -> None:
    message = {where: {"choice": move} if where == "move_data" else move, "message_type": "GAME_MOVE_RESPONSE"}
    notes = oddities(message, match_id="R1M1", player_id="P07", expected_type="GAME_MOVE_RESPONSE")
    assert (note(Code.TEXT_FOR_NUMBER) in notes) is odd


def test_oddities_finds_nothing_wrong_with_a_correct_answer() -> None:
    message = ACK | {
        "sender": "player:P07",
        "player_id": "P07",
        "match_id": "R1M1",
        "timestamp": "2025-01-15T10:00:00Z",
        "auth_token": "the token",
    }
    assert texts(oddities(message, match_id="R1M1", player_id="P07", expected_type="GAME_JOIN_ACK")) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["result", "error", "params", "message", "payload", "data", "content", "text", "status", "accept", "move",
             "move_data", "choice", "envelope", "type", "message_type", "structuredContent", "id", "jsonrpc"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(body=JSON, kind=st.sampled_from(["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]))
def test_any_json_is_read(body: Any, kind: str) -> None:
    answer = read_answer(body, rpc_id=7)
    understood = understanding(answer, status=200, readable=True, message_type=kind, field="parity_choice")
    assert isinstance(understood, Understanding)
    assert all(str(one) != "" for one in oddities(answer.message, match_id="R1M1", player_id="P01"))


@pytest.mark.parametrize(
    "text",
    [
        '{"accept": true, "message_type": "\\ud800"}',
        '{"accept": true, "message_type": "\\u0000"}',
        '{"accept": true, "seen": NaN}',
        '{"accept": true, "deep": ' + "[" * 400 + "]" * 400 + "}",
    ],
)
def test_text_inside_a_reply_is_read_as_strictly_as_the_reply(text: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}
    assert read_answer(body, rpc_id=1).message.get("accept") is None
