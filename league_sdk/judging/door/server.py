"""Answers what the door passes on to the judging process: well-formed messages, never bytes (decision 13)."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection
from typing import Any

from league_sdk.dialects.words import ANSWERS
from league_sdk.judging.door.answering import HEALTH, METRICS, SenderWaits
from league_sdk.judging.door.tools import (
    COLLECT_CHOICES,
    DRAW_NUMBER,
    FINALIZE_MATCH,
    GET_MATCH_STATE,
    NOTIFICATIONS,
    STARTS,
)
from league_sdk.judging.observing import metrics, telemetry
from league_sdk.judging.worker.league_link import LeagueLink
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol import SDK_VERSION, tokens
from league_sdk.protocol.errors import InternalError, LeagueError
from league_sdk.protocol.messages import START_MATCH, START_MATCHES

logger = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any]], dict[str, Any]]

MAX_WRONG_KEYS, WRONG_KEYS_WINDOW_S = 100, 600
"""Wrong keys that are checked in this many seconds.

A Prometheus with an old key sends fewer, unless it asks every six seconds or more often.
"""


class WrongKeys:
    """Counts the wrong keys at a referee's /metrics, from all callers together.

    Keys that cannot be guessed (the site makes such a key) are always checked, so that nobody can keep others from the
    metrics. Guessable keys are not checked any more after too many wrong ones.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._count = 0
        self._until = 0.0

    def wait_s(self, key: str) -> int:
        """Seconds until this key is checked; 0: now."""
        left = self._until - self._clock()
        return math.ceil(left) if left > 0 and self._count >= MAX_WRONG_KEYS and tokens.is_guessable(key) else 0

    def add(self, key: str) -> None:
        """Count a wrong key if it is guessable; the first one begins the window."""
        if not tokens.is_guessable(key):
            return
        now = self._clock()
        if self._until <= now:
            self._count, self._until = 0, now + WRONG_KEYS_WINDOW_S
        self._count += 1


class RefereeServer:
    """Answers what the door passes on; a :class:`league_sdk.judging.door.answering.Judging`.

    Args:
        referee: plays the matches.
        link: knows the referee's id and the league manager's token.
        keys: each of them opens /metrics; without any, nobody may read the metrics.
    """

    def __init__(self, referee: Referee, link: LeagueLink, keys: Collection[str] = ()) -> None:
        self._referee = referee
        self._keys = keys
        self._wrong_keys = WrongKeys()
        self._link = link
        self._begun = time.monotonic()
        self._handlers: dict[str, Handler] = {
            START_MATCH: referee.start_match,
            START_MATCHES: referee.start_matches,
            GET_MATCH_STATE: referee.shown.state,
            COLLECT_CHOICES: lambda message: referee.shown.ended_match(message).choices(),
            DRAW_NUMBER: lambda message: referee.shown.ended_match(message).draw(),
            FINALIZE_MATCH: lambda message: referee.shown.ended_match(message).end(),
            **dict.fromkeys(NOTIFICATIONS, lambda message: {"status": "ok"}),
        }
        self._monitoring: dict[str, Handler] = {HEALTH: self._health, METRICS: self._metrics}

    @property
    def referee_id(self) -> str:
        """The id of the referee; empty before it has registered."""
        identity = self._link.identity
        return identity.referee_id if identity else ""

    @property
    def league_digest(self) -> str:
        """The SHA-256 of the league manager's token; empty if there is none yet."""
        identity = self._link.identity
        return tokens.digest(identity.league_token) if identity and identity.league_token else ""

    @property
    def open_seats(self) -> set[str]:
        """The secrets of the seats in play."""
        return self._referee.open_seats

    def players_at(self, secrets: Collection[str]) -> dict[str, str]:
        """The secrets of seats in play, by the SHA-256 of the player's auth_token."""
        return self._referee.players_at(secrets)

    async def perform(self, name: str, message: dict[str, Any], sender_waits: SenderWaits) -> dict[str, Any]:
        """Answer a message; returns the fields of the answer.

        Args:
            name: the name of the message.
            message: the fields, unwrapped.
            sender_waits: whether the sender still waits for the answer.

        Raises:
            LeagueError: it is refused.
        """
        if name in self._monitoring:
            return self._monitoring[name](message)
        code, begun = "", time.monotonic()
        try:
            return await self._perform(name, message, sender_waits)
        except LeagueError as error:
            code = error.error_code
            raise
        except Exception:
            logger.exception("a call of %s failed", name)
            failed = InternalError("The referee failed; nothing was changed.")
            code = failed.error_code
            raise failed from None
        finally:
            telemetry.called(name, code, time.monotonic() - begun, message)

    async def _perform(self, name: str, message: dict[str, Any], sender_waits: SenderWaits) -> dict[str, Any]:
        if name in ANSWERS:
            return await self._referee.callback(name, message)
        if name in STARTS and not await sender_waits():
            # This process was stopped for a while, so another referee has the match by now. Nobody reads this answer.
            return {"accepted": False, "reason": "whoever gave this match has not waited for the answer"}
        return self._handlers[name](message)

    def _health(self, message: dict[str, Any]) -> dict[str, Any]:
        """``status`` (``ok`` from registration to leaving), ``agent_id``, ``version`` and ``uptime`` in seconds."""
        return {
            "status": "draining" if self._referee.draining else "ok" if self.referee_id else "starting",
            "agent_id": self.referee_id or None,
            "version": SDK_VERSION,
            "uptime": int(time.monotonic() - self._begun),
        }

    def _metrics(self, message: dict[str, Any]) -> dict[str, Any]:
        """``status``, ``headers`` and ``text`` for a key; includes what the door has counted."""
        key, counts = message["key"], message["counts"]
        wait_s = self._wrong_keys.wait_s(key)
        if wait_s:
            sentence = f"Too many wrong attempts: wait {wait_s} seconds."
            return _problem(429, sentence, {"Retry-After": str(wait_s)})
        if not any(known and tokens.same(key, known) for known in self._keys):
            if key:
                self._wrong_keys.add(key)
            sentence = "Send the referee key: Authorization: Bearer <key>."
            return _problem(401, sentence, {"WWW-Authenticate": "Bearer"})
        metrics.MESSAGES.counted_by_door = {(name, code): number for name, code, number in counts["answered"]}
        metrics.TURNED_AWAY.counted_by_door = {(caller,): number for caller, number in counts["turned_away"].items()}
        metrics.MATCHES_IN_PLAY.set(self._referee.in_play)
        metrics.CANARY_LATE.set(self._referee.late_s(metrics.CANARY_WINDOW_S))
        metrics.HEARTBEAT_AGE.set(time.monotonic() - self._link.accepted_at)
        return {"status": 200, "headers": {"Content-Type": metrics.CONTENT_TYPE}, "text": metrics.text()}


def _problem(status: int, sentence: str, headers: dict[str, str]) -> dict[str, Any]:
    json = {"Content-Type": "application/json; charset=utf-8"}
    return {"status": status, "headers": headers | json, "text": f'{{"error": "{sentence}"}}'}
