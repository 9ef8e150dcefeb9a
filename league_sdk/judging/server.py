"""What judging answers of that which its door hands over: well-formed messages, never bytes (decision 13)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from league_sdk.dialects.words import ANSWERS
from league_sdk.judging import metrics, telemetry
from league_sdk.judging.door_http import GET_MATCH_STATE, NOTED, There
from league_sdk.judging.guesses import Guesses
from league_sdk.judging.league_link import LeagueLink
from league_sdk.judging.referee import Referee
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InternalError, LeagueError
from league_sdk.protocol.messages import START_MATCH

logger = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def _acknowledge(params: dict[str, Any]) -> dict[str, Any]:
    """For messages that need no action here."""
    return {"status": "ok"}


class RefereeServer:
    """Answers what the door hands over; a :class:`league_sdk.judging.door_http.Judging`.

    Args:
        referee: who plays.
        link: for its name and the token that the league manager shows.
        keys: what /metrics is read with; without one by nobody.
    """

    def __init__(self, referee: Referee, link: LeagueLink, keys: Collection[str] = ()) -> None:
        self._referee = referee
        self._keys = keys
        self._guesses = Guesses()
        self._link = link
        self._begun = time.monotonic()
        self._tools: dict[str, Handler] = {
            START_MATCH: referee.start_match,
            GET_MATCH_STATE: referee.match_state,
            **dict.fromkeys(NOTED, _acknowledge),
        }

    @property
    def referee_id(self) -> str:
        """Of the referee; empty before it has registered."""
        who = self._link.identity
        return who.referee_id if who else ""

    @property
    def league_digest(self) -> str:
        """The SHA-256 of the token that the league manager shows; empty when there is none yet."""
        who = self._link.identity
        return tokens.digest(who.league_token) if who and who.league_token else ""

    @property
    def open_seats(self) -> set[str]:
        """The secrets of the seats in play."""
        return self._referee.open_seats

    async def perform(self, name: str, message: dict[str, Any], there: There) -> dict[str, Any]:
        """Answer a message; returns the fields of the answer.

        Args:
            name: of the message.
            message: the fields, unwrapped.
            there: whether the sender still waits for the answer.

        Raises:
            LeagueError: it is refused.
        """
        code, begun = "", time.monotonic()
        try:
            return await self._perform(name, message, there)
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

    async def _perform(self, name: str, message: dict[str, Any], there: There) -> dict[str, Any]:
        if name in ANSWERS:
            return await self._referee.callback(name, message)
        if name == START_MATCH and not await there():
            # It has given the match to another by now. We stood still, and find it in our mail.
            return {"accepted": False, "reason": "whoever gave this match has not waited for the answer"}
        return self._tools[name](message)

    async def health(self) -> dict[str, Any]:
        """``status`` (``ok`` when it plays), ``agent_id`` and ``uptime`` in seconds."""
        who = self._link.identity
        return {
            "status": "draining" if self._referee.draining else "ok" if who else "starting",
            "agent_id": who.referee_id if who else None,
            "uptime": int(time.monotonic() - self._begun),
        }

    async def metrics(self, key: str, seen: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to who wants the metrics: ``status``, ``headers`` and ``text``.

        Args:
            key: what was shown as a bearer.
            seen: the metrics of the door (:meth:`league_sdk.judging.door_http.FrontDesk.seen`).
        """
        wait_s = self._guesses.wait_s(key)
        if wait_s:
            sentence = f"Too many wrong attempts: wait {wait_s} seconds."
            return _problem(429, sentence, {"Retry-After": str(wait_s)})
        if not any(known and tokens.same(key, known) for known in self._keys):
            if key:
                self._guesses.was_wrong(key)
            sentence = "Send the referee key: Authorization: Bearer <key>."
            return _problem(401, sentence, {"WWW-Authenticate": "Bearer"})
        metrics.MESSAGES.add_elsewhere({(name, code): number for name, code, number in seen["answered"]})
        metrics.TURNED_AWAY.add_elsewhere({(caller,): number for caller, number in seen["turned_away"].items()})
        metrics.MATCHES_IN_PLAY.set(self._referee.in_play)
        metrics.CANARY_LATE.set(self._referee.late_s(metrics.CANARY_WITHIN_S))
        metrics.HEARTBEAT_AGE.set(time.monotonic() - self._link.heard_at)
        return {"status": 200, "headers": {"Content-Type": metrics.CONTENT_TYPE}, "text": metrics.text()}


def _problem(status: int, sentence: str, headers: dict[str, str]) -> dict[str, Any]:
    json = {"Content-Type": "application/json; charset=utf-8"}
    return {"status": status, "headers": headers | json, "text": f'{{"error": "{sentence}"}}'}
