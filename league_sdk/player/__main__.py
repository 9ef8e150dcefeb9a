"""``python -m league_sdk.player``: see ``--help``."""

import sys

from league_sdk.player.app import run

if __name__ == "__main__":
    sys.exit(run())
