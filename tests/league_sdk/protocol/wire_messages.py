"""A valid message of every type, and helpers that make it invalid, for tests of models and schemas."""

import copy
from collections.abc import Iterator
from typing import Any

from league_sdk.protocol import schemas
from tests.league_sdk.judging.starts import START
from tests.paths import SAMPLES

OURS = [
    "MATCH_RESULT_ACK",
    "START_MATCH",
    "START_MATCH_ANSWER",
    "START_MATCHES",
    "START_MATCHES_ANSWER",
    "REPORT_PROGRESS",
    "REPORT_PROGRESS_ANSWER",
]
"""Messages that the documents of the course do not have."""
HEAD = {
    "protocol": "league.v2",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-1",
}
IN_PLAY = {"league_id": "league_2025_even_odd", "match_id": "R1M1", "attempt": 1}
TOKEN = "tok_" + "0123456789abcdef" * 2
MESSAGES: dict[str, Any] = {
    **SAMPLES,
    "MATCH_RESULT_ACK": HEAD
    | {
        "message_type": "MATCH_RESULT_ACK",
        "sender": "league_manager:LM01",
        "league_id": "league_2025_even_odd",
        "match_id": "R1M1",
        "status": "ACCEPTED",
        "reason": None,
    },
    "START_MATCH": START,
    "START_MATCH_ANSWER": {"accepted": True, "reason": None},
    "START_MATCHES": HEAD
    | {
        "message_type": "START_MATCHES",
        "sender": "league_manager:LM01",
        "auth_token": START["auth_token"],
        "matches": [START, copy.deepcopy(START) | {"match_id": "R1M2"}],
    },
    "START_MATCHES_ANSWER": {
        "matches": [
            {"accepted": True, "reason": None},
            {"accepted": False, "reason": "this referee plays 32 matches already"},
        ]
    },
    "REPORT_PROGRESS": HEAD
    | {
        "message_type": "report_progress",
        "auth_token": TOKEN,
        "matches": [IN_PLAY | {"state": "ASSIGNED", "joined": ["P01"], "locked_in": [], "view": {}, "transcript": []}],
    },
    "REPORT_PROGRESS_ANSWER": {"matches": [IN_PLAY | {"status": "ok"}]},
}


def changed(name: str, **fields: Any) -> dict[str, Any]:
    """The message with other values of these fields."""
    return MESSAGES[name] | fields


def required(node: dict[str, Any], root: dict[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """The dotted paths in a value that the schema requires."""
    while "$ref" in node or "anyOf" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node["anyOf"][0]
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from required(node.get("items", {}), root, item, f"{path}{index}.")
    elif isinstance(value, dict):
        for name, inner in node.get("properties", {}).items():
            if name in value and name in node.get("required", ()):
                yield path + name
            if name in value:
                yield from required(inner, root, value[name], f"{path}{name}.")


DEMANDS = [
    (name, path)
    for name, message in MESSAGES.items()
    for path in required(schemas.json_schema(name), schemas.json_schema(name), message)
]
"""Message types, each with the path of a field that its schema requires."""


def replaced(message: Any, path: str, value: Any = None, *, remove: bool = False) -> Any:
    """The message with another value at a dotted path, or without that field."""
    made = copy.deepcopy(message)
    *holders, last = path.split(".")
    holder = made
    for part in holders:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    if remove:
        del holder[last]
    else:
        holder[int(last) if isinstance(holder, list) else last] = value
    return made


def fields_with_problems(name: str, message: Any) -> list[str]:
    return [one.field for one in schemas.problems(name, message)]
