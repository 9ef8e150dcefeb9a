"""JSON-RPC from untrusted senders: the checks of the ruling's section 5."""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InvalidFormat, LeagueError, NotARequest, NotJson, TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES, MAX_JSON_DEPTH

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)
TOO_DEEP = f"The body is nested deeper than {MAX_JSON_DEPTH} levels."


# -- loads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "The body is not JSON: Expecting value: line 1 column 1 (char 0)."),
        (b"NaN", "The body is not JSON: NaN is not JSON."),
        (b"[-Infinity]", "The body is not JSON: -Infinity is not JSON."),
        (b'{"n":1e999}', "The body is not JSON: a number is too large."),
        (b'{"n":-1e999}', "The body is not JSON: a number is too large."),
        (b'{"a":1,"a":2}', "The body is not JSON: 'a' stands twice in one object."),
        (b'{"x":{"a":1,"a":1}}', "The body is not JSON: 'a' stands twice in one object."),
        (rb'{"a":1,"\u0061":1}', "The body is not JSON: 'a' stands twice in one object."),
        (rb'"\u0000"', "The body is not JSON: it holds a NUL character."),
        (rb'{"\\\u0000":1}', "The body is not JSON: it holds a NUL character."),
        (b'"\xff"', "The body is not valid UTF-8 text: invalid start byte."),
        (b'"\xed\xa0\x80"', "The body is not valid UTF-8 text: invalid continuation byte."),
        (rb'"\ud800"', "The body is not valid UTF-8 text: surrogates not allowed."),
        (rb'{"\uDFFF":1}', "The body is not valid UTF-8 text: surrogates not allowed."),
        (b"[" * (MAX_JSON_DEPTH + 1) + b"]" * (MAX_JSON_DEPTH + 1), TOO_DEEP),
        (b'{"a":' * (MAX_JSON_DEPTH + 1) + b"1" + b"}" * (MAX_JSON_DEPTH + 1), TOO_DEEP),
        (b"[" * 100_000, TOO_DEEP),
    ],
)
def test_loads_refuses_invalid_json_with_the_reason(raw: bytes, sentence: str) -> None:
    with pytest.raises(NotJson) as caught:
        rpc.loads(raw)
    assert caught.value.message == sentence


@pytest.mark.parametrize("raw", [b"9" * 5000, b'{"n":-' + b"1" * 4301 + b"}", b"\xef\xbb\xbf{}", b'"\x00"', b"{}{}"])
def test_loads_refuses_other_invalid_bodies(raw: bytes) -> None:
    with pytest.raises(NotJson):
        rpc.loads(raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"[" * MAX_JSON_DEPTH + b"]" * MAX_JSON_DEPTH, None),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\\u0000 and \\ud800"', r"\u0000 and \ud800"),
        (b'{"n":1e308}', {"n": 1e308}),
        (b'{"n":' + b"9" * 400 + b"}", {"n": int("9" * 400)}),
        ('"ä\u2028"'.encode(), "ä\u2028"),
        (b" [1, 2.5, true, null] \n", [1, 2.5, True, None]),
    ],
)
def test_loads_reads_valid_json(raw: bytes, value: Any) -> None:
    assert rpc.loads(raw) == (json.loads(raw) if value is None else value)


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(rb'"\ud800\udc00\ud800"')
@example(b'{"a":' * 31 + b'"' + rb"\u0000" + b'"' + b"}" * 31)
def test_loads_returns_a_value_that_can_be_encoded_or_raises_not_json(raw: bytes) -> None:
    try:
        value = rpc.loads(raw)
    except NotJson:
        return
    assert rpc.loads(rpc.dumps(value)) == value


@given(json_values)
def test_loads_reads_what_dumps_writes(value: Any) -> None:
    assert rpc.loads(rpc.dumps(value)) == value


# -- read_request -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "field", "seen"),
    [
        ([], NotARequest, "body", '"an array of 0"'),
        ([{"jsonrpc": "2.0", "method": "ping", "id": 1}], NotARequest, "body", '"an array of 1"'),
        (7, NotARequest, "body", "7"),
        (None, NotARequest, "body", "null"),
        ("ping", NotARequest, "body", '"ping"'),
        ({"jsonrpc": "1.0", "method": "ping", "id": 1}, NotARequest, "jsonrpc", '"1.0"'),
        ({"jsonrpc": 2.0, "method": "ping", "id": 1}, NotARequest, "jsonrpc", "2.0"),
        ({"jsonrpc": "2.0", "id": 1}, NotARequest, "method", "null"),
        ({"jsonrpc": "2.0", "method": "", "id": 1}, NotARequest, "method", '""'),
        ({"jsonrpc": "2.0", "method": ["ping"], "id": 1}, NotARequest, "method", '["ping"]'),
        ({"jsonrpc": "2.0", "method": "ping", "id": True}, NotARequest, "id", "true"),
        ({"jsonrpc": "2.0", "method": "ping", "id": {}}, NotARequest, "id", "{}"),
        ({"jsonrpc": "2.0", "method": "ping", "id": [1]}, NotARequest, "id", "[1]"),
        ({"jsonrpc": "2.0", "method": "ping", "id": 1, "params": [1]}, InvalidFormat, "params", "[1]"),
        ({"jsonrpc": "2.0", "method": "ping", "id": 1, "params": "x"}, InvalidFormat, "params", '"x"'),
        ({"jsonrpc": "2.0", "method": "ping", "id": 1, "params": 0}, InvalidFormat, "params", "0"),
    ],
)
def test_read_request_names_the_wrong_field(value: Any, kind: type[LeagueError], field: str, seen: str) -> None:
    with pytest.raises(LeagueError) as caught:
        rpc.read_request(value)
    error = caught.value
    assert (type(error), error.context["field"], error.context["seen"]) == (kind, field, seen)
    assert (error.error_code, error.rpc_code) == ("E002", -32602 if kind is InvalidFormat else -32600)


@pytest.mark.parametrize("rpc_id", [1, 0, -5, 1.5, "x", "", None, 2**70])
def test_read_request_keeps_an_id_of_any_valid_type(rpc_id: Any) -> None:
    request = rpc.read_request({"jsonrpc": "2.0", "method": "ping", "id": rpc_id, "params": {"a": 1}})
    assert request == rpc.Request(method="ping", params={"a": 1}, id=rpc_id, notification=False)


@pytest.mark.parametrize("params", [{}, {"params": None}, {"params": {}}])
def test_read_request_treats_a_request_without_id_as_a_notification(params: dict[str, Any]) -> None:
    request = rpc.read_request({"jsonrpc": "2.0", "method": "ping", **params})
    assert request == rpc.Request(method="ping", params={}, id=None, notification=True)


@given(
    json_values
    | st.fixed_dictionaries(
        {}, optional={"jsonrpc": json_values, "method": json_values, "id": json_values, "params": json_values}
    )
)
def test_read_request_returns_a_request_or_raises_a_league_error_for_any_json(value: Any) -> None:
    try:
        request = rpc.read_request(value)
    except LeagueError as error:
        json.dumps(error.context)
        return
    assert (request.method, request.params) == (value["method"], value.get("params") or {})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"id": 7}, 7),
        ({"id": "a"}, "a"),
        ({"id": True}, None),
        ({"id": [1]}, None),
        ({}, None),
        ([{"id": 7}], None),
        (None, None),
    ],
)
def test_request_id_returns_a_valid_id_or_none(body: Any, expected: Any) -> None:
    assert rpc.request_id(body) == expected


# -- HTTP, and what we write ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=utf-8", "application/json;", " application/json "]
)
def test_check_http_accepts_json_of_at_most_64_kib(content_type: str) -> None:
    rpc.check_http(content_type, MAX_BODY_BYTES)


@pytest.mark.parametrize(
    ("content_type", "size", "kind", "code", "status"),
    [
        ("application/json", 64 * 1024 + 1, TooLarge, -32600, 413),
        ("text/plain", 64 * 1024 + 1, TooLarge, -32600, 413),
        ("text/plain", 1, NotARequest, -32600, 200),
        ("application/jsonp", 1, NotARequest, -32600, 200),
        ("application/x-www-form-urlencoded", 1, NotARequest, -32600, 200),
    ],
)
def test_check_http_checks_the_size_before_the_content_type(
    content_type: str, size: int, kind: type[LeagueError], code: int, status: int
) -> None:
    with pytest.raises(LeagueError) as caught:
        rpc.check_http(content_type, size)
    assert (type(caught.value), caught.value.rpc_code, caught.value.http_status) == (kind, code, status)


def test_requests_replies_and_errors_have_the_form_of_json_rpc() -> None:
    assert rpc.call("ping", {"a": 1}, 7) == {"jsonrpc": "2.0", "method": "ping", "params": {"a": 1}, "id": 7}
    assert rpc.result(7, None) == {"jsonrpc": "2.0", "result": None, "id": 7}
    error = {"code": -32000, "message": "No.", "data": {"error_code": "E014"}}
    assert rpc.error("x", -32000, "No.", {"error_code": "E014"}) == {"jsonrpc": "2.0", "error": error, "id": "x"}
    assert rpc.dumps({"name": "Zoë", "n": [1, 2]}) == '{"name":"Zoë","n":[1,2]}'.encode()
    with pytest.raises(ValueError, match=r"^Out of range float values are not JSON compliant"):
        rpc.dumps(math.nan)
