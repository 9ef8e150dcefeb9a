"""What a league in memory or in a check tells a player around its matches: rounds, table, end (004 4.3, 4.7, 4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from league_sdk.ledger.standings import Row, champions
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.messages import MessageType

_CHAMPION_COLUMNS = ("player_id", "display_name", "points")
_TABLE_COLUMNS = (
    "rank", "tied_rank", "player_id", "display_name", "played", "wins", "draws", "losses", "technical_losses", "points",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pairing:
    """One match of a round: its id, and the ids of PLAYER_A and PLAYER_B."""

    match_id: str
    player_a: str
    player_b: str


@dataclass(frozen=True, slots=True)
class Teller:
    """Builds the messages to one player; ``more`` are further fields.

    Attributes:
        player_id: whom they go to.
        token: the auth_token in them.
        league_id: the league.
    """

    player_id: str
    token: str
    league_id: str

    def round_announcement(
        self, round_id: int, pairings: Sequence[Pairing], game_type: str, endpoint: str
    ) -> dict[str, Any]:
        """ROUND_ANNOUNCEMENT (004 4.3.1)."""
        matches = [
            {
                "match_id": pairing.match_id,
                "game_type": game_type,
                "player_A_id": pairing.player_a,
                "player_B_id": pairing.player_b,
                "referee_endpoint": endpoint,
            }
            for pairing in pairings
        ]
        return self._message(MessageType.ROUND_ANNOUNCEMENT, round_id, matches=matches)

    def standings_update(self, round_id: int, rows: Sequence[Row], **more: Any) -> dict[str, Any]:
        """LEAGUE_STANDINGS_UPDATE (004 4.7.1)."""
        return self._message(
            MessageType.LEAGUE_STANDINGS_UPDATE, round_id, standings=_wire(rows, _TABLE_COLUMNS), **more
        )

    def round_completed(
        self, round_id: int, pairings: Sequence[Pairing], next_round_id: int | None, **more: Any
    ) -> dict[str, Any]:
        """ROUND_COMPLETED (004 4.8.1)."""
        played = [pairing.match_id for pairing in pairings]
        return self._message(
            MessageType.ROUND_COMPLETED,
            round_id,
            matches_completed=len(played),
            matches_played=len(played),
            completed_matches=played,
            next_round_id=next_round_id,
            **more,
        )

    def league_completed(self, round_id: int, rounds: int, matches: int, rows: Sequence[Row]) -> dict[str, Any]:
        """LEAGUE_COMPLETED (004 4.8.2)."""
        winners = _wire(champions(rows), _CHAMPION_COLUMNS)
        return self._message(
            MessageType.LEAGUE_COMPLETED,
            round_id,
            total_rounds=rounds,
            total_matches=matches,
            champion=next(iter(winners), None),
            champions=winners,
            final_standings=_wire(rows, ("rank", "tied_rank", *_CHAMPION_COLUMNS)),
        )

    def _message(self, kind: MessageType, round_id: int, **fields: Any) -> dict[str, Any]:
        return envelope(
            kind,
            sender=LEAGUE_MANAGER,
            conversation_id=f"conv-{kind.lower()}-{round_id}",
            now=datetime.now(UTC),
            auth_token=self.token,
            league_id=self.league_id,
            round_id=round_id,
            player_id=self.player_id,
            **fields,
        )


def _wire(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: getattr(row, name) for name in names} for row in rows]
