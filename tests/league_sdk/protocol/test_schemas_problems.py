"""What in a message does not conform to the course's text (004 chapters 4 and 8)."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from league_sdk.protocol import schemas
from league_sdk.protocol.schemas import Problem
from tests.league_sdk.protocol.wire_messages import DEMANDS, MESSAGES, TOKEN, changed, fields, replaced


@pytest.mark.parametrize(("name", "path"), DEMANDS)
def test_a_required_field_that_is_missing_is_named(name: str, path: str) -> None:
    message = replaced(MESSAGES[name], path, remove=True)
    found = schemas.problems(name, message)
    assert [(one.field, one.seen) for one in found] == [(path, "nothing")]
    assert re.fullmatch(r"(00[0-4] [\w. ]+|our choice)", found[0].clause)
    assert not Draft202012Validator(schemas.json_schema(name)).is_valid(message)


@pytest.mark.parametrize(("name", "path"), [one for one in DEMANDS if not one[1].endswith((".choice", "retryable"))])
def test_a_required_field_of_a_wrong_type_is_named(name: str, path: str) -> None:
    message = replaced(MESSAGES[name], path, 0.5)
    seen = "(float, not shown)" if path.endswith(("auth_token", "league_token", "sha256")) else "0.5"
    assert [(one.field, one.seen) for one in schemas.problems(name, message)] == [(path, seen)]
    assert not Draft202012Validator(schemas.json_schema(name)).is_valid(message)


UTC = "YYYY-MM-DDTHH:MM:SSZ or +00:00, in UTC"
TOKEN_EXPECTED = "a token: printable characters without spaces"
WRONG = [
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
def test_what_is_wrong_is_said_with_what_was_expected(
    kind: str, path: str, value: Any, expected: str, clause: str
) -> None:
    seen = "(str, not shown)" if (path, value) == ("auth_token", "") else json.dumps(value)
    assert schemas.problems(kind, replaced(MESSAGES[kind], path, value)) == [Problem(path, seen, expected, clause)]


def test_one_of_two_counts_is_expected() -> None:
    message = changed("ROUND_COMPLETED", matches_completed=None, matches_played=None)
    expected = Problem("matches_completed", "null", "matches_completed or matches_played", "004 4.8.1")
    assert schemas.problems("ROUND_COMPLETED", message) == [expected]


@pytest.mark.parametrize("path", ["drawn_number", "number_parity", "choices"])
def test_a_result_of_even_odd_says_how_it_came(path: str) -> None:
    message = replaced(MESSAGES["GAME_OVER"], f"game_result.{path}", remove=True)
    assert fields("GAME_OVER", message) == [f"game_result.{path}"]
    assert fields("GAME_OVER", message | {"game_type": "chess"}) == []


@pytest.mark.parametrize("path", ["drawn_number", "choices"])
def test_a_report_of_even_odd_says_how_it_came(path: str) -> None:
    message = replaced(MESSAGES["MATCH_RESULT_REPORT"], f"result.details.{path}", remove=True)
    assert fields("MATCH_RESULT_REPORT", message) == [f"result.details.{path}"]


def test_the_models_alone_know_the_conditions_too() -> None:
    for kind, changes in [
        ("LEAGUE_REGISTER_RESPONSE", {"player_id": None}),
        ("ROUND_COMPLETED", {"matches_completed": None, "matches_played": None}),
        ("GAME_OVER", {"game_result": {"status": "DRAW", "winner_player_id": None, "reason": "so"}}),
    ]:
        with pytest.raises(ValidationError, match="missing"):
            schemas.MODELS[kind].model_validate(changed(kind, **changes))
        assert schemas.MODELS[kind].model_validate(MESSAGES[kind])


@pytest.mark.parametrize("message", [None, [], "GAME_JOIN_ACK", 1, True])
def test_what_is_no_object_is_one_problem(message: Any) -> None:
    found = schemas.problems("GAME_JOIN_ACK", message)
    assert found == [Problem("", json.dumps(message), "a JSON object", "004 4.4.2")]


def test_no_token_is_repeated_wherever_it_was_put() -> None:
    secrets = {"auth_token": "hunter2", "league_token": TOKEN, "deep": [{"registration_code": "hunter2", "x": TOKEN}]}
    everywhere = {"sender": TOKEN, "match_id": [TOKEN], "accept": secrets, "auth_token": ["hunter2"], TOKEN: 1}
    told = schemas.problems("GAME_JOIN_ACK", changed("GAME_JOIN_ACK", **everywhere))
    told += schemas.problems("MATCH_RESULT_REPORT", changed("MATCH_RESULT_REPORT", result={"score": {TOKEN: "3"}}))
    assert [one.field for one in told][:4] == ["sender", "auth_token", "match_id", "accept"]
    assert re.findall("hunter2|0123456789", repr(told)) == []


def test_there_is_an_end_to_problems() -> None:
    message = changed("ROUND_ANNOUNCEMENT", matches=[{}] * 1000)
    assert len(schemas.problems("ROUND_ANNOUNCEMENT", message)) == schemas.MAX_PROBLEMS


# -- anything at all --------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)
NAMES_OF_FIELDS = st.sampled_from(
    sorted({path for _, path in DEMANDS if "." not in path} | {"legacy_code", "settings"})
)


@settings(deadline=None)
@given(st.sampled_from(sorted(schemas.MODELS)), ANYTHING | st.dictionaries(NAMES_OF_FIELDS, ANYTHING))
def test_anything_can_be_judged(name: str, message: Any) -> None:
    for one in schemas.problems(name, message):
        assert len(one.seen) <= 120
        assert len(one.field) <= 400


def test_what_is_nested_too_deep_can_be_judged() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert [one.seen for one in schemas.problems("GAME_JOIN_ACK", changed("GAME_JOIN_ACK", accept=deep, x=deep))] == [
        "a list"
    ]
    assert fields("GAME_MOVE_RESPONSE", replaced(MESSAGES["GAME_MOVE_RESPONSE"], "move_data.choice", deep)) == []


def places(value: Any, path: str = "") -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield f"{path}{name}"
        if isinstance(inner, (dict, list)):
            yield from places(inner, f"{path}{name}.")


VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    0.5,
    "",
    " ",
    "x",
    "P01",
    "even",
    "WIN",
    "REJECTED",
    "E001",
    "chess",
    [],
    [{}],
    {},
]
JUDGES = {name: Draft202012Validator(schemas.json_schema(name)) for name in schemas.MODELS}


def contradicts_itself(message: Any) -> bool:
    """Whether two settings do not go together: a JSON Schema cannot say that."""
    found = message.get("settings") if isinstance(message, dict) else None
    if not isinstance(found, dict):
        return False
    suspend, shutdown = found.get("suspend_after", 2), found.get("shutdown_after", 5)
    return all(isinstance(value, (int, float)) for value in (suspend, shutdown)) and shutdown < suspend


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_schemas_and_models_agree(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(MESSAGES)))
    message = MESSAGES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(message))))
        if data.draw(st.booleans()) and not path.rpartition(".")[2].isdigit():
            message = replaced(message, path, remove=True)
        else:
            message = replaced(message, path, data.draw(st.sampled_from(VALUES)))
        if not message:
            break
    assume(not contradicts_itself(message))
    assert (schemas.problems(name, message) == []) == JUDGES[name].is_valid(message)
