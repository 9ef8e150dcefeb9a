"""Reads the command line and runs one of its commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from league_sdk.cli import check, verify
from league_sdk.protocol import SDK_VERSION

EXIT_INTERRUPTED = 130
EXIT_NOBODY_READS = 141
"""As the shell has it of a program whose reader has ended: ``league verify … | head``."""


def parser() -> argparse.ArgumentParser:
    """The whole command line; each command brings its own part."""
    made = argparse.ArgumentParser(prog="league", description="Tools for those who write agents of the league.")
    made.add_argument("--version", action="version", version=f"league_sdk {SDK_VERSION}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    check.add_to(commands)
    verify.add_to(commands)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: the command line; None takes the process's own.

    Returns:
        The exit code; a command line that cannot be read ends the process with 2.
    """
    options = parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # What is left to write at the end of the process has nobody to read it either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NOBODY_READS
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
