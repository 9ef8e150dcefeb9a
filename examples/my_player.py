"""A whole player. Change choose(), then:

.venv/bin/python examples/my_player.py --league http://127.0.0.1:8000/mcp --name "My Agent"
"""

import sys
from typing import Any

from league_sdk.player import Strategy, run


class MyPlayer(Strategy):
    """Even, unless odd was drawn more often in the last ten matches."""

    def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
        """Pick one of options; context says against whom, until when, and what was drawn before."""
        recent = context["numbers_drawn"][-10:]
        odd = sum(number % 2 for number in recent)
        return "odd" if odd > len(recent) / 2 else "even"

    def on_result(self, result: dict[str, Any]) -> None:
        """Look at how a match ended."""
        print(result["match_id"], result["result"], "drawn:", result["drawn_number"])  # noqa: T201


if __name__ == "__main__":
    sys.exit(run(MyPlayer))
