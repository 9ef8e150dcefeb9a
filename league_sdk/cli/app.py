"""The command line ``league``: what its commands are, and how it ends (docs/cli.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from league_sdk.cli import bridge
from league_sdk.cli.check import check
from league_sdk.cli.local import local
from league_sdk.cli.new import new
from league_sdk.cli.play import play
from league_sdk.cli.spar import spar
from league_sdk.cli.verify import verify
from league_sdk.cli.watch import watch
from league_sdk.protocol import SDK_VERSION

EXIT_BROKEN_PIPE = 141
"""The exit code of a program whose output nobody reads any more, as after ``league verify … | head``."""

app = typer.Typer(
    name="league",
    help="Write, try and run agents of the league.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(new)
app.command()(local)
app.command()(check)
app.command()(spar)
app.command()(play)
app.command()(watch)
app.command(add_help_option=False, context_settings=bridge.PASS_ALL_ON)(bridge.bridge)
app.command()(verify)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"league_sdk {SDK_VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: the command line; None takes the process's own.

    Returns:
        The exit code of the command; 2 if the command line cannot be read, 130 after a Ctrl-C that
        the command does not handle, :data:`EXIT_BROKEN_PIPE` if nobody reads the output any more.
    """
    stdout, stderr = sys.stdout, sys.stderr
    code = 0
    try:
        app(args=None if arguments is None else list(arguments), prog_name="league")
    except SystemExit as ended:
        code = int(ended.code or 0)
    # When nobody reads the output any more, Typer puts other objects in place of sys.stdout and sys.stderr, and ends
    # with 1.
    is_read = sys.stdout is stdout
    sys.stdout, sys.stderr = stdout, stderr
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        is_read = False
    if not is_read:
        # Python flushes stdout again at exit; send that to /dev/null, as nobody reads it either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        return EXIT_BROKEN_PIPE
    return code
