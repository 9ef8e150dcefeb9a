"""One attempt at one match: invite, collect, draw, seal, tell (004 3.2, 8.7; ruling sections 6 to 8 and 12).

Pure but for what is passed in: ``ask`` and ``tell`` reach the players, ``safe`` is the league manager's safe keeping,
``rng`` draws where no seed was given, ``clock`` tells the time, ``log`` is what others may watch meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from league_sdk.dialects import answers
from league_sdk.judging import messages
from league_sdk.judging.asking import Ask, Conversation, Tell
from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.clock import Clock
from league_sdk.judging.fault import Fault, MachineFailed
from league_sdk.judging.log import MatchLog
from league_sdk.judging.mailbox import Mailbox
from league_sdk.protocol.errors import RETRYABLE, MissingField
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import MatchState, ResultStatus
from league_sdk.protocol.transcript import clean, storable
from league_sdk.rules.draws import CommittedDraw
from league_sdk.rules.game import Game, Random, State

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Played:
    """How a match ended, as it is reported."""

    status: ResultStatus
    winner: str | None
    reason: str
    details: dict[str, Any]
    faults: tuple[Fault, ...]


class Safe(Protocol):
    """What the league manager keeps of a match before any player hears of it (ruling, section 12)."""

    async def record_moves(self) -> None:
        """Return when the moves in the match's log are on record."""

    async def seal(self, played: Played) -> None:
        """Return when the verdict is sealed: from then on it stands, whatever becomes of this referee."""


class NoSafe:
    """For a league manager that keeps nothing: a student's, or none at all."""

    async def record_moves(self) -> None:
        """Nothing is recorded."""

    async def seal(self, played: Played) -> None:
        """Nothing is sealed."""


async def play_match(
    brief: Brief,
    game: Game,
    *,
    ask: Ask,
    tell: Tell,
    rng: Random,
    clock: Clock,
    log: MatchLog,
    mailbox: Mailbox | None = None,
    safe: Safe | None = None,
) -> Played:
    """Play one attempt from the invitation to GAME_OVER.

    Args:
        brief: what ``start_match`` said.
        game: the rules.
        ask: sends a message and waits for the answer.
        tell: sends a message whose answer does not matter.
        rng: where numbers are drawn from when the brief has no seed.
        clock: time.
        log: state and transcript for those who watch.
        mailbox: where answers arrive that players send by a POST of their own.
        safe: where moves are recorded and the verdict is sealed; None when nobody keeps them.

    Returns the result to report.

    Raises:
        MachineFailed: this machine has no network, so that another referee has to play the match, or to tell its end.
    """
    safe = safe or NoSafe()
    talk = Conversation(brief, ask=ask, tell=tell, clock=clock, log=log, mailbox=mailbox)
    state = _resume(brief, game, log)
    log.move_to(MatchState.WAITING_FOR_PLAYERS, clock.now())
    faults = await _gather_players(talk)
    if not faults:
        log.move_to(MatchState.COLLECTING_CHOICES, clock.now())
        if not game.hidden:
            # The empty board, before anyone has moved.
            log.show(game.view(state, None))
        while not faults and game.outcome(state) is None:
            movers = game.to_move(state)
            if movers:
                state, faults = await _collect(talk, game, state, movers)
                if not game.hidden and not faults and game.outcome(state) is None:
                    # The next player's question shows this move: if this attempt is lost, the next goes on from it.
                    await safe.record_moves()
                    log.release()
                    log.show(game.view(state, None))
            else:
                log.move_to(MatchState.DRAWING_NUMBER, clock.now())
                state = game.draw(state, _chance(brief, game, state, rng))
    played = _verdict(brief, game, state, faults)
    await safe.seal(played)
    await _tell_the_end(talk, played, brief.attempt)
    log.reveal()
    log.show(game.view(state, None))
    return played


async def tell_sealed(brief: Brief, *, tell: Tell, clock: Clock, log: MatchLog) -> Played:
    """Tell the end of an attempt that another referee has decided (ruling, section 12). Nothing is asked.

    Args:
        brief: with the sealed verdict.

    Returns the result to report.
    """
    if brief.sealed is None:
        raise ValueError("there is no sealed verdict to tell")
    verdict = brief.sealed.verdict
    played = Played(
        ResultStatus(verdict["status"]),
        verdict["winner_player_id"],
        verdict["reason"],
        verdict["details"],
        # The league manager has them with the seal.
        faults=(),
    )

    async def never(seat: Seat, message: dict[str, Any], *, limit_s: float, only: object = None) -> Any:
        raise RuntimeError("a sealed match asks nobody")

    log.move_to(MatchState.DRAWING_NUMBER, clock.now())
    talk = Conversation(brief, ask=never, tell=tell, clock=clock, log=log)
    await _tell_the_end(talk, played, brief.sealed.attempt, brief.sealed.conversation_id)
    log.reveal()
    return played


def _resume(brief: Brief, game: Game, log: MatchLog) -> State:
    """The state after the moves that earlier attempts have on record; a game with hidden choices begins anew."""
    state = game.new_state(brief.player_ids)
    for player, move in () if game.hidden else brief.moves:
        state = game.apply(state, player, move)
        log.moves.append([player, move])
    return state


def _chance(brief: Brief, game: Game, state: State, rng: Random) -> Random:
    """What numbers are drawn by: the committed seed, where there is one."""
    if brief.draw_seed is None or not game.draws:
        return rng
    return CommittedDraw(brief.draw_seed, brief.league_id, brief.match_id, brief.play, game.drawn_from(state))


async def _together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results of all; when one fails, nobody goes on talking to the other player."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _gather_players(talk: Conversation) -> tuple[Fault, ...]:
    """Invite both at once; who is absent after all tries has a Fault."""
    found = await _together(*(_invite(talk, seat) for seat in talk.brief.seats))
    return tuple(fault for fault in found if fault is not None)


async def _invite(talk: Conversation, seat: Seat) -> Fault | None:
    brief = talk.brief
    answer = await _invite_once(talk, seat)
    refused = answer is False or (isinstance(answer, Fault) and answer.error_code not in RETRYABLE)
    if refused and brief.attempt > 1:
        if seat.joined_before:
            # Some players refuse a repeated invitation of a match they are in (ruling, section 8).
            answer = True
        else:
            await _cancel_lost_attempt(talk, seat)
            answer = await _invite_once(talk, seat)
    if answer is True:
        talk.log.join(seat.player_id)
        return None
    if isinstance(answer, Fault):
        return answer
    return Fault(
        seat.player_id,
        "E002",
        MessageType.GAME_INVITATION,
        1,
        Cause.WRONG_MESSAGE,
        brief.settings.join_timeout_s,
        "it refused the invitation",
    )


async def _invite_once(talk: Conversation, seat: Seat) -> bool | Fault:
    brief = talk.brief

    def accept(message: Mapping[str, Any]) -> bool:
        accepted = answers.accepted(message)
        if accepted is None:
            raise MissingField("The answer has no accept.", field="accept", expected="true or false")
        return accepted

    answer: bool | Fault = await talk.obtain(
        seat,
        lambda now, deadline: messages.invitation(brief, seat, now=now, deadline=deadline),
        limit_s=brief.settings.join_timeout_s,
        answer_type=MessageType.GAME_JOIN_ACK,
        accept=accept,
        max_retries=0 if seat.suspended else None,
    )
    return answer


async def _cancel_lost_attempt(talk: Conversation, seat: Seat) -> None:
    """Free a player that stays busy with the attempt its former referee lost."""
    brief = talk.brief
    result = {
        "status": ResultStatus.CANCELLED,
        "winner_player_id": None,
        "drawn_number": None,
        "number_parity": None,
        "choices": dict.fromkeys(brief.player_ids),
        "reason": "the referee of the earlier attempt was lost; the match is played again",
    }
    message = messages.game_over(brief, seat, now=talk.clock.now(), attempt=brief.attempt - 1, result=result)
    await talk.tell(seat, message, limit_s=brief.settings.game_over_timeout_s)


async def _collect(
    talk: Conversation, game: Game, state: State, movers: tuple[str, ...]
) -> tuple[State, tuple[Fault, ...]]:
    """Ask everyone who is to move, in parallel; moves are made only when all are in.

    What they answer is kept off the transcript: it may be a hidden choice, or the move that ends the game.
    """
    brief = talk.brief
    seats = [seat for seat in brief.seats if seat.player_id in movers]

    async def one(seat: Seat) -> Any:
        def accept(message: Mapping[str, Any]) -> Any:
            move = answers.choice(message, game.choice_field)
            if move is None:
                raise MissingField(
                    f"The answer has no {game.choice_field}.",
                    field=game.choice_field,
                    expected=", ".join(game.valid_choices),
                )
            game.apply(state, seat.player_id, move)
            return move

        move = await talk.obtain(
            seat,
            lambda now, deadline: messages.move_call(brief, seat, game, state, now=now, deadline=deadline),
            limit_s=brief.settings.move_timeout_s,
            answer_type=game.response_message,
            accept=accept,
            hidden=True,
        )
        if not isinstance(move, Fault):
            talk.log.lock_in(seat.player_id)
        return move

    moves = await _together(*(one(seat) for seat in seats))
    for seat, move in zip(seats, moves, strict=True):
        if not isinstance(move, Fault):
            state = game.apply(state, seat.player_id, move)
            if not game.hidden:
                talk.log.moves.append([seat.player_id, move])
    return state, tuple(move for move in moves if isinstance(move, Fault))


def _verdict(brief: Brief, game: Game, state: State, faults: tuple[Fault, ...]) -> Played:
    outcome = game.outcome(state)
    if outcome is not None and not faults:
        status = ResultStatus.WIN if outcome.winner else ResultStatus.DRAW
        return Played(status, outcome.winner, outcome.reason, clean(outcome.details), ())
    absent = {fault.player_id for fault in faults}
    present = [player for player in brief.player_ids if player not in absent]
    reason = storable("; ".join(fault.sentence for fault in faults))
    invited = all(fault.message_type == MessageType.GAME_INVITATION for fault in faults)
    details = clean(game.unfinished(state))
    if invited and brief.settings.no_show == "cancel":
        return Played(ResultStatus.CANCELLED, None, reason, details, faults)
    winner = present[0] if present else None
    # Its full stop is the one of whatever it stands in.
    return Played(ResultStatus.TECHNICAL_LOSS, winner, f"{reason}. Technical loss", details, faults)


async def _tell_the_end(talk: Conversation, played: Played, attempt: int, conversation_id: str = "") -> None:
    """GAME_OVER to both at once; one more try after a failed connect (ruling, section 6).

    Args:
        attempt: the one that was decided.
        conversation_id: of that attempt, when it was an earlier one.

    Raises:
        MachineFailed: this machine could not even try to tell a player of a verdict that is sealed.
    """
    brief = talk.brief
    result = {
        "status": played.status,
        "winner_player_id": played.winner,
        **played.details,
        "reason": played.reason,
    }
    if brief.draw_seed is not None:
        # Which play it was is part of what the draw follows from.
        result |= {"draw_seed": brief.draw_seed.hex(), "play": brief.play}

    async def one(seat: Seat) -> str:
        evidence = ""
        for _ in range(2):
            now = talk.clock.now()
            message = messages.game_over(
                brief, seat, now=now, attempt=attempt, result=result, conversation_id=conversation_id
            )
            heard = await talk.tell(seat, message, limit_s=brief.settings.game_over_timeout_s, hidden=True)
            evidence = heard.excuse
            if heard.connected:
                break
        return evidence

    unable = [evidence for evidence in await _together(*(one(seat) for seat in brief.seats)) if evidence]
    if unable and brief.seals and brief.sealed is None:
        # The verdict is sealed: another referee tells it.
        raise MachineFailed(unable[0])
