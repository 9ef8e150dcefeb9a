"""What is on its way to agents, and what became of it: starts, broadcasts and pings of one plan after another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from django.db import Error, close_old_connections

from league_sdk.dialects import starts
from league_sdk.transport.client import CallFailed, Client, NotReached
from matches.checks.carrying_out import InThread
from matches.conducting import sending
from matches.conducting.due import Plan
from matches.conducting.outcomes import Outcomes
from matches.conducting.outgoing import Ping, Start
from matches.conducting.parcels import Parcel
from matches.conducting.waking import ASLEEP_S, Waker
from matches.league import play
from matches.league.losses import NotTaken
from matches.observing import metrics, telemetry

logger = logging.getLogger(__name__)

AGAIN_AFTER_S = 1.0
STALE_S = 1.0
"""A plan older than this is not followed any further for an agent that is slow."""
PING_LIMIT_S = 2.0
"""An agent that is asked whether it answers has so long: a hundred are asked at once, and somebody waits for it."""


class Sender:
    """Sends what a look has planned. An agent that something is on its way to is left out of the next plans.

    Args:
        client: with the endpoint policy.
        in_thread: runs database work in the conductor's thread.
        waker: woken when an outcome waits to be written down.
    """

    def __init__(self, client: Client, in_thread: InThread, waker: Waker) -> None:
        self._client = client
        self._in_thread = in_thread
        self._waker = waker
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[int] = set()
        self._delivering = 0
        self._outcomes = Outcomes()

    @property
    def busy(self) -> frozenset[int]:
        """Agents that something is on its way to, or was and nobody has taken what became of it."""
        return frozenset(self._busy)

    def take_outcomes(self) -> Outcomes:
        """What became of what was sent, to be written down; its agents are free again."""
        taken, self._outcomes = self._outcomes, Outcomes()
        self._busy.difference_update(taken.freed)
        return taken

    def put_back(self, outcomes: Outcomes) -> None:
        """They could not be written down: their agents are not free yet."""
        self._busy.update(outcomes.freed)
        self._outcomes.put_before(outcomes)

    def send(self, plan: Plan) -> None:
        """Send all of a plan; returns at once."""
        for start in plan.starts:
            self._spawn(self._start(start, plan.made_at))
        for agent_pk, parcels in plan.parcels.items():
            self._busy.add(agent_pk)
            self._delivering += 1
            self._spawn(self._deliver(agent_pk, parcels, plan.made_at))
        for ping in plan.pings:
            self._busy.add(ping.agent_pk)
            self._spawn(self._ping(ping))

    async def finish(self, patience_s: float) -> None:
        """Wait for what is on its way, ``patience_s`` seconds at most."""
        try:
            async with asyncio.timeout(patience_s):
                while self._tasks:
                    await asyncio.wait(set(self._tasks))
        except TimeoutError:
            logger.warning("%d messages were still on their way; they may arrive twice", len(self._tasks))

    async def stop(self) -> None:
        """Break off what is on its way."""
        broken_off = list(self._tasks)
        for task in broken_off:
            task.cancel()
        await asyncio.gather(*broken_off, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("what was to be sent failed here", exc_info=error)

    async def _start(self, start: Start, given_at: float) -> None:
        """start_match; one that is not taken sends the match elsewhere, one in doubt when its lease is over.

        Args:
            given_at: when the match was given to the referee, monotonic seconds; not later.
        """
        for last in (False, True):
            if time.monotonic() - given_at > min(ASLEEP_S, start.limit_s / 2):
                # The match may be another attempt's by now; if it is not, the referee has all the time again.
                renewed = await self._in_thread(lambda start=start: _renew(start))
                if renewed is None:
                    return
                start, given_at = renewed
            limit_s = start.limit_s if start.foreign else start.limit_s - (time.monotonic() - given_at)
            if limit_s <= 0:
                logger.warning("a start came too late to be sent; its match waits until its lease is over")
                return
            with telemetry.sending(start.about) as sent:
                offered = await sending.offer(self._client, start, limit_s=limit_s)
                if offered.problem:
                    sent.failed(offered.cause, offered.problem)
            if not offered.in_doubt:
                self._started(start, offered)
                return
            # Given to another now it might be played by two, and their ends be heard in any order.
            renewed = None if last else await self._in_thread(lambda start=start: _renew(start))
            if renewed is None:
                return
            start, given_at = replace(renewed[0], sent_before=True), renewed[1]

    def _started(self, start: Start, offered: sending.Offered) -> None:
        if offered.way:
            self._outcomes.learned.append((start.referee_pk, {starts.KIND: offered.way}))
        if offered.problem:
            why = (offered.problem, offered.refused, offered.cause)
            self._outcomes.undeliverable.append(NotTaken(start.match_pk, start.attempt, start.lease_until, *why))
        if offered.way or offered.problem:
            self._waker.wake()

    async def _deliver(self, agent_pk: int, parcels: list[Parcel], planned_at: float) -> None:
        """Broadcasts to one agent, one after the other; any HTTP answer settles one (ruling, section 6)."""
        begun = time.monotonic()
        try:
            for parcel in parcels:
                # Stopped for so long that another conductor may have followed a plan of its own, or too slow an agent:
                # some of what is left may have been overtaken, and the next look plans it anew.
                if time.monotonic() - begun > STALE_S or time.monotonic() - planned_at > ASLEEP_S:
                    break
                problem = await self._post_once(agent_pk, parcel)
                # Looked up only now: a look may have taken the earlier outcomes meanwhile.
                self._outcomes.deliveries.append((parcel.delivery_pk, problem))
        finally:
            self._outcomes.freed.append(agent_pk)
            self._delivering -= 1
            # A round waits for its last announcement, and for no other.
            self._waker.wake(urgent=self._delivering == 0)

    async def _post_once(self, agent_pk: int, parcel: Parcel) -> str:
        for last in (False, True):
            try:
                with telemetry.sending(parcel.about):
                    spoken = await sending.deliver(self._client, parcel)
                if spoken:
                    self._outcomes.learned.append((agent_pk, spoken))
            except NotReached as error:
                if last:
                    return str(error)
                metrics.DELIVERY_RETRIES.inc()
                await asyncio.sleep(AGAIN_AFTER_S)
            except CallFailed as error:
                return str(error)
            else:
                break
        return ""

    async def _ping(self, ping: Ping) -> None:
        try:
            with telemetry.sending({"message_type": "ping"}):
                await self._client.post(ping.endpoint, ping.body, limit_s=PING_LIMIT_S)
        except CallFailed as error:
            problem = str(error)
        else:
            problem = ""
        finally:
            self._outcomes.freed.append(ping.agent_pk)
        self._outcomes.pings.append((ping.agent_pk, problem))
        self._waker.wake()


def _renew(start: Start) -> tuple[Start, float] | None:
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
