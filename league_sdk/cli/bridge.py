"""``league bridge``: relays for an agent that the league cannot call (:mod:`league_sdk.bridge`)."""

from __future__ import annotations

import argparse

import typer

from league_sdk import bridge as relay

PASS_ALL_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The bridge is also a file of the kit, which runs without typer: it reads its own command line."""


def bridge(context: typer.Context) -> None:
    """Relay for an agent that the league cannot call."""
    parser = argparse.ArgumentParser(
        prog="league bridge",
        description=relay.ABOUT,
        epilog=relay.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    relay.add_arguments(parser)
    raise typer.Exit(relay.run(parser.parse_args(context.args)))
