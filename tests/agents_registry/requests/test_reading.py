"""Reading registrations as real agents send them, and arbitrary JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_registry.addresses.reading import INBOX_KEY
from agents_registry.models import Kind
from agents_registry.requests import spellings
from agents_registry.requests.reading import Request, read_request
from league_sdk.protocol import notes
from league_sdk.protocol.errors import InvalidFormat, LeagueError, MissingField
from league_sdk.protocol.limits import MAX_CONCURRENT_MATCHES, MAX_ENDPOINT_CHARS, MAX_NAME_CHARS
from tests import wire
from tests.sizes import examples

ADDRESS = "http://192.0.2.7:8101/mcp"
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "player:alpha",
    "timestamp": wire.STAMP,
    "conversation_id": "conv-1",
}
META = {"display_name": "Alpha", "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": ADDRESS}


def read(message: Any, *, kind: Kind = Kind.PLAYER, caller: str = "192.0.2.7", **how: Any) -> Request:
    """Read a registration; whatever is noted of it can be translated."""
    request = read_request(message, kind=kind, caller=caller, **how)
    assert [one for one in request.notes if notes.read(one) == one] == []
    return request


def facts(request: Request) -> tuple[str, str, str, tuple[str, ...], tuple[str, ...]]:
    return request.name, request.endpoint, request.version, request.game_types, request.notes


# Where the facts stand ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        *({**ENVELOPE, field: META} for field in ("player_meta", *spellings.META_PLACES)),
        {**ENVELOPE, **META},
        {**ENVELOPE, "playerMeta": META},
        {**ENVELOPE, "Player-Meta": META},
        {**ENVELOPE, "data": {"player_meta": META}},
        {**ENVELOPE, "payload": {"data": {"agent_meta": META}}},
        {"request_id": "r-1", "data": {**ENVELOPE, **META}},
        {"request_id": "r-1", "data": {**ENVELOPE, "player_meta": META}},
        {**ENVELOPE, "player_meta": META, "metadata": {"display_name": "Framework", "endpoint": "http://other:1/"}},
        {**ENVELOPE, "player_meta": META, "name": "register_player", "url": "http://other:1/"},
        {**ENVELOPE, "meta": META, "player_meta": None},
        {**ENVELOPE, "meta": META, "player_meta": []},
    ],
)
def test_a_registration_is_read_wherever_its_fields_are(message: dict[str, Any]) -> None:
    assert facts(read(message)) == ("Alpha", ADDRESS, "1.0.0", ("even_odd",), ())


def test_an_agent_that_fetches_its_messages_needs_no_meta() -> None:
    request = read({"agent_id": "Alpha", "delivery": "poll"})
    assert (request.name, request.address.key) == ("Alpha", INBOX_KEY)


UNSEEN = ["", "  ", "\u200b", "\u2060\ufeff", "\u115f\u1160", "\u3164 \uffa0", "\u2800", "\u034f", "\u0301", "\ufe0f"]
KIND_ALONE = ["player:", "Player: ", "referee:\u200b", "agent :"]


@pytest.mark.parametrize("name", [*UNSEEN, *KIND_ALONE])
def test_a_name_that_nobody_could_see_is_none(name: str) -> None:
    meta = META | {"display_name": name}
    request = read({**ENVELOPE, "player_meta": meta})
    assert (request.name, len(request.notes)) == ("alpha", 1)
    assert read({**ENVELOPE, "sender": "player:", "player_id": "Beta", "player_meta": meta}).name == "Beta"
    for sender in ("player:", "player:\u200b", "", name):
        with pytest.raises(MissingField) as refused:
            read({**ENVELOPE, "sender": sender, "player_meta": meta})
        assert refused.value.context["field"] == "player_meta.display_name"


@pytest.mark.parametrize("name", ["player: Ada", "-", "🦊", "\u0645\u0631\u064a\u0645", "3", "Player"])
def test_a_short_name_is_a_name(name: str) -> None:
    assert read({**ENVELOPE, "player_meta": META | {"display_name": name}}).name == name


@pytest.mark.parametrize("name", [*spellings.NAME_FIELDS, "displayName", "Player-Name", "AGENT_NAME"])
def test_a_registration_is_read_with_every_name_of_the_name_field(name: str) -> None:
    meta = {key: value for key, value in META.items() if key != "display_name"}
    assert facts(read({**ENVELOPE, "player_meta": meta | {name: "Alpha"}}))[0] == "Alpha"


@pytest.mark.parametrize("field", [*spellings.ADDRESS_FIELDS, "contactEndpoint", "ENDPOINT"])
@pytest.mark.parametrize("flat", [True, False])
def test_a_registration_is_read_with_every_name_of_the_address_field(field: str, flat: bool) -> None:
    meta = {key: value for key, value in META.items() if key != "contact_endpoint"} | {field: ADDRESS}
    message = {**ENVELOPE, **meta} if flat else {**ENVELOPE, "player_meta": meta}
    assert facts(read(message)) == ("Alpha", ADDRESS, "1.0.0", ("even_odd",), ())


@pytest.mark.parametrize(
    # The first note is the address that is put together; the others are how more notes begin.
    ("parts", "url", "noted"),
    [
        ({"host": "10.1.2.3", "port": 8101}, "http://10.1.2.3:8101/mcp", ["10.1.2.3:8101"]),
        ({"hostname": "10.1.2.3", "port": "8101"}, "http://10.1.2.3:8101/mcp", ["10.1.2.3:8101"]),
        ({"ip": "2001:db8::7", "port": 8101}, "http://[2001:db8::7]:8101/mcp", ["[2001:db8::7]:8101"]),
        ({"host": "10.1.2.3", "port": 8101, "path": "a/b"}, "http://10.1.2.3:8101/a/b", ["10.1.2.3:8101/a/b"]),
        ({"endpoint": {"host": "10.1.2.3", "port": 8101}}, "http://10.1.2.3:8101/mcp", ["10.1.2.3:8101"]),
        ({"address": "10.1.2.3", "port": 8101}, "http://10.1.2.3:8101/mcp", ["10.1.2.3:8101"]),
        ({"address": {"url": ADDRESS}}, ADDRESS, None),
        ({"host": "127.0.0.1", "port": 8101}, ADDRESS, ["127.0.0.1:8101", "address was 127.0.0.1"]),
        ({"port": 8101}, ADDRESS, ["localhost:8101", "address was localhost"]),
    ],
)
def test_an_address_is_put_together_from_its_parts(parts: dict[str, Any], url: str, noted: list[str] | None) -> None:
    meta = {key: value for key, value in META.items() if key != "contact_endpoint"}
    request = read({**ENVELOPE, "player_meta": meta | parts})
    assert request.endpoint == url
    expected = [f"the address was given in parts, {noted[0]} is used"] if noted else []
    if noted and "/a/b" not in url:
        expected += [f"{note}, called at 192.0.2.7" for note in noted[1:]]
        expected.append("address had no path, called at /mcp")
    assert list(request.notes) == expected


def test_an_address_that_cannot_be_read_gives_way_to_one_that_can() -> None:
    request = read({**ENVELOPE, "player_meta": META | {"contact_endpoint": "here", "url": ADDRESS}})
    note = "player_meta.contact_endpoint could not be read, player_meta.url is used"
    assert (request.endpoint, request.notes) == (ADDRESS, (note,))


# What is missing or odd -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("envelope", "note"),
    [
        ({"protocol": None}, "protocol was missing, league.v2 is assumed"),
        ({"protocol": "league.v3"}, "protocol was league.v3, expected league.v2"),
        ({"protocol": 2}, "protocol was 2, expected league.v2"),
        ({"sender": ""}, "sender was missing"),
        ({"sender": "alpha"}, "sender was alpha, expected player:<name>"),
        ({"sender": ["alpha"]}, "sender was not a text"),
        ({"timestamp": None}, "timestamp was missing"),
        (
            {"timestamp": "2025-01-15T10:05:00"},
            "timestamp was 2025-01-15T10:05:00, expected YYYY-MM-DDTHH:MM:SSZ, in UTC",
        ),
        ({"timestamp": 1763844000.5}, "timestamp was 1.76384e+09, expected YYYY-MM-DDTHH:MM:SSZ, in UTC"),
        ({"timestamp": {}}, "timestamp was not a text, expected YYYY-MM-DDTHH:MM:SSZ, in UTC"),
        ({"conversation_id": None}, "conversation_id was missing"),
    ],
)
def test_an_odd_envelope_is_noted(envelope: dict[str, Any], note: str) -> None:
    assert read({**ENVELOPE, "player_meta": META, **envelope}).notes == (note,)


@pytest.mark.parametrize(
    ("meta", "expected", "note"),
    [
        ({"version": None}, ("", ("even_odd",)), "version was missing"),
        ({"version": 2.1}, ("2.1", ("even_odd",)), "version was not a string"),
        ({"version": {}}, ("", ("even_odd",)), "version was not a string"),
        ({"game_types": None}, ("1.0.0", ()), "game_types was missing, every game is assumed"),
        (
            {"game_types": "even_odd, tic_tac_toe"},
            ("1.0.0", ("even_odd", "tic_tac_toe")),
            "player_meta.game_types was a text, expected a list",
        ),
        ({"game_types": None, "game_type": "even_odd"}, ("1.0.0", ("even_odd",)), None),
        ({"game_types": 5}, ("1.0.0", ()), "player_meta.game_types was not a list, every game is assumed"),
        ({"game_types": [{}]}, ("1.0.0", ()), "player_meta.game_types named no game, every game is assumed"),
        ({"game_types": ["Even-Odd", "EVEN_ODD"]}, ("1.0.0", ("even_odd",)), None),
        ({"game_types": ["*"]}, ("1.0.0", ()), None),
    ],
)
def test_a_meta_is_read_and_what_is_odd_is_noted(
    meta: dict[str, Any], expected: tuple[str, tuple[str, ...]], note: str | None
) -> None:
    request = read({**ENVELOPE, "player_meta": META | meta})
    assert (request.version, request.game_types) == expected
    assert request.notes == ((note,) if note else ())


def test_a_name_and_an_address_are_enough_to_register() -> None:
    request = read({"name": "Alpha", "endpoint": "http://localhost:8101"})
    assert facts(request)[:2] == ("Alpha", ADDRESS)
    assert list(request.notes) == [
        "protocol was missing, league.v2 is assumed",
        "sender was missing",
        "timestamp was missing",
        "conversation_id was missing",
        "game_types was missing, every game is assumed",
        "version was missing",
        "address was localhost, called at 192.0.2.7",
        "address had no path, called at /mcp",
    ]


@pytest.mark.parametrize(
    ("message", "error", "field"),
    [
        ([], InvalidFormat, "params"),
        ({}, MissingField, "player_meta"),
        (ENVELOPE, MissingField, "player_meta"),
        ({"player_meta": "Alpha"}, InvalidFormat, "player_meta"),
        ({"player_meta": {}}, MissingField, "player_meta.display_name"),
        ({"player_meta": {"display_name": "Alpha"}}, MissingField, "player_meta.contact_endpoint"),
        ({"name": "Alpha"}, MissingField, "contact_endpoint"),
        ({"endpoint": ADDRESS}, MissingField, "display_name"),
        ({"meta": {"display_name": 5, "endpoint": ADDRESS}}, MissingField, "meta.display_name"),
        ({"meta": {"name": "Alpha", "endpoint": "here"}}, InvalidFormat, "meta.endpoint"),
    ],
)
def test_an_error_names_the_field_that_cannot_be_read(message: Any, error: type[LeagueError], field: str) -> None:
    with pytest.raises(error) as caught:
        read(message)
    assert caught.value.context["field"] == field


# Codes, tokens, ids ---------------------------------------------------------------------------------


def test_codes_are_taken_from_meta_envelope_and_address_in_this_order() -> None:
    message = {**ENVELOPE, "player_meta": META | {"registration_code": "in-meta"}, "registration_code": "outside"}
    request = read(message, code_in_address="in-address")
    assert request.codes == ("in-meta", "outside", "in-address")
    assert [request.brings(code) for code in ("outside", "other", "", None)] == [True, False, False, False]
    assert read({**ENVELOPE, "player_meta": META}, code_in_address=" x ").codes == ("x",)
    assert read({**ENVELOPE, "player_meta": META | {"code": 5}}).codes == ()


def test_a_request_keeps_its_shape() -> None:
    assert [read({**ENVELOPE, "player_meta": META}, **how).shape for how in ({}, {"shape": "flat"})] == [
        "canonical",
        "flat",
    ]


@pytest.mark.parametrize(
    ("message", "expected", "notes"),
    [
        ({}, "", ()),
        ({"sender": "player:P07"}, "P07", ()),
        ({"sender": "player:p7"}, "p7", ()),
        ({"sender": "P0007"}, "P0007", ("sender was P0007, expected player:<name>",)),
        ({"sender": "player:P00007"}, "", ()),
        ({"sender": "player:REF01"}, "", ()),
        ({"player_id": "P07", "sender": "player:P08"}, "P07", ()),
        ({"player_id": "player:P07"}, "P07", ()),
        ({"player_id": "P20231"}, "P20231", ()),
        ({"agent_id": "my-agent_1"}, "my-agent_1", ()),
        ({"playerId": "my-agent"}, "my-agent", ()),
        ({"player_id": 7}, "7", ()),
        ({"player_id": None}, "", ()),
        ({"player_id": "UNREGISTERED", "sender": "player:P07"}, "P07", ()),
        ({"player_id": "draw"}, "", ()),
        ({"player_id": True}, "", ()),
        ({"player_id": "a b"}, "", ("player_id was a b, which cannot be an id here",)),
        ({"player_id": "<b>"}, "", ("player_id was <b>, which cannot be an id here",)),
        ({"player_id": "REF01"}, "", ("player_id was REF01, which cannot be an id here",)),
        ({"player_id": "x" * 33}, "", (f"player_id was {'x' * 33}, which cannot be an id here",)),
        ({"player_id": "פלוני"}, "", ("player_id was פלוני, which cannot be an id here",)),
    ],
)
def test_wanted_id_is_read_from_ids_and_senders(message: dict[str, Any], expected: str, notes: tuple[str, ...]) -> None:
    for request in (
        read({**ENVELOPE, "player_meta": META, **message}),
        read({**ENVELOPE, "player_meta": META | message} if "sender" not in message else ENVELOPE | META | message),
    ):
        assert request.wanted_id == expected
        assert [note.removeprefix("player_meta.") for note in request.notes] == list(notes)


def test_a_referee_asks_for_an_id_of_its_kind() -> None:
    meta = META | {"max_concurrent_matches": 2}
    for sender, expected in (("referee:REF02", "REF02"), ("referee:P02", ""), ("referee:alpha", "")):
        request = read({**ENVELOPE, "sender": sender, "referee_meta": meta}, kind=Kind.REFEREE)
        assert (request.wanted_id, request.max_concurrent, request.notes) == (expected, 2, ())


# Arbitrary JSON -----------------------------------------------------------------------

_NAMES = st.sampled_from(
    [
        *spellings.META_PLACES,
        *spellings.NAME_FIELDS,
        *spellings.ADDRESS_FIELDS,
        *spellings.HOST_FIELDS,
        *spellings.PORT_FIELDS,
        *spellings.GAME_FIELDS,
        *spellings.CODE_FIELDS,
        *spellings.ROOM_FIELDS,
        *("version", "sender", "timestamp", "protocol", "auth_token", "player_id", "path", "conversation_id"),
    ]
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**4000)
    | st.floats()
    | st.text()
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from([ADDRESS, "localhost:8101", "[::1", "http://[::1", "player:P07", "8101", "2025-01-15T10:05:00Z"])
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES | st.text(), inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=examples(300))
@given(
    st.dictionaries(_NAMES | st.text(), _JSON, max_size=8) | _JSON, st.sampled_from(list(Kind)), st.text(max_size=20)
)
def test_any_json_is_read_or_refused_with_the_name_of_a_field(message: Any, kind: Kind, caller: str) -> None:
    try:
        request = read(message, kind=kind, caller=caller)
    except LeagueError as error:
        assert error.context["field"]
        return
    assert 0 < len(request.name) <= MAX_NAME_CHARS
    assert len(request.endpoint) <= MAX_ENDPOINT_CHARS
    assert 1 <= request.max_concurrent <= MAX_CONCURRENT_MATCHES
    texts = (request.name, request.version, request.wanted_id, *request.game_types, *request.notes)
    assert [text for text in texts if not text.isprintable()] == []
