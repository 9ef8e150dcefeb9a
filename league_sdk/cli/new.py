"""``league new``: a player to start from, in any language that there is a kit in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from league_sdk.cli.console import EXIT_NOT, fail, say
from league_sdk.cli.options import DEFAULT_LEAGUE, known_games
from league_sdk.kits import LANGUAGES, PYTHON_SDK, ForLeague, files, starter
from league_sdk.player.registration import league_address
from league_sdk.rules.even_odd import EvenOdd

Where = Annotated[
    Path | None, typer.Argument(metavar="FILE_OR_FOLDER", help="Where to write it: mine.py, or a folder for a kit.")
]
ChosenLanguage = Annotated[
    str,
    typer.Option(
        "--language",
        metavar="LANG",
        help=f"{PYTHON_SDK}: a class that `league play` runs; a program of its own: {', '.join(LANGUAGES)}.",
    ),
]
League = Annotated[str, typer.Option(envvar="LEAGUE_URL", metavar="URL", help="The league's address.")]
Game = Annotated[str, typer.Option(metavar="TYPE", help="The game that a kit registers for.")]


def new(
    where: Where = None,
    language: ChosenLanguage = PYTHON_SDK,
    league: League = DEFAULT_LEAGUE,
    game: Game = EvenOdd.game_type,
) -> None:
    """Write a player to start from, and say how to go on.

    Exit code: 0 it is written, 1 what would be written exists already or cannot be written, 2 the command line cannot
    be used.
    """
    known_games([game])
    try:
        address = league_address(league)
    except ValueError as error:
        fail(f"--league: {error}")
    if language == PYTHON_SDK:
        _new_class(where or Path(starter().name), address)
    elif language in LANGUAGES:
        _new_kit(
            where or Path(f"my-agent-{language}"),
            language,
            ForLeague(address=address, name="my league", game_type=game),
        )
    else:
        fail(f"There is no kit in {language!r:.40}; there are: {', '.join((PYTHON_SDK, *LANGUAGES))}.")


def _new_class(file: Path, address: str) -> None:
    """Write a class with the methods that decide."""
    if file.suffix != ".py":
        fail(f"{file} is no Python file: mine.py is one.")
    _write(file.parent, {file.name: starter().read_text(encoding="utf-8").replace("mine.py", str(file))})
    say(f"{file} is written: choose() picks the move, so change it. Then:")
    _say_commands(
        (f"league local {file}", "plays a whole league on this machine"),
        (f"league check {file}", "says whether a league would take it"),
        (f"league play {file} --league {address}", "plays"),
    )


def _new_kit(folder: Path, language: str, league: ForLeague) -> None:
    """Write a program of its own."""
    kit = LANGUAGES[language]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        fail(f"{folder} exists already and is not empty: nothing was changed. Name another folder.", EXIT_NOT)
    _write(folder, files(language, league))
    say(f"{folder} is written: choose() in {kit.files[0]} picks the move, so change it. It needs {kit.needs}. Then:")
    _say_commands(
        (f"cd {folder}", "README.md there says more"),
        (f'{kit.start} --name "My Agent"', "plays"),
        ("league check http://127.0.0.1:8101/mcp", "says whether a league can use it, while it runs"),
    )


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files that do not exist yet.

    Raises:
        typer.Exit: one exists, or cannot be written.
    """
    try:
        if len(texts) > 1:
            folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except FileExistsError as error:
        fail(f"{error.filename} exists already: nothing was changed. Name another file.", EXIT_NOT)
    except OSError as error:
        fail(f"{error.filename} cannot be written: {error.strerror}.", EXIT_NOT)


def _say_commands(*commands: tuple[str, str]) -> None:
    width = max(len(command) for command, _what in commands) + 2
    for command, what in commands:
        say(f"  {command:<{width}}{what}")
