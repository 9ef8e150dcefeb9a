"""Options that several commands have, and how their values are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from league_sdk.cli.console import fail
from league_sdk.rules.registry import games
from league_sdk.typed_addresses import read_address

DEFAULT_LEAGUE = "http://127.0.0.1:8000/mcp"

Agent = Annotated[
    str, typer.Argument(metavar="URL_OR_FILE", help="Its address, such as http://127.0.0.1:8101/mcp, or your FILE.py.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Games = Annotated[
    list[str] | None,
    typer.Option("--game", metavar="TYPE", help="A game it plays; may be given again."),
]


def is_file(source: str) -> bool:
    """Whether a strategy is named by its file, ``mine.py`` or ``mine.py:Class``."""
    return source.endswith(".py") or ".py:" in source


def refuse_unless_agent(source: str) -> None:
    """End the command unless an agent is named by its address or by its file.

    Raises:
        typer.Exit: it is neither.
    """
    if is_file(source):
        return
    try:
        read_address(source, example="http://127.0.0.1:8101/mcp")
    except ValueError as error:
        fail(str(error))


def stem(source: str) -> str:
    """The name of a strategy: that of its file without folder and ending."""
    return Path(source.split(".py:", maxsplit=1)[0]).stem if is_file(source) else source


def known_games(names: list[str] | None) -> tuple[str, ...]:
    """The games that were named.

    Raises:
        typer.Exit: there is no such game.
    """
    for game in names or ():
        if game not in games():
            fail(f"There is no game {game!r:.60} here; there are: {', '.join(games())}.")
    return tuple(names or ())
