"""The zoo is not secretly lenient: each bot takes what its kind takes, and refuses the rest in its own spelling."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.bots.base import listening
from tests.bots.words import CHAPTER_8, CHOOSE, ERROR, INVITE, LEAGUE_END, OVER, ROUND, ROUND_END, TABLE, rpc_result
from tests.bots.zoo import entries
from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.entries import Came, Post, Unregistered, message_002
from tests.bots.zoo.mixed import mixtures
from tests.bots.zoo.serving import Serving
from tests.bots.zoo.speech import Reply, split
from tests.places import SAMPLES, sample

LEAGUE = "http://127.0.0.1:9/mcp"
SEAT = SAMPLES["CHOOSE_PARITY_CALL"]["referee_endpoint"]
METHODS = {kind: method for method, kind in CHAPTER_8.items()}
WORDS_002 = {INVITE: "GAME_INVITE", CHOOSE: "MOVE_REQUEST", OVER: "GAME_RESULT", ROUND_END: "ROUND_END"}
TOOLS = {INVITE: "receive_game_invitation", CHOOSE: "pick_a_side", OVER: "receive_game_over"}
MORE_TOOLS = {INVITE: "join_match", CHOOSE: "make_choice", OVER: "match_finished"}


def message(kind: str) -> dict[str, Any]:
    """One of our samples with everything in it that a bot of the zoo may want."""
    fields = sample(kind)
    if "match_id" in fields:
        fields["game_id"] = fields["match_id"]
    if kind == INVITE:
        fields["game_invitation"] = {"match_id": fields["match_id"]}
    if kind == CHOOSE:
        fields["parity_context"] = {"match_id": fields["match_id"]}
    return fields


def rpc(method: str, params: Any, rpc_id: Any = 7) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": rpc_id}


def speak(style: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The same message in one of the ways of speaking."""
    named = fields | {"message_type": WORDS_002.get(kind, kind)}
    payload = {name: value for name, value in fields.items() if name not in ("message_type", "sender", "protocol")}
    in_002 = message_002(WORDS_002.get(kind, kind), str(fields.get("sender")), payload)
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
        "flat": fields,
        "002": in_002,
        "002 in params": rpc(in_002["type"], in_002),
    }
    return spoken[style]


STYLES = (
    "chapter 8", "parity_choose", "type as method", "002's word as method", "handle_message", "protocol/message",
    "protocol/message, 002's words", "protocol/message, mixed words", "league.handle", "tools of chapter 8",
    "tools of their own", "tools of mixed names", "flat", "002", "002 in params", "mcp_message",
)  # fmt: skip
HEARD = {  # all three messages of a match are understood in these styles and no other
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
}


def bot_of(kind: type[Bot]) -> Bot:
    """A bot that has been registered as P01 with a token of its own."""
    bot = kind(LEAGUE, 8101)
    bot.registered, bot.given_id, bot.auth_token = True, "P01", "tok_own"
    return bot


def style_of(name: str) -> str:
    return min(HEARD.get(name, {"chapter 8"}))


def call(bot: Bot, body: Any, path: str | None = None) -> Reply:
    return bot.serve(path or bot.listens_at, json.dumps(body).encode())


def tell(bot: Bot, kind: str, **changes: Any) -> Reply:
    """A message in the bot's own way of speaking."""
    return call(bot, speak(style_of(bot.name), kind, message(kind) | changes))


def everything_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name and value anywhere in a reply, also in the JSON of a text."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from everything_in(json.loads(inner) if name == "text" else inner)
    elif isinstance(value, list):
        for inner in value:
            yield from everything_in(inner)


def said(reply: Reply) -> list[tuple[str, Any]]:
    bodies = [body for _, body in reply.posts] or [reply.body]
    return [pair for body in bodies for pair in everything_in(body)]


def test_every_bot_has_a_name_and_says_what_it_stands_for() -> None:
    assert [name for name, kind in BOTS.items() if kind.name != name or not kind.__doc__] == []
    assert len(BOTS) == 50


@pytest.mark.parametrize("name", BOTS)
def test_it_plays_a_match_in_its_own_way_of_speaking(name: str) -> None:
    bot = bot_of(BOTS[name])
    if name == "Hesitant":
        tell(bot, ERROR)
    joined, chosen, over = tell(bot, INVITE), tell(bot, CHOOSE), tell(bot, OVER)
    assert [reply.verdict for reply in (joined, chosen, over)] == ["understood"] * 3
    assert [reply.kind for reply in (joined, chosen, over)] == [INVITE, CHOOSE, OVER]
    yes = [pair for pair in said(joined) if pair[0] in ("accept", "accepted", "status")]
    right = ("accept", True), ("accepted", True), *(("status", word) for word in ("ACCEPTED", "RECEIVED", "ACK"))
    assert [pair for pair in yes if pair in right] == [(bot.join, True) if "accept" in bot.join else yes[-1]]
    assert [value in ("even", "odd") for field, value in said(chosen) if field == bot.choice] == [True]


@pytest.mark.parametrize("name", [name for name in BOTS if name not in ("Seed000", "Seed003")])
def test_it_understands_its_own_way_of_speaking_and_no_other(name: str) -> None:
    understood = set()
    for style in STYLES:
        bot = bot_of(BOTS[name])
        replies = [call(bot, speak(style, kind, message(kind))) for kind in (INVITE, CHOOSE, OVER)]
        if [reply.verdict for reply in replies] == ["understood"] * 3:
            understood.add(style)
    assert understood == HEARD.get(name, {"chapter 8"})


def test_documents_that_name_two_methods_understand_both() -> None:
    for style in STYLES:
        replies = {
            name: [call(bot_of(BOTS[name]), speak(style, kind, message(kind))).verdict for kind in (INVITE, CHOOSE)]
            for name in ("Seed000", "Seed003")
        }
        known = {"chapter 8": [True, True], "parity_choose": [True, False]}.get(style, [False, False])
        assert [verdict == "understood" for verdict in replies["Seed000"]] == known
        named = known if style != "type as method" else [True, False]
        assert [verdict == "understood" for verdict in replies["Seed003"]] == named


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        ("Chapter8", 200, {"error": {"code": -32601}}),
        ("LeagueRegister", 400, {"error": {"code": -32601}}),
        ("TypeAsMethod", 404, {"error": {"code": -32601}}),
        ("ToolsDirect", 200, {"error": {"code": -32602}}),
        ("HalfEnvelope", 500, None),
        ("StatusOk", 200, {"result": {"status": "ok"}}),
        ("OkToEverything", 200, {"result": {"status": "ok"}}),
        ("UnknownMethod", 200, {"result": {"error": "Unknown method"}}),
        ("Sample004", 200, {"error": "Unknown method"}),
        ("SampleServer", 200, {"result": {"error": "Unknown method"}, "id": 1}),
        ("NestedMessage", 200, {"result": {"status": "unknown_message_type"}}),
        ("HandshakeFirst", 200, {"result": {"success": False}}),
        ("FlatOnMcp", 400, {"error": "Unknown message type"}),
        ("FlatAfterRegister", 422, {"detail": [{"type": "value_error"}]}),
        ("ToolsAfterChapter8", 200, {"result": {"isError": True}}),
    ],
)
def test_not_understood_is_spelt_as_its_row_says(name: str, status: int, body: Any) -> None:
    reply = call(bot_of(BOTS[name]), rpc("no_such_method", {"message_type": "NO_SUCH"}))
    assert (reply.status, reply.verdict.partition(":")[0]) == (status, "not understood")
    assert covers(reply.body, body)


def covers(whole: Any, part: Any) -> bool:
    """Whether everything in the part stands in the whole."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(covers(whole.get(name), value) for name, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and all(covers(*pair) for pair in zip(whole, part, strict=True))
    return bool(whole == part)


GONE = object()


@pytest.mark.parametrize(
    ("name", "kind", "changes"),
    [
        ("IdFromEachMessage", INVITE, {"player_id": GONE}),
        ("IdFromEachMessage", CHOOSE, {"player_id": ""}),
        ("LeagueAndRound", INVITE, {"league_id": GONE}),
        ("LeagueAndRound", OVER, {"round_id": GONE}),
        ("LeagueAndRound", ROUND, {"round_id": "1"}),
        ("LeagueAndRound", INVITE, {"round_id": "1"}),
        ("LeagueAndRound", TABLE, {"league_id": GONE}),
        ("HandshakeFirst", INVITE, {"game_id": GONE}),
        ("OtherWords", CHOOSE, {"game_id": "R9M9"}),
        ("NestedObjects", INVITE, {"game_invitation": GONE}),
        ("NestedObjects", CHOOSE, {"parity_context": {}}),
        ("NestedObjects", OVER, {"game_id": GONE}),
        ("TokenOnBroadcasts", ROUND, {"auth_token": ""}),
        ("TokenOnBroadcasts", LEAGUE_END, {"auth_token": GONE}),
        ("LeagueHandle", TABLE, {"auth_token": ""}),
        ("Hesitant", ERROR, {"retry_info": GONE}),
        ("CapitalManager", ROUND, {"sender": "league_manager"}),
        ("CapitalManager", ROUND_END, {"sender": "league_manager:lm01"}),
        ("TwoReferees", INVITE, {"sender": "referee:REF03"}),
        ("TwoReferees", INVITE, {"timestamp": "2025-01-15T10:15:00.000Z"}),
        ("TwoReferees", CHOOSE, {"deadline": "2025-01-15T10:15:31+00:00"}),
        ("Seed000", OVER, {"conversation_id": GONE}),
        ("Seed000", INVITE, {"auth_token": ""}),
        ("Seed000", CHOOSE, {"timestamp": "2025-01-15T10:15:00+00:00"}),
        ("Seed001", INVITE, {"round_id": "1"}),
        ("Seed001", CHOOSE, {"context": {"opponent_id": "P02", "round_id": 1}}),
        ("Seed003", INVITE, {"protocol": "league.v1"}),
    ],
)
def test_what_it_needs_it_insists_on(name: str, kind: str, changes: dict[str, Any]) -> None:
    assert tell(bot_of(BOTS[name]), kind).verdict == "understood"
    fields = {field: value for field, value in (message(kind) | changes).items() if value is not GONE}
    reply = call(bot_of(BOTS[name]), speak(style_of(name), kind, fields))
    assert (reply.verdict.partition(":")[0], reply.kind) == ("refused", kind)
    assert said(reply) == said(bot_of(BOTS[name]).refusal(BOTS[name].complains or BOTS[name].refuses, 7, why(reply)))


def why(reply: Reply) -> str:
    return reply.verdict.partition(": ")[2]


@pytest.mark.parametrize(
    ("name", "rpc_id", "verdict"),
    [
        ("TwoReferees", "7", "refused"),
        ("Seed001", "7", "refused"),
        ("LeagueAndRound", None, "refused"),
        ("Sample004", "seven", "not understood"),
        ("Sample004", 7, "understood"),
    ],
)
def test_ids_are_insisted_on(name: str, rpc_id: Any, verdict: str) -> None:
    body = speak(style_of(name), INVITE, message(INVITE)) | {"id": rpc_id}
    assert call(bot_of(BOTS[name]), body).verdict.partition(":")[0] == verdict


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        ("Chapter8", {"/mcp": 200, "/mcp/": 404, "/": 404}),
        ("RootOnly", {"/mcp": 404, "/mcp/": 404, "/": 200}),
        ("SlashRedirected", {"/mcp": 307, "/mcp/": 200, "/": 404}),
        ("Mounted", {"/mcp": 307, "/mcp/": 200, "/": 404}),
        ("SlashStrict", {"/mcp": 404, "/mcp/": 200, "/": 404}),
        ("SlashMissing", {"/mcp": 404, "/mcp/": 200, "/": 404}),
    ],
)
def test_it_listens_where_it_listens(name: str, statuses: dict[str, int]) -> None:
    body = speak(style_of(name), INVITE, message(INVITE))
    assert {path: call(bot_of(BOTS[name]), body, path).status for path in statuses} == statuses


ADDRESSES = {
    "Chapter8": "http://localhost:8101/mcp",
    "RootOnly": "http://localhost:8101",
    "SlashStrict": "http://127.0.0.1:8101/mcp/",
    "Mounted": "http://localhost:8101/mcp",
}


@pytest.mark.parametrize(("name", "address"), ADDRESSES.items())
def test_the_address_it_gives(name: str, address: str) -> None:
    bot = BOTS[name](LEAGUE, 8101)
    post = next(bot.enters(bot.applicant()))
    assert [value for _, value in everything_in(post.body) if str(value).startswith("http")] == [address]


# -- registration -----------------------------------------------------------------------------------------

ACCEPTED = {
    "protocol": "league.v2",
    "message_type": "LEAGUE_REGISTER_RESPONSE",
    "sender": "league_manager:LM01",
    "status": "ACCEPTED",
    "player_id": "P07",
    "auth_token": "tok_1",
    "league_id": "league_2025_even_odd",
}


def answer(post: Post, accepted: dict[str, Any]) -> Came:
    """What a league manager that mirrors the shape answers."""
    body = post.body
    method, rpc_id = body.get("method"), body.get("id")
    if method == "initialize":
        return Came(200, rpc_result({"protocolVersion": "1", "capabilities": {}, "serverInfo": {}}, rpc_id))
    if method == "tools/list":
        return Came(200, rpc_result({"tools": [{"name": "register_player"}]}, rpc_id))
    if method == "notifications/initialized":
        return Came(204)
    if method == "tools/call":
        return Came(200, rpc_result({"content": [{"type": "text", "text": json.dumps(accepted)}]}, rpc_id))
    if method == "league.handle":
        return Came(200, rpc_result(split(accepted) | {"payload": accepted}, rpc_id))
    if "message_id" in body:
        return Came(200, in_002(body["message_id"], accepted))
    if "message_id" in body.get("params", {}):
        return Came(200, rpc_result(in_002(body["params"]["message_id"], accepted), rpc_id))
    if method is not None:
        return Came(200, rpc_result(accepted, rpc_id))
    if "request_id" in body:
        return Came(200, {"request_id": body["request_id"], "data": accepted})
    return Came(200, accepted)


def in_002(message_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return message_002(
        "PLAYER_REGISTER_RESPONSE", "league_manager:LM01", payload, correlation_id=message_id, auth_token="tok_1"
    )


def register(bot: Bot, change: Any = None, **accepted: Any) -> list[Post]:
    """Let a bot register; ``change`` is done to the last answer. Returns what it posted."""
    talk, posted = bot.enters(bot.applicant()), []
    fields = {name: value for name, value in (ACCEPTED | accepted).items() if value is not GONE}
    try:
        post = next(talk)
        while True:
            posted.append(post)
            came = answer(post, fields)
            post = talk.send(change(copy.deepcopy(came)) if change else came)
    except StopIteration as end:
        bot.read_registration(end.value)
    return posted


REGISTERS = [name for name, kind in BOTS.items() if kind.enters is not entries.never]


@pytest.mark.parametrize("name", [*REGISTERS, *mixtures()])
def test_it_registers_when_its_shape_is_mirrored(name: str) -> None:
    bot = (BOTS | mixtures())[name](LEAGUE, 8101)
    register(bot, status=bot.accepted_word)
    assert (bot.registered, bot.given_id, bot.auth_token) == (True, "P07", "tok_1")


@pytest.mark.parametrize(
    ("name", "accepted", "change"),
    [
        ("Chapter8", {"status": "REGISTERED"}, None),
        ("Chapter8", {"auth_token": ""}, None),
        ("Chapter8", {"player_id": GONE}, None),
        ("Chapter8", {}, lambda came: Came(200, came.body["result"])),
        ("Chapter8", {}, lambda came: Came(200, came.body | {"id": 2})),
        ("ReadsRegistered", {"status": "ACCEPTED"}, None),
        ("CapitalManager", {"sender": "league_manager"}, None),
        ("CapitalManager", {"sender": "league_manager:main"}, None),
        ("ToolsDirect", {}, lambda came: Came(200, rpc_result(ACCEPTED, 1))),
        ("LeagueHandle", {}, lambda came: Came(200, rpc_result(ACCEPTED, 1))),
        ("FlatOnMcp", {}, lambda came: Came(200, rpc_result(ACCEPTED, 1))),
        ("SmallBody", {}, lambda came: Came(400, ACCEPTED)),
        ("OwnEnvelope", {}, lambda came: Came(200, ACCEPTED)),
        ("HandshakeFirst", {}, lambda came: Came(200, rpc_result({}, came.body["id"]))),
        ("Seed001", {"status": "REJECTED"}, None),
        ("Seed002", {}, lambda came: Came(200, came.body | {"correlation_id": "another"})),
        ("Seed002", {}, lambda came: Came(200, ACCEPTED)),
    ],
)
def test_an_answer_it_cannot_read_leaves_it_unregistered(name: str, accepted: Any, change: Any) -> None:
    bot = BOTS[name](LEAGUE, 8101)
    with pytest.raises(Unregistered):
        register(bot, change, **accepted)
    assert not bot.registered
    assert tell(bot, INVITE).verdict == "not registered: not registered"


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("Chapter8", ["register_player"]),
        ("TypeAsMethod", ["LEAGUE_REGISTER_REQUEST"]),
        ("LeagueRegister", ["league_register"]),
        ("ToolsDirect", ["tools/call"]),
        ("HandshakeFirst", ["initialize", "tools/list", "notifications/initialized", "tools/call"]),
        ("OtherWords", ["initialize", "notifications/initialized", "tools/list", "tools/call"]),
        ("NestedMessage", ["handle_message"]),
        ("LeagueHandle", ["league.handle"]),
        ("FlatOnMcp", [None]),
    ],
)
def test_its_entry(name: str, methods: list[str | None]) -> None:
    posted = register(BOTS[name](LEAGUE, 8101))
    assert [(post.body.get("method"), post.at) for post in posted] == [(method, "mcp") for method in methods]
    assert [
        post for post in posted if str(post.body.get("method")).startswith("notifications/") and "id" in post.body
    ] == []


def test_bodies_for_register_are_small_or_have_an_envelope_of_their_own() -> None:
    bodies = {name: register(BOTS[name](LEAGUE, 8101))[0] for name in ("SmallBody", "OwnEnvelope", "FlatAfterRegister")}
    assert {post.at for post in bodies.values()} == {"register"}
    assert {name: sorted(post.body) for name, post in bodies.items()} == {
        "SmallBody": ["endpoint", "name", "player_id"],
        "OwnEnvelope": ["data", "request_id", "type"],
        "FlatAfterRegister": ["display_name", "endpoint_url", "game_types", "version"],
    }


def test_what_is_left_out_is_not_sent() -> None:
    params = register(BOTS["HalfEnvelope"](LEAGUE, 8101))[0].body["params"]
    assert (sorted(params), sorted(params["player_meta"])) == (
        ["message_type", "player_meta", "protocol"],
        ["display_name", "endpoint_url"],
    )


# -- behaviour --------------------------------------------------------------------------------------------


def test_a_repeated_choice_request_gets_the_other_choice() -> None:
    for name in ("PortLater", "OnceInvited"):
        bot = bot_of(BOTS[name])
        choices = [dict(said(tell(bot, CHOOSE)))["parity_choice"] for _ in range(3)]
        assert (choices[0] != choices[1], choices[0]) == (True, choices[2])
    bot = bot_of(BOTS["Chapter8"])
    assert len({dict(said(tell(bot, CHOOSE)))["parity_choice"] for _ in range(5)}) == 1


def test_a_repeated_invitation_is_refused() -> None:
    bot = bot_of(BOTS["OnceInvited"])
    assert [dict(said(tell(bot, INVITE)))["accept"] for _ in range(2)] == [True, False]
    other = {"match_id": "R2M1"}
    assert dict(said(tell(bot, INVITE, **other)))["accept"] is True


def test_it_stays_busy_until_a_game_over_it_can_read() -> None:
    bot = bot_of(BOTS["BusyUntilOver"])
    assert [dict(said(tell(bot, INVITE)))["accepted"] for _ in range(2)] == [True, False]
    call(bot, speak("chapter 8", OVER, message(OVER)))
    assert dict(said(tell(bot, INVITE, match_id="R2M1")))["accepted"] is False
    tell(bot, OVER)
    assert dict(said(tell(bot, INVITE, match_id="R2M1")))["accepted"] is True


def test_the_first_choice_is_none_until_a_readable_game_error() -> None:
    bot = bot_of(BOTS["Hesitant"])
    assert dict(said(tell(bot, CHOOSE)))["parity_choice"] == "neither"
    tell(bot, ERROR, retry_info=None)
    assert dict(said(tell(bot, CHOOSE)))["parity_choice"] == "neither"
    tell(bot, ERROR)
    assert dict(said(tell(bot, CHOOSE)))["parity_choice"] in ("even", "odd")


@pytest.mark.parametrize(
    ("name", "join_to", "choice_to", "ack"),
    [
        ("SmallBody", SEAT, SEAT, "RECEIVED"),
        ("PortByHeart", "http://127.0.0.1:8099/mcp", "http://127.0.0.1:8099/mcp", "RECEIVED"),
        ("ToTheManager", LEAGUE, LEAGUE, "RECEIVED"),
        ("OkThenCallback", None, SEAT, "ok"),
        ("FlatAfterRegister", None, SEAT, "ACK"),
    ],
)
def test_callbacks_go_where_they_go(name: str, join_to: str | None, choice_to: str, ack: str) -> None:
    bot = bot_of(BOTS[name])
    bot.referee_port = 8099
    joined, chosen = tell(bot, INVITE), tell(bot, CHOOSE)
    assert [url for url, _ in joined.posts] == ([join_to] if join_to else [])
    assert [url for url, _ in chosen.posts] == [choice_to]
    assert dict(everything_in(chosen.body))["status"] == ack
    sent = dict(said(chosen))
    told = message(CHOOSE)
    assert chosen.posts[0][1].get("method") == (None if name == "FlatAfterRegister" else "CHOOSE_PARITY_RESPONSE")
    assert (sent["auth_token"], sent["sender"], sent["match_id"]) == ("tok_own", "player:P01", told["match_id"])
    assert sent["conversation_id"] not in ("", told["conversation_id"])


def test_what_answers_look_like() -> None:
    def chosen(name: str) -> Any:
        return tell(bot_of(BOTS[name]), CHOOSE).body

    assert sorted(chosen("Sparse")["result"]) == ["choice"]
    assert chosen("IdFromEachMessage")["error"] is None
    assert [chosen(name)["id"] for name in ("Chapter8", "LeagueRegister", "OwnId")] == [7, 1, 1]
    assert sorted(chosen("RequestForReply")) == ["id", "jsonrpc", "method", "params"]
    assert sorted(chosen("OwnEnvelope")["result"]) == ["data", "status"]
    assert sorted(chosen("LeagueHandle")["result"]) == ["envelope", "payload"]
    assert sorted(chosen("Seed002")) == [
        "auth_token", "correlation_id", "message_id", "payload", "protocol", "sender", "timestamp", "type",
    ]  # fmt: skip
    assert sorted(chosen("Sample004")) == ["match_id", "message_type", "parity_choice", "player_id"]
    assert sorted(chosen("HandshakeFirst")["result"]) == ["move", "parity_choice", "success"]
    tokens = {name: dict(said(tell(bot_of(BOTS[name]), CHOOSE))).get("auth_token") for name in ("Chapter8", "OwnId")}
    assert tokens == {"Chapter8": "tok_own", "OwnId": "tok_ownid_temp"}
    assert dict(said(tell(bot_of(BOTS["IdFromEachMessage"]), CHOOSE)))["auth_token"] == message(CHOOSE)["auth_token"]


# -- mixtures and the process -----------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_mixtures() -> None:
    made = {name: kind.__doc__ for name, kind in mixtures(5, 7).items()}
    assert made == {name: kind.__doc__ for name, kind in mixtures(5, 7).items()}
    assert made != {name: kind.__doc__ for name, kind in mixtures(6, 7).items()}
    assert list(made) == [f"Mixed{number:02d}" for number in range(1, 8)]


@pytest.mark.parametrize("seed", range(6))
def test_every_mixture_can_be_played(seed: int) -> None:
    for kind in mixtures(seed).values():
        played = []
        for style in STYLES:
            bot = bot_of(kind)
            replies = [call(bot, speak(style, each, message(each))) for each in (INVITE, CHOOSE, OVER)]
            if [reply.verdict for reply in replies] == ["understood"] * 3:
                played.append(style)
                assert [value in ("even", "odd") for name, value in said(replies[1]) if name == kind.choice] == [True]
        assert played, kind.__doc__


async def test_it_registers_before_its_port_is_open_and_from_its_own_address(tmp_path: Path) -> None:
    found: list[tuple[str | None, bool]] = []

    async def league(request: web.Request) -> web.Response:
        body = await request.json()
        endpoint = body["params"]["player_meta"]["contact_endpoint"].replace("localhost", str(request.remote))
        port = int(endpoint.split(":")[2].split("/")[0])
        try:
            _, writer = await asyncio.open_connection(str(request.remote), port)
        except ConnectionRefusedError:
            found.append((request.remote, False))
        else:
            writer.close()
            await writer.wait_closed()
            found.append((request.remote, True))
        return web.json_response(rpc_result(ACCEPTED, body["id"]))

    lines = []
    async with listening(league) as url:
        for name in ("PortLater", "LocalTime"):
            serving = Serving(BOTS[name], league=url, log=tmp_path / name)
            lines.append(await serving.start())
            await serving.stop()
    assert found == [("127.0.0.1", False), ("127.0.0.5", True)]
    assert [line.split()[:2] for line in lines] == [["READY", "PortLater"], ["READY", "LocalTime"]]
    logged = [json.loads((tmp_path / name).read_text()) for name in ("PortLater", "LocalTime")]
    assert [line["reply"]["result"] for line in logged] == [ACCEPTED, ACCEPTED]
