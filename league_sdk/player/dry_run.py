"""A player without a network: every message of a match through its real dispatcher (003 section 7).

For each game that the player registers for, a whole match is played against an opponent that moves at
random; before and after it come the broadcasts of its round.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from league_sdk.player.agent import Player
from league_sdk.player.memory import Memory
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Post
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope, stamp
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.messages import METHODS, WRAPPER_METHOD, MessageType
from league_sdk.protocol.schemas import problems
from league_sdk.protocol.transcript import clean
from league_sdk.rules.even_odd import EvenOdd
from league_sdk.rules.game import Game, State
from league_sdk.rules.registry import get_game

LEAGUE, ME, OTHER, MATCH = "dry_run", "P01", "P02", "R1M1"
REFEREE = "referee:REF01"
TOKEN, LEAGUE_TOKEN = "tok_" + "0" * 32, "tok_" + "1" * 32
_ANSWERS = {
    MessageType.GAME_INVITATION: MessageType.GAME_JOIN_ACK,
    MessageType.CHOOSE_PARITY_CALL: MessageType.CHOOSE_PARITY_RESPONSE,
    MessageType.GAME_MOVE_CALL: MessageType.GAME_MOVE_RESPONSE,
}


class _Rehearsal:
    """One player and what is wrong with its answers so far."""

    def __init__(self, player: Player, write: Callable[[str], object]) -> None:
        self.player = player
        self.write = write
        self.wrong = 0

    async def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request as bytes through the dispatcher, its reply printed and checked; the result."""
        raw = rpc.dumps(rpc.call(method, params, 1))
        self.write(f"-> {rpc.dumps(clean(rpc.loads(raw))).decode()}\n")
        found: list[str] = []
        result: Any = None
        try:
            exchange: Exchange[rpc.Request] = Exchange()
            asked = exchange.read(Post(raw))
            exchange.answer(await self.player.call(asked.method, asked.params))
            result = rpc.loads(exchange.reply.body)["result"] if isinstance(exchange.reply.body, bytes) else None
            found = self._misfits(str(params.get("message_type", "")), params, result)
            self.write(f"<- {rpc.dumps(clean(result)).decode()}\n")
        except LeagueError as error:
            found = [f"{error.error_code}: {error.message}"]
        except Exception as error:
            # A student's code may raise anything; the rehearsal goes on and says so.
            found = [f"{type(error).__name__}: {error}"]
        for sentence in found:
            self.write(f"   WRONG {sentence}\n")
        self.wrong += len(found)
        return result if isinstance(result, dict) else {}

    def _misfits(self, kind: str, params: dict[str, Any], result: Any) -> list[str]:
        if not isinstance(result, dict):
            return [f"the result is a {type(result).__name__}, expected an object"]
        if kind not in _ANSWERS:
            return []
        expected = _ANSWERS[MessageType(kind)]
        found = [
            f"{one.field}: {one.seen}, expected {one.expected} ({one.clause})" for one in problems(expected, result)
        ]
        told = {"message_type": expected, "match_id": params["match_id"], "player_id": ME}
        for name, value in told.items():
            if name in result and result[name] != value:
                found.append(f"{name}: {result[name]!r:.60}, expected {value}")
        return found

    def complain(self, sentence: str) -> None:
        """Something else is wrong."""
        self.write(f"   WRONG {sentence}\n")
        self.wrong += 1


def _from_league(kind: MessageType, **fields: Any) -> dict[str, Any]:
    return envelope(
        kind,
        sender=LEAGUE_MANAGER,
        conversation_id=f"conv-{LEAGUE}-{kind.lower()}",
        now=datetime.now(UTC),
        auth_token=LEAGUE_TOKEN,
        league_id=LEAGUE,
        round_id=1,
        player_id=ME,
        **fields,
    )


def _from_referee(kind: MessageType, game: Game, **fields: Any) -> dict[str, Any]:
    context = {"opponent_id": OTHER, "round_id": 1, "your_standings": {"wins": 0, "losses": 0, "draws": 0}}
    return envelope(
        kind,
        sender=REFEREE,
        conversation_id=f"conv-r1m1-{game.game_type}",
        now=datetime.now(UTC),
        auth_token=LEAGUE_TOKEN,
        league_id=LEAGUE,
        round_id=1,
        match_id=MATCH,
        game_type=game.game_type,
        player_id=ME,
        opponent_id=OTHER,
        referee_endpoint="http://localhost:8001/mcp",
        context=context,
        deadline=stamp(datetime.now(UTC) + timedelta(seconds=30)),
        **fields,
    )


def _say(text: str) -> None:
    sys.stdout.write(text)


async def dry_run(player: Player, write: Callable[[str], object] = _say) -> int:
    """Rehearse with a player: no port, no request, no file.

    Args:
        player: its memory is replaced by one that keeps nothing on disk.
        write: takes the lines that show each message and each reply.

    Returns the exit code: 0 only if every reply was a valid answer.
    """
    player.memory = Memory()
    player.accept({"player_id": ME, "auth_token": TOKEN, "league_token": LEAGUE_TOKEN, "league_id": LEAGUE})
    stage = _Rehearsal(player, write)
    await stage.send("ping", {})
    for game_type in player.plays:
        try:
            game = get_game(game_type)
        except KeyError:
            stage.complain(f"there are no rules for {game_type} here")
            continue
        await _round(stage, game)
    await stage.send("get_player_state", {"auth_token": LEAGUE_TOKEN})
    write("every reply is a valid answer\n" if not stage.wrong else f"{stage.wrong} wrong\n")
    return 1 if stage.wrong else 0


async def _round(stage: _Rehearsal, game: Game) -> None:
    """Everything that a player is told and asked in one round (ruling, sections 6 and 8)."""
    line = {"match_id": MATCH, "game_type": game.game_type, "player_A_id": ME, "player_B_id": OTHER}
    announced = [line | {"referee_endpoint": "http://localhost:8001/mcp"}]
    await _tell(stage, _from_league(MessageType.ROUND_ANNOUNCEMENT, matches=announced))
    invitation = _from_referee(MessageType.GAME_INVITATION, game, role_in_match="PLAYER_A")
    joined = await stage.send(METHODS[MessageType.GAME_INVITATION], invitation)
    if joined.get("accept") is not True:
        stage.complain("the invitation was not accepted")
    await _play(stage, game)
    rows = [
        {"rank": rank, "player_id": player, "display_name": player, "played": 1, "wins": 0, "draws": 1, "losses": 0}
        | {"points": 1}
        for rank, player in enumerate((ME, OTHER), 1)
    ]
    await _tell(stage, _from_league(MessageType.LEAGUE_STANDINGS_UPDATE, standings=rows))
    summary = {"total_matches": 1, "wins": 0, "draws": 1, "technical_losses": 0}
    counts = {"matches_completed": 1, "matches_played": 1, "completed_matches": [MATCH]}
    await _tell(stage, _from_league(MessageType.ROUND_COMPLETED, **counts, next_round_id=None, summary=summary))
    champion = {name: rows[0][name] for name in ("player_id", "display_name", "points")}
    final = [{name: row[name] for name in ("rank", "player_id", "display_name", "points")} for row in rows]
    whole = {"total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": final}
    await _tell(stage, _from_league(MessageType.LEAGUE_COMPLETED, **whole))


async def _tell(stage: _Rehearsal, message: dict[str, Any]) -> None:
    await stage.send(METHODS[MessageType(message["message_type"])], message)


async def _play(stage: _Rehearsal, game: Game) -> None:
    rng = random.Random()
    state = game.new_state((ME, OTHER))
    moves = 0
    while game.outcome(state) is None and moves < 500:
        movers = game.to_move(state)
        if not movers:
            state = game.draw(state, rng)
            continue
        for mover in movers:
            options = game.options(state, mover)
            if mover == ME:
                moves += 1
                made = await _move(stage, game, state, first=moves == 1)
                state = made if made is not None else game.apply(state, ME, rng.choice(options))
            else:
                state = game.apply(state, OTHER, rng.choice(options))
    outcome = game.outcome(state)
    details: dict[str, Any] = {"drawn_number": None, "number_parity": None, "choices": {ME: None, OTHER: None}}
    winner = outcome.winner if outcome else None
    found = outcome.details if outcome else game.unfinished(state)
    reason = outcome.reason if outcome else "too many moves"
    result = {"status": "WIN" if winner else "DRAW", "winner_player_id": winner} | details | found | {"reason": reason}
    await _tell(stage, _from_referee(MessageType.GAME_OVER, game, game_result=result))


async def _move(stage: _Rehearsal, game: Game, state: State, *, first: bool) -> State | None:
    """Ask for a move; the first one again after a GAME_ERROR, as after a timeout. The new state, if it was legal."""
    call = _call(game, state)
    answer = await stage.send(METHODS[game.call_message], call)
    if first:
        error = {
            "error_code": "E001",
            "error_description": "TIMEOUT_ERROR",
            "affected_player": ME,
            "action_required": game.response_message,
            "retry_count": 1,
            "max_retries": 3,
            "retry_info": {"retry_count": 1, "max_retries": 3, "next_retry_at": stamp(datetime.now(UTC))},
            "consequence": "Technical loss if no valid answer comes within the retries",
        }
        await _tell(stage, _from_referee(MessageType.GAME_ERROR, game, **error))
        answer = await stage.send(WRAPPER_METHOD, call)
    try:
        return game.apply(state, ME, _choice(game, answer))
    except LeagueError as error:
        stage.complain(f"not a legal move: {error.message}")
        return None


def _call(game: Game, state: State) -> dict[str, Any]:
    if game.game_type == EvenOdd.game_type:
        return _from_referee(MessageType.CHOOSE_PARITY_CALL, game)
    message = _from_referee(MessageType.GAME_MOVE_CALL, game)
    view = game.view(state, ME)
    request = {
        "move_type": game.move_type,
        "valid_options": game.options(state, ME),
        "context": message["context"] | {"state": view},
    }
    return message | {"move_request": request, "state": view}


def _choice(game: Game, answer: dict[str, Any]) -> Any:
    moved = answer.get("move_data")
    return moved.get("choice") if isinstance(moved, dict) else answer.get(game.choice_field)
