"""Start a match at a referee that is not ours: every request that real referees wait for. No I/O.

A *way* is a name such as ``canonical:assign_match``: shape and method. The way that a referee understood is stored
as the shape of its ``START_MATCH``. The last way is ROUND_ANNOUNCEMENT itself: some referees start the matches in it
that name their own address (our choice of order; the ruling's section 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from league_sdk.dialects import shapes
from league_sdk.dialects.answers import Understanding, accepted, read_answer, understanding
from league_sdk.protocol import rpc

KIND = "START_MATCH"
"""The message type under which the way that worked is stored."""
METHODS = ("start_match", "assign_match", "START_MATCH", "run_match")
ANNOUNCEMENT = "announcement"
_PLAIN = ("canonical", "message_type", "parity_choose")
_APPLICATION_ERRORS = range(-32099, -31999)
_UNKNOWN_METHOD = ("method", "unknown", "not found", "unsupported", "not implemented", "unhandled")


class Offer(Enum):
    """What a referee's reply to a start says.

    Attributes:
        REFUSED: it was understood, and the referee does not want the match now.
        FAILED: it was understood, and cannot be done.
    """

    TAKEN = "taken"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_UNDERSTOOD = "not understood"


def ways(dialect: str, spoken: Mapping[str, str]) -> list[str]:
    """The ways to try, in their order; the way that worked before comes first.

    Args:
        dialect: the shape in which the referee registered.
        spoken: by message type, the shape that it understood.
    """
    names = [f"{shapes.CANONICAL}:{method}" for method in METHODS]
    own = shapes.order(dialect, spoken, KIND)[0]
    if own not in _PLAIN:
        # Other shapes name the method by the message type, which is in upper case anyway.
        methods = METHODS if own.startswith("tools") else [method for method in METHODS if method != KIND]
        names += [f"{own}:{method}" for method in methods]
    names.append(ANNOUNCEMENT)
    known = spoken.get(KIND)
    return [known, *(name for name in names if name != known)] if known in names else names


def wrap(way: str, message: Mapping[str, Any], rpc_id: int) -> dict[str, Any]:
    """The body of a START_MATCH message in one of the :func:`ways`, except the announcement."""
    shape, _, method = way.partition(":")
    # The message type says the same as the method: a referee may go by either.
    return wrap_as(shape, method, {**message, "message_type": method.upper()}, rpc_id)


def wrap_as(shape: str, method: str, message: Mapping[str, Any], rpc_id: int) -> dict[str, Any]:
    """A message for which 004 chapter 8 has no method, in one of the shapes.

    Args:
        shape: a name of :data:`league_sdk.dialects.shapes.SHAPES`.
        method: the method or tool, for shapes that name one.
    """
    if shape in _PLAIN:
        return rpc.call(method, message, rpc_id)
    if shape.startswith("tools"):
        return rpc.call("tools/call", {"name": method, "arguments": dict(message)}, rpc_id)
    return shapes.SHAPES[shape].wrap(message, rpc_id)


def read_reply(body: Any, *, status: int, readable: bool, rpc_id: int | str) -> tuple[Offer, str]:
    """Judge the reply to a start.

    Args:
        body: the decoded JSON, None when there was none.
        status: the status of the HTTP reply.
        readable: whether the body was JSON.
        rpc_id: the id of the start.

    Returns what it says, and why if the match was not taken. A success that says nothing counts as taken.
    """
    answer = read_answer(body, rpc_id=rpc_id)
    if understanding(answer, status=status, readable=readable, message_type=KIND) is Understanding.NOT_UNDERSTOOD:
        return (Offer.FAILED if _is_application_error(answer.refused) else Offer.NOT_UNDERSTOOD), _reply_text(
            body, status
        )
    if accepted(answer.message) is False:
        return Offer.REFUSED, _reply_text(body, status)
    return Offer.TAKEN, ""


def _is_application_error(refused: Any) -> bool:
    """Whether a JSON-RPC error is the referee's own, such as "no room", and does not mean an unknown method."""
    if not isinstance(refused, Mapping):
        return False
    code, text = refused.get("code"), str(refused.get("message", "")).lower()
    return isinstance(code, int) and code in _APPLICATION_ERRORS and not any(word in text for word in _UNKNOWN_METHOD)


def _reply_text(body: Any, status: int) -> str:
    return f"HTTP {status}: {body!s:.120}"
