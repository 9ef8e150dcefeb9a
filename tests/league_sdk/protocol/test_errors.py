"""Error codes and what an error says of itself (004 2.9, 4.10; ruling, section 5)."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import errors
from league_sdk.protocol.errors import LeagueError, league_error, seen_text

TOKEN = "tok_" + "0123456789abcdef" * 2
ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
ON_THE_WIRE = {
    "LeagueError": ("E002", -32000, 200),
    "WireError": ("E002", -32602, 200),
    "NotJson": ("E002", -32700, 200),
    "NotARequest": ("E002", -32600, 200),
    "TooLarge": ("E002", -32600, 413),
    "UnknownMethod": ("E002", -32601, 200),
    "InvalidFormat": ("E002", -32602, 200),
    "MissingField": ("E003", -32602, 200),
    "IllegalMove": ("E004", -32602, 200),
    "InvalidTimestamp": ("E021", -32602, 200),
    "AuthError": ("E002", -32001, 200),
    "TokenMissing": ("E011", -32001, 200),
    "TokenInvalid": ("E012", -32001, 200),
    "RuleError": ("E002", -32000, 200),
    "UnknownPlayer": ("E005", -32000, 200),
    "RefereeNotRegistered": ("E013", -32000, 200),
    "UnknownLeague": ("E014", -32000, 200),
    "VersionMismatch": ("E018", -32000, 200),
    "OutOfTime": ("E001", -32000, 200),
    "TooOften": ("E009", -32000, 429),
    "InternalError": ("E009", -32603, 200),
}


def tree(kind: type[LeagueError]) -> Iterator[type[LeagueError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


def test_every_code_has_the_documents_name() -> None:
    assert errors.NAMES == {
        "E001": "TIMEOUT_ERROR",
        "E002": "INVALID_MESSAGE_FORMAT",
        "E003": "MISSING_REQUIRED_FIELD",
        "E004": "INVALID_PARITY_CHOICE",
        "E005": "PLAYER_NOT_REGISTERED",
        "E009": "CONNECTION_ERROR",
        "E011": "AUTH_TOKEN_MISSING",
        "E012": "AUTH_TOKEN_INVALID",
        "E013": "REFEREE_NOT_REGISTERED",
        "E014": "LEAGUE_NOT_FOUND",
        "E018": "PROTOCOL_VERSION_MISMATCH",
        "E021": "INVALID_TIMESTAMP",
    }
    assert sorted(errors.RETRYABLE) == ["E001", "E009"]


def test_every_error_has_the_codes_of_the_ruling() -> None:
    found = {kind.__name__: (kind.error_code, kind.rpc_code, kind.http_status) for kind in tree(LeagueError)}
    assert {name: codes for name, codes in found.items() if name in ON_THE_WIRE} == ON_THE_WIRE
    new = {name: codes[0] for name, codes in found.items() if name not in ON_THE_WIRE}
    assert [name for name, code in new.items() if code not in errors.NAMES] == []


@pytest.mark.parametrize("kind", list(tree(LeagueError)), ids=lambda kind: kind.__name__)
def test_a_league_error_has_every_field_of_4_10_1(kind: type[LeagueError]) -> None:
    error = kind("No.", field="player_id", seen="P99", expected="a player_id", hint=1)
    told = league_error(error, original_message_type="LEAGUE_QUERY")
    told.pop("legacy_code", None)
    assert told == {
        "message_type": "LEAGUE_ERROR",
        "error_code": kind.error_code,
        "error_name": errors.NAMES[kind.error_code],
        "error_description": errors.NAMES[kind.error_code],
        "message": "No.",
        "context": {"hint": 1, "field": "player_id", "seen": '"P99"', "expected": "a player_id"},
        "original_message_type": "LEAGUE_QUERY",
        "retryable": kind.error_code in ("E001", "E009"),
    }


def beside(error: LeagueError) -> object:
    told = league_error(error, original_message_type=None)
    return told.get("legacy_code", "none")


def test_002s_code_stands_beside_the_e_code_where_one_corresponds() -> None:
    assert {kind.__name__: beside(kind("No.")) for kind in tree(LeagueError) if beside(kind("No.")) != "none"} == {
        "IllegalMove": "G001",
        "UnknownPlayer": "L004",
        "RefereeNotRegistered": "L004",
        "UnknownLeague": "L005",
        "OutOfTime": "G002",
    }
    assert sorted(set(errors.LEGACY_CODES) - set(errors.NAMES)) == []
    assert sorted(set(errors.LEGACY_CODES.values()) - set(errors.LEGACY_NAMES)) == []


def test_the_code_of_the_situation_wins() -> None:
    out_of_turn = errors.IllegalMove("It is not your turn.", legacy_code="G004")
    assert (beside(out_of_turn), out_of_turn.context) == ("G004", {"legacy_code": "G004"})
    assert beside(errors.InvalidFormat("There is no such match.", legacy_code="G003")) == "G003"


def test_002_has_ten_codes() -> None:
    assert errors.LEGACY_NAMES == {
        "L001": "REGISTRATION_FAILED",
        "L002": "LEAGUE_FULL",
        "L003": "ALREADY_REGISTERED",
        "L004": "NOT_REGISTERED",
        "L005": "INVALID_LEAGUE",
        "G001": "INVALID_MOVE",
        "G002": "TIMEOUT",
        "G003": "GAME_NOT_FOUND",
        "G004": "NOT_YOUR_TURN",
        "G005": "GAME_ALREADY_STARTED",
    }


def test_the_json_rpc_codes_of_every_code() -> None:
    assert errors.rpc_codes() == {
        "E001": [-32000],
        "E002": [-32700, -32602, -32601, -32600],
        "E003": [-32602],
        "E004": [-32602],
        "E005": [-32000],
        "E009": [-32603, -32000],
        "E011": [-32001],
        "E012": [-32001],
        "E013": [-32000],
        "E014": [-32000],
        "E018": [-32000],
        "E021": [-32602],
    }


def test_an_error_without_a_field_says_nothing_of_one() -> None:
    error = LeagueError("No.")
    assert (str(error), error.context) == ("No.", {})
    assert league_error(error, original_message_type=None)["original_message_type"] is None


@pytest.mark.parametrize(
    "field", ["auth_token", "league_token", "registration_code", "player_meta.registration_code", "a.b.auth_token"]
)
def test_the_value_of_a_secret_field_is_never_repeated(field: str) -> None:
    error = LeagueError("No.", field=field, seen="hunter2", expected="another")
    assert error.context == {"field": field, "expected": "another"}


@pytest.mark.parametrize("seen", [TOKEN, [TOKEN], {"x": {TOKEN: TOKEN}}, f"my token: {TOKEN}!", "x" * 100 + TOKEN])
def test_no_token_is_repeated_wherever_it_was_put(seen: object) -> None:
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
def test_a_wrong_value_is_shown_as_json_of_at_most_120_characters(value: object, text: str) -> None:
    assert seen_text(value) == text


@given(st.recursive(st.none() | st.text() | st.floats() | st.binary(), st.lists, max_leaves=50))
def test_any_value_can_be_shown(value: object) -> None:
    assert len(seen_text(value)) <= 120
