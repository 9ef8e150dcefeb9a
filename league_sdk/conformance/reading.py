"""Finds what in a player's answer deviates from the documents (004 2.4, 4.4 to 4.6, 4.12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.judgements import difference
from league_sdk.protocol import schemas
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code
from league_sdk.protocol.sentences import Sentence, _, say
from league_sdk.simulated_league import Identity

CLAUSES = (
    "join.field", "choice.field", "rpc.reply", "rpc.id", "answer.message_type", "answer.protocol", "answer.timestamp",
    "answer.conversation_id", "answer.match_id", "answer.other", "answer.player_id", "answer.sender",
    "answer.auth_token",
)  # fmt: skip
"""The clauses about the contents of answers, in the order in which they are decided."""
_BY_FIELD = {name.partition(".")[2]: name for name in CLAUSES if name.startswith("answer.")} | {
    "arrival_timestamp": "answer.timestamp",
    "accept": "join.field",
    "parity_choice": "choice.field",
    "move_data": "choice.field",
}
Oddity = tuple[str, Sentence]
"""The id of a clause, and a deviation in words."""


def oddities(
    exchange: Exchange, who: Identity, *, expected: MessageType, sent: Mapping[str, Any], choice_field: str = ""
) -> Iterator[Oddity]:
    """Find every deviation of an answer from the documents.

    Args:
        exchange: an exchange with an answer.
        who: the player.
        expected: the message type that the answer should have.
        sent: the message that was answered.
        choice_field: the game's name for a choice; whether the choice is legal is judged elsewhere.
    """
    yield from _around(exchange)
    message = exchange.message
    yield from _identity(message, who)
    for problem in schemas.problems(expected, message):
        name = problem.field.partition(".")[0]
        if name != "auth_token" and not (name == choice_field and name in message):
            yield _BY_FIELD.get(name, "answer.other"), say("{difference}.", difference=difference(expected, problem))
    for name in ("conversation_id", "match_id"):
        value = message.get(name)
        # An answer by POST may start a conversation of its own.
        if isinstance(value, str) and value != sent[name] and not (exchange.by_callback and name == "conversation_id"):
            text = _("{name} in {kind} was {seen}, not the request's {right}.")
            yield f"answer.{name}", say(text, name=name, kind=expected, seen=seen_text(value), right=sent[name])


def _identity(message: Mapping[str, Any], who: Identity) -> Iterator[Oddity]:
    """Deviations in what an answer says of its sender."""
    own, sender, right = message.get("player_id"), message.get("sender"), who.player_id
    if isinstance(own, str) and own not in ("", right):
        text = _("It called itself {seen}, and is {right}: take the id from the registration.")
        yield "answer.player_id", say(text, seen=seen_text(own), right=right)
    if isinstance(sender, str) and sender not in ("", f"player:{right}"):
        yield (
            "answer.sender",
            say(_("sender was {seen}, expected player:{right}."), seen=seen_text(sender), right=right),
        )
    if message.get("auth_token") == who.league_token:
        yield "answer.auth_token", say(_("It sent our own token back; its own is the one from its registration."))


def _around(exchange: Exchange) -> Iterator[Oddity]:
    """Deviations in the HTTP answer and the JSON-RPC reply around the message."""
    if exchange.by_callback:
        text = _("It answers by a POST to referee_endpoint. The league takes that; chapter 8 has it in the HTTP reply.")
        yield "rpc.reply", say(text)
        return
    if exchange.status != 200:
        yield "rpc.reply", say(_("The HTTP status was {status}, expected 200."), status=exchange.status)
    for note in exchange.answer.notes:
        if note.code is Code.ID:
            yield "rpc.id", say(_("In the reply the {note}."), note=note)
        elif note.code is not Code.IN_TOOL_RESULT or exchange.tool_result is None:
            # A tool of MCP answers with the result of a tool.
            yield "rpc.reply", say(_("{note}; the message belongs into result."), note=note)
    body = exchange.response_body
    if isinstance(body, Mapping) and "result" in body and body.get("jsonrpc") != "2.0":
        text = _('jsonrpc in the reply was {seen}, expected "2.0".')
        yield "rpc.reply", say(text, seen=seen_text(body.get("jsonrpc")))
