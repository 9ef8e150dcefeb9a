"""One attempt at one match: invite, collect, draw, seal, tell (ruling, sections 6, 7, 8 and 12).

It has no effects except through its arguments: ``talk`` reaches the players, tells the time and has the log from
which heartbeats report the match, ``store`` keeps moves and the verdict at the league manager, ``rng`` draws numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from league_sdk import match_messages
from league_sdk.asking.fault import Fault
from league_sdk.asking.reading import read_move, read_yes
from league_sdk.asking.request import Request
from league_sdk.judging.match.brief import Brief, Seat
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ending import Verdict, VerdictStore, decide, gather_or_cancel, send_game_over
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.match.side import RefereeSide
from league_sdk.protocol.errors import RETRYABLE
from league_sdk.protocol.limits import MAX_TURNS
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import MatchState, ResultStatus
from league_sdk.rules.draws import CommittedDraw
from league_sdk.rules.game import Game, Random, State


async def play_match(talk: Conversation, game: Game, *, rng: Random, store: VerdictStore | None = None) -> Verdict:
    """Play one attempt from the invitation to GAME_OVER.

    Args:
        talk: the conversation with the players, with what ``start_match`` said and the log that heartbeats report.
        game: the rules.
        rng: where numbers are drawn from when the brief has no seed.
        store: where moves are recorded and the verdict is sealed; None for a league manager that stores nothing.

    Returns the result to report.

    Raises:
        MachineFailed: a player could not be called, by no fault of its own: another referee has to play the match
            or to send GAME_OVER.
        Fenced: the match may be another referee's by now.
    """
    brief, log, clock = talk.brief, talk.log, talk.clock
    state = _resume(brief, game, log)
    log.set_state(MatchState.WAITING_FOR_PLAYERS, clock.now())
    faults = await _gather_players(talk)
    if not faults:
        log.set_state(MatchState.COLLECTING_CHOICES, clock.now())
        if not game.hidden:
            # The board before anyone has moved in this attempt.
            log.set_view(game.view(state, None))
        for turn in count():
            if faults or game.outcome(state) is not None:
                break
            if turn == MAX_TURNS:
                raise ValueError(f"the game does not end within {turn} turns")
            movers = game.to_move(state)
            if movers:
                state, faults = await _collect(talk, game, state, movers)
                if not game.hidden and not faults and game.outcome(state) is None:
                    # The next player is shown this move, so a later attempt must continue from it.
                    if store is not None:
                        await store.record_moves()
                    log.release()
                    log.set_view(game.view(state, None))
            else:
                log.set_state(MatchState.DRAWING_NUMBER, clock.now())
                state = game.draw(state, _number_source(brief, game, state, rng))
    verdict = decide(brief, game, state, faults)
    if store is not None:
        await store.seal(verdict)
    await send_game_over(talk, verdict, brief.attempt)
    log.reveal()
    log.set_view(game.view(state, None))
    return verdict


def _resume(brief: Brief, game: Game, log: MatchLog) -> State:
    """The state after the moves that earlier attempts recorded; a game with hidden choices begins again."""
    state = game.new_state(brief.player_ids)
    for player, move in () if game.hidden else brief.moves:
        state = game.apply(state, player, move)
        log.moves.append([player, move])
    return state


def _number_source(brief: Brief, game: Game, state: State, rng: Random) -> Random:
    """The source of drawn numbers: the committed seed, if there is one."""
    if brief.draw_seed is None or not game.draws:
        return rng
    return CommittedDraw(brief.draw_seed, brief.league_id, brief.match_id, brief.play, game.drawn_from(state))


async def _gather_players(talk: Conversation) -> tuple[Fault, ...]:
    """Invite both at once; returns a Fault for each player that does not accept."""
    faults = await gather_or_cancel(*(_invite(talk, seat) for seat in talk.brief.seats))
    return tuple(fault for fault in faults if fault is not None)


async def _invite(talk: Conversation, seat: Seat) -> Fault | None:
    brief = talk.brief
    fault = await _invite_once(talk, seat)
    refused = fault is not None and fault.error_code not in RETRYABLE
    if refused and brief.attempt > 1:
        if seat.joined_before:
            # Some players refuse a repeated invitation to a match that they are in (ruling, section 8).
            fault = None
        else:
            await _cancel_lost_attempt(talk, seat)
            fault = await _invite_once(talk, seat)
    if fault is None:
        talk.log.join(seat.player_id)
    return fault


async def _invite_once(talk: Conversation, seat: Seat) -> Fault | None:
    """Invite a player; returns None if it accepts, else why it does not play."""
    brief = talk.brief

    def accept(message: Mapping[str, Any]) -> Fault | None:
        return read_yes(message, player_id=seat.player_id, limit_s=brief.settings.join_timeout_s)

    fault: Fault | None = await Request(
        RefereeSide(talk, seat),
        lambda now, deadline: match_messages.invitation(brief.to(seat), now=now, deadline=deadline),
        limit_s=brief.settings.join_timeout_s,
        answer_type=MessageType.GAME_JOIN_ACK,
        accept=accept,
        max_retries=0 if seat.suspended else brief.settings.max_retries,
    ).obtain()
    return fault


async def _cancel_lost_attempt(talk: Conversation, seat: Seat) -> None:
    """Send GAME_OVER for the lost attempt to a player that may still be busy with it."""
    brief = talk.brief
    result = {
        "status": ResultStatus.CANCELLED,
        "winner_player_id": None,
        "drawn_number": None,
        "number_parity": None,
        "choices": dict.fromkeys(brief.player_ids),
        "reason": "the referee of the earlier attempt was lost; the match is played again",
    }
    message = match_messages.game_over(brief.to(seat), now=talk.clock.now(), attempt=brief.attempt - 1, result=result)
    await talk.tell(seat, message, limit_s=brief.settings.game_over_timeout_s)


async def _collect(
    talk: Conversation, game: Game, state: State, movers: tuple[str, ...]
) -> tuple[State, tuple[Fault, ...]]:
    """Ask all players whose turn it is, in parallel, and apply the moves when all have answered.

    The answers are withheld from the transcript: one may be a hidden choice, or the move that ends the game.
    """
    brief = talk.brief
    seats = [seat for seat in brief.seats if seat.player_id in movers]

    async def ask(seat: Seat) -> Any:
        def accept(message: Mapping[str, Any]) -> Any:
            return read_move(message, game, state, seat.player_id)

        move = await Request(
            RefereeSide(talk, seat),
            lambda now, deadline: match_messages.move_call(brief.to(seat), game, state, now=now, deadline=deadline),
            limit_s=brief.settings.move_timeout_s,
            answer_type=game.response_message,
            accept=accept,
            max_retries=brief.settings.max_retries,
            hidden=True,
        ).obtain()
        if not isinstance(move, Fault):
            talk.log.lock_in(seat.player_id)
        return move

    moves = await gather_or_cancel(*(ask(seat) for seat in seats))
    for seat, move in zip(seats, moves, strict=True):
        if not isinstance(move, Fault):
            state = game.apply(state, seat.player_id, move)
            if not game.hidden:
                talk.log.moves.append([seat.player_id, move])
    return state, tuple(move for move in moves if isinstance(move, Fault))
