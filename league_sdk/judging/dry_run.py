"""A referee's work without a network: every game played through, and an absent player (003 section 7).

Two players that are part of this module answer in the process; time passes at once. What is said is
printed, and held against the course's own text.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.conversation import Conversation
from league_sdk.judging.ending import Played
from league_sdk.judging.heard import Heard
from league_sdk.judging.log import MatchLog
from league_sdk.judging.match import play_match
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
_EVERYTHING = 10**9
"""A budget that no transcript exceeds."""


class _Clock:
    """Time that passes when somebody waits for it."""

    def __init__(self) -> None:
        self._now = _BEGIN

    def monotonic(self) -> float:
        return (self._now - _BEGIN).total_seconds()

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        await asyncio.sleep(0)


class _Script:
    """The two players, and a check of everything that they are sent.

    Args:
        game: what is played.
        clock: of the match.
        silent: players that never answer a request.
    """

    def __init__(self, game: Game, clock: _Clock, silent: tuple[str, ...]) -> None:
        self._game = game
        self._clock = clock
        self._silent = silent
        self.wrong: list[str] = []

    async def ask(self, seat: Seat, message: dict[str, Any], *, limit_s: float, only: object = None) -> Heard:
        self._check(message)
        if seat.player_id in self._silent:
            await self._clock.sleep(limit_s)
            return Heard(error_code="E001", problem=f"no answer within {limit_s:g} s", elapsed_s=limit_s)
        answer = self._answer(seat, message)
        return Heard(message=answer, http_status=200, body=rpc.result(1, answer))

    async def tell(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> Heard:
        self._check(message)
        received = {"status": "received"}
        return Heard(message=received, http_status=200, body=rpc.result(1, received))

    def _check(self, message: Mapping[str, Any]) -> None:
        kind = str(message["message_type"])
        for problem in problems(kind, message):
            self.wrong.append(f"{kind}.{problem.field}: {problem.seen}, expected {problem.expected} ({problem.clause})")

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
        """PLAYER_A takes the first of its options, PLAYER_B the last of them."""
        request = message.get("move_request")
        options = request["valid_options"] if request else list(even_odd.CHOICES)
        move = options[0 if seat.role == ROLES[0] else -1]
        return {self._game.choice_field: move} if request is None else {"move_data": {"choice": move}}


def _brief(game: Game) -> Brief:
    def seat(player_id: str, role: str) -> Seat:
        return Seat(
            player_id=player_id,
            role=role,
            endpoint=f"http://localhost/{player_id}/mcp",
            dialect="canonical",
            league_token="tok_" + "0" * 32,
            token_digests=(),
            standings={"wins": 0, "losses": 0, "draws": 0},
            joined_before=False,
            suspended=False,
        )

    return Brief(
        league_id="dry_run",
        round_id=1,
        match_id="R1M1",
        attempt=1,
        game_type=game.game_type,
        conversation_id="conv-r1m1-001",
        seats=(seat(PLAYERS[0], ROLES[0]), seat(PLAYERS[1], ROLES[1])),
        settings=LeagueSettings(),
        referee_id="REF01",
        referee_endpoint="http://localhost:8001/mcp",
    )


async def _play(game: Game, silent: tuple[str, ...]) -> tuple[Played, MatchLog, list[str]]:
    clock, log = _Clock(), MatchLog()
    script = _Script(game, clock, silent)
    talk = Conversation(_brief(game), script.ask, script.tell, clock, log)
    played = await play_match(talk, game, rng=random.Random(1))
    return played, log, script.wrong


def _say(text: str) -> None:
    sys.stdout.write(text)


async def run(write: Callable[[str], object] = _say) -> int:
    """Play every game that is installed, and once against a silent player; print what was said.

    Args:
        write: takes the lines.

    Returns the exit code: 0 when every match ended as it must and every message is one of the course's text.
    """
    matches: list[tuple[Game, tuple[str, ...]]] = [(game, ()) for game in games().values()]
    matches.append((games()[even_odd.EvenOdd.game_type], PLAYERS[1:]))
    good = True
    for game, silent in matches:
        write(f"== {game.display_name}{f', {silent[0]} is silent' if silent else ''}\n")
        played, log, wrong = await _play(game, silent)
        for one in log.take(_EVERYTHING):
            body = rpc.dumps(one["body"]).decode()
            what = f"{one['message_type']} {body}" if one["body"] is not None else one["problem"]
            write(f"{one['sender']} -> {one['recipient']}: {what}\n")
        if silent:
            ended = (played.status, played.winner) == (ResultStatus.TECHNICAL_LOSS, PLAYERS[0])
        else:
            ended = played.status in (ResultStatus.WIN, ResultStatus.DRAW)
        for sentence in wrong:
            write(f"WRONG {sentence}\n")
        write(f"{'ok' if ended and not wrong else 'WRONG'} {played.status} {played.winner}: {played.reason}\n")
        good = good and ended and not wrong
    return 0 if good else 1
