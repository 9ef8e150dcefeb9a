"""A player that plays one match at a time and declines all other invitations meanwhile, whatever path they come to.

Many honest agents are like this, because they keep their match in one variable.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from tests.bots.scripted import Result, params_of, reply_to

THINKS_S = 0.3
"""Seconds before a choice: long enough for several matches of one round to overlap."""


class OneMatchOnly:
    """Gives the answers of this player to :func:`tests.bots.scripted.listening`.

    Args:
        thinks_s: seconds that it waits before it chooses.

    Attributes:
        refused: the invitations that came while another match was open, each with that match.
    """

    def __init__(self, thinks_s: float = THINKS_S) -> None:
        self.refused: list[tuple[Any, Any]] = []
        self._thinks_s = thinks_s
        self._lock = threading.Lock()
        self._open: object = None

    def __call__(self, body: Any) -> Result:
        params = params_of(body)
        kind, match = params.get("message_type"), (params.get("league_id"), params.get("match_id"))
        if kind == "GAME_INVITATION":
            with self._lock:
                free = self._open in (None, match)
                if free:
                    self._open = match
                else:
                    self.refused.append((match, self._open))
            return reply_to(params, "GAME_JOIN_ACK", accept=free)
        if kind == "CHOOSE_PARITY_CALL":
            time.sleep(self._thinks_s)
            return reply_to(params, "CHOOSE_PARITY_RESPONSE", parity_choice="even")
        if kind == "GAME_OVER":
            with self._lock:
                if self._open == match:
                    self._open = None
        return {"status": "ok"}
