"""What a running match shows of itself: state, who has joined and locked in, the transcript.

Entries that give away a hidden choice, or a move that may end the game, are kept back: the former until the players
were told the end, the latter until the move turned out not to be the last (ruling, sections 7, 10 and 12).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.states import MatchState
from league_sdk.protocol.transcript import Entry, fitting

logger = logging.getLogger(__name__)


class MatchLog:
    """Written by the match, read by the reporter.

    Args:
        on_change: called whenever there is something new to report.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.state = MatchState.WAITING_FOR_PLAYERS
        self.steps: list[dict[str, str]] = []
        self.joined: list[str] = []
        self.locked_in: list[str] = []
        self.view: dict[str, Any] = {}
        self.moves: list[list[Any]] = []
        """Of a game without hidden choices: player and move, in order."""
        self.excused: list[dict[str, str]] = []
        """Tries that did not count, and the evidence for it."""
        self.proofs: dict[str, str] = {}
        """By player, the hash of a token that its own address answered with."""
        self.count = 0
        self._on_change = on_change
        self._bytes: dict[int, int] = {}
        """How large each entry is, by its number: it is asked several times."""
        self._unsent: list[Entry] = []
        self._hidden: list[Entry] = []
        self._revealed = False

    def move_to(self, state: MatchState, at: datetime) -> None:
        """The match has a new state."""
        self.state = state
        self.steps.append({"state": state, "at": at.isoformat()})
        logger.info("the match has a new state", extra={"event_type": "MATCH_STATE", "state": str(state)})
        self._on_change()

    def join(self, player_id: str) -> None:
        """A player has accepted."""
        if player_id not in self.joined:
            self.joined.append(player_id)
            self._on_change()

    def lock_in(self, player_id: str) -> None:
        """A player's move is in; which one it is stays here."""
        self.locked_in.append(player_id)
        self._on_change()

    def show(self, view: dict[str, Any]) -> None:
        """What the public may see of the game has changed; a new turn has nobody locked in."""
        self.view = view
        self.locked_in = []
        self._on_change()

    def add(self, entry: Entry, *, hidden: bool = False) -> None:
        """Add an entry, for now only to ourselves if it is hidden."""
        self.count += 1
        entry = fitting(entry)
        self._bytes[entry["n"]] = len(rpc.dumps(entry))
        (self._hidden if hidden and not self._revealed else self._unsent).append(entry)
        self._on_change()

    def release(self) -> None:
        """What was kept back so far may be told: the game goes on. What comes may be kept back again."""
        self._unsent = sorted(self._unsent + self._hidden, key=lambda entry: entry["n"])
        self._hidden = []

    def reveal(self) -> None:
        """The players were told the end: nothing is kept back any more."""
        self.release()
        self._revealed = True

    @property
    def waiting(self) -> bool:
        """Whether there are entries that could be sent now."""
        return bool(self._unsent)

    def take(self, budget: int) -> list[Entry]:
        """Entries to send now, at most ``budget`` bytes of them; :meth:`give_back` what did not arrive."""
        taken: list[Entry] = []
        for entry in self._unsent:
            budget -= self._bytes[entry["n"]]
            if budget < 0:
                break
            taken.append(entry)
        self._unsent = self._unsent[len(taken) :]
        return taken

    def give_back(self, entries: list[Entry]) -> None:
        """Entries that did not arrive are sent again."""
        self._unsent = entries + self._unsent

    def size(self) -> int:
        """Bytes of the entries that could be sent now."""
        return sum(self._bytes[entry["n"]] for entry in self._unsent)
