"""The comparison of an answer with the expected answer, which conforms to its schema; deviations are marked."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from django.utils import translation

from agents_registry.models import Agent
from league_sdk.protocol import schemas
from league_sdk.protocol.transcript import body_for_transcript
from matches.audience.pages.exchanges import (
    AttemptEntry,
    comparison,
    curl,
    exchanges,
    expected_answer,
    is_legal,
    is_usable,
)
from tests.paths import sample

CALLS = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
AGENT = Agent(code="P01", endpoint="http://192.0.2.7:8101/mcp")


@pytest.mark.parametrize("name", CALLS)
def test_the_expected_answer_conforms_to_its_schema(name: str) -> None:
    expected = expected_answer(sample(name), "P01")
    assert expected["message_type"] == schemas.MODELS[name].answer
    assert schemas.problems(expected["message_type"], expected | {"auth_token": "tok_own"}) == []
    assert is_usable(sample(name), expected)
    rows = comparison(expected, expected, usable=True)
    assert {row.mark for row in rows} == {"ok"} and not any(row.cost for row in rows)


@pytest.mark.parametrize("sent", [None, [], "x", {}, {"message_type": []}, {"message_type": "GAME_OVER"}])
def test_no_answer_is_expected_to_a_message_that_asks_for_none(sent: Any) -> None:
    assert expected_answer(sent, "P01") == {}


def marks(message: dict[str, Any], name: str = "CHOOSE_PARITY_CALL") -> dict[str, tuple[str, bool]]:
    sent = sample(name)
    rows = comparison(expected_answer(sent, "P01"), message, usable=is_usable(sent, message))
    return {row.name: (row.mark, row.cost) for row in rows}


def test_each_deviation_of_an_answer_has_its_mark_and_cost() -> None:
    right = expected_answer(sample("CHOOSE_PARITY_CALL"), "P01")
    assert marks(right | {"parity_choice": "Even"})["parity_choice"] == ("wrong", False)
    assert marks(right | {"parity_choice": "perhaps"})["parity_choice"] == ("wrong", True)
    assert marks(right | {"match_id": "R9M9"})["match_id"] == ("wrong", False)
    assert marks(right | {"timestamp": "yesterday"})["timestamp"] == ("wrong", False)
    assert marks(right | {"mood": "good"})["mood"] == ("more", False)
    without = {name: value for name, value in right.items() if name != "parity_choice"}
    assert marks(without)["parity_choice"] == ("missing", True)
    # The referee finds the choice in other fields, too, so this one costs nothing.
    assert marks(without | {"choice": "odd"})["parity_choice"] == ("wrong", False)
    joined = expected_answer(sample("GAME_INVITATION"), "P01")
    assert marks(joined | {"accept": False}, "GAME_INVITATION")["accept"] == ("ok", False)


def test_expected_values_described_in_words_are_in_the_readers_language() -> None:
    right = expected_answer(sample("CHOOSE_PARITY_CALL"), "P01")
    with translation.override("he"):
        rows = comparison(right, right | {"timestamp": "yesterday", "auth_token": "with a space"}, usable=True)
    shown = {row.name: (row.expected, row.in_words) for row in rows}
    assert shown["timestamp"] == ("YYYY-MM-DDTHH:MM:SSZ או \u200e+00:00, ב-UTC", True)
    assert shown["auth_token"] == ("אסימון: תווים מודפסים בלי רווחים", True)
    assert shown["protocol"] == ('"league.v2"', False)


@pytest.mark.parametrize(
    ("move", "legal"),
    [(3, True), ("3", True), (True, False), (5, False), ("٣", False), (None, False), ([3], False), ("9" * 40, False)],
)
def test_legal_moves_are_those_offered(move: Any, legal: bool) -> None:
    assert is_legal(move, {"message_type": "GAME_MOVE_CALL", "valid_options": [1, 3]}) is legal


def entry(number: int, sender: str, recipient: str, **how: Any) -> AttemptEntry:
    return AttemptEntry(
        1, {"n": number, "at": "2025-01-15T10:15:00+00:00", "sender": sender, "recipient": recipient} | how
    )


def test_requests_and_answers_of_one_player_are_paired_and_the_other_players_left_out() -> None:
    call = sample("CHOOSE_PARITY_CALL")
    pairs = exchanges(
        [
            entry(0, "P01", "REF01", body={"early": 1}),
            entry(1, "REF01", "P01", method="choose_parity", message_type="CHOOSE_PARITY_CALL", body=call),
            entry(2, "REF01", "P02", method="choose_parity", message_type="CHOOSE_PARITY_CALL", body=call),
            entry(3, "P02", "REF01", body={"result": {"parity_choice": "odd"}}),
            entry(4, "player:P01", "REF01", body={"result": {"parity_choice": "odd"}}, notes=["x"]),
            entry(5, "P01", "REF01", body={"late": 1}),
            entry(6, "REF01", "P01", method="notify_match_result", message_type="GAME_OVER", body=sample("GAME_OVER")),
        ],
        AGENT,
    )
    assert [(one.key, one.asked, len(one.answers)) for one in pairs] == [
        ("1.0", False, 1),
        ("1.1", True, 2),
        ("1.6", True, 0),
    ]
    assert [one.again for one in pairs] == [False, True, True]


def test_a_truncated_body_cannot_be_sent_again() -> None:
    long = body_for_transcript(sample("CHOOSE_PARITY_CALL") | {"more": "x" * 9000})
    [one] = exchanges([entry(1, "REF01", "P01", method="m", message_type="CHOOSE_PARITY_CALL", body=long)], AGENT)
    assert (one.whole, one.again, one.curl) == (False, False, "")


def test_the_curl_command_sends_the_recorded_body() -> None:
    body = {"a": "it's $HOME `x` \"\\", "auth_token": "tok_" + "a" * 32, "ע": "ב"}
    words = shlex.split(curl("http://192.0.2.7:8101/mcp?x=1", "/mcp", body))
    assert words[4] == "http://192.0.2.7:8101/mcp?x=1"
    assert json.loads(words[-1]) == body | {"auth_token": "tok_…"}
    assert shlex.split(curl("http://192.0.2.7:8101/mcp?x=1", "/other", body))[4] == "http://192.0.2.7:8101/other"


@pytest.mark.parametrize(
    ("way", "endpoint", "shown"),
    [
        ("inbox", "inbox://1", ("inbox", "", "")),
        ("bridge", "inbox://1", ("bridge", "application/json", "")),
        ("inbox", AGENT.endpoint, ("inbox", "", "curl")),
        ("x", AGENT.endpoint, ("", "application/json", "curl")),
        (None, AGENT.endpoint, ("", "application/json", "curl")),
    ],
)
def test_a_request_says_by_which_way_it_was_sent(way: str | None, endpoint: str, shown: tuple[str, str, str]) -> None:
    call = sample("CHOOSE_PARITY_CALL")
    kind = {"shape": "canonical", "method": "choose_parity", "content_type": "application/json"}
    wire = {"path": "/mcp", "id": 1001, "session": False, "status": 200, "way": way} | kind
    sent = entry(1, "REF01", "P01", method="choose_parity", message_type="CHOOSE_PARITY_CALL", body=call)
    answer = entry(2, "P01", "REF01", body={"result": {"parity_choice": "odd"}, "id": 1001}, wire=[wire])
    [one] = exchanges([sent, answer], Agent(code="P01", endpoint=endpoint))
    assert (one.way, one.answers[0].content_type, one.curl[:4]) == shown
    # The request is shown under the id of the answer beside it.
    assert json.loads(one.sent)["id"] == 1001
