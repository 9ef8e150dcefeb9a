"""A check passes a foreign agent exactly if a referee plays it, and fails it for the message that it would lose by.

Each of these agents (``tests/bots/foreign_agents``) answers in a way that no document describes, and is called by TCP.
Of those that a referee understands only a few quick ones are used here: ``tests/e2e/test_foreign_agents.py`` plays
leagues with all of them, and ``tests/e2e/test_check.py`` checks all of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from league_sdk.asking.callbacks import find_seat
from league_sdk.asking.clock import Clock
from league_sdk.conformance.player import check_player
from league_sdk.conformance.report import Report
from league_sdk.conformance.subject import Identity, Subject
from league_sdk.dialects import inbound
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.calls.player_caller import PlayerCaller
from league_sdk.judging.match.brief import Brief, Seat, Standings
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.match.play import play_match
from league_sdk.protocol import tokens
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.registry import games
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import Client
from league_sdk.transport.policy import EndpointPolicy
from tests.bots.base import Call, listening
from tests.bots.foreign_agents.base import ForeignAgent, Reply, error
from tests.bots.foreign_agents.cast import FOREIGN_AGENTS
from tests.bots.foreign_agents.wire import PingFirst
from tests.bots.words import CHOOSE, INVITE
from tests.league_sdk.conformance.blamed import blamed
from tests.sizes import sampled

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")
LEAGUE, LEAGUE_ID = "http://127.0.0.1:9/mcp", "league_2025_even_odd"
RULES = LeagueSettings(
    join_timeout_s=1, move_timeout_s=1, game_over_timeout_s=1, generic_timeout_s=1, max_retries=1, retry_base_s=0.05
)


class Declines(ForeignAgent):
    """Refuses every invitation."""

    def message(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        message = super().message(kind, fields)
        return message | ({"accept": False} if kind == INVITE else {})


class ChoosesNeither(ForeignAgent):
    """Chooses neither "even" nor "odd"."""

    def choose(self, match: str) -> str:
        return "neither"


class ErrsAtChoices(ForeignAgent):
    """A bot whose server fails when it has to choose."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        return Reply({"detail": "Internal Server Error"}, 500) if kind == CHOOSE else super().answer(kind, fields, call)


class PingFirstUnsaid(PingFirst):
    """Refuses every call until it has been pinged, and does not say why."""

    async def answer_call(self, call: Call) -> Reply:
        return await super().answer_call(call) if self.seen or call.method == "ping" else error(-32000, "Not now", call)


PLAYS = [
    FOREIGN_AGENTS[name]
    for name in ("NestedResponse", "BareWords", "Camel", "ForbidsExtra", "SaysHtml", "CallsBackByName", "CallsBackFlat")
] + [PingFirst]
"""Foreign agents that a referee understands."""
FAILS: dict[type[ForeignAgent], str] = {
    Declines: "GAME_INVITATION",
    ChoosesNeither: "CHOOSE_PARITY_CALL",
    ErrsAtChoices: "CHOOSE_PARITY_CALL",
    PingFirstUnsaid: "GAME_INVITATION",
    **{FOREIGN_AGENTS[name]: "GAME_INVITATION" for name in ("HealthFirst", "DottedMethods")},
}
"""Foreign agents that lose, and the message whose answer cannot be used."""


async def checked(one: ForeignAgent) -> Report:
    """Check a foreign agent that is registered in a league, with that league's timeouts; the report."""
    client = Client(agent_type="check")
    digests = {tokens.digest(one.token)}
    try:
        subject = Subject(
            url=one.address,
            listen="127.0.0.1",
            limits=RULES,
            identity=Identity(one.player_id, LEAGUE_ID, tokens.new_token(), known=True),
            tokens=digests,
            own_tokens=digests,
            send_league_completed=False,
        )
        return await check_player(subject, client)
    finally:
        await client.aclose()


async def played(one: ForeignAgent, other: ForeignAgent) -> list[str]:
    """Let ``one`` play a match against ``other``, judged by a referee that listens at a port.

    Returns:
        The message types for whose answers ``one`` loses; empty if it plays to the end.
    """
    clock, talks = Clock(), list[Conversation]()

    async def door(request: web.BaseRequest) -> web.StreamResponse:
        callback = inbound.read(await request.json())
        found = find_seat([(talks[0].brief, talks[0].mailbox)], callback.message, trusted_token="")
        assert found is not None
        return web.json_response(found[1].deliver(found[0].player_id, callback.name, callback.message))

    caller = PlayerCaller(EndpointPolicy(), clock, Breaker(clock.monotonic), Canary(clock), probe=lambda: "")
    try:
        # Each seat has a path of its own below that of the referee.
        async with listening({"/mcp/{seat}": door}) as address:
            roles = zip((one, other), ("PLAYER_A", "PLAYER_B"), strict=True)
            brief = Brief(
                league_id=LEAGUE_ID,
                round_id=1,
                match_id="R1M1",
                attempt=1,
                game_type="even_odd",
                conversation_id="conv-r1m1-001",
                settings=RULES,
                referee_id="REF01",
                referee_endpoint=f"{address}/mcp",
                **{f"player_{role[-1].lower()}": seat(who, role) for who, role in roles},
            )
            game = games()["even_odd"]
            ask, tell = caller.for_match(RULES, game.choice_field)
            talks.append(Conversation(brief, ask, tell, clock, MatchLog()))
            verdict = await play_match(talks[0], game, rng=random.Random(1))
    finally:
        await caller.aclose()
    assert {fault.player_id for fault in verdict.faults} <= {one.player_id}
    return [fault.message_type for fault in verdict.faults]


def seat(who: ForeignAgent, role: str) -> Seat:
    return Seat(
        player_id=who.player_id,
        role=role,
        endpoint=who.address,
        league_token=tokens.new_token(),
        token_digests=(tokens.digest(who.token),),
        standings=Standings(),
        dialect="canonical",
    )


async def both(kind: type[ForeignAgent], folder: Path) -> tuple[Report, list[str]]:
    """Check one foreign agent of a kind and let another one play: the report, and what :func:`played` returns."""
    cast = [who(LEAGUE, folder / f"{number}.jsonl") for number, who in enumerate((kind, kind, ForeignAgent))]
    for number, who in enumerate(cast, 1):
        who.player_id, who.token = f"P{number:02d}", tokens.new_token()
        await who.listener.open()
    try:
        return await checked(cast[0]), await played(cast[1], cast[2])
    finally:
        for who in cast:
            await who.stop()


@pytest.mark.parametrize("kind", sampled(PLAYS), ids=lambda kind: kind.__name__)
async def test_a_foreign_agent_that_a_referee_plays_passes_the_check(kind: type[ForeignAgent], tmp_path: Path) -> None:
    report, lost = await both(kind, tmp_path)
    assert (report.can_play, lost) == (True, []), report.summary


@pytest.mark.parametrize(("kind", "why"), FAILS.items(), ids=lambda one: getattr(one, "__name__", ""))
async def test_a_foreign_agent_that_loses_a_match_fails_the_check_for_the_same_message(
    kind: type[ForeignAgent], why: str, tmp_path: Path
) -> None:
    report, lost = await both(kind, tmp_path)
    assert (report.can_play, blamed(report), lost) == (False, why, [why]), report.summary
