"""A practice match: an agent plays a house agent outside any league, and everything that was said is shown.

The agent is asked as a referee asks in a match: in every way of speaking that a league finds, with the same tries and
limits. Nothing is counted; the report is all that comes of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from league_sdk import match_messages
from league_sdk.asking.call_result import CallResult
from league_sdk.asking.fault import Fault
from league_sdk.asking.reading import read_move, read_yes
from league_sdk.asking.request import Request
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.line import Line, Stopped
from league_sdk.conformance.opening import opened
from league_sdk.conformance.posts import Posts
from league_sdk.conformance.side import RESERVE_S, CheckSide
from league_sdk.conformance.subject import Limits, Subject
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.states import ResultStatus
from league_sdk.protocol.transcript import body_for_transcript
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game
from league_sdk.simulated_league import REFEREE_ENDPOINT, Identity, Match, SimulatedLeague, result_of
from league_sdk.strategies.base import Strategy
from league_sdk.transport.client import Caller

SCHEMA = 1
NOT_PLAYED = "NOT_PLAYED"
"""The status of a match that could not be played to its end, through no fault of the agent's."""
MAX_STEPS = 400
"""How many messages are shown; a game in turns has two for each move."""


@dataclass(frozen=True, slots=True)
class Step:
    """One message to the agent, or a move of the house agent.

    Attributes:
        message_type: what was sent; empty for a move of the house agent.
        sent, came: the bodies, without secrets and cut at 4 KiB.
        elapsed_ms: milliseconds until the answer or giving up; None for a move of the house agent.
        http_status: of the answer; None when there was none.
        problem: why there was no answer, or what was wrong with it; empty if nothing was.
        move: the house agent's move.
    """

    message_type: str
    sent: Any = None
    came: Any = None
    elapsed_ms: int | None = None
    http_status: int | None = None
    problem: str = ""
    move: Any = None


@dataclass(frozen=True, slots=True)
class Practice:
    """What came of a practice match.

    Attributes:
        endpoint: the agent's address.
        game_type: what was played. opponent: the name of the house agent.
        role: PLAYER_A, who begins in games with turns, or PLAYER_B.
        status: WIN, DRAW, LOSS or TECHNICAL_LOSS of the agent, or :data:`NOT_PLAYED`.
        reason: why, in a sentence.
        view: the public view of the game at the end.
        started_at: UTC. took_s: seconds.
        steps: everything in order.
    """

    endpoint: str
    game_type: str
    opponent: str
    role: str
    status: str
    reason: str
    view: Mapping[str, Any]
    started_at: str
    took_s: float
    steps: tuple[Step, ...]

    @property
    def played(self) -> bool:
        """Whether the agent played to the end."""
        return self.status in ("WIN", "DRAW", "LOSS")

    def to_json(self) -> dict[str, Any]:
        """The report as a dict for JSON."""
        return {"schema": SCHEMA, **asdict(self), "view": dict(self.view), "steps": [asdict(one) for one in self.steps]}


@dataclass(slots=True)
class House:
    """The house agent: a strategy that is told what a player would be told.

    Attributes:
        name: as the report calls it.
        strategy: how it moves.
    """

    name: str
    strategy: Strategy

    async def move(self, game: Game, state: State, me: str, context: dict[str, Any]) -> Any:
        """Its move; a search runs in a thread, so that nobody waits for it."""
        options = game.options(state, me)
        if game.hidden:
            ask = partial(self.strategy.choose, options, context)
        else:
            ask = partial(self.strategy.move, options, game.view(state, me), context)
        move = ask() if self.strategy.quick else await asyncio.to_thread(ask)
        return move if move in options else options[0]


async def practise(
    subject: Subject,
    client: Caller,
    house: House,
    *,
    game_type: str,
    role: str = ROLES[0],
    on_step: Callable[[Step], None] = lambda step: None,
) -> Practice:
    """Play one practice match.

    Args:
        subject: the agent.
        client: the transport; its policy decides what may be called, or it is the line of an agent that dials out.
        house: whom it plays.
        game_type: what they play.
        role: of the agent.
        on_step: told of everything as it happens.

    Raises:
        KeyError: there is no such game here.
        OSError: the address of ours that the subject names cannot be listened on.
    """
    game, begun, started_at = get_game(game_type), time.monotonic(), datetime.now(UTC)
    limits = subject.limits
    async with opened(subject, client) as (line, posts):
        league = SimulatedLeague(
            subject.identity or Identity(),
            game,
            referee_endpoint=posts.endpoint or REFEREE_ENDPOINT,
            join_s=limits.join_s,
            move_s=limits.move_s,
        )
        playing = _Playing(line, posts, limits, league, league.match(role), house, on_step)
        status, reason = await playing.play()
    return Practice(
        subject.url,
        game_type,
        house.name,
        role,
        status,
        reason,
        game.view(playing.state, None),
        stamp(started_at),
        round(time.monotonic() - begun, 3),
        tuple(playing.steps),
    )


@dataclass(slots=True)
class _Playing:
    """One practice match in progress."""

    line: Line
    posts: Posts
    limits: Limits
    league: SimulatedLeague
    match: Match
    house: House
    on_step: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.game.new_state(self.league.players(self.match))

    @property
    def game(self) -> Game:
        return self.league.game

    @property
    def me(self) -> str:
        """The agent's id; the house agent is its opponent."""
        return self.league.who.player_id

    async def play(self) -> tuple[str, str]:
        """Play to the end; the status of the agent, and why."""
        try:
            fault = await self._invite()
            while fault is None and self.game.outcome(self.state) is None:
                fault = await self._turn()
            return await self._end(fault)
        except Stopped as stopped:
            # Who was left in a match may refuse the next one.
            self.line.extend(self.limits.game_over_s)
            await self._tell_end({"status": ResultStatus.CANCELLED, "winner_player_id": None, "reason": "broken off"})
            return NOT_PLAYED, f"{stopped.reason}."

    async def _invite(self) -> Fault | None:
        """Invite the agent; why it does not play, or None if it does."""
        to, limit_s = self.league.receiver(self.match), self.limits.join_s
        joined = await self._ask(
            partial(match_messages.invitation, to),
            MessageType.GAME_JOIN_ACK,
            partial(read_yes, player_id=self.me, limit_s=limit_s),
            limit_s,
        )
        return joined if isinstance(joined, Fault) else None

    async def _turn(self) -> Fault | None:
        """Have everybody move whose turn it is, or draw the number; why the agent did not move, or None."""
        movers = self.game.to_move(self.state)
        if not movers:
            self.state = self.league.draw(self.match, self.state)
            return None
        moves = {}
        if self.me in movers:
            move = await self._move()
            if isinstance(move, Fault):
                return move
            moves[self.me] = move
        other = self.league.opponent_id
        if other in movers:
            moves[other] = await self.house.move(self.game, self.state, other, self._context(other))
            if not self.game.hidden:
                self._note(Step("", move=moves[other]))
        for mover in movers:
            self.state = self.game.apply(self.state, mover, moves[mover])
        return None

    async def _move(self) -> Any | Fault:
        game, state = self.game, self.state
        to = self.league.receiver(self.match)
        return await self._ask(
            partial(match_messages.move_call, to, game, state),
            game.response_message,
            lambda message: read_move(message, game, state, to.player_id),
            self.limits.move_s,
        )

    async def _end(self, fault: Fault | None) -> tuple[str, str]:
        """Tell the agent how the match ended; its status, and why."""
        outcome = self.game.outcome(self.state) if fault is None else None
        if outcome is not None:
            result = result_of(outcome)
            status = "DRAW" if outcome.winner is None else "WIN" if outcome.winner == self.me else "LOSS"
        else:
            status = ResultStatus.TECHNICAL_LOSS.value
            reason = f"{fault.sentence}. Technical loss" if fault is not None else "Technical loss"
            result = {"status": status, "winner_player_id": self.league.opponent_id, "reason": reason}
        await self._tell_end(result)
        return status, str(result["reason"])

    async def _tell_end(self, result: dict[str, Any]) -> None:
        """Send GAME_OVER; a game that was not played out says what there was of it."""
        message = self.league.result(self.match, self.game.unfinished(self.state) | result)
        side = self._side(MessageType.GAME_OVER, self.limits.game_over_s)
        await side.tell(message, limit_s=self.limits.game_over_s, hidden=False)

    async def _ask(
        self,
        build: Callable[..., dict[str, Any]],
        answer_type: MessageType,
        accept: Callable[[Mapping[str, Any]], Any],
        limit_s: float,
    ) -> Any | Fault:
        """Ask the agent for one thing, with the tries that a match has."""
        side = self._side(answer_type, limit_s)
        request = Request(
            side,
            lambda now, deadline: build(now=now, deadline=deadline),
            limit_s=limit_s,
            answer_type=answer_type,
            accept=accept,
            max_retries=self.limits.max_retries,
        )
        answer = await request.obtain()
        self.line.check_alive()
        return answer

    def _side(self, answer_type: MessageType, limit_s: float) -> CheckSide:
        kept = self.posts.open(self.match, self.league.who)
        patience_s = max(limit_s, min(self.limits.request_patience_s, self.line.left_s() - RESERVE_S))
        limits = replace(self.limits, request_patience_s=patience_s)
        invites = answer_type == MessageType.GAME_JOIN_ACK
        how = {"choice_field": self.game.choice_field}
        to = self.league.receiver(self.match)
        return _WatchedSide(self.line, to, kept, limits, invites, how, note=self._note)

    def _context(self, player_id: str) -> dict[str, Any]:
        """What the house agent knows beside the options and the board."""
        return {
            "match_id": self.match.match_id,
            "game_type": self.game.game_type,
            "round_id": self.match.round_id,
            "player_id": player_id,
            "opponent_id": self.me,
            "your_standings": {"wins": 0, "losses": 0, "draws": 0},
            "numbers_drawn": [],
            "history": [],
        }

    def _note(self, step: Step) -> None:
        if len(self.steps) < MAX_STEPS:
            self.steps.append(step)
            self.on_step(step)


@dataclass(slots=True)
class _WatchedSide(CheckSide):
    """Asks the agent, and notes every message with what came of it."""

    note: Callable[[Step], None] = field(default=lambda step: None, kw_only=True)

    async def tell(self, message: dict[str, Any], *, limit_s: float, hidden: bool) -> object:
        # What stops the line ends the match only where an answer is needed.
        with suppress(Stopped):
            self._note(message, await self.line.ask(message, limit_s=limit_s, patient=False))
        return None

    def came(
        self, result: CallResult, *, asked: str, answer_type: MessageType, limit_s: float | None, hidden: bool
    ) -> None:
        CheckSide.came(self, result, asked=asked, answer_type=answer_type, limit_s=limit_s, hidden=hidden)
        if self.decisive is not None:
            self._note(self.message, self.decisive)

    def _note(self, message: Mapping[str, Any], exchange: Exchange) -> None:
        problem = "" if exchange.answered else f"{exchange.in_words()}"
        self.note(
            Step(
                str(message["message_type"]),
                body_for_transcript(message),
                body_for_transcript(exchange.came),
                exchange.elapsed_ms,
                exchange.status,
                problem,
            )
        )
