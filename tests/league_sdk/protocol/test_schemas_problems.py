"""The problems of messages that do not conform to the course's text (004 chapters 4 and 8)."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from league_sdk.protocol import schemas
from league_sdk.protocol.schemas import Problem
from tests.league_sdk.protocol.wire_messages import DEMANDS, MESSAGES, TOKEN, changed, fields_with_problems, replaced
from tests.sizes import examples


@pytest.mark.parametrize(("name", "path"), DEMANDS)
def test_a_missing_required_field_is_a_problem(name: str, path: str) -> None:
    message = replaced(MESSAGES[name], path, remove=True)
    problems = schemas.problems(name, message)
    assert [(one.field, one.seen) for one in problems] == [(path, "nothing")]
    assert re.fullmatch(r"(00[0-4] [\w. ]+|our choice)", problems[0].clause)
    assert not Draft202012Validator(schemas.json_schema(name)).is_valid(message)


# The choice in a move may be of any type.
@pytest.mark.parametrize(("name", "path"), [one for one in DEMANDS if not one[1].endswith(".choice")])
def test_a_required_field_of_a_wrong_type_is_a_problem(name: str, path: str) -> None:
    message = replaced(MESSAGES[name], path, 0.5)
    seen = "(float, not shown)" if path.endswith(("auth_token", "league_token", "sha256")) else "0.5"
    assert [(one.field, one.seen) for one in schemas.problems(name, message)] == [(path, seen)]
    assert not Draft202012Validator(schemas.json_schema(name)).is_valid(message)


UTC = "YYYY-MM-DDTHH:MM:SSZ or +00:00, in UTC"
TOKEN_EXPECTED = "a token: printable characters without spaces"
WRONG = [  # message, field, a wrong value, what is expected instead, and where the course's text says so
    ("GAME_JOIN_ACK", "accept", "true", "true or false", "004 4.12.2"),
    ("GAME_JOIN_ACK", "arrival_timestamp", "2025-01-15T10:15:01", UTC, "004 4.4.2"),
    ("GAME_JOIN_ACK", "timestamp", "2025-13-15T10:15:01Z", UTC, "004 2.4.2"),
    ("LEAGUE_QUERY", "timestamp", "2025-01-15T10:15:01+02:00", UTC, "004 2.4.2"),
    ("GAME_JOIN_ACK", "sender", "P01", "player:<id>, such as player:P01", "004 2.4.4"),
    ("CHOOSE_PARITY_RESPONSE", "parity_choice", "Even", "even, odd", "004 4.12.2"),
    ("CHOOSE_PARITY_RESPONSE", "auth_token", "", TOKEN_EXPECTED, "004 2.4.5"),
    ("CHOOSE_PARITY_RESPONSE", "auth_token", None, TOKEN_EXPECTED, "004 2.4.5"),
    ("GAME_JOIN_ACK", "message_type", "GAME_ACK", "GAME_JOIN_ACK", "004 4.4.2"),
    ("GAME_JOIN_ACK", "protocol", "league.v1", "league.v2", "004 2.4.1"),
    ("ROUND_COMPLETED", "round_id", "1", "a whole number from 1 on", "004 2.3"),
    ("LEAGUE_REGISTER_REQUEST", "protocol_version", "1.9.0", "2.0.0 or newer, or league.v2 or null", "004 2.10.1"),
    ("LEAGUE_ERROR", "error_code", "L005", "an E-code, such as E001", "004 4.10.1"),
    ("LEAGUE_REGISTER_RESPONSE", "player_id", None, "an id, as a string", "004 8.4.2"),
    ("LEAGUE_QUERY_RESPONSE", "data", None, "an object", "004 4.9.2"),
    ("GAME_MOVE_RESPONSE", "move_data.choice", None, "a move of the game", "004 3.8.2"),
    ("GAME_OVER", "game_result.winner_player_id", None, "an id, as a string", "004 4.6.1"),
    ("MATCH_RESULT_REPORT", "result.score.P01", "3", "a whole number", "004 4.6.2"),
]


@pytest.mark.parametrize(("kind", "path", "value", "expected", "clause"), WRONG)
def test_a_problem_has_the_value_seen_and_the_valid_values(
    kind: str, path: str, value: Any, expected: str, clause: str
) -> None:
    seen = "(str, not shown)" if (path, value) == ("auth_token", "") else json.dumps(value)
    assert schemas.problems(kind, replaced(MESSAGES[kind], path, value)) == [Problem(path, seen, expected, clause)]


def test_one_of_two_alternative_fields_is_required() -> None:
    message = changed("ROUND_COMPLETED", matches_completed=None, matches_played=None)
    expected = Problem("matches_completed", "null", "matches_completed or matches_played", "004 4.8.1")
    assert schemas.problems("ROUND_COMPLETED", message) == [expected]


@pytest.mark.parametrize(
    ("kind", "holder", "names"),
    [
        ("GAME_OVER", "game_result", ["drawn_number", "number_parity", "choices"]),
        ("MATCH_RESULT_REPORT", "result.details", ["drawn_number", "choices"]),
    ],
)
def test_a_result_of_even_odd_requires_number_and_choices(kind: str, holder: str, names: list[str]) -> None:
    for name in names:
        message = replaced(MESSAGES[kind], f"{holder}.{name}", remove=True)
        assert fields_with_problems(kind, message) == [f"{holder}.{name}"]
        assert fields_with_problems(kind, message | {"game_type": "chess"}) == []


@pytest.mark.parametrize(
    ("kind", "meta"), [("LEAGUE_REGISTER_REQUEST", "player_meta"), ("REFEREE_REGISTER_REQUEST", "referee_meta")]
)
@pytest.mark.parametrize(
    ("delivery", "listens"),
    [("poll", False), ("websocket", False), ("push", True), (None, True), ("absent", True), (["poll"], True)],
)
def test_only_an_agent_that_fetches_its_messages_may_leave_its_address_out(
    kind: str, meta: str, delivery: Any, listens: bool
) -> None:
    path, delivery_path = f"{meta}.contact_endpoint", f"{meta}.delivery"
    message = replaced(MESSAGES[kind], path, remove=True)
    message = message if delivery == "absent" else replaced(message, delivery_path, delivery)
    for one in (message, replaced(message, path, None)):
        assert (path in fields_with_problems(kind, one)) is listens
        valid = Draft202012Validator(schemas.json_schema(kind)).is_valid(one)
        assert valid is (schemas.problems(kind, one) == [])
    # An agent that fetches its messages may give an address, too, but only a valid one.
    assert fields_with_problems(kind, replaced(message, path, "http://localhost:8101/mcp")) == (
        [delivery_path] if delivery == ["poll"] else []
    )
    assert fields_with_problems(kind, replaced(message, path, "localhost"))[:1] == [path]


@pytest.mark.parametrize("message", [None, [], "GAME_JOIN_ACK", 1, True])
def test_a_message_that_is_not_an_object_is_one_problem(message: Any) -> None:
    problems = schemas.problems("GAME_JOIN_ACK", message)
    assert problems == [Problem("", json.dumps(message), "a JSON object", "004 4.4.2")]


def test_a_problem_contains_no_token() -> None:
    secrets = {"auth_token": "hunter2", "league_token": TOKEN, "deep": [{"registration_code": "hunter2", "x": TOKEN}]}
    everywhere = {"sender": TOKEN, "match_id": [TOKEN], "accept": secrets, "auth_token": ["hunter2"], TOKEN: 1}
    problems = schemas.problems("GAME_JOIN_ACK", changed("GAME_JOIN_ACK", **everywhere))
    problems += schemas.problems("MATCH_RESULT_REPORT", changed("MATCH_RESULT_REPORT", result={"score": {TOKEN: "3"}}))
    assert [one.field for one in problems][:4] == ["sender", "auth_token", "match_id", "accept"]
    assert re.findall("hunter2|0123456789", repr(problems)) == []


def test_the_list_of_problems_is_bounded() -> None:
    message = changed("ROUND_ANNOUNCEMENT", matches=[{}] * 1000)
    assert len(schemas.problems("ROUND_ANNOUNCEMENT", message)) == schemas.MAX_PROBLEMS


# -- any JSON, also far from a message ---------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)
NAMES_OF_FIELDS = st.sampled_from(
    sorted({path for _, path in DEMANDS if "." not in path} | {"legacy_code", "settings"})
)


@given(st.sampled_from(sorted(schemas.MODELS)), ANYTHING | st.dictionaries(NAMES_OF_FIELDS, ANYTHING))
def test_problems_accepts_any_json(name: str, message: Any) -> None:
    for one in schemas.problems(name, message):
        assert len(one.seen) <= 120
        assert len(one.field) <= 400


def test_a_name_with_half_a_surrogate_pair_is_a_problem_of_the_message() -> None:
    message = MESSAGES["CHOOSE_PARITY_CALL"] | {"\ud800": 1}
    (problem,) = schemas.problems("CHOOSE_PARITY_CALL", message)
    assert (problem.field, problem.expected) == ("", "names of fields in valid Unicode")


def test_problems_accepts_deeply_nested_json() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert [one.seen for one in schemas.problems("GAME_JOIN_ACK", changed("GAME_JOIN_ACK", accept=deep, x=deep))] == [
        "a list"
    ]
    assert (
        fields_with_problems("GAME_MOVE_RESPONSE", replaced(MESSAGES["GAME_MOVE_RESPONSE"], "move_data.choice", deep))
        == []
    )


def paths(value: Any, path: str = "") -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield f"{path}{name}"
        if isinstance(inner, (dict, list)):
            yield from paths(inner, f"{path}{name}.")


VALUES: list[Any] = [None, True, False, 0, 1, -1, 0.5, [], [{}], {}]
VALUES += ["", " ", "x", "P01", "even", "WIN", "REJECTED", "E001", "chess"]
VALIDATORS = {name: Draft202012Validator(schemas.json_schema(name)) for name in schemas.MODELS}


def contradicts_itself(message: Any) -> bool:
    """Whether two settings contradict each other, which a JSON Schema cannot express."""
    settings = message.get("settings") if isinstance(message, dict) else None
    if not isinstance(settings, dict):
        return False
    suspend, shutdown = settings.get("suspend_after", 2), settings.get("shutdown_after", 5)
    return all(isinstance(value, (int, float)) for value in (suspend, shutdown)) and shutdown < suspend


@settings(max_examples=examples(300))
@given(st.data())
def test_problems_and_the_json_schema_agree_on_every_message(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(MESSAGES)))
    message = MESSAGES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(paths(message))))
        if data.draw(st.booleans()) and not path.rpartition(".")[2].isdigit():
            message = replaced(message, path, remove=True)
        else:
            message = replaced(message, path, data.draw(st.sampled_from(VALUES)))
        if not message:
            break
    assume(not contradicts_itself(message))
    assert (schemas.problems(name, message) == []) == VALIDATORS[name].is_valid(message)
