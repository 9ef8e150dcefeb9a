"""A transcript's lines as everybody reads them: messages of the league whole, of anything else that it came."""

from __future__ import annotations

from typing import Any

import pytest

from matches.view.public_answers import WITHHELD, for_public
from tests import factories as make

SECRET = "geheimnis"


def shown(body: Any, **more: Any) -> dict[str, Any]:
    return for_public(make.line(1, sender="player:P01", body=body) | more, ("P01", "P02"), "parity_choice")


@pytest.mark.parametrize(
    "body",
    [
        {"message_type": "GAME_JOIN_ACK", "accept": True, "remark": "hello"},
        {"jsonrpc": "2.0", "id": 7, "result": {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd"}},
        {"jsonrpc": "2.0", "id": 7, "result": {"message_type": "GAME_MOVE_RESPONSE", "move_data": {"choice": 4}}},
        None,
        {},
        "",
    ],
)
def test_a_message_of_the_league_is_shown_whole_and_so_is_nothing(body: Any) -> None:
    assert shown(body, notes=["odd"])["body"] == body
    assert shown(body, notes=["odd"])["notes"] == ["odd"]


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({"result": {"accept": True, "key": SECRET}}, {"accept": True}),
        ({"result": {"parity_choice": "odd", "key": SECRET}}, {"parity_choice": "odd"}),
        ({"result": {"move": 4, "key": SECRET}}, {"parity_choice": 4}),
        ({"result": {"status": "OK", "key": SECRET}}, {"status": "OK"}),
        ({"result": {"status": SECRET, "parity_choice": SECRET}}, {}),
        ({"result": {"message_type": SECRET}}, {}),
        # What we asked, sent back with more in it.
        ({"method": "x", "params": {"message_type": "GAME_INVITATION", "protocol": "league.v2", "key": SECRET}}, {}),
        ({"error": {"code": -32601, "message": SECRET}}, {}),
        ({"cut": True, "beginning": '{"message_type": "GAME_JOIN_ACK", "key": "' + SECRET}, {}),
        ([SECRET], {}),
        (SECRET, {}),
    ],
)
def test_of_anything_else_what_it_was_taken_for(body: Any, kept: dict[str, Any]) -> None:
    problem = f"its reply {body} holds no answer, and none followed"
    ours = ["asked as tools_call: tools/call", "accept was missing, read from another field", "the message was nested"]
    quoting = [
        SECRET,
        f"id was '{SECRET}', expected 7",
        f"the answer says that it is {SECRET} text, and was taken for utf-8",
    ]
    line = shown(body, notes=[*quoting, *ours], message_type=SECRET, problem=problem)
    assert line["body"] == kept | {"withheld": WITHHELD}
    assert (line["notes"], line["message_type"]) == (ours, "reply")
    assert line["problem"] == "its reply holds no answer, and none followed"
    assert SECRET not in str(line)


def test_a_complaint_does_not_repeat_what_it_is_about() -> None:
    body = {
        "message_type": "GAME_ERROR",
        "message": f"its reply {SECRET} holds no answer",
        "context": {"field": "parity_choice", "seen": SECRET, "expected": "even"},
    }
    whole = make.line(2, sender="referee:REF01", recipient="player:P01") | {"message_type": "GAME_ERROR", "body": body}
    expected = body | {
        "message": "its reply holds no answer",
        "context": {"field": "parity_choice", "expected": "even"},
    }
    assert for_public(whole, ("P01", "P02"), "")["body"] == expected
    wrapped = whole | {"body": {"method": "notify", "params": body}}
    assert for_public(wrapped, ("P01", "P02"), "")["body"] == {"method": "notify", "params": expected}


def test_what_a_referee_sends_is_shown() -> None:
    body = {"message_type": "GAME_INVITATION", "context": {"seen": 1}}
    line = make.line(0, sender="referee:REF01", recipient="player:P01") | {"body": body}
    assert for_public(line, ("P01", "P02"), "")["body"] == body
