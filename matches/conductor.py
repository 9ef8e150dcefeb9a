"""The conductor: looks at the rows, has done what is due, sends what has to go out.

It owns no state of its own but what is on its way. A nudge wakes it; a half-second tick is the
safety net. Two conductors, or one killed anywhere, do no harm: every step is a compare-and-swap.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

from django.db import close_old_connections

from league_sdk.dialects import starts
from league_sdk.transport.client import CallFailed, Client, NotReached
from matches import checking, due, nudge, outgoing, sending, trials
from matches.league import play
from matches.parcels import Parcel

logger = logging.getLogger(__name__)

TICK_S = 0.5
BREATH_S = 0.005
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

T = TypeVar("T")


class Conductor:
    """One conductor on a running event loop.

    Args:
        executor: a single thread for the database work.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._wake = asyncio.Event()
        self._waking: asyncio.TimerHandle | None = None
        self._delivering = 0
        self._outcomes = due.Outcomes()
        self._busy: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._looked_at = self._looked_at_clock = 0.0
        self._looked_around_at = 0.0
        self._draining = False

    @property
    def alive(self) -> bool:
        """Whether it has looked at the rows within the last few seconds."""
        return time.monotonic() - self._looked_at < 10 * TICK_S

    def drain(self) -> None:
        """No round and no match starts from now on; the rest goes on."""
        self._draining = True

    async def run(self) -> None:
        """Conduct until cancelled."""
        loop = asyncio.get_running_loop()
        detach = nudge.attach(lambda urgent: loop.call_soon_threadsafe(self._wake_up, urgent))
        client = Client(agent_type="league_manager", policy=outgoing.endpoint_policy())
        self._spawn(checking.keep_checking(client, self._in_thread, lambda: self._draining))
        self._spawn(trials.keep_sending(client))
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
            for task in self._tasks:
                task.cancel()
            await client.aclose()

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
        outcomes, self._outcomes = self._outcomes, due.Outcomes()
        # An agent is free again only when what became of its messages is written down.
        busy = frozenset(self._busy.difference(outcomes.freed))
        slept = self._slept_s()
        try:
            plan = await self._in_thread(lambda: self._look(outcomes, busy, slept))
        except Exception:
            # A database that is locked or gone for a moment: the rows are as they were.
            logger.exception("a look failed; the next one tries again")
            self._outcomes.put_before(outcomes)
            return
        self._looked_at, self._looked_at_clock = time.monotonic(), time.time()
        self._busy.difference_update(outcomes.freed)
        for start in plan.starts:
            self._spawn(self._start(client, start))
        for agent_pk, parcels in plan.parcels.items():
            self._busy.add(agent_pk)
            self._delivering += 1
            self._spawn(self._deliver(client, agent_pk, parcels))
        for check in plan.checks:
            self._busy.add(check.agent_pk)
            self._spawn(self._check(client, check))

    def _slept_s(self) -> float:
        """Seconds since the last look, by the clock that saw more: one stands still while a laptop sleeps."""
        if not self._looked_at:
            return 0.0
        return max(time.monotonic() - self._looked_at, time.time() - self._looked_at_clock)

    def _look(self, outcomes: due.Outcomes, busy: frozenset[int], slept: float) -> due.Plan:
        try:
            if slept > ASLEEP_S:
                logger.warning("no look for %.1f s: leases are extended by that", slept)
                play.extend_leases(seconds=slept)
            if outcomes:
                due.note(outcomes)
            now = time.monotonic()
            quick = now - self._looked_around_at < TICK_S
            plan = due.look(busy_agents=busy, draining=self._draining, quick=quick)
            if not quick:
                self._looked_around_at = now
            return plan
        finally:
            close_old_connections()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, client: Client, start: outgoing.Start) -> None:
        """start_match; one that is not taken sends the match elsewhere."""
        offered = await sending.offer(client, start)
        self._learn(start.referee_pk, {starts.KIND: offered.way} if offered.way else {})
        if offered.problem:
            lost = (start.match_pk, start.attempt, offered.problem, offered.refused, offered.cause)
            self._outcomes.undeliverable.append(lost)
        if offered.way or offered.problem:
            self._wake_up()

    async def _deliver(self, client: Client, agent_pk: int, parcels: list[Parcel]) -> None:
        """Broadcasts to one agent, one after the other; any HTTP answer settles one (ruling, section 6)."""
        begun = time.monotonic()
        try:
            for parcel in parcels:
                if time.monotonic() - begun > STALE_S:
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
                self._learn(agent_pk, await sending.deliver(client, parcel))
            except NotReached as error:
                if last:
                    return str(error)
                await asyncio.sleep(AGAIN_AFTER_S)
            except CallFailed as error:
                return str(error)
            else:
                break
        return ""

    async def _check(self, client: Client, check: outgoing.Check) -> None:
        try:
            await client.post(check.endpoint, check.body, limit_s=CHECK_LIMIT_S)
            problem = ""
        except CallFailed as error:
            problem = str(error)
        self._outcomes.checks.append((check.agent_pk, problem))
        self._outcomes.freed.append(check.agent_pk)
        self._wake.set()
