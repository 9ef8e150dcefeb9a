"""The conductor: looks at the rows, has done what is due, sends what has to go out.

It owns no state of its own but what is on its way. A nudge wakes it; a half-second tick is the
safety net. Two conductors, or one killed anywhere, do no harm: every step is a compare-and-swap. Of
several the one that has the lead (``matches.league.leading``) conducts; the others carry out checks and wait.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import replace
from typing import Any, TypeVar

from django.db import DatabaseError, Error, close_old_connections

from agents_registry.endpoints import endpoint_policy
from league_sdk.dialects import starts
from league_sdk.protocol import records
from league_sdk.transport.client import CallFailed, Client, NotReached
from matches.checks import carrying_out
from matches.conducting import due, outgoing, sending, trials
from matches.conducting.parcels import Parcel
from matches.league import leading, play
from matches.observing import figures, watching
from matches.push import nudge

logger = logging.getLogger(__name__)

TICK_S = 0.5
BREATH_S = 0.001
"""Between two looks, so that what comes together is handled together."""
MOMENT_S = 0.05
"""What is not urgent waits so long for company."""
ASLEEP_S = 3.0
"""A pause between looks longer than this means that we were stopped ourselves."""
AGAIN_AFTER_S = 1.0
STALE_S = 1.0
"""A plan older than this is not followed any further for an agent that is slow."""
CHECK_LIMIT_S = 2.0
"""An agent that is asked whether it answers has so long: a hundred are asked at once, and somebody waits for it."""

RENEW_S = 1.0
"""The lead is taken again this often; it holds three times as long."""

T = TypeVar("T")


class Conductor:
    """One conductor on a running event loop.

    Args:
        executor: a single thread for the database work.
        take_over: conduct at once, whoever else does: for the only one of a site, which an earlier one that was
            killed must not keep waiting.
    """

    def __init__(self, executor: Executor, *, take_over: bool = False) -> None:
        self._executor = executor
        # For a person who looks at the row; the end of it is what makes it ours alone.
        self._name = f"{socket.gethostname()[:32]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self._force = take_over
        self._leads = False
        self._led_at = 0.0
        self._wake = asyncio.Event()
        self._waking: asyncio.TimerHandle | None = None
        self._matches_wait = True
        self._delivering = 0
        self._outcomes = due.Outcomes()
        self._busy: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self._looked_at = self._looked_at_clock = 0.0
        self._looked_around_at = 0.0
        self._draining = self._leaving = False
        self._trouble = ""
        # Whether a match may have been given to a referee without a start that was sent.
        self._again = True

    @property
    def leads(self) -> bool:
        """Whether it is this one that conducts."""
        return self._leads

    @property
    def alive(self) -> bool:
        """Whether it has looked at the rows within the last few seconds."""
        return time.monotonic() - self._looked_at < 10 * TICK_S

    @property
    def trouble(self) -> str:
        """Why the last look failed, for everybody to read; empty when it did not."""
        return self._trouble

    def drain(self) -> None:
        """No round and no match starts from now on; the rest goes on."""
        self._draining = True

    async def leave(self, patience_s: float) -> None:
        """Begin nothing any more and wait for what is on its way, ``patience_s`` seconds at most.

        To be cancelled afterwards; the next conductor sends the rest.
        """
        self._draining = self._leaving = True
        try:
            async with asyncio.timeout(patience_s):
                while self._sending:
                    await asyncio.wait(set(self._sending))
        except TimeoutError:
            logger.warning("%d messages were still on their way; they may arrive twice", len(self._sending))

    async def run(self) -> None:
        """Conduct until cancelled."""
        records.bind(component="conductor")
        loop = asyncio.get_running_loop()

        def wake(urgent: bool) -> None:
            # Who is awake, or about to be, has its look before it: waking it once more costs a call of the system. And
            # that a match is over is of use only to those that wait for that.
            if not self._wake.is_set() and (urgent or (self._matches_wait and self._waking is None)):
                loop.call_soon_threadsafe(self._wake_up, urgent)

        detach = nudge.attach(wake)
        client = Client(agent_type="league_manager", policy=endpoint_policy())
        self._spawn(carrying_out.keep_checking(client, self._in_thread, lambda: self._draining))
        self._spawn(trials.keep_sending(client))
        self._spawn(nudge.hear())
        try:
            while True:
                await self._once(client)
                try:
                    async with asyncio.timeout(TICK_S):
                        await self._wake.wait()
                except TimeoutError:
                    logger.debug("tick")
                await asyncio.sleep(BREATH_S)
        finally:
            detach()
            self._sleep_on()
            for task in self._tasks | self._sending:
                task.cancel()
            await client.aclose()
            await self._in_thread(self._end)

    def _wake_up(self, urgent: bool = True) -> None:
        if urgent:
            self._wake.set()
        elif self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(MOMENT_S, self._wake.set)

    def _sleep_on(self) -> None:
        self._wake.clear()
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None

    async def _once(self, client: Client) -> None:
        self._sleep_on()
        # What happens from here on, this look may have read too early to see.
        self._matches_wait = True
        outcomes, self._outcomes = self._outcomes, due.Outcomes()
        # An agent is free again only when what became of its messages is written down.
        busy = frozenset(self._busy.difference(outcomes.freed))
        slept = self._slept_s()
        try:
            with figures.LOOK_SECONDS.time():
                plan = await self._in_thread(lambda: self._look(outcomes, busy, slept))
        except Exception as error:
            figures.LOOK_FAILURES.inc()
            self._trouble = _in_words(error)
            # A database that is locked or gone for a moment: the rows are as they were.
            logger.exception("a look failed; the next one tries again")
            self._outcomes.put_before(outcomes)
            self._again = True
            return
        self._trouble = ""
        self._looked_at, self._looked_at_clock = time.monotonic(), time.time()
        figures.LOOKED_AT.set(self._looked_at_clock)
        self._busy.difference_update(outcomes.freed)
        self._matches_wait = plan.waiting
        if plan.more:
            self._wake.set()
        for start in plan.starts:
            self._send(self._start(client, start, plan.made_at))
        for agent_pk, parcels in plan.parcels.items():
            self._busy.add(agent_pk)
            self._delivering += 1
            self._send(self._deliver(client, agent_pk, parcels, plan.made_at))
        for check in plan.checks:
            self._busy.add(check.agent_pk)
            self._send(self._check(client, check))

    def _slept_s(self) -> float:
        """Seconds since the last look, by the clock that saw more: one stands still while a laptop sleeps.

        Below 0: the clock was set back by so many, and what was written by it lies that much too far ahead.
        """
        if not self._looked_at:
            return 0.0
        passed, by_clock = time.monotonic() - self._looked_at, time.time() - self._looked_at_clock
        return by_clock - passed if by_clock - passed < -ASLEEP_S else max(passed, by_clock)

    def _look(self, outcomes: due.Outcomes, busy: frozenset[int], slept: float) -> due.Plan:
        try:
            if outcomes:
                due.note(outcomes)
            led = self._leads
            if not self._may_conduct():
                return due.Plan()
            if led and abs(slept) > ASLEEP_S:
                # Where another one conducted meanwhile, referees were heard, and one that was not is gone.
                logger.warning("no look for %.1f s by the clock: leases are moved by that", slept)
                play.extend_leases(seconds=slept)
                # Once for each sleep, also if what follows fails.
                self._looked_at, self._looked_at_clock = time.monotonic(), time.time()
            now = time.monotonic()
            quick = now - self._looked_around_at < TICK_S
            again = self._again or not led
            plan = due.look(busy_agents=busy, draining=self._draining, quick=quick, again=again)
            self._again = False
            if not quick:
                self._looked_around_at = now
            return plan
        finally:
            close_old_connections()

    def _may_conduct(self) -> bool:
        """Whether the lead is ours; asked for, and renewed, once a second."""
        if self._leaving:
            return False
        now = time.monotonic()
        if not self._leads or now - self._led_at >= RENEW_S:
            led, self._leads = self._leads, leading.take_lead(holder=self._name, force=self._force)
            self._led_at, self._force = now, False
            if led != self._leads:
                logger.info("this conductor %s", "conducts" if self._leads else "waits: another one conducts")
        return self._leads

    def _end(self) -> None:
        """Write down what is known of what went out, and let the next conductor begin."""
        try:
            if self._outcomes:
                due.note(self._outcomes)
            if self._leads:
                leading.give_up_lead(holder=self._name)
        except DatabaseError:
            logger.exception("the lead was not given up; it runs out")
        finally:
            self._leads = False
            close_old_connections()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, copy_context().run, work)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("what was to be sent failed here", exc_info=error)

    async def _start(self, client: Client, start: outgoing.Start, given_at: float, *, last: bool = False) -> None:
        """start_match; one that is not taken sends the match elsewhere, one in doubt when its lease is over.

        Args:
            given_at: when the match was given to the referee, monotonic seconds; not later.
            last: it is not sent once more when there is no answer.
        """
        if time.monotonic() - given_at > min(ASLEEP_S, start.limit_s / 2):
            # The match may be another attempt's by now; if it is not, the referee has all the time again.
            renewed = await self._in_thread(lambda: _renew(start))
            if renewed is None:
                return
            start, given_at = renewed
        limit_s = start.limit_s if start.foreign else start.limit_s - (time.monotonic() - given_at)
        if limit_s <= 0:
            logger.warning("a start came too late to be sent; its match waits until its lease is over")
            return
        with watching.sending(start.about) as sent:
            offered = await sending.offer(client, start, limit_s=limit_s)
            if offered.problem:
                sent.failed(offered.cause, offered.problem)
        if offered.in_doubt:
            # Given to another now it might be played by two, and their ends be heard in any order.
            renewed = None if last else await self._in_thread(lambda: _renew(start))
            if renewed is not None:
                again, given_at = renewed
                await self._start(client, replace(again, sent_before=True), given_at, last=True)
            return
        self._learn(start.referee_pk, {starts.KIND: offered.way} if offered.way else {})
        if offered.problem:
            why = (offered.problem, offered.refused, offered.cause)
            lost = due.NotTaken(start.match_pk, start.attempt, start.lease_until, *why)
            self._outcomes.undeliverable.append(lost)
        if offered.way or offered.problem:
            self._wake_up()

    async def _deliver(self, client: Client, agent_pk: int, parcels: list[Parcel], planned_at: float) -> None:
        """Broadcasts to one agent, one after the other; any HTTP answer settles one (ruling, section 6)."""
        begun = time.monotonic()
        try:
            for parcel in parcels:
                if time.monotonic() - begun > STALE_S or _overtaken(planned_at):
                    # Some of what is left may have been overtaken: the next look plans it anew.
                    break
                problem = await self._post_once(client, agent_pk, parcel)
                # Looked up only now: a look may have taken the earlier outcomes meanwhile.
                self._outcomes.deliveries.append((parcel.delivery_pk, problem))
        finally:
            self._outcomes.freed.append(agent_pk)
            self._delivering -= 1
            # A round waits for its last announcement, and for no other.
            self._wake_up(urgent=self._delivering == 0)

    def _learn(self, agent_pk: int, spoken: dict[str, str]) -> None:
        if spoken:
            self._outcomes.learned.append((agent_pk, spoken))

    async def _post_once(self, client: Client, agent_pk: int, parcel: Parcel) -> str:
        for last in (False, True):
            try:
                with watching.sending(parcel.about):
                    self._learn(agent_pk, await sending.deliver(client, parcel))
            except NotReached as error:
                if last:
                    return str(error)
                figures.DELIVERY_RETRIES.inc()
                await asyncio.sleep(AGAIN_AFTER_S)
            except CallFailed as error:
                return str(error)
            else:
                break
        return ""

    async def _check(self, client: Client, check: outgoing.Check) -> None:
        try:
            with watching.sending({"message_type": "ping"}):
                await client.post(check.endpoint, check.body, limit_s=CHECK_LIMIT_S)
        except CallFailed as error:
            problem = str(error)
        else:
            problem = ""
        finally:
            self._outcomes.freed.append(check.agent_pk)
        self._outcomes.checks.append((check.agent_pk, problem))
        self._wake.set()


def _renew(start: outgoing.Start) -> tuple[outgoing.Start, float] | None:
    """The lease of a match begins anew, if it is still given to a referee that has told nothing of it.

    Returns its start in this lease, and when that began, in monotonic seconds.
    """
    try:
        given_at = time.monotonic()
        until = play.renew_lease(match_pk=start.match_pk, attempt=start.attempt, lease_s=start.lease_s)
        return None if until is None else (replace(start, lease_until=until), given_at)
    except Error:
        logger.exception("the lease of a match was not renewed; it runs out")
        return None
    finally:
        close_old_connections()


def _overtaken(planned_at: float) -> bool:
    """Whether we were stopped since a plan was made, for so long that another conductor may have followed its own."""
    return time.monotonic() - planned_at > ASLEEP_S


def _in_words(error: Exception) -> str:
    """Nothing of what the database itself said: names and addresses may be in it."""
    if not isinstance(error, DatabaseError):
        return "the conductor fails: its log says why"
    said = str(error).lower()
    return "the disk is full" if "full" in said or "no space" in said else "the database cannot be written to"
