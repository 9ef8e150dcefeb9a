"""ConfigLoader: the configuration files, read when first asked for and kept (004 10.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from league_sdk.config_models import (
    AgentsConfig,
    GameConfig,
    GamesRegistry,
    LeagueConfig,
    PlayerConfig,
    RefereeConfig,
    SystemConfig,
    build,
)
from league_sdk.repositories import file_name, read_object

CONFIG_ROOT = Path("config")

T = TypeVar("T")


class ConfigLoader:
    """Reads the tree of 004 9.3; each file once.

    Args:
        root: the folder that holds ``system.json``.

    Every load method raises ``FileNotFoundError`` for a file that does not exist, and ``ValueError`` that
    names the file and the field for a file with an error. Every get method raises ``ValueError`` for an unknown id.
    """

    def __init__(self, root: Path | str = CONFIG_ROOT) -> None:
        self.root = Path(root)
        self._loaded: dict[Path, Any] = {}

    def load_system(self) -> SystemConfig:
        """config/system.json (004 9.3.1)."""
        return self._load("system.json", lambda path: _build(SystemConfig, path))

    def load_agents(self) -> AgentsConfig:
        """config/agents/agents_config.json (004 9.3.2)."""
        return self._load("agents/agents_config.json", lambda path: _build(AgentsConfig, path))

    def load_league(self, league_id: str) -> LeagueConfig:
        """config/leagues/<league_id>.json (004 9.3.3).

        Raises:
            ValueError: also when the file is of another league, or the id is not a file name.
        """
        relative = f"leagues/{file_name(league_id)}.json"
        league = self._load(relative, lambda path: _build(LeagueConfig, path))
        if league.league_id != league_id:
            raise ValueError(f"{self.root / relative}: field league_id is {league.league_id!r}, not {league_id!r}")
        return league

    def load_games_registry(self) -> GamesRegistry:
        """config/games/games_registry.json (004 9.3.4).

        The games stand under ``game_registry`` by name (ruling, section 7), or as a list ``games``.
        """
        return self._load("games/games_registry.json", _read_games)

    def load_defaults(self, agent_type: str) -> dict[str, Any]:
        """config/defaults/<agent_type>.json, such as ``player`` or ``referee`` (004 9.3.5)."""
        return dict(self._load(f"defaults/{file_name(agent_type)}.json", read_object))

    def get_referee_by_id(self, referee_id: str) -> RefereeConfig:
        """One referee of the agents (004 10.4.3)."""
        return _find(self.load_agents().referees, "referee_id", referee_id)

    def get_player_by_id(self, player_id: str) -> PlayerConfig:
        """One player of the agents (004 10.4.3)."""
        return _find(self.load_agents().players, "player_id", player_id)

    def get_game(self, game_type: str) -> GameConfig:
        """One game of the registry."""
        return _find(self.load_games_registry().games, "game_type", game_type)

    def _load(self, relative: str, read: Callable[[Path], T]) -> T:
        path = self.root / relative
        if path not in self._loaded:
            self._loaded[path] = read(path)
        loaded: T = self._loaded[path]
        return loaded


def _build(model: type[T], path: Path) -> T:
    return build(model, read_object(path), file=str(path))


def _read_games(path: Path) -> GamesRegistry:
    data = read_object(path)
    named = data.get("game_registry")
    if isinstance(named, dict):
        rows = [{"game_type": name} | row if isinstance(row, dict) else row for name, row in named.items()]
        data = data | {"games": rows}
    return build(GamesRegistry, data, file=str(path))


def _find(rows: Iterable[T], id_field: str, row_id: str) -> T:
    for row in rows:
        if getattr(row, id_field) == row_id:
            return row
    raise ValueError(f"{id_field.partition('_')[0].capitalize()} not found: {row_id}")
