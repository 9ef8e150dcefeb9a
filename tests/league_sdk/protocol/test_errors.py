"""Error codes and the fields of errors (004 2.9, 4.10; ruling, section 5)."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import errors
from league_sdk.protocol.errors import LeagueError, league_error, seen_text

TOKEN = "tok_" + "0123456789abcdef" * 2
ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


def tree(kind: type[LeagueError]) -> Iterator[type[LeagueError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


def test_every_error_has_the_codes_drawn_in_the_tree() -> None:
    """The tree is drawn in the module's docstring and has the codes of the ruling, section 5."""
    leaf = re.compile(r"^│? .*── (\w+) +(-\d+)? ?(E\d{3})(?:.*\(HTTP (\d+)\))?", re.MULTILINE)
    drawn = {name: (rpc_code, code, status) for name, rpc_code, code, status in leaf.findall(str(errors.__doc__))}
    kinds = [kind for kind in tree(LeagueError) if kind.__module__ == errors.__name__]
    assert drawn == {
        kind.__name__: (
            "" if kind.rpc_code == errors.RuleError.rpc_code else str(kind.rpc_code),
            kind.error_code,
            "" if kind.http_status == 200 else str(kind.http_status),
        )
        for kind in kinds
        if kind.__name__ in drawn
    }
    groups = {"LeagueError", "WireError", "AuthError", "RuleError"}
    assert {kind.__name__ for kind in kinds} - set(drawn) == groups


def test_a_refusal_without_a_code_of_its_own_has_the_json_rpc_code_of_rules() -> None:
    refused = errors.RuleError("Only players answer referees.")
    assert refused.rpc_code in errors.rpc_codes()[refused.error_code]


@pytest.mark.parametrize("kind", list(tree(LeagueError)), ids=lambda kind: kind.__name__)
def test_a_league_error_has_every_field_of_4_10_1(kind: type[LeagueError]) -> None:
    error = kind("No.", field="player_id", seen="P99", expected="a player_id", hint=1)
    fields = league_error(error, original_message_type="LEAGUE_QUERY")
    fields.pop("legacy_code", None)
    assert fields == {
        "message_type": "LEAGUE_ERROR",
        "error_code": kind.error_code,
        "error_name": errors.NAMES[kind.error_code],
        "error_description": errors.NAMES[kind.error_code],
        "message": "No.",
        "context": {
            "hint": 1,
            "field": "player_id",
            "seen": '"P99"',
            "expected": "a player_id",
            # By the names of 8.10.1, too.
            "expected_format": "a player_id",
            "action": "LEAGUE_QUERY",
        },
        "original_message_type": "LEAGUE_QUERY",
        "retryable": kind.error_code in ("E001", "E009"),
    }


def legacy_code_of(error: LeagueError) -> object:
    fields = league_error(error, original_message_type=None)
    return fields.get("legacy_code", "none")


def test_a_league_error_has_the_corresponding_code_of_002() -> None:
    assert {
        kind.__name__: legacy_code_of(kind("No."))
        for kind in tree(LeagueError)
        if legacy_code_of(kind("No.")) != "none"
    } == {
        "IllegalMove": "G001",
        "UnknownPlayer": "L004",
        "RefereeNotRegistered": "L004",
        "UnknownLeague": "L005",
        "OutOfTime": "G002",
    }
    assert sorted(set(errors.LEGACY_CODES) - set(errors.NAMES)) == []
    assert sorted(set(errors.LEGACY_CODES.values()) - set(errors.LEGACY_NAMES)) == []


def test_a_legacy_code_that_is_passed_overrides_the_usual_one() -> None:
    out_of_turn = errors.IllegalMove("It is not your turn.", legacy_code="G004")
    assert (legacy_code_of(out_of_turn), out_of_turn.context) == ("G004", {"legacy_code": "G004"})
    assert legacy_code_of(errors.InvalidFormat("There is no such match.", legacy_code="G003")) == "G003"


def test_an_error_without_a_field_has_an_empty_context() -> None:
    error = LeagueError("No.")
    assert (str(error), error.context) == ("No.", {})
    assert league_error(error, original_message_type=None)["original_message_type"] is None


@pytest.mark.parametrize(
    "field", ["auth_token", "league_token", "registration_code", "player_meta.registration_code", "a.b.auth_token"]
)
def test_an_error_never_quotes_the_value_of_a_secret_field(field: str) -> None:
    error = LeagueError("No.", field=field, seen="hunter2", expected="another")
    assert error.context == {"field": field, "expected": "another"}


@pytest.mark.parametrize("seen", [TOKEN, [TOKEN], {"x": {TOKEN: TOKEN}}, f"my token: {TOKEN}!", "x" * 100 + TOKEN])
def test_an_error_contains_no_token(seen: object) -> None:
    error = LeagueError(f"There is no {seen!r}.", field="sender", seen=seen)
    assert "0123456789" not in json.dumps([error.context, error.message, str(error)])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("\ud800ä", '"\\ud800\\u00e4"'),
        ({"b": [1, True]}, '{"b": [1, true]}'),
        ("x" * 118, '"' + "x" * 118 + '"'),
        ("x" * 119, '"' + "x" * 118 + "…"),
        (b"raw", "\"b'raw'\""),
        (ENDLESS, "a list"),
    ],
)
def test_seen_text_is_json_of_at_most_120_characters(value: object, text: str) -> None:
    assert seen_text(value) == text


@given(st.recursive(st.none() | st.text() | st.floats() | st.binary(), st.lists, max_leaves=50))
def test_seen_text_accepts_any_value(value: object) -> None:
    assert len(seen_text(value)) <= 120
