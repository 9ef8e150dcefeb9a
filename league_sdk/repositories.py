"""Runtime data as JSON files, one repository a kind (004 10.5, 9.4).

Every write replaces the file in one step: a reader, or a crash, sees the old one or the new one. One
writer per file is assumed, as 004 9.4 assigns them.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.transcript import clean

DATA_ROOT = Path("data")
SCHEMA_VERSION = "1.0.0"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_COLUMNS = {"WIN": "wins", "DRAW": "draws", "LOSS": "losses", "TECHNICAL_LOSS": "losses"}


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace a JSON file in one step.

    Raises:
        OSError: the folder cannot be written; the old file is untouched then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=2)
        os.replace(temporary, path)  # noqa: PTH105 - the name is mkstemp's
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _part(name: str) -> str:
    """An id as a part of a path: ids come from strangers."""
    if not _ID.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a file")
    return name


class _JsonFile:
    """One JSON object in a file.

    Args:
        path: the file; it need not exist.
        lists: the fields that must be lists when it does.
    """

    def __init__(self, path: Path, *, lists: tuple[str, ...]) -> None:
        self.path = path
        self._lists = lists

    def _empty(self) -> dict[str, Any]:
        return {"schema_version": SCHEMA_VERSION} | {name: [] for name in self._lists}

    def load(self) -> dict[str, Any]:
        """The content; the empty layout when there is no file yet.

        Raises:
            ValueError: the file is damaged; the text names file and field.
        """
        if not self.path.exists():
            return self._empty()
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self.path}: not JSON in UTF-8: {error}") from None
        if not isinstance(data, dict):
            raise ValueError(f"{self.path}: the file must be an object")
        for name in self._lists:
            if not isinstance(data.get(name), list):
                raise ValueError(f"{self.path}: field {name} is missing or not a list")
        return data

    def save(self, data: Mapping[str, Any]) -> None:
        """Write the whole content, with ``last_updated`` of now (004 9.2.1)."""
        write_json(self.path, {**data, "last_updated": stamp(datetime.now(UTC))})


class StandingsRepository(_JsonFile):
    """data/leagues/<league_id>/standings.json (004 9.4.1, 10.5.2)."""

    def __init__(self, league_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.league_id = league_id
        super().__init__(Path(data_root) / "leagues" / _part(league_id) / "standings.json", lists=("standings",))

    def _empty(self) -> dict[str, Any]:
        return super()._empty() | {"league_id": self.league_id, "version": 0, "rounds_completed": 0}

    def save(self, data: Mapping[str, Any]) -> None:
        """As every save, and ``version`` counts up."""
        version = data.get("version")
        super().save({**data, "version": version + 1 if isinstance(version, int) else 1})

    def update_player(self, player_id: str, result: str, points: int, display_name: str | None = None) -> None:
        """Count one match of a player and rank the table anew.

        Args:
            player_id: a new one gets a row.
            result: WIN, DRAW, LOSS or TECHNICAL_LOSS (a loss).
            points: what the match gave.
            display_name: kept when given.

        Raises:
            ValueError: another result.
        """
        if result not in _COLUMNS:
            raise ValueError(f"result is {result!r}, not one of {', '.join(_COLUMNS)}")
        data = self.load()
        rows: list[dict[str, Any]] = data["standings"]
        row = next((row for row in rows if row.get("player_id") == player_id), None)
        if row is None:
            row = {"rank": 0, "player_id": player_id, "display_name": player_id}
            rows.append(row)
        if display_name is not None:
            row["display_name"] = display_name
        for name, more in (("played", 1), (_COLUMNS[result], 1), ("points", points)):
            row[name] = row.get(name, 0) + more
        for name in ("played", "wins", "draws", "losses", "points"):
            row.setdefault(name, 0)
        rows.sort(key=_rank_key)
        for rank, ranked in enumerate(rows, start=1):
            ranked["rank"] = rank
        self.save(data)


def _rank_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Points, wins, draws, then the id with its digits as numbers (ruling, section 7)."""
    parts = re.split(r"(\d+)", str(row.get("player_id", "")))
    natural = tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return (-row.get("points", 0), -row.get("wins", 0), -row.get("draws", 0), natural)


class RoundsRepository(_JsonFile):
    """data/leagues/<league_id>/rounds.json (004 9.4.2)."""

    def __init__(self, league_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.league_id = league_id
        super().__init__(Path(data_root) / "leagues" / _part(league_id) / "rounds.json", lists=("rounds",))

    def _empty(self) -> dict[str, Any]:
        return super()._empty() | {"league_id": self.league_id}

    def add_round(self, round_id: int, **facts: Any) -> None:
        """Write down a round; one with the same id is replaced."""
        data = self.load()
        others = [row for row in data["rounds"] if row.get("round_id") != round_id]
        data["rounds"] = sorted([*others, {**facts, "round_id": round_id}], key=lambda row: row["round_id"])
        self.save(data)

    def get_round(self, round_id: int) -> dict[str, Any] | None:
        """A round as it was written down, or None."""
        found: list[dict[str, Any]] = [row for row in self.load()["rounds"] if row.get("round_id") == round_id]
        return found[0] if found else None


class MatchRepository:
    """data/matches/<league_id>/<match_id>.json: lifecycle, transcript, result (004 9.4.3)."""

    def __init__(self, league_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.league_id = league_id
        self.folder = Path(data_root) / "matches" / _part(league_id)

    def _file(self, match_id: str) -> _JsonFile:
        return _JsonFile(self.folder / f"{_part(match_id)}.json", lists=("transcript",))

    def load(self, match_id: str) -> dict[str, Any]:
        """The match; the empty layout when there is no file yet.

        Raises:
            ValueError: the file is damaged; the text names file and field.
        """
        blank: dict[str, Any] = {
            "match_id": match_id,
            "league_id": self.league_id,
            "lifecycle": {},
            "result": None,
        }
        return blank | self._file(match_id).load()

    def save(self, match_id: str, data: Mapping[str, Any]) -> None:
        """Write the whole match."""
        self._file(match_id).save(data)

    def append_message(self, match_id: str, message: Mapping[str, Any]) -> None:
        """Add a message to the transcript, without its tokens."""
        data = self.load(match_id)
        data["transcript"].append(clean(message))
        self.save(match_id, data)

    def set_result(self, match_id: str, result: Mapping[str, Any]) -> None:
        """Write the final ``game_result`` and close the lifecycle."""
        data = self.load(match_id)
        data["result"] = dict(result)
        finished = {"state": "FINISHED", "finished_at": stamp(datetime.now(UTC))}
        data["lifecycle"] = {**data["lifecycle"], **finished}
        self.save(match_id, data)

    def list_matches(self) -> list[str]:
        """The ids of all matches that have a file."""
        return sorted(path.stem for path in self.folder.glob("*.json"))


class PlayerHistoryRepository(_JsonFile):
    """data/players/<player_id>/history.json (004 9.4.4)."""

    def __init__(self, player_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.player_id = player_id
        super().__init__(Path(data_root) / "players" / _part(player_id) / "history.json", lists=("matches",))

    def _empty(self) -> dict[str, Any]:
        stats = {"total_matches": 0, "wins": 0, "losses": 0, "draws": 0}
        return super()._empty() | {"player_id": self.player_id, "stats": stats}

    def add_match(self, match_id: str, *, opponent_id: str, result: str, **facts: Any) -> None:
        """Add a match, or replace the one with that id, and count the totals anew.

        Args:
            match_id: its id.
            opponent_id: who it was against.
            result: WIN, DRAW, LOSS or TECHNICAL_LOSS (a loss).
            facts: ``my_choice``, ``opponent_choice`` and whatever else is worth remembering.

        Raises:
            ValueError: another result.
        """
        if result not in _COLUMNS:
            raise ValueError(f"result is {result!r}, not one of {', '.join(_COLUMNS)}")
        data = self.load()
        row = {**facts, "match_id": match_id, "opponent_id": opponent_id, "result": result}
        matches = [match for match in data["matches"] if match.get("match_id") != match_id] + [row]
        counted = [_COLUMNS.get(str(match.get("result"))) for match in matches]
        totals = {name: counted.count(name) for name in ("wins", "losses", "draws")}
        self.save(data | {"matches": matches, "stats": {"total_matches": len(matches), **totals}})
