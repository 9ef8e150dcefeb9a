"""What a running match shows: its state, who has joined and locked in, the transcript.

An entry that gives away a hidden choice is withheld until the players were told the end; one with a move that may end
the game, until it is clear that it did not (ruling, sections 7, 10 and 12).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.states import MatchState
from league_sdk.protocol.transcript import Entry, entry, shorten_entry
from league_sdk.rules.game import said_by_game

logger = logging.getLogger(__name__)


class MatchLog:
    """Written by the match, read by the heartbeat.

    Args:
        on_change: called whenever there is something new to report.

    Attributes:
        moves: in a game without hidden choices, player and move, in order.
        excused: tries that this side's own failure spoilt, with the evidence and whether each counted all the same.
        proofs: for each player, the hash of a token that the player's own address answered with.
        count: entries so far.
        on_entry: told each entry at once, also one that is withheld.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.state = MatchState.WAITING_FOR_PLAYERS
        self.steps: list[dict[str, str]] = []
        self.joined: list[str] = []
        self.locked_in: list[str] = []
        self.view: dict[str, Any] = {}
        self.moves: list[list[Any]] = []
        self.excused: list[dict[str, str]] = []
        self.proofs: dict[str, str] = {}
        self.count = 0
        self.on_entry: Callable[[Entry], None] = lambda entry: None
        self._on_change = on_change
        # The size of each entry by its number, as it is needed several times.
        self._bytes: dict[int, int] = {}
        self._unsent: list[Entry] = []
        self._withheld: list[Entry] = []
        self._revealed = False

    def set_state(self, state: MatchState, at: datetime) -> None:
        """The match has a new state."""
        self.state = state
        self.steps.append({"state": state, "at": at.isoformat()})
        logger.info("the match has a new state", extra={"event_type": "MATCH_STATE", "state": str(state)})
        self._on_change()

    def join(self, player_id: str) -> None:
        """A player has accepted the invitation."""
        if player_id not in self.joined:
            self.joined.append(player_id)
            self._on_change()

    def lock_in(self, player_id: str) -> None:
        """A player has chosen a move; which one is not said here."""
        self.locked_in.append(player_id)
        self._on_change()

    def set_view(self, view: dict[str, Any]) -> None:
        """The public view of the game has changed; in a new turn nobody is locked in yet.

        Raises:
            TypeError, ValueError, RecursionError, NotJson: as :func:`said_by_game`.
        """
        self.view = said_by_game(view)
        self.locked_in = []
        self._on_change()

    def record(self, *, hidden: bool = False, **fields: Any) -> None:
        """Add a message to the transcript; a hidden one is withheld for now.

        Args:
            hidden: whether it gives something away.
            fields: the fields of :func:`~league_sdk.protocol.transcript.entry`, but for its number.
        """
        self.add(entry(n=self.count, **fields), hidden=hidden)

    def add(self, entry: Entry, *, hidden: bool = False) -> None:
        """Add an entry to the transcript; a hidden one is withheld for now."""
        self.count += 1
        entry = shorten_entry(entry)
        self._bytes[entry["n"]] = len(rpc.dumps(entry))
        (self._withheld if hidden and not self._revealed else self._unsent).append(entry)
        self.on_entry(entry)
        self._on_change()

    def release(self) -> None:
        """Publish what was withheld so far, as the game goes on; later entries may be withheld again."""
        self._unsent = sorted(self._unsent + self._withheld, key=lambda entry: entry["n"])
        self._withheld = []

    def reveal(self) -> None:
        """The players were told the end: publish everything, and withhold nothing any more."""
        self.release()
        self._revealed = True

    @property
    def unsent_bytes(self) -> int:
        """The size of the entries that could be sent now."""
        return sum(self._bytes[entry["n"]] for entry in self._unsent)

    def take(self, budget_bytes: int) -> list[Entry]:
        """Remove and return entries to send, up to this size; :meth:`put_back` those that did not arrive."""
        entries: list[Entry] = []
        for waiting in self._unsent:
            budget_bytes -= self._bytes[waiting["n"]]
            if budget_bytes < 0:
                break
            entries.append(waiting)
        self._unsent = self._unsent[len(entries) :]
        return entries

    def put_back(self, entries: list[Entry]) -> None:
        """Entries did not arrive: send them again."""
        self._unsent = entries + self._unsent
