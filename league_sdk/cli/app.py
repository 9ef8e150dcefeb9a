"""Reads the command line and runs one of its commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from league_sdk.cli import bridge, check, verify
from league_sdk.protocol import SDK_VERSION

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""The exit code of a program whose output nobody reads any more, as after ``league verify … | head``."""


def parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line; each command adds its own part."""
    made = argparse.ArgumentParser(prog="league", description="Tools for those who write agents of the league.")
    made.add_argument("--version", action="version", version=f"league_sdk {SDK_VERSION}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    bridge.add_to(commands)
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
        # Python flushes stdout again at exit; send that to /dev/null, as nobody reads it either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
