"""Which field of a message goes into which argument of an agent's own tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league_sdk.dialects.arguments import MAX_ARGUMENTS, Argument, fill, read_schema, read_stored
from tests.sizes import examples

MESSAGE = {
    "message_type": "CHOOSE_PARITY_CALL",
    "match_id": "R1M1",
    "player_id": "P01",
    "round_number": 3,
    "context": {"opponent_id": "P02", "your_standings": {"wins": 1, "losses": 2}},
}
STRING, INTEGER, OBJECT = {"type": "string"}, {"type": "integer"}, {"type": "object"}


def filled(properties: dict[str, Any], *required: str, **more: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments of a tool with this schema, for the message."""
    arguments = read_schema({"type": "object", "properties": properties, "required": [*required], **more})
    assert arguments is not None
    # Another process reads the same arguments from what was stored.
    assert read_stored(json.loads(json.dumps([one.to_json() for one in arguments]))) == arguments
    return fill(arguments, MESSAGE)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"match_id": STRING, "player_id": STRING}, {"match_id": "R1M1", "player_id": "P01"}),
        ({"matchId": STRING, "PlayerID": STRING}, {"matchId": "R1M1", "PlayerID": "P01"}),
        ({"match-id": {}, "unknown": {}}, {"match-id": "R1M1"}),
        # Fields of the objects in a message.
        ({"match_id": {}, "opponentId": STRING}, {"match_id": "R1M1", "opponentId": "P02"}),
        # The type that the schema asks for.
        ({"match_id": {}, "round_number": STRING}, {"match_id": "R1M1", "round_number": "3"}),
        ({"match_id": INTEGER, "round_number": INTEGER}, {"round_number": 3}),
        ({"match_id": {}, "context": STRING}, {"match_id": "R1M1", "context": json.dumps(MESSAGE["context"])}),
        # Objects that name what is in them.
        (
            {"match_id": {}, "game": {"type": "object", "properties": {"matchId": STRING}}},
            {"match_id": "R1M1", "game": {"matchId": "R1M1"}},
        ),
        (
            {"match_id": {}, "yourStandings": {"type": "object", "properties": {"wins": INTEGER}}},
            {"match_id": "R1M1", "yourStandings": {"wins": 1}},
        ),
        # A whole message.
        ({"message": OBJECT}, {"message": MESSAGE}),
        ({"match_id": {}, "payload": STRING}, {"match_id": "R1M1", "payload": json.dumps(MESSAGE)}),
        ({"whatever": OBJECT}, {"whatever": MESSAGE}),
        ({"whatever": STRING}, {"whatever": json.dumps(MESSAGE)}),
        ({"matchId": STRING}, {"matchId": "R1M1"}),
    ],
)
def test_arguments_are_filled_by_name_and_type(properties: dict[str, Any], expected: dict[str, Any]) -> None:
    values, unfilled = filled(properties)
    # JSON texts are compared by their values.
    assert {name: loaded(value) for name, value in values.items()} == {
        name: loaded(value) for name, value in expected.items()
    }
    assert unfilled == ()


def loaded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


def test_a_required_argument_is_filled_from_a_field_of_a_similar_name() -> None:
    properties = {"match": STRING, "opponent": STRING, "standings": OBJECT, "round": INTEGER}
    values, unfilled = filled(properties, *properties)
    assert values == {"match": "R1M1", "opponent": "P02", "standings": {"wins": 1, "losses": 2}, "round": 3}
    assert unfilled == ()
    assert filled({**properties, "match_id": STRING})[0] == {"match_id": "R1M1"}


def test_an_object_with_named_arguments_is_filled_from_an_object_of_a_similar_name() -> None:
    shape = {"type": "object", "properties": {"wins": INTEGER, "losses": INTEGER}, "required": ["wins", "losses"]}
    assert filled({"standings": shape}, "standings") == ({"standings": {"wins": 1, "losses": 2}}, ())
    assert filled({"your_standings": shape}, "your_standings") == ({"your_standings": {"wins": 1, "losses": 2}}, ())
    # An argument that is not required keeps its default.
    assert filled({"match_id": STRING, "standings": shape}) == ({"match_id": "R1M1"}, ())


def test_an_argument_that_is_no_field_of_the_message_is_sent_empty_and_named() -> None:
    properties = {"match_id": {}, "mood": STRING, "id": INTEGER, "deep": {"type": "object", "properties": {"why": {}}}}
    values, unfilled = filled(properties, *properties)
    # "deep" has no required argument, so {} is complete.
    assert values == {"match_id": "R1M1", "mood": "", "id": 0, "deep": {}}
    assert unfilled == ("mood", "id")


def test_references_and_alternatives_of_a_schema_are_followed() -> None:
    shared = {"Game": {"properties": {"matchId": STRING}, "type": "object"}}
    optional = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Game"}]}
    values, _ = filled({"game": {"$ref": "#/$defs/Game"}, "again": optional}, "game", **{"$defs": shared})
    assert values == {"game": {"matchId": "R1M1"}, "again": {"matchId": "R1M1"}}


@pytest.mark.parametrize(
    "schema", [None, [], "x", {}, {"properties": []}, {"properties": {}}, {"properties": {"": {}}}]
)
def test_a_schema_without_named_arguments_is_read_as_none(schema: Any) -> None:
    assert read_schema(schema) is None


def test_a_limited_number_of_arguments_is_read_from_a_schema_of_any_size() -> None:
    deep: dict[str, Any] = {"properties": {f"name{n}": {} for n in range(5000)}}
    for _ in range(50):
        deep = {"properties": {f"name{n}": deep for n in range(3)}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    arguments = read_schema(deep) or ()

    def counted(some: tuple[Argument, ...]) -> int:
        return sum(1 + counted(one.inside) for one in some)

    assert 3 <= counted(arguments) <= MAX_ARGUMENTS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["properties", "required", "type", "$ref", "$defs", "anyOf", "matchId", "message", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(200))
@given(JSON, JSON)
def test_any_schema_and_anything_stored_is_read_and_filled(schema: Any, stored: Any) -> None:
    for arguments in (
        read_schema({"properties": {"one": schema}, **(schema if isinstance(schema, dict) else {})}),
        read_schema(schema),
        read_stored(stored),
    ):
        if arguments:
            values, unfilled = fill(arguments, MESSAGE)
            json.dumps(values)
            assert all(isinstance(name, str) for name in unfilled)


@pytest.mark.parametrize("name", ["standings", "message"])
@pytest.mark.parametrize("kind", ["array", "string", "object"])
def test_no_schema_makes_a_call_many_times_as_large_as_the_message(name: str, kind: str) -> None:
    table = {"message_type": "LEAGUE_STANDINGS_UPDATE", "standings": [{"player_id": f"P{n:03}"} for n in range(300)]}
    many = {name + "_" * n: {"type": kind} for n in range(MAX_ARGUMENTS)}
    nested = {f"all{n}": {"type": "object", "properties": {name: {"type": kind}}} for n in range(MAX_ARGUMENTS // 2)}
    for properties in (many, nested):
        arguments = read_schema({"properties": properties, "required": [*properties]})
        assert arguments is not None
        values, _ = fill(arguments, table)
        assert len(json.dumps(values)) < 5 * len(json.dumps(table))
