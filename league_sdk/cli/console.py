"""What the commands print: plain texts of others, one sentence for every mistake, and JSON."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_REJECTED, EXIT_ENDED = range(5)
"""The exit codes of every command (docs/cli.md), 0 to 4: done; what was tested or asked for failed; the command line
cannot be used; the league refused the agent; the agent was ended from outside."""

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


def plain(text: object) -> str:
    """A text of others, without control characters: a name must not be able to clear the screen."""
    return "".join(one if one.isprintable() else "\ufffd" for one in str(text))


def say(text: str, *, style: str = "") -> None:
    """Print a line, which wraps at words."""
    out.print(Text(text, style=style))


def fail(text: str, code: int = EXIT_USAGE) -> NoReturn:
    """Say what was wrong, and end.

    Raises:
        typer.Exit: with the code.
    """
    err.print(Text.assemble(("Error: ", "bold red"), text), soft_wrap=True)
    raise typer.Exit(code)


def print_json(value: Any) -> None:
    """Print JSON, indented."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_line(value: Any) -> None:
    """Print JSON in one line, at once: for commands that go on."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()
