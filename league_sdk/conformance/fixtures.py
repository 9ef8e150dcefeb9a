"""An imagined league around the agent under test, and every message it sends there (004 chapters 4 and 8).

Nothing here is registered anywhere: the other players and the referee exist only in these messages.
"""

from __future__ import annotations

import copy
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope, stamp
from league_sdk.protocol.errors import NAMES
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.tokens import new_token
from league_sdk.rules.game import Game, State

REFEREE_ENDPOINT = "http://127.0.0.1:8001/mcp"
"""Named to agents where nobody listens for callbacks: the documents' own example (004 1.3.1)."""
REFEREE = "referee:REF01"
_FIRST_ROUND = 1000
"""Beyond what a class plays, and drawn anew for each check: an agent may remember matches it has seen."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the agent is taken for.

    Attributes:
        player_id: its id in the league; the documents' first one for an agent nothing is known of.
        league_id: its league.
        league_token: what our messages to it carry; made up unless it has a real one.
        known: whether this is what it was really registered as.
    """

    player_id: str = "P01"
    league_id: str = "league_2025_even_odd"
    league_token: str = field(default_factory=new_token)
    known: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """One imagined match of the agent."""

    round_id: int
    role: str
    conversation_id: str

    @property
    def match_id(self) -> str:
        return f"R{self.round_id}M1"


class Stage:
    """Makes the messages of one check.

    Args:
        who: the agent.
        game: what is played.
        referee_endpoint: where an agent may POST its answers.
        join_s, move_s: seconds for the deadlines in the messages.
    """

    def __init__(self, who: Identity, game: Game, *, referee_endpoint: str, join_s: float, move_s: float) -> None:
        self.who = who
        self.game = game
        self._referee_endpoint = referee_endpoint
        self._limits = {MessageType.GAME_INVITATION: join_s}
        self._move_s = move_s
        self._round = _FIRST_ROUND + 100 * secrets.randbelow(90)

    def of(self, game: Game) -> Stage:
        """The same league with another game."""
        other = copy.copy(self)
        other.game = game
        other._round += 50
        return other

    @property
    def opponent_id(self) -> str:
        """Who does not exist."""
        return "P02" if self.who.player_id != "P02" else "P01"

    def match(self, role: str = ROLES[0]) -> Match:
        """The next match: a round of its own."""
        self._round += 1
        return Match(self._round, role, f"conv-check-{uuid.uuid4()}")

    def players(self, match: Match) -> tuple[str, str]:
        """PLAYER_A and PLAYER_B."""
        pair = (self.who.player_id, self.opponent_id)
        return pair if match.role == ROLES[0] else (pair[1], pair[0])

    # What the referee sends ----------------------------------------------------------------------------------

    def invitation(self, match: Match, **more: Any) -> dict[str, Any]:
        """GAME_INVITATION (004 4.4.1)."""
        fields = {"role_in_match": match.role, "context": self._context(match), **more}
        return self._asking(match, MessageType.GAME_INVITATION, **fields)

    def position(self, match: Match) -> State:
        """The state in which the agent is to move first; the other has moved before where it must."""
        me = self.who.player_id
        state = self.game.new_state(self.players(match))
        while me not in self.game.to_move(state):
            mover = self.game.to_move(state)[0]
            state = self.game.apply(state, mover, self.game.options(state, mover)[0])
        return state

    def move_call(self, match: Match) -> dict[str, Any]:
        """CHOOSE_PARITY_CALL or GAME_MOVE_CALL, as the game has it (004 4.5.1, 3.8.2)."""
        if self.game.call_message == MessageType.GAME_MOVE_CALL:
            return self.generic_call(match)
        return self._asking(match, self.game.call_message, context=self._context(match))

    def generic_call(self, match: Match) -> dict[str, Any]:
        """GAME_MOVE_CALL (004 3.8.2)."""
        state, me = self.position(match), self.who.player_id
        request = {
            "move_type": self.game.move_type,
            "valid_options": self.game.options(state, me),
            "context": {**self._context(match), "state": self.game.view(state, me)},
        }
        return self._asking(match, MessageType.GAME_MOVE_CALL, context=self._context(match), move_request=request)

    def game_over(self, match: Match, status: str, choice: Any = None) -> dict[str, Any]:
        """GAME_OVER (004 4.6.1).

        Args:
            match: which.
            status: WIN, DRAW, TECHNICAL_LOSS or CANCELLED; a game that is played out may end otherwise.
            choice: what the agent chose, if it was asked.
        """
        result = self._played(match, status, choice) if status in ("WIN", "DRAW") else self._broken_off(match, status)
        return self._refereed(match, MessageType.GAME_OVER, attempt=1, game_result=result)

    def game_error(self, match: Match, *, error_code: str, action_required: str, again: bool) -> dict[str, Any]:
        """GAME_ERROR (004 4.10.2)."""
        now = datetime.now(UTC)
        return self._refereed(
            match,
            MessageType.GAME_ERROR,
            error_code=error_code,
            error_name=NAMES[error_code],
            error_description=NAMES[error_code],
            message=f"A trial of the check: {NAMES[error_code]}.",
            context={"check": True},
            affected_player=self.who.player_id,
            action_required=action_required,
            game_state="COLLECTING_CHOICES",
            retryable=again,
            retry_count=1,
            max_retries=3,
            retry_info={"retry_count": 1, "max_retries": 3, "next_retry_at": stamp(now) if again else None},
            consequence="Technical loss if no valid answer comes within the retries",
        )

    # What the league manager sends ---------------------------------------------------------------------------

    def round_announcement(self, match: Match) -> dict[str, Any]:
        """ROUND_ANNOUNCEMENT (004 4.3.1)."""
        player_a, player_b = self.players(match)
        row = {
            "match_id": match.match_id,
            "game_type": self.game.game_type,
            "player_A_id": player_a,
            "player_B_id": player_b,
            "referee_endpoint": self._referee_endpoint,
        }
        return self._managed(MessageType.ROUND_ANNOUNCEMENT, match, matches=[row])

    def standings_update(self, match: Match) -> dict[str, Any]:
        """LEAGUE_STANDINGS_UPDATE (004 4.7.1)."""
        return self._managed(MessageType.LEAGUE_STANDINGS_UPDATE, match, standings=self._table())

    def round_completed(self, match: Match) -> dict[str, Any]:
        """ROUND_COMPLETED (004 4.8.1)."""
        return self._managed(
            MessageType.ROUND_COMPLETED,
            match,
            matches_completed=1,
            matches_played=1,
            completed_matches=[match.match_id],
            next_round_id=match.round_id + 1,
            summary={"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0},
        )

    def league_completed(self) -> dict[str, Any]:
        """LEAGUE_COMPLETED (004 4.8.2)."""
        table = self._table()
        final = [{name: row[name] for name in ("rank", "player_id", "display_name", "points")} for row in table]
        champion = {name: final[0][name] for name in ("player_id", "display_name", "points")}
        return self._managed(
            MessageType.LEAGUE_COMPLETED,
            None,
            total_rounds=1,
            total_matches=1,
            champion=champion,
            final_standings=final,
        )

    # Parts ---------------------------------------------------------------------------------------------------

    def _context(self, match: Match) -> dict[str, Any]:
        standings = {"wins": 0, "losses": 0, "draws": 0}
        return {"opponent_id": self.opponent_id, "round_id": match.round_id, "your_standings": standings}

    def _asking(self, match: Match, kind: MessageType, **fields: Any) -> dict[str, Any]:
        limit = self._limits.get(kind, self._move_s)
        return self._refereed(
            match,
            kind,
            opponent_id=self.opponent_id,
            referee_endpoint=self._referee_endpoint,
            deadline=stamp(datetime.now(UTC) + timedelta(seconds=limit)),
            **fields,
        )

    def _refereed(self, match: Match, kind: MessageType, **fields: Any) -> dict[str, Any]:
        return envelope(
            kind,
            sender=REFEREE,
            conversation_id=match.conversation_id,
            now=datetime.now(UTC),
            auth_token=self.who.league_token,
            league_id=self.who.league_id,
            round_id=match.round_id,
            match_id=match.match_id,
            game_type=self.game.game_type,
            player_id=self.who.player_id,
            **fields,
        )

    def _managed(self, kind: MessageType, match: Match | None, **fields: Any) -> dict[str, Any]:
        return envelope(
            kind,
            sender=LEAGUE_MANAGER,
            conversation_id=f"conv-check-{uuid.uuid4()}",
            now=datetime.now(UTC),
            auth_token=self.who.league_token,
            league_id=self.who.league_id,
            round_id=match.round_id if match else None,
            player_id=self.who.player_id,
            **fields,
        )

    def _table(self) -> list[dict[str, Any]]:
        names = ((self.who.player_id, "You", 3), (self.opponent_id, "Nobody", 0))
        return [
            {
                "rank": rank,
                "player_id": player_id,
                "display_name": name,
                "played": 1,
                "wins": int(points > 0),
                "draws": 0,
                "losses": int(points == 0),
                "points": points,
            }
            for rank, (player_id, name, points) in enumerate(names, 1)
        ]

    def _played(self, match: Match, status: str, choice: Any) -> dict[str, Any]:
        """The game played to its end, with the agent's choice where it made one."""
        me, game = self.who.player_id, self.game
        state = self.position(match)
        moves = [choice if choice in game.options(state, me) else game.options(state, me)[0]]
        if game.hidden and status == "WIN":
            # Another choice than the agent's: then one of the two is right.
            moves += [move for move in game.options(state, self.opponent_id) if move != moves[0]][:1]
        chance = _Fixed()
        while (outcome := game.outcome(state)) is None:
            movers = game.to_move(state)
            if not movers:
                state = game.draw(state, chance)
                continue
            mover = me if me in movers else movers[0]
            options = game.options(state, mover)
            move = moves.pop(0) if moves else options[0]
            if game.hidden and status == "DRAW" and mover != me:
                move = choice if choice in options else options[0]
            state = game.apply(state, mover, move if move in options else options[0])
        return {
            "status": "WIN" if outcome.winner else "DRAW",
            "winner_player_id": outcome.winner,
            **outcome.details,
            "reason": outcome.reason,
        }

    def _broken_off(self, match: Match, status: str) -> dict[str, Any]:
        lost = status == "TECHNICAL_LOSS"
        return {
            "status": status,
            "winner_player_id": self.opponent_id if lost else None,
            **self.game.unfinished(self.position(match)),
            "reason": "A trial of the check: no answer came in time." if lost else "A trial of the check: called off.",
        }


class _Fixed:
    """Chance without chance: the documents' example draws an 8 (004 4.6.1)."""

    def randint(self, a: int, b: int, /) -> int:
        return min(max(8, a), b)
