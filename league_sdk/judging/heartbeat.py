"""report_progress: what a referee tells of its matches while they are played, and its heartbeat (ruling, section 10).

A verdict is sealed and moves are recorded in the same call, which is made at once then (ruling, section 12).

A call tells of every match that there is news of, and of the others once a quarter of their lease is over; what does
not fit into one body has to wait for the next.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.judging.brief import Brief
from league_sdk.judging.league_link import LeagueLink, Refused
from league_sdk.judging.log import MatchLog
from league_sdk.judging.mailbox import Mailbox
from league_sdk.judging.reporting import progress_of
from league_sdk.protocol import rpc
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import HANDED_BACK
from league_sdk.transport.client import CallFailed
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)

Key = tuple[str, str, int]
"""League, match, attempt."""
PROGRESS_EVERY_S = 0.1
"""At most ten progress reports a second."""
IDLE_S = 2.0
"""A referee that plays nothing is heard of so often."""
BODY_BUDGET = 40 * 1024
"""Bytes of transcript in one report, well below the 64 KiB of a body."""
HEARTBEAT_BYTES = 60 * 1024
MATCHES_BYTES = 40 * 1024
"""Of a heartbeat, for matches with their boards; the rest, and what they leave, is for transcripts."""
GATHER_S = 0.005
"""When a match waits for a call: so long for others that come to the same point, to go along."""
SEALED, LOST, REFUSED = "sealed", "lost", "refused"
"""What a match in a report may be answered with, beside "ok"."""
NOT_ABOUT_THE_CONTENT = frozenset({"E009", "E011", "E012", "E013"})
AGAIN_AFTER_S = 0.5
"""One that was not accepted is repeated with the next news, or after so long."""


@dataclass(slots=True)
class Running:
    """A match in play; with ``failed`` one that ended without a result and waits to be given back.

    Attributes:
        policy: which addresses may be called for it.
        failed: whose side failed (REFEREE or LEAGUE), and how, in words.
        over: its players have heard how it ended; it is only reported yet.
        seal: the verdict that waits to be sealed, and that is sealed once ``sealed`` says so.
        asked: how often a match waited for the league manager to have all that it knows.
        confirmed: the last of these that an accepted call has answered.
        told_at: when the last heartbeat that told of it, and was accepted, was sent; monotonic seconds.
    """

    brief: Brief
    policy: EndpointPolicy
    log: MatchLog
    told_at: float
    mailbox: Mailbox = field(default_factory=Mailbox)
    task: asyncio.Task[None] | None = None
    failed: tuple[Cause, str] | None = None
    over: bool = False
    seal: dict[str, Any] | None = None
    sealed: bool = False
    refused: bool = False
    asked: int = 0
    confirmed: int = 0
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def silent_s(self) -> float:
        """Seconds since the league manager heard of it."""
        return time.monotonic() - self.told_at

    def left_s(self) -> float:
        """Seconds until it has to be given up."""
        return self.brief.settings.fence_s() - self.silent_s()

    def waits_s(self) -> float:
        """Seconds until it has to be told of though nothing is new."""
        return self.brief.settings.referee_lease_s / 4 - self.silent_s()


class Heartbeat:
    """Tells of the matches in play.

    Args:
        link: the line to the league manager.
        running: the matches in play; the referee adds and removes.
        lost: called for each match that is another's by now.
        given_back: called for each match that was given back.
    """

    def __init__(
        self,
        link: LeagueLink,
        running: Mapping[Key, Running],
        *,
        lost: Callable[[Key], None],
        given_back: Callable[[Key], None],
    ) -> None:
        self._link = link
        self._running = running
        self._lost = lost
        self._given_back = given_back
        self._fresh: dict[Key, None] = {}
        self._news = asyncio.Event()
        self._waited_for = asyncio.Event()
        self._hurried = self._failed = False
        self.leaving = False
        """Whether the referee takes no new match."""
        self._sent_at = time.monotonic()

    def begin(self, brief: Brief, policy: EndpointPolicy) -> Running:
        """A match begins; being given it was a sign of life, too."""
        return Running(brief, policy, MatchLog(lambda: self.note(brief.key)), told_at=time.monotonic())

    def note(self, key: Key) -> None:
        """There is news of a match."""
        self._fresh[key] = None
        self._news.set()

    async def confirm(self, running: Running) -> None:
        """Return when a call that tells all that is known now of a match was accepted; it is made at once.

        The referee gives the match up, and ends this wait, when that does not happen within its fence.
        """
        running.asked += 1
        wanted = running.asked
        while running.confirmed < wanted:
            running.answered.clear()
            self.note(running.brief.key)
            self._waited_for.set()
            await running.answered.wait()

    async def pause(self) -> None:
        """Wait between two calls, less long when a match waits for one."""
        try:
            async with asyncio.timeout(PROGRESS_EVERY_S):
                await self._waited_for.wait()
                await asyncio.sleep(GATHER_S)
        except TimeoutError:
            logger.debug("nobody waits for the next heartbeat")

    def leave(self) -> None:
        """The referee takes no new match any more; the league manager hears of it at once."""
        self.leaving = self._hurried = True
        self._news.set()

    async def due(self) -> None:
        """Wait until there is something to tell: news, or a quarter of a lease is over, or that we are still here."""
        # Leagues have leases of their own: where one waits for ten minutes, another takes us for gone meanwhile.
        wait_s = min([self._idle_s(), *(one.waits_s() for one in self._running.values())])
        if self._failed:
            wait_s = max(wait_s, AGAIN_AFTER_S)
        try:
            async with asyncio.timeout(wait_s):
                await self._news.wait()
        except TimeoutError:
            logger.debug("nothing new: a heartbeat is due")
        self._news.clear()

    async def send(self) -> None:
        """One report of what is due; entries that did not arrive are kept for the next.

        Raises:
            CallFailed, Refused: it was not accepted.
            TimeoutError: a match has to be given up while the league manager is silent.
        """
        self._waited_for.clear()
        fresh, self._fresh = self._fresh, {}
        due = [one for key in fresh if (one := self._running.get(key)) is not None]
        others = [one for key, one in self._running.items() if key not in fresh]
        if any(one.waits_s() <= 0 for one in others):
            # Those that are soon due come along: a hundred matches are not told of in a hundred calls.
            due += [one for one in others if one.silent_s() >= one.brief.settings.referee_lease_s / 8]
        if not due and not self._hurried and self._idle_s() > 0:
            # The news was of a match that has been reported since.
            return
        due.sort(key=lambda one: one.told_at)
        # A league manager that takes the call and is silent must not outlast the lease.
        left = [one.left_s() for one in self._running.values()]
        async with asyncio.timeout(max(0.0, min(left)) + 0.01 if left else None):
            await self._tell(due)

    async def send_entries(self, running: Running) -> None:
        """One report of this match alone, as its transcript is too long for one.

        Raises:
            CallFailed, Refused: it was not accepted.
        """
        await self._tell([running])

    async def hand_back(self) -> None:
        """Give back every match; the referee leaves.

        Raises:
            CallFailed, Refused: it was not accepted.
        """
        left = list(self._running.values())
        while left:
            told = await self._tell(left, state=HANDED_BACK)
            left = left[told:]

    async def _tell(self, matches: list[Running], *, state: str | None = None) -> int:
        """One report of as many of these as a body holds; how many that were. There is news of the others."""
        items: list[dict[str, Any]] = []
        size = 0
        for one in matches:
            seal = None if one.sealed else one.seal
            item = progress_of(one.brief, one.log, state or one.log.state, one.failed, seal, told=one.over)
            more = len(rpc.dumps(item))
            if items and size + more > MATCHES_BYTES:
                break
            items.append(item)
            size += more
        told, waiting = matches[: len(items)], matches[len(items) :]
        budget = min(BODY_BUDGET, HEARTBEAT_BYTES - size)
        entries = []
        for one, item in zip(told, items, strict=True):
            taken = item["transcript"] = one.log.take(budget) if budget > 0 else []
            budget -= len(rpc.dumps(taken)) if taken else 0
            entries.append(taken)
            if one.log.waiting:
                waiting.append(one)
        failed = [one.brief.key for one in told if one.failed is not None]
        asked = [one.asked for one in told]
        sent_at = self._sent_at = time.monotonic()
        self._failed, self._hurried = True, False
        try:
            answers = await self._send(items)
        except (CallFailed, Refused, asyncio.CancelledError):
            for one, taken in zip(told, entries, strict=True):
                one.log.give_back(taken)
            self._fresh |= self._keys(matches)
            raise
        self._failed = False
        for one in told:
            one.told_at = sent_at
        if waiting:
            self._fresh |= self._keys(waiting)
            self._news.set()
        for key in failed:
            self._given_back(key)
        self._take(told, asked, _by_key(answers))
        return len(told)

    def _take(self, told: list[Running], asked: list[int], statuses: Mapping[Key, str]) -> None:
        """Have each match told of take what it was answered with; ``asked`` is how often it had waited before."""
        for one, count in zip(told, asked, strict=True):
            status = statuses.get(one.brief.key)
            if status == LOST:
                self._lost(one.brief.key)
                continue
            one.sealed = one.sealed or status == SEALED
            one.refused = status == REFUSED
            one.confirmed = max(one.confirmed, count)
            one.answered.set()

    async def _send(self, items: list[dict[str, Any]]) -> list[Any]:
        """One call. What players said is left out when the league manager cannot take it: the rest must arrive."""
        try:
            return await self._link.progress(items, leaving=self.leaving)
        except Refused as error:
            if error.error_code in NOT_ABOUT_THE_CONTENT or not any(item["transcript"] for item in items):
                raise
            logger.error("a transcript is not taken and is left out: %s", error)
            return await self._link.progress([item | {"transcript": []} for item in items], leaving=self.leaving)

    def _idle_s(self) -> float:
        return self._sent_at + IDLE_S - time.monotonic()

    def _keys(self, matches: Iterable[Running]) -> dict[Key, None]:
        return {one.brief.key: None for one in matches if one.brief.key in self._running}


def _by_key(answers: Iterable[Any]) -> dict[Key, str]:
    """What each match was answered with; what is not of the form is left out."""
    return {
        (str(one.get("league_id")), str(one.get("match_id")), int(one.get("attempt", 0))): str(one.get("status"))
        for one in answers
        if isinstance(one, dict) and isinstance(one.get("attempt"), int)
    }
