"""``league bridge``: relays for an agent that the league cannot call (:mod:`league_sdk.bridge`)."""

from __future__ import annotations

import argparse
from typing import Any

from league_sdk import bridge


def add_to(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "bridge",
        help="relay for an agent that the league cannot call",
        description=bridge.ABOUT,
        epilog=bridge.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bridge.add_arguments(parser)
    parser.set_defaults(run=bridge.run)
