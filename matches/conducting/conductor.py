"""The conductor: looks at the rows, has done what is due, sends what has to go out.

It owns no state of its own but what is on its way. A nudge wakes it; a half-second tick is the
safety net. Two conductors, or one killed anywhere, do no harm: every step is a compare-and-swap. Of
several the one that has the lead (``matches.league.leading``) conducts; the others carry out checks and wait.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import copy_context
from typing import TypeVar

from django.db import DatabaseError, close_old_connections

from agents_registry.endpoints import endpoint_policy
from league_sdk.protocol import records
from league_sdk.transport.client import Client
from matches.checks import carrying_out
from matches.conducting import due, outcomes, trials
from matches.conducting.lead import Lead
from matches.conducting.sender import Sender
from matches.conducting.waking import ASLEEP_S, TICK_S, Looks, Waker
from matches.league import play
from matches.observing import metrics
from matches.push import nudge

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Conductor:
    """One conductor: joins what wakes it, the looks, and what is sent.

    Args:
        executor: a single thread for the database work.
        take_over: conduct at once, whoever else does: for the only one of a site, which an earlier one that was
            killed must not keep waiting.

    Attributes:
        trouble: why the last look failed, for everybody to read; empty when it did not.
    """

    def __init__(self, executor: Executor, *, take_over: bool = False) -> None:
        self.trouble = ""
        self._executor = executor
        self._client = Client(agent_type="league_manager", policy=endpoint_policy())
        self._waker = Waker()
        self._sender = Sender(self._client, self._in_thread, self._waker)
        self._lead = Lead(force=take_over)
        self._looks = Looks()
        self._looked_around_at = 0.0
        self._draining = self._leaving = False
        # Whether a match may have been given to a referee without a start that was sent.
        self._again = True

    @property
    def leads(self) -> bool:
        """Whether it is this one that conducts."""
        return self._lead.held

    @property
    def alive(self) -> bool:
        """Whether it has looked at the rows within the last few seconds."""
        return self._looks.recent

    def drain(self) -> None:
        """No round and no match starts from now on; the rest goes on."""
        self._draining = True

    async def leave(self, patience_s: float) -> None:
        """Begin nothing any more and wait for what is on its way, ``patience_s`` seconds at most.

        To be cancelled afterwards; the next conductor sends the rest.
        """
        self._draining = self._leaving = True
        await self._sender.finish(patience_s)

    async def run(self) -> None:
        """Conduct until cancelled."""
        records.bind(component="conductor")
        works = (
            carrying_out.keep_checking(self._client, self._in_thread, lambda: self._draining),
            trials.keep_sending(self._client),
            nudge.hear(),
        )
        with self._waker.listening():
            beside = [asyncio.create_task(work) for work in works]
            for task in beside:
                task.add_done_callback(_ended)
            try:
                while True:
                    await self.look()
                    await self._waker.wait()
            finally:
                for task in beside:
                    task.cancel()
                await self._sender.stop()
                await asyncio.gather(*beside, return_exceptions=True)
                await self._client.aclose()
                await self._in_thread(self._end)

    async def look(self) -> None:
        """Look once, and send what has to go out; a look that fails is made up for by the next one."""
        self._waker.begin()
        # An agent is free again only when what became of its messages is written down.
        found = self._sender.take_outcomes()
        busy, slept_s = self._sender.busy, self._looks.slept_s()
        try:
            with metrics.LOOK_SECONDS.time():
                plan = await self._in_thread(lambda: self._plan(found, busy, slept_s))
        except Exception as error:
            metrics.LOOK_FAILURES.inc()
            self.trouble = _in_words(error)
            # A database that is locked or gone for a moment: the rows are as they were.
            logger.exception("a look failed; the next one tries again")
            self._sender.put_back(found)
            self._again = True
            return
        self.trouble = ""
        metrics.LOOKED_AT.set(self._looks.made())
        self._waker.matches_wait = plan.waiting
        if plan.more:
            self._waker.wake()
        self._sender.send(plan)

    def _plan(self, found: outcomes.Outcomes, busy: frozenset[int], slept_s: float) -> due.Plan:
        """Do what is due; in the thread for the database."""
        try:
            if found:
                outcomes.note(found)
            led = self._lead.held
            if self._leaving or not self._lead.renew():
                return due.Plan()
            if led and abs(slept_s) > ASLEEP_S:
                # Where another one conducted meanwhile, referees were heard, and one that was not is gone.
                logger.warning("no look for %.1f s by the clock: leases are moved by that", slept_s)
                play.extend_leases(seconds=slept_s)
                # Once for each sleep, also if what follows fails.
                self._looks.made()
            now = time.monotonic()
            quick = now - self._looked_around_at < TICK_S
            plan = due.look(busy_agents=busy, draining=self._draining, quick=quick, again=self._again or not led)
            self._again = False
            if not quick:
                self._looked_around_at = now
            return plan
        finally:
            close_old_connections()

    def _end(self) -> None:
        """Write down what is known of what went out, and let the next conductor begin."""
        try:
            if found := self._sender.take_outcomes():
                outcomes.note(found)
            self._lead.give_up()
        except DatabaseError:
            logger.exception("the lead was not given up; it runs out")
        finally:
            close_old_connections()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, copy_context().run, work)


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("a work beside the looks failed", exc_info=error)


def _in_words(error: Exception) -> str:
    """Nothing of what the database itself said: names and addresses may be in it."""
    if not isinstance(error, DatabaseError):
        return "the conductor fails: its log says why"
    said = str(error).lower()
    return "the disk is full" if "full" in said or "no space" in said else "the database cannot be written to"
