"""report_progress: what a referee reports of its matches while they are played, and its heartbeat (ruling, section 10).

The same call seals verdicts and records moves, and is made at once then (ruling, section 12).

A call reports every match that has news, and the others when a quarter of their lease is over; what does not fit into
one body waits for the next call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.asking.clock import Clock
from league_sdk.asking.mailbox import Mailbox
from league_sdk.judging.match.brief import Brief
from league_sdk.judging.match.ended import EndedMatch
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.worker.league_link import LeagueLink, Refused
from league_sdk.protocol import rpc
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import HANDED_BACK
from league_sdk.transport.client import CallFailed
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)

Key = tuple[str, str, int]
"""League, match, attempt."""
PROGRESS_INTERVAL_S = 0.1
"""The time between two heartbeats while there is news; :meth:`Heartbeat.confirm` makes the next one earlier."""
IDLE_INTERVAL_S = 2.0
"""The longest time between two heartbeats, whether matches are in play or not."""
MAX_TRANSCRIPT_BYTES = 40 * 1024
"""The limit for transcripts in one heartbeat or result report, well below the 64 KiB of a body."""
MAX_HEARTBEAT_BYTES = 60 * 1024
MAX_MATCHES_BYTES = 40 * 1024
"""The limit for the matches with their boards in one heartbeat; the rest of the heartbeat is for transcripts."""
GATHER_DELAY_S = 0.005
"""How long a heartbeat waits for further matches to be included."""
SEALED, LOST, REFUSED = "sealed", "lost", "refused"
"""The answers to a reported match, besides "ok"."""
CODES_NOT_ABOUT_CONTENT = frozenset({"E009", "E011", "E012", "E013"})
"""Errors that a heartbeat or a result report would get without its transcript as well."""
RETRY_INTERVAL_S = 0.5
ANSWER_S = 3.0
"""How long the answer to a heartbeat is waited for: a machine that is away says nothing, and the next heartbeat, over a
connection of its own, reaches another one before a lease ends. The next one waits twice as long, and so on: a league
manager that has too much to do gets no more heartbeats for it."""
"""The pause after a heartbeat that was not accepted, unless a match changes earlier."""


@dataclass(slots=True)
class RunningMatch:
    """A match in play.

    Attributes:
        policy: which addresses may be called for it.
        reported_at: when the last accepted heartbeat that reported it was sent; monotonic seconds.
        failed: if it ended without a result: whose side failed (REFEREE or LEAGUE), and how, in words. It waits to be
            handed back.
        unreached: the player that could not be reached from here, if that is why.
        over: GAME_OVER was sent to its players; only the report of its result is missing.
        ended: the match after GAME_OVER was sent to all players; None before.
        seal: the verdict that waits to be sealed.
        sealed, refused: what the league manager answered to the seal.
        waiters: each is done once a heartbeat was accepted that has everything known when it began to wait, except
            perhaps the transcript.
    """

    brief: Brief
    policy: EndpointPolicy
    log: MatchLog
    clock: Clock
    reported_at: float
    mailbox: Mailbox = field(default_factory=Mailbox)
    task: asyncio.Task[None] | None = None
    failed: tuple[Cause, str] | None = None
    unreached: str = ""
    over: bool = False
    ended: EndedMatch | None = None
    seal: dict[str, Any] | None = None
    sealed: bool = False
    refused: bool = False
    waiters: list[asyncio.Future[None]] = field(default_factory=list)

    def silent_s(self) -> float:
        """Seconds since the last accepted heartbeat that reported this match was sent."""
        return self.clock.monotonic() - self.reported_at

    def left_s(self) -> float:
        """Seconds until the match has to be given up."""
        return self.brief.settings.fence_s() - self.silent_s()

    def due_in_s(self) -> float:
        """Seconds until the match has to be reported although nothing is new."""
        return self.brief.settings.referee_lease_s / 4 - self.silent_s()

    def to_progress(self, state: str | None) -> dict[str, Any]:
        """The item of this match in report_progress, with an empty transcript; ``state`` replaces its own."""
        log = self.log
        seal = None if self.sealed else self.seal
        optional = {"moves": log.moves, "excused": log.excused, "seal": seal, "end_told": self.over}
        optional["unreached"] = self.unreached
        handed_back = {"state": HANDED_BACK, "cause": self.failed[0], "why": self.failed[1]} if self.failed else {}
        return {
            **{name: value for name, value in optional.items() if value},
            "league_id": self.brief.league_id,
            "match_id": self.brief.match_id,
            "attempt": self.brief.attempt,
            "state": state or log.state,
            "joined": log.joined,
            "locked_in": log.locked_in,
            "view": log.view,
            "transcript": [],
            **handed_back,
        }


class Heartbeat:
    """Reports the matches in play.

    Args:
        link: calls the league manager.
        running: the matches in play; the referee adds and removes.
        clock: time.
        interval_s: seconds between two heartbeats while there is news.
        lost: called for each match that belongs to another referee now.
        handed_back: called for each match that was handed back.
    """

    def __init__(
        self,
        link: LeagueLink,
        running: Mapping[Key, RunningMatch],
        clock: Clock,
        *,
        interval_s: float = PROGRESS_INTERVAL_S,
        lost: Callable[[Key], None],
        handed_back: Callable[[Key], None],
    ) -> None:
        self._link = link
        self._running = running
        self._clock = clock
        self._interval_s = interval_s
        self.answer_s = ANSWER_S
        """How many seconds the answer to the next heartbeat is waited for."""
        self._lost = lost
        self._handed_back = handed_back
        self._changed: dict[Key, None] = {}
        self._news = asyncio.Event()
        self._call_wanted = asyncio.Event()
        self._call_forced = self._last_call_failed = False
        self.leaving = False
        """Whether the referee takes no new match."""
        self._sent_at = clock.monotonic()

    def start_match(self, brief: Brief, policy: EndpointPolicy) -> RunningMatch:
        """A match begins; its lease counts from now, as after a heartbeat."""
        log = MatchLog(lambda: self.mark_changed(brief.key))
        return RunningMatch(brief, policy, log, self._clock, reported_at=self._clock.monotonic())

    def mark_changed(self, key: Key) -> None:
        """Note that a match has changed, so that the next heartbeat includes it."""
        self._changed[key] = None
        self._news.set()

    async def confirm(self, match: RunningMatch) -> None:
        """Return when a call that reports what is known now of a match was accepted; it is made at once.

        Of a long transcript it may report a part only.

        If that does not happen in time, the referee gives the match up and cancels this wait.
        """
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        match.waiters.append(accepted)
        self.mark_changed(match.brief.key)
        self._call_wanted.set()
        await accepted

    async def pause(self) -> None:
        """Wait between two calls, for a shorter time if a match waits for a call."""
        try:
            async with asyncio.timeout(self._interval_s):
                await self._call_wanted.wait()
                await asyncio.sleep(GATHER_DELAY_S)
        except TimeoutError:
            logger.debug("no match waits for the next heartbeat")

    def leave(self) -> None:
        """The referee takes no new match any more; tell the league manager at once."""
        self.leaving = self._call_forced = True
        self._news.set()

    async def wait_until_due(self) -> None:
        """Wait for news, or until a match or the referee itself has to be reported although nothing is new."""
        # Each league has its own lease: the shortest one decides when a heartbeat is due.
        wait_s = min([self._idle_due_in_s(), *(match.due_in_s() for match in self._running.values())])
        if self._last_call_failed:
            wait_s = max(wait_s, RETRY_INTERVAL_S)
        try:
            async with asyncio.timeout(wait_s):
                await self._news.wait()
        except TimeoutError:
            logger.debug("nothing new: a heartbeat is due")
        self._news.clear()

    async def send(self) -> None:
        """Make one heartbeat with the matches that are due; if it does not arrive, the next one includes its entries.

        Raises:
            CallFailed, Refused: it was not accepted.
            TimeoutError: the league manager was silent for too long, or until a match has to be given up.
        """
        self._call_wanted.clear()
        changed, self._changed = self._changed, {}
        due = [match for key in changed if (match := self._running.get(key)) is not None]
        others = [match for key, match in self._running.items() if key not in changed]
        if any(match.due_in_s() <= 0 for match in others):
            # Report those that are soon due as well: a hundred matches must not take a hundred calls.
            due += [match for match in others if match.silent_s() >= match.brief.settings.referee_lease_s / 8]
        if not due and not self._call_forced and self._idle_due_in_s() > 0:
            # The news was of a match that has been reported since.
            return
        due.sort(key=lambda match: match.reported_at)
        # If the league manager takes the call and is silent, the wait for its answer must end before a lease does.
        wait_s, self.answer_s = self.answer_s, 2 * self.answer_s
        left_s = min((match.left_s() for match in self._running.values()), default=wait_s)
        async with asyncio.timeout(min(max(0.0, left_s) + 0.01, wait_s)):
            await self.report(due)
        self.answer_s = ANSWER_S

    async def hand_back(self) -> None:
        """Hand back every match, because the referee leaves.

        Raises:
            CallFailed, Refused: it was not accepted.
        """
        matches = list(self._running.values())
        while matches:
            reported = await self.report(matches, state=HANDED_BACK)
            matches = matches[reported:]

    async def report(self, matches: list[RunningMatch], *, state: str | None = None) -> int:
        """Make a heartbeat with as many of these matches as a body holds; the others count as changed.

        Args:
            matches: those to report.
            state: what is reported as the state of each match; None: its own.

        Returns how many were reported.

        Raises:
            CallFailed, Refused: it was not accepted.
        """
        items = self._items(matches, state)
        reported, waiting = matches[: len(items)], matches[len(items) :]
        budget = min(MAX_TRANSCRIPT_BYTES, MAX_HEARTBEAT_BYTES - sum(len(rpc.dumps(item)) for item in items))
        for match, item in zip(reported, items, strict=True):
            entries = item["transcript"] = match.log.take(budget) if budget > 0 else []
            budget -= len(rpc.dumps(entries)) if entries else 0
            if match.log.unsent_bytes:
                waiting.append(match)
        failed = [match.brief.key for match in reported if match.failed is not None]
        waiters = [list(match.waiters) for match in reported]
        sent_at = self._sent_at = self._clock.monotonic()
        self._last_call_failed, self._call_forced = True, False
        try:
            answers = await self._send(items)
        except (CallFailed, Refused, asyncio.CancelledError):
            for match, item in zip(reported, items, strict=True):
                match.log.put_back(item["transcript"])
            self._mark_running(matches)
            raise
        self._last_call_failed = False
        for match in reported:
            match.reported_at = sent_at
        if waiting:
            self._mark_running(waiting)
            self._news.set()
        for key in failed:
            self._handed_back(key)
        self._take_answers(reported, waiters, _by_key(answers))
        return len(reported)

    def _items(self, matches: list[RunningMatch], state: str | None) -> list[dict[str, Any]]:
        """What the heartbeat says of the first matches, as many as fit into it; without their transcripts."""
        items: list[dict[str, Any]] = []
        size = 0
        for match in matches:
            item = match.to_progress(state)
            size += len(rpc.dumps(item))
            if items and size > MAX_MATCHES_BYTES:
                break
            items.append(item)
        return items

    def _take_answers(
        self, reported: list[RunningMatch], waiters: list[list[asyncio.Future[None]]], statuses: Mapping[Key, str]
    ) -> None:
        """Tell each reported match what it was answered with; ``waiters`` waited before the call was made."""
        for match, waiting in zip(reported, waiters, strict=True):
            status = statuses.get(match.brief.key)
            if status == LOST:
                self._lost(match.brief.key)
                continue
            match.sealed = match.sealed or status == SEALED
            match.refused = status == REFUSED
            match.waiters = [waiter for waiter in match.waiters if waiter not in waiting]
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    async def _send(self, items: list[dict[str, Any]]) -> list[Any]:
        """Make one call; if the league manager cannot take what players said, leave that out: the rest must arrive."""
        try:
            return await self._link.progress(items, leaving=self.leaving)
        except Refused as error:
            if error.error_code in CODES_NOT_ABOUT_CONTENT or not any(item["transcript"] for item in items):
                raise
            logger.error("the league manager refuses a transcript, which is left out: %s", error)
            return await self._link.progress([item | {"transcript": []} for item in items], leaving=self.leaving)

    def _idle_due_in_s(self) -> float:
        """Seconds until a heartbeat is due even if no match is in play."""
        return self._sent_at + IDLE_INTERVAL_S - self._clock.monotonic()

    def _mark_running(self, matches: Iterable[RunningMatch]) -> None:
        self._changed |= {match.brief.key: None for match in matches if match.brief.key in self._running}


def _by_key(answers: Iterable[Any]) -> dict[Key, str]:
    """The status that each match was answered with; malformed answers are left out."""
    return {
        (str(answer.get("league_id")), str(answer.get("match_id")), answer["attempt"]): str(answer.get("status"))
        for answer in answers
        if isinstance(answer, dict) and isinstance(answer.get("attempt"), int)
    }
