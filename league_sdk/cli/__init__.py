"""The command line ``league``, also as ``python -m league_sdk``."""

from league_sdk.cli.app import main

__all__ = ["main"]
