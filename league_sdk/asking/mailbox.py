"""Answers that the players of one match send by POST requests of their own (ruling, sections 3, 6 and 9).

The first valid answer counts. A second one changes nothing and is logged once; an answer to a request that was given up
is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from league_sdk.protocol.errors import InvalidFormat, OutOfTime
from league_sdk.protocol.messages import MessageType

MAX_UNREAD_ANSWERS = 4
"""Answers to one request that are kept until they are looked at."""
_MOVES = frozenset({MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE})


def kind_of(message_type: str) -> str:
    """``join`` or ``move``: a move has two message types."""
    return "move" if message_type in _MOVES else "join"


@dataclass(slots=True)
class Box:
    """The answers to one open request."""

    kind: str
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    messages: deque[dict[str, Any]] = field(default_factory=deque)

    def take(self) -> dict[str, Any]:
        """Remove and return the oldest message."""
        message = self.messages.popleft()
        if not self.messages:
            self.arrived.clear()
        return message


@dataclass(slots=True)
class _Settled:
    """A request that is over: whether by a valid answer in time, and whether a further answer was logged."""

    in_time: bool
    logged: bool = False


class Mailbox:
    """The callbacks of one match, by player."""

    def __init__(self) -> None:
        self._open: dict[str, Box] = {}
        self._settled: dict[tuple[str, str], _Settled] = {}
        self._last_posted: dict[str, dict[str, Any]] = {}
        self.on_repeat: Callable[[str, str, Mapping[str, Any], bool], None] = lambda *_: None
        """Called when a request that is settled is answered again, only the first time: with the player, the message
        type, the message, and whether the request was settled by an answer in time."""

    @contextmanager
    def expecting(self, player_id: str, message_type: str) -> Iterator[Box]:
        """Collect a player's callbacks in a box while a request to the player is open."""
        box = self._open[player_id] = Box(kind_of(message_type))
        try:
            yield box
        finally:
            del self._open[player_id]
            settled = self._settled.get((player_id, box.kind))
            if box.messages and settled is not None:
                self._report_repeat(player_id, message_type, box.messages[0], settled)

    def settle(self, player_id: str, message_type: str, *, in_time: bool) -> None:
        """Note that a request is over: it has its answer, or was given up without one."""
        self._settled[player_id, kind_of(message_type)] = _Settled(in_time)

    def allow_repeat(self, player_id: str) -> None:
        """A player is asked once more: the message that it posted last counts as a new answer if it comes again."""
        self._last_posted.pop(player_id, None)

    def deliver(self, player_id: str, message_type: str, message: dict[str, Any]) -> dict[str, Any]:
        """Take a callback that was proven to come from this player.

        Returns the fields of the answer.

        Raises:
            OutOfTime: E001, the request that it answers was given up.
            InvalidFormat: E002, no such answer was asked for.
        """
        kind = kind_of(message_type)
        box = self._open.get(player_id)
        if box is not None and box.kind == kind:
            # A message that is sent again in the player's next turn must not become its next move.
            is_repeat = self._last_posted.get(player_id) == message
            if not is_repeat and len(box.messages) < MAX_UNREAD_ANSWERS:
                self._last_posted[player_id] = message
                box.messages.append(message)
                box.arrived.set()
            return {"status": "RECEIVED", "duplicate": is_repeat}
        settled = self._settled.get((player_id, kind))
        if settled is None:
            raise InvalidFormat(
                "Nothing of the kind was asked for.",
                field="message_type",
                seen=message_type,
                expected="an answer to a request that is open",
            )
        self._report_repeat(player_id, message_type, message, settled)
        if settled.in_time:
            return {"status": "RECEIVED", "duplicate": True}
        # Document 002 has a code of its own for a player that joins too late.
        late_code = "G005" if kind == "join" else None
        raise OutOfTime("This answer came after the verdict; it changes nothing.", legacy_code=late_code)

    def _report_repeat(self, player_id: str, message_type: str, message: Mapping[str, Any], settled: _Settled) -> None:
        if not settled.logged:
            settled.logged = True
            self.on_repeat(player_id, message_type, message, settled.in_time)
