"""Starting a match at a referee that is not ours: every spelling that real ones wait for. No I/O.

A *way* is a name such as ``canonical:assign_match``: the clothes and the method. It is remembered for a
referee as what it speaks under ``START_MATCH``. The last way is ROUND_ANNOUNCEMENT itself: some referees
begin with the matches in it that name their own address (our choice of order; the ruling's section 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from league_sdk.dialects import shapes
from league_sdk.dialects.answers import Understanding, accepted, read_answer, understanding
from league_sdk.protocol import rpc

KIND = "START_MATCH"
"""Under this name the way that worked is remembered."""
METHODS = ("start_match", "assign_match", "START_MATCH", "run_match")
ANNOUNCEMENT = "announcement"
_PLAIN = ("canonical", "message_type", "parity_choose")
_APPLICATION_ERRORS = range(-32099, -31999)
_UNKNOWN_METHOD = ("method", "unknown", "not found", "unsupported", "not implemented", "unhandled")


class Offer(Enum):
    """What a referee's reply to a start says."""

    TAKEN = "taken"
    REFUSED = "refused"
    """It was understood, and is not wanted now."""
    FAILED = "failed"
    """It was understood, and cannot be done."""
    NOT_UNDERSTOOD = "not understood"


def ways(dialect: str, spoken: Mapping[str, str]) -> list[str]:
    """The ways to try, in their order; one that worked before comes first.

    Args:
        dialect: how the referee registered.
        spoken: what it was seen to understand.
    """
    names = [f"{shapes.CANONICAL}:{method}" for method in METHODS]
    own = shapes.order(dialect, spoken, KIND)[0]
    if own not in _PLAIN:
        # Inside other clothes a method is told by the message type, whose case is fixed.
        told = METHODS if own.startswith("tools") else [method for method in METHODS if method != KIND]
        names += [f"{own}:{method}" for method in told]
    names.append(ANNOUNCEMENT)
    known = spoken.get(KIND)
    return [known, *(name for name in names if name != known)] if known in names else names


def wrap(way: str, message: Mapping[str, Any], rpc_id: int) -> dict[str, Any]:
    """The body of a start in one way; ROUND_ANNOUNCEMENT is wrapped as any other broadcast.

    Args:
        way: one of :func:`ways`, but not the announcement.
        message: the START_MATCH message.
        rpc_id: an integer.
    """
    shape, _, method = way.partition(":")
    # One that goes by the message type finds there what another finds in the method.
    return wrap_as(shape, method, {**message, "message_type": method.upper()}, rpc_id)


def wrap_as(shape: str, method: str, message: Mapping[str, Any], rpc_id: int) -> dict[str, Any]:
    """A message that chapter 8 has no method for, in a shape's clothes.

    Args:
        shape: a name of :data:`league_sdk.dialects.shapes.SHAPES`.
        method: for shapes that name one: a method or a tool.
        message: what is said.
        rpc_id: an integer.
    """
    if shape in _PLAIN:
        return rpc.call(method, message, rpc_id)
    if shape.startswith("tools"):
        return shapes.with_tools("tools_call", message, rpc_id, method, None)
    return shapes.SHAPES[shape].wrap(message, rpc_id)


def read_reply(body: Any, *, status: int, readable: bool, rpc_id: int | str) -> tuple[Offer, str]:
    """Judge the reply to a start.

    Args:
        body: the decoded JSON, None when there was none.
        status: of the HTTP answer.
        readable: whether the body was JSON.
        rpc_id: the id that the start had.

    Returns what it says, and why when the match was not taken. A success that says nothing counts as taken.
    """
    answer = read_answer(body, rpc_id=rpc_id)
    found = understanding(answer, status=status, readable=readable, message_type=KIND)
    if found is Understanding.NOT_UNDERSTOOD:
        return (Offer.FAILED if _is_application_error(answer.refused) else Offer.NOT_UNDERSTOOD), _said(body, status)
    if accepted(answer.message) is False:
        return Offer.REFUSED, _said(body, status)
    return Offer.TAKEN, ""


def _is_application_error(refused: Any) -> bool:
    """An error of its own, such as "no room": not one of the many that mean an unknown method."""
    if not isinstance(refused, Mapping):
        return False
    code, text = refused.get("code"), str(refused.get("message", "")).lower()
    return isinstance(code, int) and code in _APPLICATION_ERRORS and not any(word in text for word in _UNKNOWN_METHOD)


def _said(body: Any, status: int) -> str:
    return f"HTTP {status}: {body!s:.120}"
