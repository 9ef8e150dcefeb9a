"""``league new``: a player to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import league_sdk
from league_sdk.cli.console import EXIT_NOT, fail, say

STARTER = "mine.py"
_PACKAGE = Path(league_sdk.__file__).parent

File = Annotated[Path, typer.Argument(metavar="FILE.py", help="Where to write it.")]


def new(file: File = Path(STARTER)) -> None:
    """Write a player to start from, and say how to go on.

    Exit code: 0 it is written, 1 the file exists already or cannot be written, 2 the command line cannot be used.
    """
    if file.suffix != ".py":
        fail(f"{file} is no Python file: {STARTER} is one.")
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(starter().read_text(encoding="utf-8").replace(STARTER, str(file)))
    except FileExistsError:
        fail(f"{file} exists already: nothing was changed. Name another file.", EXIT_NOT)
    except OSError as error:
        fail(f"{file} cannot be written: {error.strerror}.", EXIT_NOT)
    say(f"{file} is written: choose() picks the move, so change it. Then:")
    for command, what in (
        (f"league local {file}", "plays a whole league on this machine"),
        (f"league check {file}", "says whether a league would take it"),
        (f"league play {file} --league URL", "plays; the address is on the league's join page"),
    ):
        say(f"  {command:<40} {what}")


def starter() -> Path:
    """The file to start from: in the package when it is installed, else in the checkout."""
    packed = _PACKAGE / "starter" / STARTER
    return packed if packed.exists() else _PACKAGE.parent / "examples" / "starter" / STARTER
