"""JSON-RPC 2.0: reading requests from bytes, and building requests and replies. No I/O.

A request is checked in the order of the ruling's section 5: size, content type, JSON, request object, method, params.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.protocol.errors import InvalidFormat, NotARequest, NotJson, TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES, MAX_JSON_DEPTH

# Made once: json.dumps would make an encoder for each call.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ID_TYPES = (str, int, float, type(None))
_CONTAINERS = frozenset({dict, list})


@dataclass(frozen=True, slots=True)
class Request:
    """A well-formed JSON-RPC request.

    Attributes:
        method: the method as sent.
        params: the object; empty if absent.
        id: the id; the reply repeats it with its type.
        notification: whether no id was sent, so that no reply is expected.
    """

    method: str
    params: dict[str, Any]
    id: str | int | float | None
    notification: bool

    @property
    def name(self) -> str:
        """The method."""
        return self.method


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For ``object_pairs_hook``: refuse an object with a repeated name, of which two readers may take two values.

    Raises:
        ValueError: names it.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.60} stands twice in one object")
    return made


def no_constant(name: str) -> Any:
    """For ``parse_constant``: refuse NaN and Infinity, which Python's decoder would take.

    Raises:
        ValueError: names it.
    """
    raise ValueError(f"{name} is not JSON")


def depth_ok(value: Any, left: int) -> bool:
    """Whether decoded JSON is nested at most ``left`` levels deep."""
    # Most values are not containers: a call for each of them would cost more than decoding the JSON.
    if type(value) not in _CONTAINERS:
        return True
    if left <= 0:
        return False
    items: Iterable[Any] = value.values() if type(value) is dict else value
    for item in items:  # noqa: SIM110 - a generator would cost more than the few calls
        if type(item) in _CONTAINERS and not depth_ok(item, left - 1):
            return False
    return True


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


# Made once: json.loads would make a decoder for each call.
_decode = json.JSONDecoder(object_pairs_hook=unique, parse_constant=no_constant, parse_float=_finite).decode


def loads(raw: bytes) -> Any:
    """Decode JSON from an untrusted sender.

    Refuses everything that later steps could fail on: invalid UTF-8, NaN and Infinity, duplicate keys, integers too
    long to convert, lone surrogates, NUL characters, nesting deeper than ``MAX_JSON_DEPTH``.

    Raises:
        NotJson: the sentence says which of these it is.
    """
    try:
        text = raw.decode("utf-8")
        value = _decode(text)
        # Most bodies have no \u escape, and looking for one is several times cheaper than a lower-case copy.
        lowered = text.lower() if "\\u" in text else ""
        # After an escaped backslash, "u0000" is plain text.
        if "\\u0000" in lowered.replace("\\\\", ""):
            raise ValueError("it holds a NUL character")
        if "\\ud" in lowered:
            # An escaped lone surrogate decodes to a string that cannot be encoded again.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise NotJson(f"The body is nested deeper than {MAX_JSON_DEPTH} levels.") from None
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise NotJson(f"The body is not valid UTF-8 text: {error.reason}.") from None
    except ValueError as error:
        raise NotJson(f"The body is not JSON: {error}.") from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and not depth_ok(value, MAX_JSON_DEPTH):
        raise NotJson(f"The body is nested deeper than {MAX_JSON_DEPTH} levels.")
    return value


def check_http(content_type: str, size: int, content_encoding: str = "") -> None:
    """The checks before the body is decoded: its size, its content type, and whether it is compressed.

    Args:
        content_type: the header's value, parameters allowed.
        size: the size of the body, in bytes.
        content_encoding: the header's value.

    Raises:
        TooLarge: over 64 KiB.
        NotARequest: the content type is not JSON, or the body is compressed.
    """
    if size > MAX_BODY_BYTES:
        raise TooLarge(
            "The body is too large.",
            field="body",
            seen=f"{size} bytes",
            expected=f"at most {MAX_BODY_BYTES} bytes",
        )
    kind = content_type.partition(";")[0].strip().lower()
    # Some agents send JSON without a content type; another content type means another format.
    if kind not in ("", "application/json"):
        raise NotARequest(
            "Send the body as application/json.",
            field="Content-Type",
            seen=content_type,
            expected="application/json",
        )
    if content_encoding.strip().lower() not in ("", "identity"):
        raise NotARequest(
            "Send the body as it is, not compressed.",
            field="Content-Encoding",
            seen=content_encoding,
            expected="no such header",
        )


def request_id(value: Any) -> str | int | float | None:
    """The id for the reply, also to a request that is refused; None if the request has no valid one."""
    if isinstance(value, Mapping):
        rpc_id = value.get("id")
        if isinstance(rpc_id, _ID_TYPES) and not isinstance(rpc_id, bool):
            return rpc_id
    return None


def read_request(value: Any) -> Request:
    """Read a request from a decoded body.

    Raises:
        NotARequest: the body is a batch or no object, or has a wrong ``jsonrpc``, no method, or an id of a wrong type.
        InvalidFormat: ``params`` is not an object.
    """
    if isinstance(value, list):
        raise NotARequest(
            "Batches are not supported: send one request a body.",
            field="body",
            seen=f"an array of {len(value)}",
            expected="one JSON-RPC request object",
        )
    if not isinstance(value, dict):
        raise NotARequest("The body is not a JSON-RPC request.", field="body", seen=value, expected="a JSON object")
    if value.get("jsonrpc", "2.0") != "2.0":
        raise NotARequest("Only JSON-RPC 2.0 is spoken here.", field="jsonrpc", seen=value["jsonrpc"], expected="2.0")
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise NotARequest("The request has no method.", field="method", seen=method, expected="the name of a method")
    if "id" in value and (isinstance(value["id"], bool) or not isinstance(value["id"], _ID_TYPES)):
        raise NotARequest(
            "The id has a type that JSON-RPC does not allow.",
            field="id",
            seen=value["id"],
            expected="a string, a number or null",
        )
    params = value.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise InvalidFormat(
            "params must be an object with named fields.", field="params", seen=params, expected="an object"
        )
    return Request(method=method, params=params, id=value.get("id"), notification="id" not in value)


def call(method: str, params: Mapping[str, Any], rpc_id: int) -> dict[str, Any]:
    """Build a request; its id is always an integer."""
    return {"jsonrpc": "2.0", "method": method, "params": dict(params), "id": rpc_id}


def encoded_call(method: str, params: bytes, rpc_id: int) -> bytes:
    """Encode a request whose ``params`` are encoded already."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b,"id":%d}' % (dumps(method), params, rpc_id)


def result(rpc_id: Any, value: Any) -> dict[str, Any]:
    """Build a successful reply."""
    return {"jsonrpc": "2.0", "result": value, "id": rpc_id}


def error(rpc_id: Any, code: int, message: str, data: Any) -> dict[str, Any]:
    """Build a reply with an error."""
    return {"jsonrpc": "2.0", "error": {"code": code, "message": message, "data": data}, "id": rpc_id}


def dumps(value: Any) -> bytes:
    """Encode as compact UTF-8 JSON."""
    return _COMPACT.encode(value).encode("utf-8")
