"""An agent that joins every match and then chooses "maybe", until a test gives it a legal choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bots.scripted import Result, listening


class Undecided:
    """The agent: its answers, and where it listens.

    Attributes:
        choice: what it answers when it is asked to choose.
        seen: the bodies of all calls, in order; None for one that is not JSON.
        address: host and port, as students give them.
        endpoint: the whole address.
    """

    def __init__(self) -> None:
        self.choice = "maybe"
        self.seen: list[Any] = []
        self.address = self.endpoint = ""

    def __call__(self, body: Any) -> Result:
        self.seen.append(body)
        method = body.get("method") if isinstance(body, dict) else None
        if method == "handle_game_invitation":
            return {"message_type": "GAME_JOIN_ACK", "accept": True}
        if method == "choose_parity":
            return {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": self.choice}
        return {"status": "ok"}


@contextmanager
def undecided() -> Iterator[Undecided]:
    """Such an agent, listening until the block ends."""
    agent = Undecided()
    with listening(agent) as server:
        agent.address, agent.endpoint = f"localhost:{server.port}", server.endpoint
        yield agent
