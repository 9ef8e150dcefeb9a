"""Expected against received: what we hold up as expected conforms, and what came is marked by what it cost."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from agents_registry.models import Agent
from league_sdk.protocol import schemas
from league_sdk.protocol.transcript import body_for_transcript
from matches.audience.pages.exchanges import Line, comparison, curl, exchanges, expected_answer, is_legal, is_usable
from tests.places import sample

ASKED = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
ME = Agent(code="P01", endpoint="http://192.0.2.7:8101/mcp")


@pytest.mark.parametrize("name", ASKED)
def test_what_we_call_expected_conforms(name: str) -> None:
    expected = expected_answer(sample(name), "P01")
    assert expected["message_type"] == schemas.TRAVEL[name].answer
    assert schemas.problems(expected["message_type"], expected | {"auth_token": "tok_own"}) == []
    assert is_usable(sample(name), expected)
    rows = comparison(expected, expected, usable=True)
    assert {row["mark"] for row in rows} == {"ok"} and not any(row["cost"] for row in rows)


@pytest.mark.parametrize("sent", [None, [], "x", {}, {"message_type": []}, {"message_type": "GAME_OVER"}])
def test_nothing_is_expected_where_nothing_is_asked(sent: Any) -> None:
    assert expected_answer(sent, "P01") == {}


def marks(message: dict[str, Any], name: str = "CHOOSE_PARITY_CALL") -> dict[str, tuple[str, bool]]:
    sent = sample(name)
    rows = comparison(expected_answer(sent, "P01"), message, usable=is_usable(sent, message))
    return {row["name"]: (row["mark"], row["cost"]) for row in rows}


def test_marks() -> None:
    right = expected_answer(sample("CHOOSE_PARITY_CALL"), "P01")
    assert marks(right | {"parity_choice": "Even"})["parity_choice"] == ("wrong", True)
    assert marks(right | {"match_id": "R9M9"})["match_id"] == ("wrong", False)
    assert marks(right | {"timestamp": "yesterday"})["timestamp"] == ("wrong", False)
    assert marks(right | {"mood": "good"})["mood"] == ("more", False)
    without = {name: value for name, value in right.items() if name != "parity_choice"}
    assert marks(without)["parity_choice"] == ("missing", True)
    # The referee looks further than the field of that name.
    assert marks(without | {"choice": "odd"})["parity_choice"] == ("wrong", False)
    joined = expected_answer(sample("GAME_INVITATION"), "P01")
    assert marks(joined | {"accept": False}, "GAME_INVITATION")["accept"] == ("ok", False)


@pytest.mark.parametrize(
    ("move", "legal"),
    [(3, True), ("3", True), (True, False), (5, False), ("٣", False), (None, False), ([3], False), ("9" * 40, False)],
)
def test_legal_moves_are_those_offered(move: Any, legal: bool) -> None:
    assert is_legal(move, {"message_type": "GAME_MOVE_CALL", "valid_options": [1, 3]}) is legal


def line(number: int, sender: str, recipient: str, **how: Any) -> Line:
    return Line(1, {"n": number, "at": "2025-01-15T10:15:00+00:00", "sender": sender, "recipient": recipient} | how)


def test_requests_and_answers_are_paired_and_the_others_left_out() -> None:
    call = sample("CHOOSE_PARITY_CALL")
    found = exchanges(
        [
            line(0, "P01", "REF01", body={"early": 1}),
            line(1, "REF01", "P01", method="choose_parity", message_type="CHOOSE_PARITY_CALL", body=call),
            line(2, "REF01", "P02", method="choose_parity", message_type="CHOOSE_PARITY_CALL", body=call),
            line(3, "P02", "REF01", body={"result": {"parity_choice": "odd"}}),
            line(4, "player:P01", "REF01", body={"result": {"parity_choice": "odd"}}, notes=["x"]),
            line(5, "P01", "REF01", body={"late": 1}),
            line(6, "REF01", "P01", method="notify_match_result", message_type="GAME_OVER", body=sample("GAME_OVER")),
        ],
        ME,
    )
    assert [(one["key"], one["asked"], len(one["answers"])) for one in found] == [
        ("1.0", False, 1),
        ("1.1", True, 2),
        ("1.6", True, 0),
    ]
    assert [one["again"] for one in found] == [False, True, True]


def test_a_body_that_was_cut_is_said_to_be_and_not_sent_again() -> None:
    long = body_for_transcript(sample("CHOOSE_PARITY_CALL") | {"more": "x" * 9000})
    [one] = exchanges([line(1, "REF01", "P01", method="m", message_type="CHOOSE_PARITY_CALL", body=long)], ME)
    assert (one["whole"], one["again"], one["curl"]) == (False, False, "")


def test_the_curl_command_sends_exactly_that() -> None:
    body = {"a": "it's $HOME `x` \"\\", "auth_token": "tok_" + "a" * 32, "ע": "ב"}
    words = shlex.split(curl("http://192.0.2.7:8101/mcp?x=1", "/mcp", body))
    assert words[4] == "http://192.0.2.7:8101/mcp?x=1"
    assert json.loads(words[-1]) == body | {"auth_token": "tok_…"}
    assert shlex.split(curl("http://192.0.2.7:8101/mcp?x=1", "/other", body))[4] == "http://192.0.2.7:8101/other"
