"""Runtime data in JSON files, with one repository class for each kind of file (004 10.5, 9.4).

Every write replaces the file atomically: a reader sees the old or the new file, also if the writer crashes. Each file
must have only one writer, as 004 9.4 assigns them.
"""

from __future__ import annotations

import copy
import json
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from league_sdk.ledger.standings import natural
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.transcript import clean

DATA_ROOT = Path("data")
SCHEMA_VERSION = "1.0.0"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_COLUMNS = {"WIN": "wins", "DRAW": "draws", "LOSS": "losses", "TECHNICAL_LOSS": "losses"}


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace a JSON file atomically.

    Raises:
        OSError: the folder cannot be written; the old file is unchanged.
    """
    replace_file(path, json.dumps(data, ensure_ascii=False, indent=2))


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically: a reader sees the old or the new content.

    Raises:
        OSError: the folder cannot be written; the old file is unchanged.
    """
    try:
        handle, temporary = _scratch(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _scratch(path)
    try:
        # In JSON, a lone surrogate is replaced by its own escape.
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(temporary, path)  # noqa: PTH105 - the name is mkstemp's
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _scratch(path: Path) -> tuple[int, str]:
    """Open a new file beside another one."""
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that contains one object.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it contains something else; the text names the file.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        # RecursionError means that it is nested too deeply.
        raise ValueError(f"{path}: not JSON in UTF-8: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: the file must be an object, not {type(data).__name__}")
    return data


def file_name(name: str) -> str:
    """Return an id if it is safe as a part of a path; ids come from untrusted senders.

    Raises:
        ValueError: it is unsafe.
    """
    if not _ID.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a file")
    return name


class _JsonFile:
    """A JSON file with one object.

    Args:
        path: the file; it need not exist.
        blank: the content as long as the file does not exist. Where it has a list, the file must have a list, too.
    """

    def __init__(self, path: Path, blank: Mapping[str, Any]) -> None:
        self.path = path
        self._blank = {"schema_version": SCHEMA_VERSION, **blank}

    def load(self) -> dict[str, Any]:
        """The content of the file; the blank content if it does not exist.

        Raises:
            ValueError: the file is damaged; the text names the file and the field.
        """
        blank = copy.deepcopy(self._blank)
        if not self.path.exists():
            return blank
        data = read_object(self.path)
        for name, value in blank.items():
            if isinstance(value, list) and not isinstance(data.get(name), list):
                raise ValueError(f"{self.path}: field {name} is missing or not a list")
        return blank | data

    def save(self, data: Mapping[str, Any]) -> None:
        """Write the whole content and set ``last_updated`` to now (004 9.2.1)."""
        write_json(self.path, {**data, "last_updated": stamp(datetime.now(UTC))})


class StandingsRepository(_JsonFile):
    """data/leagues/<league_id>/standings.json (004 9.4.1, 10.5.2)."""

    def __init__(self, league_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.league_id = league_id
        path = Path(data_root) / "leagues" / file_name(league_id) / "standings.json"
        super().__init__(path, {"standings": [], "league_id": league_id, "version": 0, "rounds_completed": 0})

    def save(self, data: Mapping[str, Any]) -> None:
        """Write the whole content, set ``last_updated`` and increase ``version`` by one."""
        version = data.get("version")
        super().save({**data, "version": version + 1 if isinstance(version, int) else 1})

    def update_player(self, player_id: str, result: str, points: int, display_name: str | None = None) -> None:
        """Count a match of a player and sort the table again.

        Args:
            player_id: the player; a new player gets a row.
            result: WIN, DRAW, LOSS or TECHNICAL_LOSS (a loss).
            points: the points for the match.
            display_name: the new name of the player; None keeps the old one.

        Raises:
            ValueError: an unknown result.
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
        for name in ("played", "wins", "draws", "losses", "points"):
            row.setdefault(name, 0)
        row["played"] += 1
        row[_COLUMNS[result]] += 1
        row["points"] += points
        rows.sort(key=_rank_key)
        for rank, ranked in enumerate(rows, start=1):
            ranked["rank"] = rank
        self.save(data)


def _rank_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort by points, wins, draws, then by id with digits as numbers (ruling, section 7)."""
    best_first = (-row.get(name, 0) for name in ("points", "wins", "draws"))
    return (*best_first, natural(str(row.get("player_id", ""))))


class RoundsRepository(_JsonFile):
    """data/leagues/<league_id>/rounds.json (004 9.4.2)."""

    def __init__(self, league_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.league_id = league_id
        path = Path(data_root) / "leagues" / file_name(league_id) / "rounds.json"
        super().__init__(path, {"rounds": [], "league_id": league_id})

    def add_round(self, round_id: int, **facts: Any) -> None:
        """Store a round; a round with the same id is replaced."""
        data = self.load()
        others = [row for row in data["rounds"] if row.get("round_id") != round_id]
        data["rounds"] = sorted([*others, {**facts, "round_id": round_id}], key=lambda row: row["round_id"])
        self.save(data)

    def get_round(self, round_id: int) -> dict[str, Any] | None:
        """The stored round, or None."""
        rounds: list[dict[str, Any]] = [row for row in self.load()["rounds"] if row.get("round_id") == round_id]
        return rounds[0] if rounds else None


class MatchRepository:
    """data/matches/<league_id>/<match_id>.json: lifecycle, transcript, result (004 9.4.3)."""

    def __init__(self, league_id: str, data_root: Path | str = DATA_ROOT) -> None:
        self.league_id = league_id
        self.folder = Path(data_root) / "matches" / file_name(league_id)

    def _file(self, match_id: str) -> _JsonFile:
        blank: dict[str, Any] = {
            "match_id": match_id,
            "league_id": self.league_id,
            "lifecycle": {},
            "result": None,
            "transcript": [],
        }
        return _JsonFile(self.folder / f"{file_name(match_id)}.json", blank)

    def load(self, match_id: str) -> dict[str, Any]:
        """The match; a blank match if it has no file.

        Raises:
            ValueError: the file is damaged; the text names the file and the field.
        """
        return self._file(match_id).load()

    def save(self, match_id: str, data: Mapping[str, Any]) -> None:
        """Write the whole match."""
        self._file(match_id).save(data)

    def append_message(self, match_id: str, message: Mapping[str, Any]) -> None:
        """Append a message to the transcript, without tokens."""
        data = self.load(match_id)
        data["transcript"].append(clean(message))
        self.save(match_id, data)

    def set_result(self, match_id: str, result: Mapping[str, Any]) -> None:
        """Store the final ``game_result`` and set the state to FINISHED."""
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
        stats = {"total_matches": 0, "wins": 0, "losses": 0, "draws": 0}
        path = Path(data_root) / "players" / file_name(player_id) / "history.json"
        super().__init__(path, {"matches": [], "player_id": player_id, "stats": stats})

    def add_match(self, match_id: str, *, opponent_id: str, result: str, **facts: Any) -> None:
        """Add a match, or replace the match with this id, and compute the totals again.

        Args:
            match_id: the id of the match.
            opponent_id: the opponent.
            result: WIN, DRAW, LOSS or TECHNICAL_LOSS (a loss).
            facts: more fields to store, such as ``my_choice`` and ``opponent_choice``.

        Raises:
            ValueError: an unknown result.
        """
        if result not in _COLUMNS:
            raise ValueError(f"result is {result!r}, not one of {', '.join(_COLUMNS)}")
        data = self.load()
        row = {**facts, "match_id": match_id, "opponent_id": opponent_id, "result": result}
        matches = [match for match in data["matches"] if match.get("match_id") != match_id] + [row]
        counted = [_COLUMNS.get(str(match.get("result"))) for match in matches]
        totals = {name: counted.count(name) for name in ("wins", "losses", "draws")}
        self.save(data | {"matches": matches, "stats": {"total_matches": len(matches), **totals}})
