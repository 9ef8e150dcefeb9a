"""A referee's work without a network: a match of every game, and one against a silent player (003 section 7).

Two scripted players answer in this process, and waiting takes no time. All messages are printed; those to the players
are checked against the JSON Schemas of the protocol.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.judging.match.brief import Brief, Seat, Standings
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ending import Verdict
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.match.play import play_match
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.schemas import problems
from league_sdk.protocol.states import ResultStatus
from league_sdk.rules import even_odd
from league_sdk.rules.game import Game
from league_sdk.rules.registry import games

PLAYERS = ("P01", "P02")
_BEGIN = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)
_UNLIMITED_BYTES = 10**9


class _Clock(Clock):
    """A clock that stands still until somebody sleeps, and then goes forward by that time at once."""

    def __init__(self) -> None:
        self._now = _BEGIN

    def monotonic(self) -> float:
        return (self._now - _BEGIN).total_seconds()

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        await asyncio.sleep(0)


class _ScriptedPlayers:
    """The two players; they check every message that they are sent.

    Args:
        game: what is played.
        clock: the clock of the match.
        silent: players that answer no question.
    """

    def __init__(self, game: Game, clock: _Clock, silent: tuple[str, ...]) -> None:
        self._game = game
        self._clock = clock
        self._silent = silent
        self.violations: list[str] = []

    async def ask(self, seat: Seat, message: dict[str, Any], *, limit_s: float, first: object = None) -> CallResult:
        self._check(message)
        if seat.player_id in self._silent:
            await self._clock.sleep(limit_s)
            return CallResult(error_code="E001", problem=f"no answer within {limit_s:g} s", elapsed_s=limit_s)
        answer = self._answer(seat, message)
        return CallResult(message=answer, http_status=200, body=rpc.result(1, answer))

    async def tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> CallResult:
        self._check(message)
        received = {"status": "received"}
        return CallResult(message=received, http_status=200, body=rpc.result(1, received))

    def _check(self, message: Mapping[str, Any]) -> None:
        kind = str(message["message_type"])
        for problem in problems(kind, message):
            self.violations.append(
                f"{kind}.{problem.field}: {problem.seen}, expected {problem.expected} ({problem.clause})"
            )

    def _answer(self, seat: Seat, message: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {"accept": True, "arrival_timestamp": message["timestamp"]}
        kind = MessageType.GAME_JOIN_ACK
        if message["message_type"] != MessageType.GAME_INVITATION:
            kind = self._game.response_message
            fields = self._move(seat, message)
        return envelope(
            kind,
            sender=f"player:{seat.player_id}",
            conversation_id=message["conversation_id"],
            now=self._clock.now(),
            match_id=message["match_id"],
            player_id=seat.player_id,
            **fields,
        )

    def _move(self, seat: Seat, message: Mapping[str, Any]) -> dict[str, Any]:
        """PLAYER_A takes the first option, PLAYER_B the last one."""
        request = message.get("move_request")
        options = request["valid_options"] if request else list(even_odd.CHOICES)
        move = options[0 if seat.role == ROLES[0] else -1]
        return {self._game.choice_field: move} if request is None else {"move_data": {"choice": move}}


def _seat(player_id: str, role: str) -> Seat:
    return Seat(
        player_id=player_id,
        role=role,
        endpoint=f"http://localhost/{player_id}/mcp",
        dialect="canonical",
        league_token="tok_" + "0" * 32,
        token_digests=(),
        standings=Standings(),
    )


def _brief(game: Game) -> Brief:
    return Brief(
        league_id="dry_run",
        round_id=1,
        match_id="R1M1",
        attempt=1,
        game_type=game.game_type,
        conversation_id="conv-r1m1-001",
        player_a=_seat(PLAYERS[0], ROLES[0]),
        player_b=_seat(PLAYERS[1], ROLES[1]),
        settings=LeagueSettings(),
        referee_id="REF01",
        referee_endpoint="http://localhost:8001/mcp",
    )


async def _play(game: Game, silent: tuple[str, ...]) -> tuple[Verdict, MatchLog, list[str]]:
    clock, log = _Clock(), MatchLog()
    players = _ScriptedPlayers(game, clock, silent)
    talk = Conversation(_brief(game), players.ask, players.tell, clock, log)
    verdict = await play_match(talk, game, rng=random.Random(1))
    return verdict, log, players.violations


def _say(text: str) -> None:
    sys.stdout.write(text)


async def run(write: Callable[[str], object] = _say) -> int:
    """Play every installed game, and one against a silent player; print the messages.

    Args:
        write: prints text.

    Returns the exit code: 0 if every match ended as it must and every message to a player conforms to the protocol.
    """
    matches: list[tuple[Game, tuple[str, ...]]] = [(game, ()) for game in games().values()]
    matches.append((games()[even_odd.EvenOdd.game_type], PLAYERS[1:]))
    all_passed = True
    for game, silent in matches:
        write(f"== {game.display_name}{f', {silent[0]} is silent' if silent else ''}\n")
        verdict, log, violations = await _play(game, silent)
        for entry in log.take(_UNLIMITED_BYTES):
            body = rpc.dumps(entry["body"]).decode()
            text = f"{entry['message_type']} {body}" if entry["body"] is not None else entry["problem"]
            write(f"{entry['sender']} -> {entry['recipient']}: {text}\n")
        if silent:
            as_expected = (verdict.status, verdict.winner) == (ResultStatus.TECHNICAL_LOSS, PLAYERS[0])
        else:
            as_expected = verdict.status in (ResultStatus.WIN, ResultStatus.DRAW)
        for violation in violations:
            write(f"WRONG {violation}\n")
        passed = as_expected and not violations
        write(f"{'ok' if passed else 'WRONG'} {verdict.status} {verdict.winner}: {verdict.reason}\n")
        all_passed = all_passed and passed
    return 0 if all_passed else 1
