"""Public transcripts: league messages are shown unchanged (a GAME_ERROR without quotes), other answers redacted."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.protocol.notes import Code, entry_in_words, in_words, note
from matches.view.public_answers import WITHHELD, for_public
from tests import factories as make

SECRET = "a-secret-text"


def shown(body: Any, **more: Any) -> dict[str, Any]:
    return for_public(make.entry(1, sender="player:P01", body=body) | more, ("P01", "P02"), "parity_choice")


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
def test_league_messages_and_empty_answers_are_shown_unchanged(body: Any) -> None:
    assert shown(body, notes=["odd"])["body"] == body
    assert shown(body, notes=["odd"])["notes"] == ["odd"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"result": {"accept": True, "key": SECRET}}, {"accept": True}),
        ({"result": {"parity_choice": "odd", "key": SECRET}}, {"parity_choice": "odd"}),
        ({"result": {"move": 4, "key": SECRET}}, {"parity_choice": 4}),
        ({"result": {"status": "OK", "key": SECRET}}, {"status": "OK"}),
        ({"result": {"status": SECRET, "parity_choice": SECRET}}, {}),
        ({"result": {"message_type": SECRET}}, {}),
        # The request of the site, sent back with additions.
        ({"method": "x", "params": {"message_type": "GAME_INVITATION", "protocol": "league.v2", "key": SECRET}}, {}),
        ({"error": {"code": -32601, "message": SECRET}}, {}),
        ({"cut": True, "beginning": '{"message_type": "GAME_JOIN_ACK", "key": "' + SECRET}, {}),
        ([SECRET], {}),
        (SECRET, {}),
    ],
)
def test_of_other_answers_only_the_recognised_fields_are_shown(body: Any, fields: dict[str, Any]) -> None:
    problem = note(Code.NO_ANSWER_IN_REPLY, seen=str(body)).to_json()
    site_notes = [note(Code.ASKED_AS, shape="tools_call", method="tools/call").to_json(), note(Code.NESTED).to_json()]
    quoting = [
        note(Code.ID, seen=SECRET, expected=7).to_json(),
        note(Code.CHARSET, seen=SECRET).to_json(),
        # Neither a note of the site, nor one that it would write.
        SECRET,
        {"code": SECRET, "args": {}},
        note(Code.ASKED_AS, shape=f"the {SECRET}", method="x").to_json(),
        note(Code.NOT_WANTED, sentence=SECRET).to_json(),
    ]
    line = shown(body, notes=[*quoting, *site_notes], message_type=SECRET, problem=problem)
    assert line["body"] == fields | {"withheld": WITHHELD}
    assert (line["notes"], line["message_type"]) == (site_notes, "reply")
    assert in_words(line["problem"]) == "its reply holds no answer, and none followed"
    assert SECRET not in str(line)


def test_notes_of_earlier_versions_are_redacted_too() -> None:
    """As transcripts of version 0.0.13 have them."""
    site_notes = [
        "asked as tools_call: tools/call",
        "accept was missing, read from another field",
        "message_type was missing, expected GAME_JOIN_ACK",
        "timestamp not UTC",
        "a second answer: the first stands",
    ]
    quoting = [
        f"id was '{SECRET}', expected 7",
        f"asked as tools_list: tools/call {SECRET}",
        f"tools/call {SECRET} was not understood (error -32601)",
        f"the answer says that it is {SECRET} text, and was taken for utf-8",
        f"a note of {SECRET}",
    ]
    line = shown({"result": {"key": SECRET}}, notes=[*quoting, *site_notes])
    assert entry_in_words(line)["notes"] == site_notes
    problems = {
        f"its reply {SECRET} holds no answer, and none followed": "its reply holds no answer, and none followed",
        f"it answered with the error '{SECRET}'": "it answered with an error",
        f"cell 3 is taken (seen: {SECRET}": "cell 3 is taken",
        f"The answer has no accept (it has {SECRET})": "The answer has no accept",
        f"R1M1 was refused: {SECRET}": "R1M1 was refused",
        "no answer within 30 s": "no answer within 30 s",
    }
    for problem, left in problems.items():
        assert entry_in_words(shown({}, problem=problem))["problem"] == left
        # Its owner and the staff read all of it.
        assert entry_in_words({"problem": problem})["problem"].rstrip(")") == problem.rstrip(")")


def test_a_public_game_error_does_not_quote_the_answer() -> None:
    body = {
        "message_type": "GAME_ERROR",
        "message": f"its reply {SECRET} holds no answer, and none followed",
        "context": {"field": "parity_choice", "seen": SECRET, "expected": "even"},
    }
    whole = make.entry(2, sender="referee:REF01", recipient="player:P01") | {"message_type": "GAME_ERROR", "body": body}
    expected = body | {
        "message": "its reply holds no answer, and none followed",
        "context": {"field": "parity_choice", "expected": "even"},
    }
    assert for_public(whole, ("P01", "P02"), "")["body"] == expected
    wrapped = whole | {"body": {"method": "notify", "params": body}}
    assert for_public(wrapped, ("P01", "P02"), "")["body"] == {"method": "notify", "params": expected}


def test_other_messages_of_a_referee_are_shown_unchanged() -> None:
    body = {"message_type": "GAME_INVITATION", "context": {"seen": 1}}
    line = make.entry(0, sender="referee:REF01", recipient="player:P01") | {"body": body}
    assert for_public(line, ("P01", "P02"), "")["body"] == body


def test_an_agents_own_words_and_how_it_is_called_are_not_public() -> None:
    for body in (None, {"error": {"code": 1, "message": SECRET}}, {"message_type": "GAME_JOIN_ACK", "accept": True}):
        line = make.entry(1, sender="player:P01", body=body) | {"said": SECRET, "wire": [{"text": SECRET}]}
        assert SECRET not in str(for_public(line, ("P01", "P02"), "parity_choice"))
