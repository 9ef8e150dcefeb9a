"""Typed models of the configuration files (004 10.3, 9.3): plain dataclasses.

:func:`build` makes one from decoded JSON. Unknown fields are ignored; a missing field or a field of the wrong type is
a ``ValueError`` that names the file and the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints


@dataclass
class NetworkConfig:
    """Addresses and ports (004 10.3.1)."""

    base_host: str
    default_league_manager_port: int
    default_referee_port_range: list[int]
    default_player_port_range: list[int]


@dataclass
class SecurityConfig:
    """004 10.3.2."""

    enable_auth_tokens: bool
    token_length: int
    token_ttl_hours: int


@dataclass
class TimeoutsConfig:
    """Seconds (004 10.3.2, table 5)."""

    register_referee_timeout_sec: int
    register_player_timeout_sec: int
    game_join_ack_timeout_sec: int
    move_timeout_sec: int
    generic_response_timeout_sec: int


@dataclass
class RetryPolicyConfig:
    """004 9.3.1."""

    max_retries: int = 3
    backoff_strategy: str = "exponential"


@dataclass
class SystemConfig:
    """config/system.json."""

    schema_version: str
    system_id: str
    protocol_version: str
    default_league_id: str
    network: NetworkConfig
    security: SecurityConfig
    timeouts: TimeoutsConfig
    retry_policy: RetryPolicyConfig = field(default_factory=RetryPolicyConfig)


@dataclass
class LeagueManagerConfig:
    """The ``league_manager`` of agents_config.json (004 9.3.2)."""

    display_name: str
    endpoint: str
    version: str = "1.0.0"


@dataclass
class RefereeConfig:
    """004 10.3.3."""

    referee_id: str
    display_name: str
    endpoint: str
    version: str
    game_types: list[str]
    max_concurrent_matches: int
    active: bool = True


@dataclass
class PlayerConfig:
    """004 10.3.3."""

    player_id: str
    display_name: str
    version: str
    preferred_leagues: list[str]
    game_types: list[str]
    default_endpoint: str
    active: bool = True


@dataclass
class AgentsConfig:
    """config/agents/agents_config.json."""

    schema_version: str
    league_manager: LeagueManagerConfig
    referees: list[RefereeConfig]
    players: list[PlayerConfig]


@dataclass
class ScoringConfig:
    """004 10.3.4."""

    win_points: int
    draw_points: int
    loss_points: int
    technical_loss_points: int = 0
    tiebreakers: list[str] = field(default_factory=lambda: ["points", "wins", "draws", "player_id"])


@dataclass
class ParticipantsConfig:
    """004 9.3.3."""

    min_players: int = 2
    max_players: int = 10000


@dataclass
class LeagueConfig:
    """config/leagues/<league_id>.json."""

    schema_version: str
    league_id: str
    display_name: str
    game_type: str
    status: str
    scoring: ScoringConfig
    participants: ParticipantsConfig = field(default_factory=ParticipantsConfig)


@dataclass
class GameConfig:
    """One game of the registry (004 3.8.3, 9.3.4)."""

    game_type: str
    display_name: str
    rules_module: str
    max_round_time_sec: int
    move_types: list[str] = field(default_factory=list)
    min_players: int = 2
    max_players: int = 2


@dataclass
class GamesRegistry:
    """config/games/games_registry.json."""

    schema_version: str
    games: list[GameConfig]


Model = TypeVar("Model")


def build(model: type[Model], data: object, *, file: str, at: str = "") -> Model:
    """Make a model from decoded JSON.

    Args:
        model: one of the dataclasses above.
        data: the decoded object.
        file: the name of the file, for errors.
        at: the path of ``data`` in the file, for errors.

    Raises:
        ValueError: a field is missing or has the wrong type; the text names the file and the field.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"{file}: {at or 'the file'} must be an object, not {type(data).__name__}")
    values, kinds = {}, get_type_hints(model)
    assert is_dataclass(model)  # noqa: S101 - for the type checker: build() is called with the models above
    for item in fields(model):
        path = f"{at}.{item.name}" if at else item.name
        if item.name in data:
            values[item.name] = _value(kinds[item.name], data[item.name], file=file, at=path)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ValueError(f"{file}: field {path} is missing")
    return model(**values)


def _value(kind: Any, value: object, *, file: str, at: str) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        return build(kind, value, file=file, at=at)
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        if not isinstance(value, list):
            raise ValueError(f"{file}: field {at} must be a list, not {type(value).__name__}")
        return [_value(inner, item, file=file, at=f"{at}[{n}]") for n, item in enumerate(value)]
    # In Python, bool is a subclass of int; in JSON, true is not a number.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{file}: field {at} must be {kind.__name__}, not {type(value).__name__}")
    return value
