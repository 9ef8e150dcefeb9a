"""ConfigLoader: the configuration files, read when first asked for and kept (004 10.4)."""

from __future__ import annotations

import json
import re
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

CONFIG_ROOT = Path("config")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Model = TypeVar("Model")


class ConfigLoader:
    """Reads the tree of 004 9.3; each file once.

    Args:
        root: the folder that holds ``system.json``.

    Every load method raises ``FileNotFoundError`` for a file that is not there, and ``ValueError`` that
    names file and field for one that is not right.
    """

    def __init__(self, root: Path | str = CONFIG_ROOT) -> None:
        self.root = Path(root)
        self._system: SystemConfig | None = None
        self._agents: AgentsConfig | None = None
        self._leagues: dict[str, LeagueConfig] = {}
        self._games: GamesRegistry | None = None
        self._defaults: dict[str, dict[str, Any]] = {}

    def load_system(self) -> SystemConfig:
        """config/system.json (004 9.3.1)."""
        if self._system is None:
            self._system = self._build(SystemConfig, self.root / "system.json")
        return self._system

    def load_agents(self) -> AgentsConfig:
        """config/agents/agents_config.json (004 9.3.2)."""
        if self._agents is None:
            self._agents = self._build(AgentsConfig, self.root / "agents" / "agents_config.json")
        return self._agents

    def load_league(self, league_id: str) -> LeagueConfig:
        """config/leagues/<league_id>.json (004 9.3.3).

        Raises:
            ValueError: also when the file is of another league, or the id is no file name.
        """
        if league_id not in self._leagues:
            path = self.root / "leagues" / f"{_file_name(league_id)}.json"
            league = self._build(LeagueConfig, path)
            if league.league_id != league_id:
                raise ValueError(f"{path}: field league_id is {league.league_id!r}, not {league_id!r}")
            self._leagues[league_id] = league
        return self._leagues[league_id]

    def load_games_registry(self) -> GamesRegistry:
        """config/games/games_registry.json (004 9.3.4).

        The games stand under ``game_registry`` by name (ruling, section 7), or as a list ``games``.
        """
        if self._games is None:
            path = self.root / "games" / "games_registry.json"
            data = _read(path)
            named = data.get("game_registry")
            if isinstance(named, dict):
                rows = [{"game_type": name} | row if isinstance(row, dict) else row for name, row in named.items()]
                data = data | {"games": rows}
            self._games = build(GamesRegistry, data, file=str(path))
        return self._games

    def load_defaults(self, agent_type: str) -> dict[str, Any]:
        """config/defaults/<agent_type>.json, such as ``player`` or ``referee`` (004 9.3.5)."""
        if agent_type not in self._defaults:
            self._defaults[agent_type] = _read(self.root / "defaults" / f"{_file_name(agent_type)}.json")
        return dict(self._defaults[agent_type])

    def get_referee_by_id(self, referee_id: str) -> RefereeConfig:
        """004 10.4.3.

        Raises:
            ValueError: there is none.
        """
        for referee in self.load_agents().referees:
            if referee.referee_id == referee_id:
                return referee
        raise ValueError(f"Referee not found: {referee_id}")

    def get_player_by_id(self, player_id: str) -> PlayerConfig:
        """004 10.4.3.

        Raises:
            ValueError: there is none.
        """
        for player in self.load_agents().players:
            if player.player_id == player_id:
                return player
        raise ValueError(f"Player not found: {player_id}")

    def get_game(self, game_type: str) -> GameConfig:
        """One game of the registry.

        Raises:
            ValueError: there is none.
        """
        for game in self.load_games_registry().games:
            if game.game_type == game_type:
                return game
        raise ValueError(f"Game not found: {game_type}")

    def _build(self, model: type[Model], path: Path) -> Model:
        return build(model, _read(path), file=str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON in UTF-8: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: the file must be an object, not {type(data).__name__}")
    return data


def _file_name(name: str) -> str:
    if not _ID.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a configuration file")
    return name
