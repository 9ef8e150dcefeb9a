"""Each bot of the zoo understands only what its kind understands, and refuses the rest in the format of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bots.words import CHOOSE, ERROR, INVITE, LEAGUE_END, OVER, ROUND, ROUND_END, TABLE
from tests.bots.zoo.asking import (
    GONE,
    LEAGUE,
    STYLES,
    UNDERSTOOD,
    bot_of,
    call,
    everything_in,
    fields_in,
    message,
    rpc,
    speak,
    style_of,
    tell,
    understands,
)
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.speech import Reply


def test_every_bot_has_a_name_and_says_what_it_stands_for() -> None:
    assert [name for name, kind in BOTS.items() if kind.name != name or not kind.__doc__] == []
    assert len(BOTS) == 60


TESTED_APART = ("Ready", "AckAlone", "Loud", "Whole002")
"""Bots whose answers in a match differ too much from the others': tests of their own check them."""


@pytest.mark.parametrize("name", [name for name in BOTS if name not in TESTED_APART])
def test_a_bot_plays_a_match_in_its_own_way_of_speaking(name: str) -> None:
    bot = bot_of(BOTS[name])
    if name == "Hesitant":
        tell(bot, ERROR)
    joined, chosen, over = tell(bot, INVITE), tell(bot, CHOOSE), tell(bot, OVER)
    assert [reply.verdict for reply in (joined, chosen, over)] == ["understood"] * 3
    assert [reply.kind for reply in (joined, chosen, over)] == [INVITE, CHOOSE, OVER]
    joins = [pair for pair in fields_in(joined) if pair[0] in ("accept", "accepted", "status")]
    accepting = ("accept", True), ("accepted", True), *(("status", word) for word in ("ACCEPTED", "RECEIVED", "ACK"))
    assert [pair for pair in joins if pair in accepting] == [
        (bot.join, True) if bot.join in ("accept", "accepted") else ("status", bot.join)
    ]
    assert [value in ("even", "odd") for field, value in fields_in(chosen) if field == bot.choice] == [True]


@pytest.mark.parametrize("name", [name for name in BOTS if name not in ("Seed000", "Seed003", *TESTED_APART)])
def test_a_bot_understands_its_own_way_of_speaking_and_no_other(name: str) -> None:
    assert {style for style in STYLES if understands(BOTS[name], style)} == UNDERSTOOD.get(name, {"chapter 8"})


def test_the_bot_ready_understands_requests_for_moves_but_no_invitation() -> None:
    bot = bot_of(BOTS["Ready"])
    replies = [call(bot, speak("REQUEST_MOVE", kind, message(kind))) for kind in (INVITE, CHOOSE, OVER)]
    assert [reply.verdict.partition(":")[0] for reply in replies] == ["not understood", "understood", "understood"]


def test_the_bot_whole002_moves_only_in_games_that_have_begun() -> None:
    bot = bot_of(BOTS["Whole002"])
    assert call(bot, speak("002", INVITE, message(INVITE))).verdict == "understood"
    assert call(bot, speak("002", CHOOSE, message(CHOOSE))).verdict.startswith("refused: G004")
    begins = speak("002", CHOOSE, message(CHOOSE)) | {"type": "GAME_START"}
    assert (call(bot, begins).kind, call(bot, speak("002", CHOOSE, message(CHOOSE))).verdict) == (
        "GAME_START",
        "understood",
    )


def test_the_bot_ack_alone_joins_without_accept_and_loud_chooses_in_capitals() -> None:
    joined = dict(fields_in(tell(bot_of(BOTS["AckAlone"]), INVITE)))
    assert (joined["message_type"], "accept" in joined, "status" in joined) == ("GAME_JOIN_ACK", False, False)
    assert dict(fields_in(tell(bot_of(BOTS["Loud"]), CHOOSE)))["parity_choice"] in ("EVEN", "ODD")


def test_the_bots_of_000_and_003_understand_the_methods_that_these_documents_name_and_no_others() -> None:
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
def test_a_bot_refuses_an_unknown_method_in_the_format_of_its_kind(name: str, status: int, body: Any) -> None:
    reply = call(bot_of(BOTS[name]), rpc("no_such_method", {"message_type": "NO_SUCH"}))
    assert (reply.status, reply.verdict.partition(":")[0]) == (status, "not understood")
    assert covers(reply.body, body)


def covers(whole: Any, part: Any) -> bool:
    """Whether ``whole`` contains everything that is in ``part``."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(covers(whole.get(name), value) for name, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and all(covers(*pair) for pair in zip(whole, part, strict=True))
    return bool(whole == part)


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
def test_a_bot_refuses_a_message_without_a_field_that_it_needs(name: str, kind: str, changes: dict[str, Any]) -> None:
    assert tell(bot_of(BOTS[name]), kind).verdict == "understood"
    fields = {field: value for field, value in (message(kind) | changes).items() if value is not GONE}
    reply = call(bot_of(BOTS[name]), speak(style_of(name), kind, fields))
    assert (reply.verdict.partition(":")[0], reply.kind) == ("refused", kind)
    refusal = bot_of(BOTS[name]).refusal(BOTS[name].refuses_fields or BOTS[name].refuses, 7, reason_of(reply))
    assert fields_in(reply) == fields_in(refusal)


def reason_of(reply: Reply) -> str:
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
def test_a_bot_refuses_a_json_rpc_id_of_the_wrong_type(name: str, rpc_id: Any, verdict: str) -> None:
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
def test_a_bot_answers_only_on_its_own_path(name: str, statuses: dict[str, int]) -> None:
    body = speak(style_of(name), INVITE, message(INVITE))
    assert {path: call(bot_of(BOTS[name]), body, path).status for path in statuses} == statuses


ADDRESSES = {
    "Chapter8": "http://localhost:8101/mcp",
    "RootOnly": "http://localhost:8101",
    "SlashStrict": "http://127.0.0.1:8101/mcp/",
    "Mounted": "http://localhost:8101/mcp",
}


@pytest.mark.parametrize(("name", "address"), ADDRESSES.items())
def test_a_bot_registers_with_the_address_of_its_kind(name: str, address: str) -> None:
    bot = BOTS[name](LEAGUE, 8101)
    post = next(bot.enters(bot.applicant()))
    assert [value for _, value in everything_in(post.body) if str(value).startswith("http")] == [address]
