"""A house agent that thinks in a process of its own: ``python -m league_sdk.strategies.thinking STRENGTH GAME``.

It reads a question a line, JSON with the options, what may be seen of the game (null in a game of secret choices) and
the context, and writes the move. It ends when its standard input does, so it never outlives its parent process.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from league_sdk.strategies.base import Strategy
from league_sdk.strategies.house import house_agent

NICENESS = 19
"""Whatever else runs on the machine comes first."""


def ask(strategy: Strategy, options: list[Any], shown: dict[str, Any] | None, context: dict[str, Any]) -> Any:
    """The move of a strategy.

    Args:
        shown: what it may see of the game; None in a game in which both choose in secret.
    """
    return strategy.choose(options, context) if shown is None else strategy.move(options, shown, context)


def main() -> None:
    """Answer questions until standard input ends."""
    # Windows has none.
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    strategy = house_agent(*sys.argv[1:3])
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(ask(strategy, *json.loads(line)))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
