"""What the configuration of the course says of one player: agents_config.json (004 9.3.2, 10.4)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from league_sdk.config_loader import ConfigLoader
from league_sdk.config_models import PlayerConfig

FILE = "agents/agents_config.json"


def options_on(arguments: Sequence[str]) -> dict[str, Any]:
    """The options that ``--config`` and ``--player`` of a command line stand for; none without them.

    Raises:
        ValueError: as :func:`options_of`.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--player")
    try:
        options = parser.parse_known_args(arguments)[0]
    except argparse.ArgumentError:
        # The command line's own parser reports it.
        return {}
    return options_of(options.config, options.player)


def options_of(folder: Path | None, player_id: str | None) -> dict[str, Any]:
    """The command line's options for a player of the file: its name, games, address and league.

    Args:
        folder: holds ``agents/agents_config.json``; None for no options.
        player_id: which player; None if there is only one.

    Raises:
        ValueError: in one sentence that names the file and the field.
    """
    if folder is None:
        if player_id is not None:
            raise ValueError(f"--player names a player of {FILE}: say with --config in which folder that is")
        return {}
    path = folder / FILE
    try:
        agents = ConfigLoader(folder).load_agents()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if not agents.players:
        raise ValueError(f"{path}: field players is empty: it must have the player")
    known = ", ".join(one.player_id for one in agents.players)
    named = [one for one in agents.players if player_id in (None, one.player_id)]
    if not named:
        raise ValueError(f"{path}: field players has no {player_id!r}, only: {known}")
    if len(named) > 1:
        raise ValueError(f"{path}: say with --player which one this is: {known}")
    [player] = named
    at = f"{path}: field players[{agents.players.index(player)}]"
    if not player.active:
        raise ValueError(f"{at}.active is false: this player is not to play")
    options: dict[str, Any] = {"name": player.display_name, **_address(player, at)}
    if agents.league_manager.endpoint:
        options["league"] = agents.league_manager.endpoint
    if player.game_types:
        options["game"] = list(player.game_types)
    if len(player.preferred_leagues) == 1:
        # If there are several leagues, the league manager chooses.
        options["league_id"] = player.preferred_leagues[0]
    return options


def _address(player: PlayerConfig, at: str) -> dict[str, Any]:
    """Host and port; nothing for a player without an address, as in the files that a site writes."""
    if not player.default_endpoint:
        return {}
    host = port = None
    with suppress(ValueError):
        address = urlsplit(player.default_endpoint)
        host, port = address.hostname, address.port
    if not host or not port:
        raise ValueError(f"{at}.default_endpoint is {player.default_endpoint!r}, and must be http://HOST:PORT/mcp")
    return {"host": host, "port": port}
