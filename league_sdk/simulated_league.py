"""The messages of a simulated league and its referee to one player (004 chapters 4 and 8).

The league exists in these messages only. The check of players sends them, and so does a player's dry run. Those of the
referee are built by the code that builds them in matches; those of the league manager have the fields of real ones,
which a test compares.
"""

from __future__ import annotations

import copy
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from league_sdk import match_messages
from league_sdk.broadcasts import Pairing, Teller
from league_sdk.ledger.standings import Row
from league_sdk.match_messages import Problem, Receiver
from league_sdk.protocol.errors import LEGACY_CODES
from league_sdk.protocol.messages import ROLES
from league_sdk.protocol.tokens import new_token
from league_sdk.rules.draws import SEED_BYTES, CommittedDraw, commitment
from league_sdk.rules.game import Game, Outcome, State

REFEREE_ENDPOINT = "http://127.0.0.1:8001/mcp"
"""What messages name as the referee's address if this side has no port for answers by POST: the example of the
documents (004 1.3.1), where nobody listens."""
REFEREE_ID = "REF01"
MIN_FIRST_ROUND, MAX_FIRST_ROUND = 1_000_000, 1_000_999_999
"""The bounds of the random number of the first round."""
RETRIES, RETRY_DELAY_S = 3, 1.0
"""What GAME_ERROR says of the retries: the defaults of a league."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The player's identity in the league.

    Attributes:
        player_id: its id; for an unknown agent P01, the first id in the documents.
        league_id: its league.
        league_token: the auth_token in messages to it; a random one unless it has a real one.
        known: whether it is really registered under this id.
    """

    player_id: str = "P01"
    league_id: str = "league_2025_even_odd"
    league_token: str = field(default_factory=new_token)
    known: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """One simulated match.

    Attributes:
        path_secret: the secret at the end of the referee's path, as in a match.
        seed: what a number is drawn from.
    """

    round_id: int
    role: str
    conversation_id: str
    path_secret: str = field(default_factory=new_token, repr=False)
    seed: bytes = field(default_factory=lambda: secrets.token_bytes(SEED_BYTES), repr=False)

    @property
    def match_id(self) -> str:
        return f"R{self.round_id}M1"


class SimulatedLeague:
    """Builds the messages.

    Args:
        who: the player.
        game: the game that is played.
        referee_endpoint: the address to which the player may POST its answers.
        join_s, move_s: seconds until the deadlines in the messages.
        first_round: the number of the first round. By default it is random: nobody guesses it, so only a program that
            was told of a match can name it in an answer. And it is above the rounds of any class, whose matches a
            player may remember.
    """

    def __init__(
        self,
        who: Identity,
        game: Game,
        *,
        referee_endpoint: str = REFEREE_ENDPOINT,
        join_s: float = 5,
        move_s: float = 30,
        first_round: int | None = None,
    ) -> None:
        self.who = who
        self.game = game
        self._referee_endpoint = referee_endpoint
        self._join_s = join_s
        self._move_s = move_s
        self._round = first_round if first_round is not None else _random_first_round()

    def of(self, game: Game) -> SimulatedLeague:
        """A copy of this league for another game."""
        other = copy.copy(self)
        other.game = game
        other._round += 50
        return other

    @property
    def opponent_id(self) -> str:
        """The id of the other player, who does not exist."""
        return "P02" if self.who.player_id != "P02" else "P01"

    def match(self, role: str) -> Match:
        """The next match; each is in a round of its own."""
        match = Match(self._round, role, f"conv-check-{uuid.uuid4()}")
        self._round += 1
        return match

    def players(self, match: Match) -> tuple[str, str]:
        """The ids of PLAYER_A and PLAYER_B."""
        pair = (self.who.player_id, self.opponent_id)
        return pair if match.role == ROLES[0] else (pair[1], pair[0])

    # What the referee sends ----------------------------------------------------------------------------------

    def invitation(self, match: Match, **more: Any) -> dict[str, Any]:
        """GAME_INVITATION (004 4.4.1); ``more`` are further fields."""
        now = datetime.now(UTC)
        deadline = now + timedelta(seconds=self._join_s)
        return match_messages.invitation(self.receiver(match), now=now, deadline=deadline) | more

    def position(self, match: Match) -> State:
        """The state at the player's first move; if the other player moves first, it has taken its first option."""
        me = self.who.player_id
        state = self.game.new_state(self.players(match))
        while me not in self.game.to_move(state):
            mover = self.game.to_move(state)[0]
            state = self.game.apply(state, mover, self.game.options(state, mover)[0])
        return state

    def move_call(self, match: Match, state: State | None = None, *, generic: bool = False) -> dict[str, Any]:
        """CHOOSE_PARITY_CALL or GAME_MOVE_CALL, as the game has it (004 4.5.1, 3.8.2).

        Args:
            state: without one, for the player's first move.
            generic: GAME_MOVE_CALL for any game.
        """
        now, state = datetime.now(UTC), self.position(match) if state is None else state
        deadline = now + timedelta(seconds=self._move_s)
        to = self.receiver(match)
        return match_messages.move_call(to, self.game, state, now=now, deadline=deadline, generic=generic)

    def draw(self, match: Match, state: State) -> State:
        """The state after the number was drawn; from the committed seed, if the game commits to one."""
        if not self.game.draws:
            # ``draws`` says whether there is a commitment; a game without one may need a number all the same.
            return self.game.draw(state, secrets.SystemRandom())
        pair = self.game.drawn_from(state)
        return self.game.draw(state, CommittedDraw(match.seed, self.who.league_id, match.match_id, 1, pair))

    def game_over(self, match: Match, status: str, choice: Any = None) -> dict[str, Any]:
        """GAME_OVER (004 4.6.1).

        Args:
            match: the match that is over.
            status: TECHNICAL_LOSS, CANCELLED, or how the match should end, WIN or DRAW, where the game allows it.
            choice: the player's choice, if it was asked.
        """
        result = (
            self._play_out(match, status, choice)
            if status in ("WIN", "DRAW")
            else self._broken_off_result(match, status)
        )
        return self.result(match, result)

    def result(self, match: Match, result: dict[str, Any]) -> dict[str, Any]:
        """GAME_OVER with this ``game_result``."""
        if self.game.draws:
            result = result | {"draw_seed": match.seed.hex(), "play": 1}
        return match_messages.game_over(self.receiver(match), now=datetime.now(UTC), attempt=1, result=result)

    def game_error(self, match: Match) -> dict[str, Any]:
        """GAME_ERROR (004 4.10.2): the choice did not come in time, and is asked for again."""
        now = datetime.now(UTC)
        return match_messages.game_error(
            self.receiver(match),
            _LATE,
            now=now,
            action_required=self.game.response_message,
            game_state="COLLECTING_CHOICES",
            tries=1,
            max_retries=RETRIES,
            next_retry_at=now + timedelta(seconds=RETRY_DELAY_S),
        )

    # What the league manager sends ---------------------------------------------------------------------------

    def round_announcement(self, match: Match) -> dict[str, Any]:
        """ROUND_ANNOUNCEMENT (004 4.3.1)."""
        pairings, game_type = [self._pairing(match)], self.game.game_type
        return self._teller.round_announcement(match.round_id, pairings, game_type, self._referee_endpoint)

    def standings_update(self, match: Match) -> dict[str, Any]:
        """LEAGUE_STANDINGS_UPDATE (004 4.7.1)."""
        return self._teller.standings_update(match.round_id, self._table(), ledger_head=secrets.token_hex(32))

    def round_completed(self, match: Match) -> dict[str, Any]:
        """ROUND_COMPLETED (004 4.8.1)."""
        summary = {"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0, "cancelled": 0}
        pairings, next_round = [self._pairing(match)], match.round_id + 1
        return self._teller.round_completed(match.round_id, pairings, next_round, summary=summary)

    def league_completed(self) -> dict[str, Any]:
        """LEAGUE_COMPLETED (004 4.8.2)."""
        return self._teller.league_completed(self._round, 1, 1, self._table())

    # Parts ---------------------------------------------------------------------------------------------------

    def receiver(self, match: Match) -> Receiver:
        """The player in a match as the receiver of messages."""
        return Receiver(
            league_id=self.who.league_id,
            round_id=match.round_id,
            match_id=match.match_id,
            game_type=self.game.game_type,
            conversation_id=match.conversation_id,
            referee_id=REFEREE_ID,
            referee_endpoint=f"{self._referee_endpoint}/{match.path_secret}",
            player_id=self.who.player_id,
            opponent_id=self.opponent_id,
            role=match.role,
            league_token=self.who.league_token,
            standings={"wins": 0, "losses": 0, "draws": 0},
            draw_commitment=commitment(match.seed) if self.game.draws else "",
        )

    @property
    def _teller(self) -> Teller:
        return Teller(self.who.player_id, self.who.league_token, self.who.league_id)

    def _pairing(self, match: Match) -> Pairing:
        return Pairing(match.match_id, *self.players(match))

    def _table(self) -> list[Row]:
        return [
            Row(self.who.player_id, "You", rank=1, tied_rank=1, played=1, wins=1, points=3),
            Row(self.opponent_id, "Nobody", rank=2, tied_rank=2, played=1, losses=1),
        ]

    def _play_out(self, match: Match, status: str, choice: Any) -> dict[str, Any]:
        """Play the game to its end, with the player's choice as its first move."""
        me, game, state = self.who.player_id, self.game, self.position(match)
        options = game.options(state, me)
        own = choice if choice in options else options[0]
        first_moves = {me: own}
        if game.hidden:
            # For a win the choices must differ: then exactly one of them is right.
            first_moves[self.opponent_id] = own if status == "DRAW" else next(move for move in options if move != own)
        while (outcome := game.outcome(state)) is None:
            movers = game.to_move(state)
            if not movers:
                state = self.draw(match, state)
                continue
            options = game.options(state, movers[0])
            move = first_moves.pop(movers[0], None)
            state = game.apply(state, movers[0], move if move in options else options[0])
        return result_of(outcome)

    def _broken_off_result(self, match: Match, status: str) -> dict[str, Any]:
        lost = status == "TECHNICAL_LOSS"
        return {
            "status": status,
            "winner_player_id": self.opponent_id if lost else None,
            **self.game.unfinished(self.position(match)),
            "reason": "A trial of the check: no answer came in time." if lost else "A trial of the check: called off.",
        }


def _random_first_round() -> int:
    return MIN_FIRST_ROUND + secrets.randbelow(MAX_FIRST_ROUND - MIN_FIRST_ROUND + 1)


_LATE = Problem("E001", "A trial of the check: no answer in time.", {"check": True}, LEGACY_CODES.get("E001"))


def result_of(outcome: Outcome) -> dict[str, Any]:
    """``game_result`` of a game that was played to its end (004 4.6.1)."""
    status = "WIN" if outcome.winner else "DRAW"
    return {"status": status, "winner_player_id": outcome.winner, **outcome.details, "reason": outcome.reason}
