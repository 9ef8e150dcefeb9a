"""Plays matches with a player in this process, through its real dispatcher but without a network (003 section 7).

For each game that the player registers for, a whole match is played against an opponent that moves at random, with
the broadcasts of its round before and after it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from league_sdk.player.agent import Player
from league_sdk.player.journal import Journal
from league_sdk.player.memory import Memory
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Post
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.messages import METHODS, ROLES, WRAPPER_METHOD, MessageType
from league_sdk.protocol.schemas import problems
from league_sdk.protocol.transcript import clean
from league_sdk.rules.game import State
from league_sdk.rules.registry import get_game
from league_sdk.simulated_league import Identity, Match, SimulatedLeague, result_of

LEAGUE, ME = "dry_run", "P01"
TOKEN, LEAGUE_TOKEN = "tok_" + "0" * 32, "tok_" + "1" * 32
MAX_MOVES = 500
_ANSWERS = {
    MessageType.GAME_INVITATION: MessageType.GAME_JOIN_ACK,
    MessageType.CHOOSE_PARITY_CALL: MessageType.CHOOSE_PARITY_RESPONSE,
    MessageType.GAME_MOVE_CALL: MessageType.GAME_MOVE_RESPONSE,
}


class _Rehearsal:
    """Sends messages to a player, and shows and counts what is wrong with its answers."""

    def __init__(self, player: Player, write: Callable[[str], object]) -> None:
        self.player = player
        self.write = write
        self.wrong = 0

    async def send(self, message: dict[str, Any], method: str = "") -> dict[str, Any]:
        """Pass a request through the dispatcher, show the reply and check it; returns the result.

        Args:
            message: the params.
            method: the message type's own by default.
        """
        raw = rpc.dumps(rpc.call(method or METHODS[message["message_type"]], message, 1))
        self.write(f"-> {rpc.dumps(clean(rpc.loads(raw))).decode()}\n")
        result: Any = None
        try:
            exchange: Exchange[rpc.Request] = Exchange()
            request = exchange.read(Post(raw))
            exchange.answer(await self.player.call(request.method, request.params))
            result = rpc.loads(exchange.reply.body)["result"] if isinstance(exchange.reply.body, bytes) else None
            self.write(f"<- {rpc.dumps(clean(result)).decode()}\n")
            self.complain(*_misfits(message, result))
        except LeagueError as error:
            self.complain(f"{error.error_code}: {error.message}")
        except Exception as error:
            # The student's code may raise anything: report it and go on.
            self.complain(f"{type(error).__name__}: {error}")
        return result if isinstance(result, dict) else {}

    def complain(self, *sentences: str) -> None:
        """Show what is wrong."""
        for sentence in sentences:
            self.write(f"   WRONG {sentence}\n")
        self.wrong += len(sentences)


def _misfits(message: dict[str, Any], result: Any) -> list[str]:
    if not isinstance(result, dict):
        return [f"the result is a {type(result).__name__}, expected an object"]
    kind = message.get("message_type")
    if kind not in _ANSWERS:
        return []
    expected = _ANSWERS[kind]
    misfits = [f"{one.field}: {one.seen}, expected {one.expected} ({one.clause})" for one in problems(expected, result)]
    expected_fields = {"message_type": expected, "match_id": message["match_id"], "player_id": ME}
    differing = [name for name in expected_fields if name in result and result[name] != expected_fields[name]]
    return misfits + [f"{name}: {result[name]!r:.60}, expected {expected_fields[name]}" for name in differing]


def _say(text: str) -> None:
    sys.stdout.write(text)


async def dry_run(player: Player, write: Callable[[str], object] = _say) -> int:
    """Rehearse with a player: no port, no request, no file.

    Args:
        player: its memory and its log are replaced by ones that keep nothing on disk.
        write: called with each line of the output.

    Returns the exit code: 0 only if every reply was a valid answer.
    """
    player.memory, player.journal = Memory(), Journal()
    player.accept({"player_id": ME, "auth_token": TOKEN, "league_token": LEAGUE_TOKEN, "league_id": LEAGUE})
    rehearsal = _Rehearsal(player, write)
    await rehearsal.send({}, "ping")
    for number, game_type in enumerate(player.plays, 1):
        try:
            game = get_game(game_type)
        except KeyError:
            rehearsal.complain(f"there are no rules for {game_type} here")
            continue
        who = Identity(ME, LEAGUE, LEAGUE_TOKEN, known=True)
        await _round(rehearsal, SimulatedLeague(who, game, first_round=number))
    await rehearsal.send({"auth_token": LEAGUE_TOKEN}, "get_player_state")
    write("every reply is a valid answer\n" if not rehearsal.wrong else f"{rehearsal.wrong} wrong\n")
    return 1 if rehearsal.wrong else 0


async def _round(rehearsal: _Rehearsal, league: SimulatedLeague) -> None:
    """Send everything that a player receives in one round (ruling, sections 6 and 8)."""
    match = league.match(ROLES[0])
    await rehearsal.send(league.round_announcement(match))
    joined = await rehearsal.send(league.invitation(match))
    if joined.get("accept") is not True:
        rehearsal.complain("the invitation was not accepted")
    await rehearsal.send(league.result(match, await _play(rehearsal, league, match)))
    await rehearsal.send(league.standings_update(match))
    await rehearsal.send(league.round_completed(match))
    await rehearsal.send(league.league_completed())


async def _play(rehearsal: _Rehearsal, league: SimulatedLeague, match: Match) -> dict[str, Any]:
    """Play a match against an opponent that moves at random; returns its ``game_result``."""
    rng, game, moves = random.Random(), league.game, 0
    state = game.new_state(league.players(match))
    while (outcome := game.outcome(state)) is None and moves < MAX_MOVES:
        movers = game.to_move(state)
        if not movers:
            state = league.draw(match, state)
        for mover in movers:
            move = rng.choice(game.options(state, mover))
            if mover == ME:
                moves += 1
                move = await _move(rehearsal, league, match, state, first=moves == 1, instead=move)
            state = game.apply(state, mover, move)
    if outcome is not None:
        return result_of(outcome)
    return {"status": "DRAW", "winner_player_id": None, **game.unfinished(state), "reason": "too many moves"}


async def _move(
    rehearsal: _Rehearsal, league: SimulatedLeague, match: Match, state: State, *, first: bool, instead: Any
) -> Any:
    """Ask for a move, and for the first one again after a GAME_ERROR, as after a timeout.

    Returns the move, or ``instead`` when it is illegal.
    """
    call, game = league.move_call(match, state), league.game
    answer = await rehearsal.send(call)
    if first:
        await rehearsal.send(league.game_error(match))
        answer = await rehearsal.send(call, WRAPPER_METHOD)
    moved = answer.get("move_data")
    move = moved.get("choice") if isinstance(moved, dict) else answer.get(game.choice_field)
    try:
        game.apply(state, ME, move)
    except LeagueError as error:
        rehearsal.complain(f"not a legal move: {error.message}")
        return instead
    return move
