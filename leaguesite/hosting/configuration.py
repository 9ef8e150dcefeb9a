"""The configuration that an instructor gives a site at its start: ``--config FOLDER``, laid out as in 004 9.3.

It is read once, as a whole, before anything is changed. A folder in SHARED, which the site writes itself, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from pydantic import ValidationError as SettingsError

from league_sdk.config_loader import ConfigLoader
from league_sdk.config_models import LeagueConfig, SystemConfig
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import LeagueState
from league_sdk.protocol.transcript import is_storable
from league_sdk.rules.registry import describe, games
from leaguesite.environment import UnusableData
from leaguesite.hosting import shared_folder
from matches.league import opening
from matches.league.errors import ActionRefused
from matches.models import League
from storage import clock

VARIABLE = "LEAGUE_CONFIG"
SYSTEM, GAMES = "system.json", "games/games_registry.json"
PROTOCOL = "league.v2"
OPEN_STATUSES = ("ACTIVE", LeagueState.REGISTRATION)
OTHER_STATUSES = ("INACTIVE", *(state for state in LeagueState if state != LeagueState.REGISTRATION))
_TO_OPEN, _TO_LEAVE_OUT = " or ".join(OPEN_STATUSES), " or ".join(OTHER_STATUSES)
FACTORS = {"exponential": 2, "fixed": 1}
"""``retry_factor`` of each ``backoff_strategy``."""
TIEBREAKERS = ["points", "wins", "draws", "player_id"]
_OF_SYSTEM = {
    "join_timeout_s": "timeouts.game_join_ack_timeout_sec",
    "move_timeout_s": "timeouts.move_timeout_sec",
    "generic_timeout_s": "timeouts.generic_response_timeout_sec",
    "max_retries": "retry_policy.max_retries",
    "retry_factor": "retry_policy.backoff_strategy",
}
"""Settings of new leagues, and the field of system.json that each one comes from."""
_OF_LEAGUE = {
    "win_points": "scoring.win_points",
    "draw_points": "scoring.draw_points",
    "loss_points": "scoring.loss_points",
    "technical_loss_points": "scoring.technical_loss_points",
    "min_players": "participants.min_players",
    "max_players": "participants.max_players",
}
"""The same for a league's own file."""
_MUST_MATCH = ("rules_module", "move_types", "min_players", "max_players")
"""Fields of a game in the registry that must be as the game that is installed has them."""


class UnusableConfig(UnusableData):
    """A file of the configuration cannot be used; the text names the file and the field."""


@dataclass(frozen=True)
class Configuration:
    """What a folder says.

    Attributes:
        default_league_id: the id of a fresh site's first league; None for the usual one.
        new_leagues: settings of new leagues that differ from the protocol's defaults.
        games: the games that new leagues can have; None for all that are installed.
        leagues: the leagues to open, as ``opening.create_league`` takes them.
    """

    default_league_id: str | None = None
    new_leagues: Mapping[str, Any] = field(default_factory=dict)
    games: tuple[str, ...] | None = None
    leagues: tuple[Mapping[str, Any], ...] = ()


def use(option: str | None) -> Configuration:
    """Read the folder that ``--config``, or else LEAGUE_CONFIG, names, and put what it says into the settings.

    Nothing is changed if it cannot be used.

    Raises:
        UnusableConfig: in one sentence.
    """
    name = option or os.environ.get(VARIABLE)
    if not name:
        return Configuration()
    configuration = read(Path(name))
    settings.LEAGUE_NEW_LEAGUES = dict(configuration.new_leagues)
    settings.LEAGUE_GAMES = configuration.games
    settings.LEAGUE_DEFAULT_ID = configuration.default_league_id or settings.LEAGUE_DEFAULT_ID
    return configuration


def open_leagues(configuration: Configuration) -> None:
    """Open the leagues that this site does not have yet, all of them or none; one that it has stays as it is.

    Raises:
        UnusableConfig: one of them cannot be opened.
    """
    with transaction.atomic():
        existing = set(League.with_hidden.values_list("pk", flat=True))
        for league in configuration.leagues:
            if league["league_id"] not in existing:
                try:
                    opening.create_league(**league)
                except ActionRefused as refusal:
                    raise UnusableConfig(f"leagues/{league['league_id']}.json: {refusal}") from None


def read(folder: Path) -> Configuration:
    """Read and check a folder; each of its files may be missing.

    Raises:
        UnusableConfig: in one sentence.
    """
    if folder.resolve().is_relative_to(shared_folder.folder().resolve()):
        raise UnusableConfig(f"--config {folder} is in the folder that the site writes: copy it elsewhere and edit it.")
    leagues = sorted((folder / "leagues").glob("*.json"))
    if not leagues and not any((folder / name).is_file() for name in (SYSTEM, GAMES)):
        raise UnusableConfig(f"--config {folder} has none of {SYSTEM}, {GAMES} and leagues/*.json.")
    try:
        loader = ConfigLoader(folder)
        default_id, new_leagues = _system(loader) if (folder / SYSTEM).exists() else (None, {})
        offered = _games(loader) if (folder / GAMES).exists() else None
        opened = [_league(loader, path, offered, new_leagues) for path in leagues]
    except (ValueError, RecursionError) as error:
        raise UnusableConfig(f"{error}.") from None
    except OSError as error:
        raise UnusableConfig(f"{error.filename} cannot be read: {error.strerror}.") from None
    return Configuration(default_id, new_leagues, offered, tuple(one for one in opened if one is not None))


def _system(loader: ConfigLoader) -> tuple[str, dict[str, Any]]:
    system: SystemConfig = loader.load_system()
    path = loader.root / SYSTEM
    if system.protocol_version != PROTOCOL:
        raise _wrong(path, "protocol_version", system.protocol_version, PROTOCOL)
    if system.retry_policy.backoff_strategy not in FACTORS:
        raise _wrong(path, _OF_SYSTEM["retry_factor"], system.retry_policy.backoff_strategy, " or ".join(FACTORS))
    values = {
        "join_timeout_s": system.timeouts.game_join_ack_timeout_sec,
        "move_timeout_s": system.timeouts.move_timeout_sec,
        "generic_timeout_s": system.timeouts.generic_response_timeout_sec,
        "max_retries": system.retry_policy.max_retries,
        "retry_factor": FACTORS[system.retry_policy.backoff_strategy],
    }
    _check_league(path, {"league_id": system.default_league_id}, {"league_id": "default_league_id"})
    return system.default_league_id, _differing(path, values, _OF_SYSTEM)


def _games(loader: ConfigLoader) -> tuple[str, ...]:
    path, installed = loader.root / GAMES, describe()
    listed = loader.load_games_registry().games
    for game in listed:
        at = f"game_registry.{game.game_type}"
        if game.game_type not in installed:
            raise _wrong(path, at, game.game_type, f"one of the games that are installed: {', '.join(installed)}")
        for name in _MUST_MATCH:
            configured, ours = getattr(game, name), installed[game.game_type][name]
            # move_types may be left out.
            if configured not in (ours, []):
                raise _wrong(path, f"{at}.{name}", configured, f"{ours!r}, as it is installed")
    if not listed:
        raise ValueError(f"{path}: field game_registry has no game")
    return tuple(game.game_type for game in listed)


def _league(
    loader: ConfigLoader, path: Path, offered: tuple[str, ...] | None, new_leagues: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """What to open a league with; None for one that is not to be opened."""
    league: LeagueConfig = loader.load_league(path.stem)
    if league.status not in (*OPEN_STATUSES, *OTHER_STATUSES):
        raise _wrong(path, "status", league.status, f"{_TO_OPEN} to open it, or {_TO_LEAVE_OUT} to leave it out")
    if league.game_type not in (games() if offered is None else offered):
        raise _wrong(path, "game_type", league.game_type, ", ".join(games() if offered is None else offered))
    if league.scoring.tiebreakers != TIEBREAKERS:
        raise _wrong(path, "scoring.tiebreakers", league.scoring.tiebreakers, f"{TIEBREAKERS}")
    if league.league_id == settings.LEAGUE_DEMO_ID:
        raise _wrong(path, "league_id", league.league_id, "another id: this one is kept for the demo")
    named = {"league_id": league.league_id, "display_name": league.display_name, "game_type": league.game_type}
    _check_league(path, named, {})
    parts: dict[str, Any] = {"scoring": league.scoring, "participants": league.participants}
    values = {}
    for setting, place in _OF_LEAGUE.items():
        part, _, name = place.partition(".")
        values[setting] = getattr(parts[part], name)
    own = _differing(path, values, _OF_LEAGUE)
    return None if league.status in OTHER_STATUSES else {**named, "settings": {**new_leagues, **own}}


def _check_league(path: Path, values: dict[str, str], fields: Mapping[str, str]) -> None:
    """Refuse an id or a name that a league cannot have."""
    for name, value in values.items():
        if not is_storable(value):
            raise ValueError(f"{path}: field {fields.get(name, name)} holds a character that cannot be stored")
    try:
        League(**({"display_name": "x", "created_at": clock.now()} | values)).clean_fields()
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        raise ValueError(f"{path}: field {fields.get(name, name)}: {str(messages[0]).rstrip('.')}") from None


def _differing(path: Path, values: dict[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The settings that differ from the protocol's defaults; all are checked."""
    try:
        LeagueSettings.model_validate(values)
    except SettingsError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else next(iter(name for name in values if name in first["msg"]))
        raise ValueError(f"{path}: field {fields[name]}: {first['msg']}, not {values[name]!r}") from None
    defaults = LeagueSettings()
    return {name: value for name, value in values.items() if value != getattr(defaults, name)}


def _wrong(path: Path, at: str, seen: object, expected: str) -> ValueError:
    return ValueError(f"{path}: field {at} is {str(seen)[:80]!r}, and must be {expected}")
