"""A practice match: an agent plays a house agent outside any league, and everything that was said is shown.

The agent is asked as a referee asks in a match: in every way of speaking that a league finds, with the same tries and
limits. Nothing counts; a report is the only result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from league_sdk import match_messages
from league_sdk.asking.fault import Fault
from league_sdk.asking.reading import read_move, read_yes
from league_sdk.asking.request import Request
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.house import House
from league_sdk.conformance.opening import opened
from league_sdk.conformance.posts import Posts
from league_sdk.conformance.side import CheckSide, side_of
from league_sdk.conformance.steps import OnStep, Step, step_of
from league_sdk.conformance.subject import Subject
from league_sdk.conformance.subject_caller import Stopped, SubjectCaller
from league_sdk.protocol import tokens
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.sentences import _, say
from league_sdk.protocol.states import ResultStatus
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game
from league_sdk.simulated_league import REFEREE_ENDPOINT, Identity, Match, SimulatedLeague, result_of
from league_sdk.transport.client import Caller

SCHEMA = 1
NOT_PLAYED = "NOT_PLAYED"
"""The status of a match that was broken off, because the agent could not be reached or for another reason."""
MAX_STEPS = 400
"""How many steps are kept; a game in turns has about one for each move."""
IS_OVERTAKEN_INTERVAL_S, OVERTAKEN_END_TIMEOUT_S = 0.2, 2.0
"""The time between two calls of ``is_overtaken``, and the timeout of GAME_OVER if the agent is due in a match."""

_OVERTAKEN = _("the agent is due in a match")
_NOT_PROVEN = _(
    "another agent is registered at this address too, and the one that answered did not send the auth_token of this one"
)


@dataclass(frozen=True, slots=True)
class Practice:
    """What came of a practice match.

    Attributes:
        endpoint: the agent's address.
        game_type: what was played.
        opponent: the name of the house agent.
        role: PLAYER_A, who begins in games with turns, or PLAYER_B.
        players: the ids of PLAYER_A and PLAYER_B; one of them is the agent's.
        player_id: the agent's.
        status: WIN, DRAW, LOSS or TECHNICAL_LOSS of the agent, or :data:`NOT_PLAYED`.
        reason: why, in a sentence.
        reason_words: the same as JSON, for translation, of a match that could not be played.
        result: ``game_result`` as the agent was told it; empty of a match that could not be played.
        faults: why the agent did not play, as a referee reports it; empty if it did.
        view: the public view of the game at the end.
        started_at: when the match began, in UTC.
        took_s: seconds.
        steps: the messages and, of a game in turns, the moves of the house agent, in order; the first MAX_STEPS.
    """

    endpoint: str
    game_type: str
    opponent: str
    role: str
    players: tuple[str, str]
    player_id: str
    status: str
    reason: str
    reason_words: Any
    result: Mapping[str, Any]
    faults: tuple[Mapping[str, Any], ...]
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
        return {"schema": SCHEMA, **asdict(self)}


@dataclass(frozen=True, slots=True)
class _End:
    """How a match ended for the agent; attributes as those of :class:`Practice`."""

    status: str
    reason: str
    reason_words: Any = None
    result: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()


async def practise(
    subject: Subject,
    client: Caller,
    house: House,
    *,
    game_type: str,
    role: str = ROLES[0],
    on_step: OnStep = lambda step, view: None,
) -> Practice:
    """Play one practice match.

    Args:
        subject: the agent.
        client: the transport; its policy decides what may be called, or it calls one agent that dials out.
        house: whom it plays.
        game_type: what they play.
        role: the role of the agent.
        on_step: told of each of the first MAX_STEPS steps as it happens.

    A match that is overtaken (``subject.is_overtaken``) ends at once, whatever is being waited for.

    Raises:
        KeyError: there is no such game here.
        OSError: this machine cannot listen at the address that the subject names.
    """
    game = get_game(game_type)
    limits = subject.limits
    async with opened(subject, client) as (caller, posts):
        league = SimulatedLeague(
            subject.identity or Identity(),
            game,
            referee_endpoint=posts.endpoint or REFEREE_ENDPOINT,
            join_s=limits.join_timeout_s,
            move_s=limits.move_timeout_s,
        )
        return await _Playing(caller, posts, subject, league, league.match(role), house, on_step).report()


@dataclass(slots=True)
class _Playing:
    """One practice match in progress."""

    caller: SubjectCaller
    posts: Posts
    subject: Subject
    league: SimulatedLeague
    match: Match
    house: House
    on_step: OnStep
    steps: list[Step] = field(default_factory=list)
    join_token: str = field(default="", repr=False)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.game.new_state(self.league.players(self.match))

    @property
    def game(self) -> Game:
        return self.league.game

    @property
    def limits(self) -> LeagueSettings:
        return self.subject.limits

    @property
    def me(self) -> str:
        """The agent's id; the house agent is its opponent."""
        return self.league.who.player_id

    async def report(self) -> Practice:
        """Play, and report the outcome."""
        begun, started_at = time.monotonic(), datetime.now(UTC)
        end = await self.play()
        return Practice(
            self.subject.url,
            self.game.game_type,
            self.house.name,
            self.match.role,
            self.league.players(self.match),
            self.me,
            end.status,
            end.reason,
            end.reason_words,
            end.result,
            end.faults,
            self.game.view(self.state, None),
            stamp(started_at),
            round(time.monotonic() - begun, 3),
            tuple(self.steps),
        )

    async def play(self) -> _End:
        """Play to the end; returns how it ended for the agent."""
        try:
            return await self._end(await self._unless_overtaken(self._to_the_end()))
        except Stopped as stopped:
            # An agent that was left in a match may refuse the next one.
            limit_s = OVERTAKEN_END_TIMEOUT_S if self.subject.is_overtaken() else self.limits.game_over_timeout_s
            self.caller.extend(limit_s)
            over = {"status": ResultStatus.CANCELLED, "winner_player_id": None, "reason": "broken off"}
            await self._tell_end(over, limit_s)
            return _End(NOT_PLAYED, f"{stopped.reason}.", stopped.reason.to_json())

    async def _to_the_end(self) -> Fault | None:
        """Play until the game is decided; returns why the agent did not play on, or None if it did."""
        # An agent that counts the rounds of the league it plays in would be confused by one more.
        if not self.subject.in_play:
            await self._announce()
        fault = await self._invite()
        while fault is None and self.game.outcome(self.state) is None:
            fault = await self._turn()
        return fault

    async def _unless_overtaken(self, play: Coroutine[Any, Any, Fault | None]) -> Fault | None:
        """Await ``play``, and return what it returns.

        Raises:
            Stopped: the agent is due in a match; ``play`` was cancelled in the midst of what it waited for.
        """
        task = asyncio.ensure_future(play)
        try:
            while not (await asyncio.wait([task], timeout=IS_OVERTAKEN_INTERVAL_S))[0]:
                if self.subject.is_overtaken():
                    raise Stopped(say(_OVERTAKEN))
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _announce(self) -> None:
        """Tell the agent of the match, as the league does before every round: some refuse one that was not announced.

        An agent that does not answer this is invited all the same, as in a league.
        """
        side = self._side(MessageType.ROUND_ANNOUNCEMENT, self.limits.generic_timeout_s)
        await side.tell(self.league.round_announcement(self.match), limit_s=self.limits.generic_timeout_s, hidden=False)
        self.caller.timeouts = 0
        self.caller.check_alive()

    async def _invite(self) -> Fault | None:
        """Invite the agent; returns why it does not play, or None if it does."""
        to, limit_s = self.league.receiver(self.match), self.limits.join_timeout_s
        joined = await self._ask(
            partial(match_messages.invitation, to),
            MessageType.GAME_JOIN_ACK,
            partial(read_yes, player_id=self.me, limit_s=limit_s),
            limit_s,
        )
        if isinstance(joined, Fault):
            return joined
        digests = self.subject.proving_digests
        if digests and not (self.join_token and tokens.digest(self.join_token) in digests):
            # Somebody else's program may listen here: whoever only names its address must not see how it plays.
            raise Stopped(say(_NOT_PROVEN))
        return None

    async def _turn(self) -> Fault | None:
        """Have everybody move whose turn it is, or draw the number; returns why the agent did not move, or None."""
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
        for mover in movers:
            self.state = self.game.apply(self.state, mover, moves[mover])
        # A secret choice of the house agent is no step: the result shows it.
        if other in movers and not self.game.hidden:
            self._note(Step("", move=moves[other]))
        return None

    async def _move(self) -> Any | Fault:
        game, state = self.game, self.state
        to = self.league.receiver(self.match)
        return await self._ask(
            partial(match_messages.move_call, to, game, state),
            game.response_message,
            lambda message: read_move(message, game, state, to.player_id),
            self.limits.move_timeout_s,
        )

    async def _end(self, fault: Fault | None) -> _End:
        """Tell the agent how the match ended; returns what it was told."""
        outcome = self.game.outcome(self.state) if fault is None else None
        if outcome is not None:
            result = result_of(outcome)
            status = "DRAW" if outcome.winner is None else "WIN" if outcome.winner == self.me else "LOSS"
        else:
            status = ResultStatus.TECHNICAL_LOSS.value
            reason = f"{fault.sentence}. Technical loss" if fault is not None else "Technical loss"
            result = {"status": status, "winner_player_id": self.league.opponent_id, "reason": reason}
        await self._tell_end(result, self.limits.game_over_timeout_s)
        return _End(
            status,
            str(result["reason"]),
            result=result,
            faults=() if fault is None else (fault.to_report(),),
        )

    async def _tell_end(self, result: dict[str, Any], limit_s: float) -> None:
        """Send GAME_OVER; of a game that was not played out, it says what was played."""
        message = self.league.result(self.match, self.game.unfinished(self.state) | result)
        side = self._side(MessageType.GAME_OVER, limit_s)
        await side.tell(message, limit_s=limit_s, hidden=False)

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
        self.caller.check_alive()
        return answer

    def _side(self, answer_type: MessageType, limit_s: float) -> CheckSide:
        """What sends one request to the agent, as a referee does; each try is noted as a step."""
        side = side_of(
            self.caller, self.posts, self.league, self.match, answer_type, limits=self.limits, limit_s=limit_s
        )
        side.heard = self._hear
        return side

    def _hear(self, message: Mapping[str, Any], exchange: Exchange) -> None:
        """Note a message with its outcome; of the answer to the invitation, keep the auth_token."""
        if message["message_type"] == MessageType.GAME_INVITATION:
            token = exchange.message.get("auth_token")
            self.join_token = token if isinstance(token, str) else ""
        self._note(step_of(message, exchange))

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
            self.on_step(step, self.game.view(self.state, None))
