"""A player's history: its matches, in the layout of history.json (004 9.4.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.states import ResultStatus
from league_sdk.repositories import SCHEMA_VERSION, PlayerHistoryRepository, read_object


def read_result(params: Mapping[str, Any], *, player_id: str) -> dict[str, Any]:
    """Make a row of the history from a GAME_OVER (ruling, section 4).

    Raises:
        InvalidFormat: E002, when there is no ``game_result`` object in it.
    """
    result = params.get("game_result")
    if not isinstance(result, Mapping):
        raise InvalidFormat("GAME_OVER needs its game_result.", field="game_result", seen=result, expected="an object")
    choices = result.get("choices")
    choices = choices if isinstance(choices, Mapping) else {}
    others = [str(player) for player in choices if player != player_id]
    opponent = others[0] if others else None
    winner, status = result.get("winner_player_id"), result.get("status")
    if status == ResultStatus.CANCELLED:
        outcome = "CANCELLED"
    elif winner == player_id and player_id:
        outcome = "WIN"
    else:
        # A result without a winner is a draw only if its status says so; else both players have lost.
        outcome = "DRAW" if winner is None and status == ResultStatus.DRAW else "LOSS"
    return {
        "match_id": params.get("match_id"),
        "league_id": params.get("league_id"),
        "round_id": params.get("round_id"),
        "opponent_id": opponent,
        "result": outcome,
        "status": status,
        "my_choice": choices.get(player_id),
        "opponent_choice": choices.get(opponent) if opponent else None,
        "drawn_number": result.get("drawn_number"),
    }


class Memory:
    """The matches of one player. The last GAME_OVER of a match counts: it may have been played again.

    Args:
        folder: the player's data folder, with ``data/players/<player_id>/history.json``; None keeps the history in
            memory only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._matches: dict[tuple[Any, Any], dict[str, Any]] = {}

    @property
    def matches(self) -> list[dict[str, Any]]:
        """The rows, oldest first."""
        return list(self._matches.values())

    @property
    def numbers_drawn(self) -> list[int]:
        """The drawn numbers of all matches, oldest first."""
        numbers = (row["drawn_number"] for row in self._matches.values())
        return [number for number in numbers if isinstance(number, int) and not isinstance(number, bool)]

    def stats(self) -> dict[str, int]:
        """The totals in ``stats`` of history.json."""
        results = [row["result"] for row in self._matches.values()]
        return {
            "total_matches": len(results),
            "wins": results.count("WIN"),
            "losses": results.count("LOSS"),
            "draws": results.count("DRAW"),
        }

    def remember(self, row: dict[str, Any], *, player_id: str) -> None:
        """Store a match, and write the file if there is a folder. A cancelled match is removed."""
        key = (row["league_id"], row["match_id"])
        self._matches.pop(key, None)
        if row["status"] != ResultStatus.CANCELLED:
            self._matches[key] = row
        if self.folder is not None and player_id:
            self.save(self.folder, player_id)

    def as_dict(self, player_id: str) -> dict[str, Any]:
        """The content of history.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "player_id": player_id,
            "last_updated": stamp(datetime.now(UTC)),
            "stats": self.stats(),
            "matches": self.matches,
        }

    def _repository(self, folder: Path, player_id: str) -> PlayerHistoryRepository:
        return PlayerHistoryRepository(_as_name(player_id), folder / "data")

    def save(self, folder: Path, player_id: str) -> None:
        """Write history.json atomically: a reader sees the old file or the new one.

        Raises:
            OSError: the folder cannot be written.
        """
        self._repository(folder, player_id).save(self.as_dict(player_id))

    def load(self, player_id: str) -> None:
        """Read history.json back, if there is one.

        Raises:
            ValueError: the file is not what :meth:`save` writes.
        """
        if self.folder is None:
            return
        repository = self._repository(self.folder, player_id)
        earlier = self.folder / _as_name(player_id) / "history.json"
        # Until 0.9 history.json was in another folder.
        is_earlier = earlier.exists() and not repository.path.exists()
        data = read_object(earlier) if is_earlier else repository.load()
        rows = data.get("matches")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            path = earlier if is_earlier else repository.path
            raise ValueError(f"{path}: field matches is missing or not a list of objects")
        blank = dict.fromkeys(("league_id", "match_id", "result", "status", "drawn_number"))
        self._matches = {(row.get("league_id"), row.get("match_id")): blank | row for row in rows}


def _as_name(player_id: str) -> str:
    """A player's id as the name of a folder: it comes from a server and must not lead anywhere else."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", player_id).lstrip("._-")[:64] or "player"
