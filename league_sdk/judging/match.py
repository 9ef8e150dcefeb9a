"""One attempt at one match: invite, collect, draw, seal, tell (ruling, sections 6, 7, 8 and 12).

Pure but for what is passed in: ``talk`` reaches the players, tells the time and has the log that others may watch
meanwhile, ``safe`` is the league manager's safe keeping, ``rng`` draws where no seed was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.dialects import answers
from league_sdk.judging import messages
from league_sdk.judging.asking import Request
from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.conversation import Conversation
from league_sdk.judging.ending import Played, Safe, tell_the_end, together, verdict
from league_sdk.judging.fault import Fault
from league_sdk.judging.log import MatchLog
from league_sdk.protocol.errors import RETRYABLE, MissingField
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import MatchState, ResultStatus
from league_sdk.rules.draws import CommittedDraw
from league_sdk.rules.game import Game, Random, State


async def play_match(talk: Conversation, game: Game, *, rng: Random, safe: Safe | None = None) -> Played:
    """Play one attempt from the invitation to GAME_OVER.

    Args:
        talk: the conversation with the players, with what ``start_match`` said and the log that others may watch.
        game: the rules.
        rng: where numbers are drawn from when the brief has no seed.
        safe: where moves are recorded and the verdict is sealed; None for a league manager that keeps nothing.

    Returns the result to report.

    Raises:
        MachineFailed: this machine has no network, so that another referee has to play the match, or to tell its end.
    """
    brief, log, clock = talk.brief, talk.log, talk.clock
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
                    if safe is not None:
                        await safe.record_moves()
                    log.release()
                    log.show(game.view(state, None))
            else:
                log.move_to(MatchState.DRAWING_NUMBER, clock.now())
                state = game.draw(state, _chance(brief, game, state, rng))
    played = verdict(brief, game, state, faults)
    if safe is not None:
        await safe.seal(played)
    await tell_the_end(talk, played, brief.attempt)
    log.reveal()
    log.show(game.view(state, None))
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


async def _gather_players(talk: Conversation) -> tuple[Fault, ...]:
    """Invite both at once; who is absent after all tries has a Fault."""
    found = await together(*(_invite(talk, seat) for seat in talk.brief.seats))
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
        note(Code.REFUSED_INVITATION),
    )


async def _invite_once(talk: Conversation, seat: Seat) -> bool | Fault:
    brief = talk.brief

    def accept(message: Mapping[str, Any]) -> bool:
        accepted = answers.accepted(message)
        if accepted is None:
            raise MissingField("The answer has no accept.", field="accept", expected="true or false")
        return accepted

    answer: bool | Fault = await Request(
        talk,
        seat,
        lambda now, deadline: messages.invitation(brief, seat, now=now, deadline=deadline),
        limit_s=brief.settings.join_timeout_s,
        answer_type=MessageType.GAME_JOIN_ACK,
        accept=accept,
        max_retries=0 if seat.suspended else None,
    ).obtain()
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

        move = await Request(
            talk,
            seat,
            lambda now, deadline: messages.move_call(brief, seat, game, state, now=now, deadline=deadline),
            limit_s=brief.settings.move_timeout_s,
            answer_type=game.response_message,
            accept=accept,
            hidden=True,
        ).obtain()
        if not isinstance(move, Fault):
            talk.log.lock_in(seat.player_id)
        return move

    moves = await together(*(one(seat) for seat in seats))
    for seat, move in zip(seats, moves, strict=True):
        if not isinstance(move, Fault):
            state = game.apply(state, seat.player_id, move)
            if not game.hidden:
                talk.log.moves.append([seat.player_id, move])
    return state, tuple(move for move in moves if isinstance(move, Fault))
