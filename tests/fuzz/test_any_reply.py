"""Any reply to the check of an agent, and any request to the check's ports: the check ends with a storable report."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable
from typing import Any

import pytest

from league_sdk.conformance import manager
from league_sdk.conformance.cast import MANAGER as LEAGUE_MANAGER
from league_sdk.conformance.cast import A, B, Cast, Script
from league_sdk.conformance.checking import check
from league_sdk.conformance.clauses.referee import REFEREE
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.posts import Posts
from league_sdk.conformance.reading import oddities
from league_sdk.conformance.refereeing import judge_as_documented, judge_asking, judge_over, judge_report
from league_sdk.conformance.report import Report
from league_sdk.conformance.subject import NOBODY, Subject
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects.answers import Answer, Understanding
from league_sdk.protocol import rpc
from league_sdk.protocol.transcript import clean
from league_sdk.simulated_league import Identity, Match
from tests import leaping
from tests.fuzz.profile import SEED, long_count
from tests.fuzz.replies import FaultyTransport, damaged, encoded
from tests.paths import sample
from tests.sizes import examples

QUICK, LONG = examples(2_000), 100_000
QUICK_POSTS = examples(1_500)
MATCH = "R1M1"
ASKED = ("GAME_INVITATION", "CHOOSE_PARITY_CALL")
SHARDS = 2
GAMES = (["even_odd"], ["even_odd", "tic_tac_toe"], ["tic_tac_toe"], ["no such game"])
SHARES = (0.03, 0.1, 0.3, 1.0)
"""Which share of its requests an agent answers wrongly; each agent has one of these."""


def assert_storable(report: Report) -> None:
    """Assert that the database, and every parser of JSON, accepts a report."""
    stored = json.dumps(clean(report.to_json()), allow_nan=False)
    stored.encode("utf-8")
    # After an escaped backslash, u0000 is plain text.
    assert "\\u0000" not in stored.replace("\\\\", "")
    assert isinstance(report.can_play, bool)


def failures(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The errors that the servers of a check have logged: failures of our own code."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


async def check_one(rng: random.Random) -> int:
    """Check one agent with faulty answers; returns how many requests it answered."""
    transport: Any = FaultyTransport(rng, rng.choice(SHARES))
    subject = Subject(url="http://127.0.0.1:9/mcp", listen=NOBODY, game_types=rng.choice(GAMES))
    try:
        assert_storable(await check(subject, transport))
    except Exception as error:
        error.add_note(f"the last reply: {transport.last!r:.3000}")
        raise
    return int(transport.sent)


async def check_agents(count: int, part: object) -> int:
    """Check agents until they have answered ``count`` requests; returns how many they answered.

    ``part`` names the part of a test: each draws other answers.
    """
    rng, sent = random.Random(f"{SEED} replies {part}"), 0
    while sent < count:
        sent += await check_one(rng)
    return sent


def test_any_reply_to_the_check_of_a_player_leads_to_a_report() -> None:
    assert leaping.run(check_agents(QUICK, "quick")) >= QUICK


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_any_reply_to_the_check_of_a_player_leads_to_a_report_at_length(
    shard: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", leaping.run(check_agents(long_count(LONG // SHARDS), shard)))


async def test_any_reply_to_the_check_of_a_league_manager_leads_to_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "ANNOUNCEMENT_TIMEOUT_S", 0)
    rng, sent = random.Random(f"{SEED} league managers"), 0
    while sent < QUICK_POSTS:
        transport: Any = FaultyTransport(rng, rng.choice(SHARES))
        assert_storable(
            await check(Subject(url="http://127.0.0.1:9/mcp", role="manager", listen="127.0.0.1"), transport)
        )
        sent += transport.sent


async def test_any_callback_to_the_check_of_a_player_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    rng, arrived = random.Random(f"{SEED} callbacks"), 0
    for _ in range(QUICK_POSTS):
        posts, kind = (
            Posts(rng.choice([None, ()])),
            rng.choice(["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]),
        )
        match = Match(1, "PLAYER_A", "conv-1")
        message = sample(kind) | {"match_id": match.match_id}
        opened = posts.open(match, Identity())
        body = rng.choice([rpc.call(kind, message, 1), rpc.result(1, message), message])
        with opened.mailbox.expecting("P01", kind) as box:
            raw = encoded(rng, body if rng.random() < 0.2 else damaged(rng, body))
            reply = await posts.hear(raw, rng.choice(["/mcp", f"/mcp/{match.path_secret}"]))
            assert reply.status in (200, 204)
            for callback in box.messages:
                arrived += 1
                answer = Answer(dict(callback), None, ())
                exchange = Exchange(
                    None, None, callback, answer, Understanding.ANSWERED, readable=True, by_callback=True
                )
                question = ASKED[kind != "GAME_JOIN_ACK"]
                list(
                    oddities(exchange, Identity(), expected=kind, sent=sample(question) | {"match_id": match.match_id})
                )
            box.messages.clear()
    assert arrived > QUICK_POSTS / 50
    assert failures(caplog) == []


async def test_any_messages_of_a_referee_under_check_lead_to_a_report(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(f"{SEED} referees")
    kinds = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "GAME_ERROR")
    for _ in range(QUICK_POSTS // 30):
        cast, verdicts = Cast(), Verdicts(REFEREE, "http://127.0.0.1:9/mcp", None)
        cast.scripts[MATCH] = Script.ILLEGAL_FIRST
        sent = [(who, kind) for kind in kinds for who in (A, B)]
        for who, kind in [
            *sent,
            *[(LEAGUE_MANAGER, kind) for kind in ("REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT")],
        ]:
            body: Any = rpc.call(kind, sample(kind) | {"match_id": MATCH}, 1)
            body = damaged(rng, body) if rng.random() < 0.5 else body
            assert (await cast.listeners[who].hear(encoded(rng, body))).status in (200, 204)
        judge_asking(verdicts, cast, MATCH)
        judge_over(verdicts, cast, MATCH)
        for report in cast.of(MATCH, "MATCH_RESULT_REPORT")[:1]:
            judge_report(verdicts, cast, MATCH, report)
        judge_as_documented(verdicts, "register.request", [cast.registration] if cast.registration else [])
        assert_storable(verdicts.report())
    assert failures(caplog) == []
