"""``league new``: a player to start from, in any language that there is a kit in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from league_sdk.cli.console import EXIT_FAILED, fail, print_json, say
from league_sdk.cli.options import DEFAULT_LEAGUE, Json, known_games
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
    as_json: Json = False,
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
        steps = _new_class(where or Path(starter().name), address)
    elif language in LANGUAGES:
        set_up = ForLeague(address=address, name="my league", game_type=game)
        steps = _new_kit(where or Path(f"my-agent-{language}"), language, set_up)
    else:
        fail(f"There is no kit in {language!r:.40}; there are: {', '.join((PYTHON_SDK, *LANGUAGES))}.")
    if as_json:
        print_json(asdict(steps))
    else:
        _say(steps)


@dataclass(frozen=True, slots=True)
class Steps:
    """What was written, and how to go on.

    Attributes:
        written: the file or folder.
        change: the file that has choose().
        needs: what has to be installed; empty for nothing.
        commands: each with what it does.
    """

    written: str
    change: str
    needs: str
    commands: tuple[tuple[str, str], ...]


def _new_class(file: Path, address: str) -> Steps:
    """Write a class with the methods that decide."""
    if file.suffix != ".py":
        fail(f"{file} is not a Python file, such as mine.py.")
    # Its docstring names the file: a single backslash of Windows would begin an escape sequence there.
    named = str(file).replace("\\", "\\\\")
    _write(file.parent, {file.name: starter().read_text(encoding="utf-8").replace("mine.py", named)})
    commands = (
        (f"league local {file}", "plays a whole league on this machine"),
        (f"league check {file}", "says whether a league would take it"),
        (f"league play {file} --league {address}", "plays"),
    )
    return Steps(str(file), str(file), "", commands)


def _new_kit(folder: Path, language: str, league: ForLeague) -> Steps:
    """Write a program of its own."""
    kit = LANGUAGES[language]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        fail(f"{folder} exists already and is not empty: nothing was changed. Name another folder.", EXIT_FAILED)
    _write(folder, files(language, league))
    commands = (
        (f"cd {folder}", "README.md there says more"),
        (f'{kit.start} --name "My Agent"', "plays"),
        ("league check http://127.0.0.1:8101/mcp", "says whether a league can use it, while it runs"),
    )
    return Steps(str(folder), kit.files[0], kit.needs, commands)


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
        fail(f"{error.filename} exists already: nothing was changed. Name another file.", EXIT_FAILED)
    except OSError as error:
        fail(f"{error.filename} cannot be written: {error.strerror}.", EXIT_FAILED)


def _say(steps: Steps) -> None:
    needs = f" It needs {steps.needs}." if steps.needs else ""
    where = "" if steps.change == steps.written else f" in {steps.change}"
    say(f"{steps.written} is written: choose(){where} picks the move, so change it.{needs} Then:")
    width = max(len(command) for command, _what in steps.commands) + 2
    for command, what in steps.commands:
        say(f"  {command:<{width}}{what}")
