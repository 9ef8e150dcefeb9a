"""What the tests of the zoo share: messages in every way of speaking, and helpers to send them to a bot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.bots import words
from tests.bots.words import CHAPTER_8, CHOOSE, INVITE, OVER, ROUND_END
from tests.bots.zoo.base import Bot
from tests.bots.zoo.entries import message_002
from tests.bots.zoo.speech import Reply, split
from tests.paths import sample

GONE = object()
"""The value of a field that is to be left out."""
LEAGUE = "http://127.0.0.1:9/mcp"
METHODS = {kind: method for method, kind in CHAPTER_8.items()}
WORDS_002 = {INVITE: "GAME_INVITE", CHOOSE: "MOVE_REQUEST", OVER: "GAME_RESULT", ROUND_END: "ROUND_END"}
TOOLS = {INVITE: "receive_game_invitation", CHOOSE: "pick_a_side", OVER: "receive_game_over"}
MORE_TOOLS = {INVITE: "join_match", CHOOSE: "make_choice", OVER: "match_finished"}


def message(kind: str) -> dict[str, Any]:
    """One of our samples, with all fields that bots of the zoo require."""
    fields = sample(kind)
    if "match_id" in fields:
        fields["game_id"] = fields["match_id"]
    if kind == INVITE:
        fields["game_invitation"] = {"match_id": fields["match_id"]}
    if kind == CHOOSE:
        fields["parity_context"] = {"match_id": fields["match_id"]}
    return fields


def rpc(method: str, params: Any) -> dict[str, Any]:
    """A JSON-RPC request with an id that no bot uses itself."""
    return words.rpc(method, params, 7)


def speak(style: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The body of a message in one way of speaking (one of ``STYLES``)."""
    named = fields | {"message_type": WORDS_002.get(kind, kind)}
    payload = {name: value for name, value in fields.items() if name not in ("message_type", "sender", "protocol")}
    in_002 = message_002(WORDS_002.get(kind, kind), str(fields.get("sender")), payload)
    own = OWN_NAMES.get(style, {}).get(kind, kind)
    spoken = {
        "chapter 8": rpc(METHODS[kind], fields),
        "parity_choose": rpc("parity_choose" if kind == CHOOSE else METHODS[kind], fields),
        "type as method": rpc(kind, fields),
        "002's word as method": rpc(WORDS_002.get(kind, kind), named),
        "mcp_message": rpc("mcp_message", fields),
        "handle_message": rpc("handle_message", {"message": fields}),
        "protocol/message": rpc("protocol/message", {"message": fields}),
        "protocol/message, 002's words": rpc("protocol/message", {"message": named}),
        "protocol/message, mixed words": rpc("protocol/message", {"message": named if kind == INVITE else fields}),
        "league.handle": rpc("league.handle", split(fields)),
        "tools of chapter 8": rpc("tools/call", {"name": METHODS[kind], "arguments": fields}),
        "tools of their own": rpc("tools/call", {"name": TOOLS.get(kind, kind), "arguments": fields}),
        "tools of mixed names": rpc("tools/call", {"name": MORE_TOOLS.get(kind, kind), "arguments": fields}),
        "tools of likely names": rpc("tools/call", {"name": own, "arguments": fields}),
        "tools of other likely names": rpc("tools/call", {"name": own, "arguments": fields}),
        "data alone": {"message_type": own, "request_id": "7", "data": DATA.get(kind, {})},
        "REQUEST_MOVE": rpc("league.handle", split(fields | {"message_type": own})),
        "flat": fields,
        "002": in_002,
        "002 in params": rpc(in_002["type"], in_002),
    }
    return spoken[style]


OWN_NAMES = {
    "tools of likely names": {INVITE: "receive_game_invitation", CHOOSE: "choose_parity", OVER: "notify_game_over"},
    "tools of other likely names": {
        INVITE: "receive_invitation",
        CHOOSE: "submit_choice",
        OVER: "receive_match_result",
    },
    "data alone": {CHOOSE: "CHOOSE_PARITY"},
    "REQUEST_MOVE": {CHOOSE: "REQUEST_MOVE"},
}
"""For each style with names of its own: the names of its tools, or the message types that differ from ours."""
DATA = {
    INVITE: {"match_id": "M-1", "round_id": 1, "opponent_id": "player:P02", "role_in_match": "A"},
    CHOOSE: {"match_id": "M-1"},
    OVER: {
        "match_id": "M-1",
        "winner": "player:P01",
        "player_a_choice": "even",
        "player_b_choice": "odd",
        "random_number": 8,
        "calculation": "8 is even",
        "round_duration_ms": 0,
    },
}
"""The contents of ``data`` that the bot StrictData accepts."""

STYLES = (
    "chapter 8", "parity_choose", "type as method", "002's word as method", "handle_message", "protocol/message",
    "protocol/message, 002's words", "protocol/message, mixed words", "league.handle", "tools of chapter 8",
    "tools of their own", "tools of mixed names", "flat", "002", "002 in params", "mcp_message",
    "tools of likely names", "tools of other likely names", "data alone", "REQUEST_MOVE",
)  # fmt: skip
UNDERSTOOD = {  # by bot: the only styles in which it understands all three messages of a match
    "TypeAsMethod": {"type as method"},
    "LeagueRegister": {"parity_choose"},
    "ToolsDirect": {"tools of their own"},
    "HandshakeFirst": {"protocol/message, mixed words"},
    "NestedMessage": {"handle_message"},
    "LeagueHandle": {"league.handle"},
    "FlatOnMcp": {"flat"},
    "OwnEnvelope": {"chapter 8", "parity_choose", "type as method", "mcp_message"},
    "TypeInside": {"chapter 8", "parity_choose", "type as method", "mcp_message"},
    "StatusOk": {"handle_message"},
    "UnknownMethod": {"type as method"},
    "ToolsAfterChapter8": {"tools of chapter 8"},
    "OtherWords": {"protocol/message, 002's words"},
    "FlatAfterRegister": {"flat"},
    "OkToEverything": {"type as method"},
    "BusyUntilOver": {"type as method"},
    "Seed001": {"type as method"},
    "Seed002": {"002"},
    "Seed002InParams": {"002 in params"},
    "AsksForLists": {"protocol/message, mixed words"},
    "StrictData": {"data alone"},
    "OwnNotices": {"tools of chapter 8"},
    "GuessReceive": {"tools of likely names"},
    "GuessSubmit": {"tools of other likely names"},
}


def bot_of(kind: type[Bot]) -> Bot:
    """A bot that is registered as P01, with a token."""
    bot = kind(LEAGUE, 8101)
    bot.registered, bot.given_id, bot.auth_token = True, "P01", "tok_own"
    return bot


def style_of(name: str) -> str:
    """A way of speaking that this bot understands."""
    return min(UNDERSTOOD.get(name, {"chapter 8"}))


def call(bot: Bot, body: Any, path: str | None = None) -> Reply:
    """POST a body to a bot, by default where it listens."""
    return bot.serve(path or bot.listens_at, json.dumps(body).encode())


def tell(bot: Bot, kind: str, **changes: Any) -> Reply:
    """Send a bot a message in its own way of speaking."""
    return call(bot, speak(style_of(bot.name), kind, message(kind) | changes))


def everything_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value in a reply at any depth, also in JSON inside a ``text``."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from everything_in(json.loads(inner) if name == "text" else inner)
    elif isinstance(value, list):
        for inner in value:
            yield from everything_in(inner)


def fields_in(reply: Reply) -> list[tuple[str, Any]]:
    """Every name and value of a bot's answer, in its callbacks or else in its reply."""
    bodies = [body for _, body in reply.posts] or [reply.body]
    return [pair for body in bodies for pair in everything_in(body)]


def understands(bot_class: type[Bot], style: str) -> bool:
    """Whether a fresh bot of this class understands all three messages of a match in a way of speaking."""
    bot = bot_of(bot_class)
    return all(call(bot, speak(style, kind, message(kind))).verdict == "understood" for kind in (INVITE, CHOOSE, OVER))
