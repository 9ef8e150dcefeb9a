"""What is odd in a player's answer, clause by clause (004 2.4, 4.4 to 4.6, 4.12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.protocol import schemas
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code

_BY_FIELD = {
    "message_type": "answer.message_type",
    "protocol": "answer.protocol",
    "sender": "answer.sender",
    "timestamp": "answer.timestamp",
    "arrival_timestamp": "answer.timestamp",
    "conversation_id": "answer.conversation_id",
    "match_id": "answer.match_id",
    "player_id": "answer.player_id",
    "accept": "join.field",
    "parity_choice": "choice.field",
    "move_data": "choice.field",
}
Oddity = tuple[str, str]
"""A clause, and what is odd."""


def oddities(
    exchange: Exchange, *, expected: MessageType, sent: Mapping[str, Any], choice_field: str = ""
) -> Iterator[Oddity]:
    """What in an answer is not as the documents have it.

    Args:
        exchange: one that was answered.
        expected: the type of the answer.
        sent: the message it answers.
        choice_field: the game's name for a choice; what is chosen is judged elsewhere.
    """
    yield from _around(exchange)
    message = exchange.message
    for problem in schemas.problems(expected, message):
        name = problem.field.partition(".")[0]
        if name == "auth_token" or (name == choice_field and name in message):
            continue
        seen = "missing" if problem.seen == "nothing" else problem.seen
        sentence = f"{problem.field} in {expected} was {seen}, expected {problem.expected}."
        yield _BY_FIELD.get(name, "answer.other"), sentence
    for name in ("conversation_id", "match_id"):
        given = message.get(name)
        # A callback may have a conversation of its own.
        if isinstance(given, str) and given != sent[name] and not (exchange.by_callback and name == "conversation_id"):
            yield f"answer.{name}", f"{name} in {expected} was {seen_text(given)}, not the request's {sent[name]}."


def _around(exchange: Exchange) -> Iterator[Oddity]:
    """What is odd around the message."""
    if exchange.by_callback:
        yield (
            "rpc.reply",
            "It answers by a POST to referee_endpoint. The league takes that; chapter 8 has it in the HTTP reply.",
        )
        return
    if exchange.status != 200:
        yield "rpc.reply", f"The HTTP status was {exchange.status}, expected 200."
    for note in exchange.answer.notes:
        if note.code is Code.ID:
            yield "rpc.id", f"In the reply the {note}."
        else:
            yield "rpc.reply", f"{str(note)[:1].upper()}{str(note)[1:]}; the message belongs into result."
    came = exchange.came
    if isinstance(came, Mapping) and "result" in came and came.get("jsonrpc") != "2.0":
        yield "rpc.reply", f'jsonrpc in the reply was {seen_text(came.get("jsonrpc"))}, expected "2.0".'
