"""Every hostile behaviour against the whole referee on real sockets: each ends as it should, and only it is blamed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from league_sdk.asking.clock import Clock
from league_sdk.asking.fault import MAX_DETAIL_CHARS
from league_sdk.dialects.hunt import MAX_TRIES
from league_sdk.judging.calls.canary import Canary
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES
from tests.bots.hostile.base import JOIN, MOVE, Behaviour
from tests.bots.hostile.cast import HOSTILE
from tests.league_sdk.judging.hostile_match import HASTY_S, A, B, Ended, Leaping, play
from tests.league_sdk.transport.conftest import FakeLookups
from tests.sizes import sampled

OPTIONS = 'parity_choice must be exactly "even" or "odd"'
NO_HTTP = BROKEN = "the connection broke off (Client"
IN_THE_OTHERS_NAME = ("player_id was 'P02', expected P01", "sender was 'player:P02', expected player:P01")
SCRIPT = r"'\u202eevil\u2066\u200f</script><script>"
"""The part of the hostile text that is quoted, without the characters that change the direction of a line."""
MAX_CALLS = 2 * MAX_TRIES + 10
"""Two tries in every dialect, and the other messages of a match."""
TOKEN = re.compile(r"tok_[0-9a-f]{8,}")

LOST: dict[str, tuple[str, str, str]] = {
    "html": ("E002", "NOT_JSON", "The body is not JSON: Expecting value: line 1 column 1 (char 0)"),
    "page_of_a_failure": ("E009", "HTTP_STATUS", "HTTP 500"),
    "deep_json": ("E002", "NOT_JSON", "The body is nested deeper than 32 levels"),
    "deep_json_without_an_end": ("E002", "NOT_JSON", "The body is nested deeper than 32 levels"),
    "deep_json_in_a_text": ("E001", "DEADLINE", ""),
    "not_a_number": ("E002", "NOT_JSON", "The body is not JSON: NaN is not JSON"),
    "infinity": ("E002", "NOT_JSON", "The body is not JSON: a number is too large"),
    "huge_integer": ("E002", "NOT_JSON", "The body is not JSON: Exceeds the limit (4300 digits)"),
    "large_integer": ("E004", "ILLEGAL_MOVE", OPTIONS),
    "fraction_of_sixty_thousand_digits": ("E004", "ILLEGAL_MOVE", OPTIONS),
    "duplicate_keys": ("E002", "NOT_JSON", "The body is not JSON: 'parity_choice' stands twice in one object"),
    "invalid_utf8": ("E002", "NOT_JSON", "The body is not valid UTF-8 text: invalid start byte"),
    "half_a_surrogate": ("E002", "NOT_JSON", "The body is not valid UTF-8 text: surrogates not allowed"),
    "nul_character": ("E002", "NOT_JSON", "The body is not JSON: it holds a NUL character"),
    "gzip_that_is_none": ("E009", "CONNECT", "the connection broke off (error)"),
    "texts_in_texts": ("E001", "DEADLINE", ""),
    "nothing": ("E001", "DEADLINE", ""),
    "a_list": ("E001", "DEADLINE", ""),
    "posts_a_hundred_times": ("E004", "ILLEGAL_MOVE", OPTIONS),
    "script_as_its_choice": ("E004", "ILLEGAL_MOVE", OPTIONS + r' (seen: "\u202eevil\u2066\u200f</script>'),
    "script_as_an_error": ("E002", "WRONG_MESSAGE", "it answered with the error"),
    "no_move_at_all": ("E004", "ILLEGAL_MOVE", OPTIONS + ' (seen: "heads")'),
    "both_choices": ("E004", "ILLEGAL_MOVE", OPTIONS),
    "asks_back": ("E001", "DEADLINE", ""),
    "knows_no_words": ("E002", "WRONG_MESSAGE", "it answered with the error 'Method not found'"),
    "wants_a_session_for_ever": ("E002", "HTTP_STATUS", "HTTP 400"),
    "objects_to_every_field": ("E002", "WRONG_MESSAGE", "it answered with the error"),
    "nine_hundred_tools": ("E002", "WRONG_MESSAGE", "it answered with the error 'Unknown tool'"),
    "refuses_to_play": ("E002", "WRONG_MESSAGE", "it refused the invitation"),
    "joins_with_a_riddle": ("E001", "DEADLINE", ""),
    "silent_when_invited": ("E001", "DEADLINE", ""),
    "silent": ("E001", "DEADLINE", ""),
    "header_byte_by_byte": ("E001", "DEADLINE", ""),
    "body_byte_by_byte": ("E001", "DEADLINE", ""),
    "receipt_and_nothing_more": ("E001", "DEADLINE", ""),
    "stream_that_stays_open": ("E001", "DEADLINE", ""),
    "goes_on_with_100_continue": ("E001", "DEADLINE", ""),
    "length_too_long": ("E001", "DEADLINE", ""),
    "endless_body": ("E009", "CONNECT", "the answer is larger than 65536 bytes"),
    "hundred_megabytes": ("E009", "CONNECT", "the answer is larger than 65536 bytes"),
    "gzip_bomb": ("E009", "CONNECT", "the answer is larger than 65536 bytes"),
    "gzip_of_nothing": ("E009", "CONNECT", "the answer is larger than 65536 bytes"),
    "endless_header": ("E009", "CONNECT", NO_HTTP),
    "ten_thousand_headers": ("E009", "CONNECT", NO_HTTP),
    "flood_of_100_continue": ("E009", "CONNECT", BROKEN),
    "chunks_of_one_byte": ("E009", "CONNECT", BROKEN),
    "chunk_with_endless_extension": ("E009", "CONNECT", BROKEN),
    "stream_of_seven_thousand_events": ("E001", "DEADLINE", ""),
    "length_too_short": ("E009", "CONNECT", NO_HTTP),
    "length_below_nothing": ("E009", "CONNECT", NO_HTTP),
    "two_lengths": ("E009", "CONNECT", NO_HTTP),
    "length_and_chunks": ("E009", "CONNECT", NO_HTTP),
    "closes_when_called": ("E009", "CONNECT", "the connection was closed without an answer"),
    "closes_early": ("E009", "CONNECT", BROKEN),
    "resets": ("E009", "CONNECT", BROKEN),
    "resets_in_its_answer": ("E009", "CONNECT", BROKEN),
    "http_0_9": ("E009", "CONNECT", NO_HTTP),
    "speaks_tls": ("E009", "CONNECT", NO_HTTP),
    "switches_protocols": ("E001", "DEADLINE", ""),
    "status_of_two_digits": ("E009", "CONNECT", NO_HTTP),
    "redirects_inside": ("E002", "HTTP_STATUS", "HTTP 307"),
    "redirects_to_itself": ("E002", "HTTP_STATUS", "HTTP 302"),
    "breaks_a_header_line": ("E009", "CONNECT", NO_HTTP),
}
"""For each behaviour: the error code, the cause, and the beginning of the sentence about it."""

TOLERATED: dict[str, tuple[str, ...]] = {
    "utf_16": ("the answer is utf-16 text, expected utf-8",),
    "unheard_of_charset": ("the answer says that it is utf-7 text, and was taken for utf-8",),
    "brotli_that_is_none": ("the answer says that it is packed, which was not asked for",),
    "thirty_thousand_numbers": ("the answer has 65530 bytes",),
    "twenty_thousand_objects": ("the answer has 65529 bytes",),
    "thousands_of_fields": ("the answer has 64215 bytes",),
    "sixteen_thousand_token_prefixes": ("the answer has 65527 bytes",),
    "wrong_match": ("match_id was 'R9M9', expected R1M1",),
    "opponents_name": IN_THE_OTHERS_NAME,
    "opponents_token": ("auth_token was not its own",),
    # It is refused at the door: see test_a_callback_for_the_opponent_needs_the_opponents_token.
    "posts_with_a_made_up_token": (),
    "posts_for_its_opponent": ("answered by a POST of its own", *IN_THE_OTHERS_NAME),
    "script_beside_its_choice": (
        f"match_id was {SCRIPT}, expected R1M1",
        f"sender was {SCRIPT}, expected player:P01",
        f"message_type was {SCRIPT}, expected CHOOSE_PARITY_RESPONSE",
    ),
    "wrong_id": ("id was [1003, 1003, 1003, 1003, 1003, 1003, 100, expected 1003",),
    "result_and_error": ("error beside a result",),
    "http_1_0": ("the answer came by an old HTTP, which takes a new connection for each call",),
    "answers_twice": ("something came behind the answer: it was not read",),
    "answers_ahead": ("something came behind the answer: it was not read",),
    "floods_behind_its_answer": ("something came behind the answer: it was not read",),
}
"""For each behaviour: the notes on its answer."""


class Deaf(Canary):
    """A canary that blames nobody: these tests are about the agents, on however slow a machine."""

    def start(self) -> None:
        return

    def late_beyond_allowed_s(self, begin: float, limit_s: float) -> float:
        return 0.0


async def against(behaviour: Behaviour | None, **more: Any) -> Ended:
    return await play(behaviour, canary=Deaf(Clock()), clock=Leaping(), **more)


def assert_harmless(ended: Ended, *, game_overs: int = 1) -> None:
    """Assert what holds after every match: both players were told the end, the transcript is small, no internal address
    was called, and no token is shown."""
    assert ended.game_overs == [game_overs, game_overs]
    assert len(ended.hostile.methods) <= MAX_CALLS
    assert ended.inner.methods == []
    for entry in ended.entries:
        assert len(json.dumps(entry["body"], ensure_ascii=False).encode()) <= MAX_TRANSCRIPT_BODY_BYTES
        assert len(json.dumps(entry)) <= 4 * MAX_TRANSCRIPT_BODY_BYTES
    assert len(json.dumps(ended.report)) <= 48 * 1024
    assert TOKEN.findall(json.dumps([ended.report, ended.entries])) == []


def test_every_hostile_behaviour_is_tested() -> None:
    assert sorted([*LOST, *TOLERATED]) == sorted(HOSTILE)
    assert len(HOSTILE) >= 36
    assert [one.name for one in HOSTILE.values() if not one.says.endswith(".")] == []


@pytest.mark.parametrize("name", sampled(sorted(LOST), every=8))
async def test_a_hostile_behaviour_costs_its_agent_the_match(name: str) -> None:
    code, cause, detail = LOST[name]
    limits: dict[str, Any] = {}
    if code == "E001":
        timeout = {JOIN: "join_timeout_s", MOVE: "move_timeout_s"}[HOSTILE[name].at]
        limits = {timeout: HASTY_S, "max_retries": 0}
    ended = await against(HOSTILE[name], **limits)
    status, winner, faults = ended.verdict
    assert (status, winner, [fault[:3] for fault in faults]) == ("TECHNICAL_LOSS", B, [(A, code, cause)])
    (fault,) = ended.report["faults"]
    assert fault["detail"].startswith(detail)
    assert len(fault["detail"]) <= MAX_DETAIL_CHARS
    assert_harmless(ended)


@pytest.mark.parametrize("name", sorted(TOLERATED))
async def test_a_tolerated_behaviour_is_noted(name: str) -> None:
    ended = await against(HOSTILE[name])
    status, _, faults = ended.verdict
    assert (status in ("WIN", "DRAW"), faults) == (True, [])
    kind = {JOIN: "GAME_JOIN_ACK", MOVE: "CHOOSE_PARITY_RESPONSE"}[HOSTILE[name].at]
    assert tuple(ended.notes(kind)) == TOLERATED[name]
    # Whatever the hostile agent did, the other player's choice is its own.
    assert ended.report["result"]["details"]["choices"][B] == "even"
    assert_harmless(ended)


async def test_agents_that_behave_get_no_note() -> None:
    ended = await against(None)
    assert (ended.verdict[2], [note for entry in ended.entries for note in entry["notes"]]) == ([], [])
    assert_harmless(ended)


async def test_a_callback_for_the_opponent_needs_the_opponents_token() -> None:
    ended = await against(HOSTILE["posts_with_a_made_up_token"])
    (answer,) = ended.hostile.post_replies
    assert b'"error_code":"E012"' in answer
    # An answer with its own token is its own choice, whatever name stands in it.
    ended = await against(HOSTILE["posts_for_its_opponent"])
    assert ended.report["result"]["details"]["choices"] == {A: "odd", B: "even"}


@pytest.mark.parametrize("name", ["answers_twice", "answers_ahead"])
async def test_the_first_of_two_answers_counts(name: str) -> None:
    ended = await against(HOSTILE[name])
    assert ended.report["result"]["details"]["choices"] == {A: "even", B: "even"}


async def test_a_name_that_changes_its_address_to_a_clouds_metadata_server_is_not_followed() -> None:
    lookups = FakeLookups(["127.0.0.1"], ["169.254.169.254"])

    async def joins_and_closes(talk: Any, request: Any) -> None:
        await talk.say(
            json.dumps({"result": {"accept": True}, "id": request.id}).encode(), more="Connection: close\r\n"
        )
        talk.close()

    ended = await against(Behaviour("", "", joins_and_closes, JOIN), host="localhost", lookups=lookups)
    assert ended.verdict[:2] == ("TECHNICAL_LOSS", B)
    assert [(fault[1], fault[2]) for fault in ended.verdict[2]] == [("E009", "CONNECT")]
    assert (ended.hostile.methods, len(lookups.hosts) > 1) == ([JOIN], True)
