"""The conductor: looks at the rows, does what is due, and sends what has to go out.

It has no state of its own except what is being sent. A nudge wakes it, and at the latest a tick of half a second. Two
conductors at once, or one that is killed at any moment, do no harm: every step is a compare-and-swap. Several
conductors divide the leagues between them, and one of them also does what concerns all leagues
(``matches.league.conductors``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import copy_context
from typing import TypeVar

from django.db import DatabaseError

from agents_registry.addresses.endpoints import endpoint_policy
from league_sdk.protocol import records
from league_sdk.transport.client import Client
from matches.checks.carrying_out import Checker
from matches.conducting import due, trials
from matches.conducting.sender import Outcomes, Sender
from matches.conducting.sending import Patience
from matches.conducting.waking import DEBOUNCE_S, MIN_SUSPENSION_S, TICK_S, Looks, Waker
from matches.league import play
from matches.league.conductors import LEASE_S, Membership
from matches.observing import metrics
from matches.push import nudge
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

PIECE_PAUSE_S = DEBOUNCE_S
"""How long others may write to the database between two pieces of work on a large league (``due.Plan.pieces``)."""

T = TypeVar("T")


class Conductor:
    """One conductor: wakes, looks, and sends.

    Args:
        executor: a single thread for the database work.
        alone: it is the only conductor of a site, and does not wait for an earlier one that was killed.
        looks: the time of this conductor's last look, by two clocks.
        client: calls agents, with the endpoint policy.
        patience: how long it waits for agents.

    Attributes:
        trouble: why the last look failed, in words that everybody may read; empty if it did not fail.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        alone: bool = False,
        looks: Looks | None = None,
        client: Client | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.trouble = ""
        self._executor = executor
        self._client = client or Client(agent_type="league_manager", policy=endpoint_policy())
        self._waker = Waker()
        self._sender = Sender(self._client, self._in_thread, self._waker, patience)
        self._membership = Membership(alone=alone)
        self._looks = looks or Looks()
        self._full_look_at = self._pieces_at = 0.0
        self._draining = self._leaving = False
        # Whether the next look also sends starts of matches that are ASSIGNED already, which may never have been sent.
        self._again = True

    @property
    def leads(self) -> bool:
        """Whether the work that concerns all leagues is this conductor's."""
        return self._membership.duty.leads

    @property
    def alive(self) -> bool:
        """Whether it has looked at the rows within the last few seconds."""
        return self._looks.recent

    def drain(self) -> None:
        """Start no round, no match and no check from now on; what has begun goes on."""
        self._draining = True

    async def leave(self, patience_s: float) -> None:
        """Stop starting rounds and matches, and wait at most ``patience_s`` seconds for messages that are being sent.

        Cancel :meth:`run` afterwards. The next conductor sends the rest.
        """
        self._draining = self._leaving = True
        await self._sender.finish(patience_s)

    async def run(self) -> None:
        """Conduct until cancelled."""
        records.bind(component="conductor")
        works = (
            Checker(self._client, self._in_thread, lambda: self._draining).keep_checking(),
            trials.keep_sending(self._client),
            nudge.hear(),
        )
        with self._waker.listening():
            background = [asyncio.create_task(work) for work in works]
            for task in background:
                task.add_done_callback(_ended)
            try:
                while True:
                    await self.look()
                    await self._waker.wait()
            finally:
                for task in background:
                    task.cancel()
                await self._sender.stop()
                await asyncio.gather(*background, return_exceptions=True)
                await self._client.aclose()
                await self._in_thread(self._end)

    async def look(self) -> None:
        """Look once, and send what has to go out. If a look fails, the next one does its work."""
        self._waker.begin()
        # An agent gets further messages only when the outcomes of the earlier ones are stored.
        outcomes = self._sender.take_outcomes()
        busy, slept_s = self._sender.busy, self._looks.slept_s()
        try:
            with metrics.LOOK_SECONDS.time():
                plan = await self._in_thread(lambda: self._plan(outcomes, busy, slept_s))
        except Exception as error:
            metrics.LOOK_FAILURES.inc()
            self.trouble = _in_words(error)
            # For example the database is locked or away for a moment. What was stored before may be done once more:
            # every step is a compare-and-swap.
            logger.exception("a look failed; the next one tries again")
            self._sender.put_back(outcomes)
            self._again = True
            return
        self.trouble = ""
        metrics.LOOKED_AT.set(self._looks.made())
        self._waker.matches_wait = plan.waiting
        if plan.more:
            self._waker.wake()
        elif plan.pieces:
            self._waker.wake(urgent=False)
        self._sender.send(plan)

    @outside_requests()
    def _plan(self, outcomes: Outcomes, busy: frozenset[int], slept_s: float) -> due.Plan:
        """Do what is due; in the thread for the database."""
        if outcomes:
            outcomes.write_down()
        led = self.leads
        if self._leaving:
            return due.Plan()
        duty = self._membership.renew()
        if led and duty.is_whole and abs(slept_s) > MIN_SUSPENSION_S:
            # Only if no other conductor is there: that one has heard the referees meanwhile.
            logger.warning("leases are moved by %.1f s: this process stood still, or the clock was set", slept_s)
            play.extend_leases(seconds=slept_s)
            # Mark the look as made, so that leases are moved only once even if what follows fails.
            self._looks.made()
        now = time.monotonic()
        quick = now - self._full_look_at < TICK_S
        again, pieces = self._again or not led, now >= self._pieces_at
        plan = due.look(busy_agents=busy, draining=self._draining, quick=quick, again=again, pieces=pieces, duty=duty)
        self._again = self._again and not duty.leads
        if plan.pieces:
            # At least as long as a piece took, others may write.
            self._pieces_at = time.monotonic() + PIECE_PAUSE_S
        if not quick:
            self._full_look_at = now
        return plan

    @outside_requests()
    def _end(self) -> None:
        """Store the outcomes of what was sent, and leave the leagues to the other conductors."""
        try:
            if outcomes := self._sender.take_outcomes():
                outcomes.write_down()
            self._membership.leave()
        except DatabaseError:
            logger.exception("the other conductors were not told; they take over in %g s", LEASE_S)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, copy_context().run, work)


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a background task of the conductor failed", exc_info=error)


def _in_words(error: Exception) -> str:
    """Why a look failed, without the database's own message, which may contain names and addresses."""
    if not isinstance(error, DatabaseError):
        return "the conductor fails: its log says why"
    message = str(error).lower()
    return "the disk is full" if "full" in message or "no space" in message else "the database cannot be written to"
