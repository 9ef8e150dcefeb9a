"""Send the starts, broadcasts and pings of one plan after another, and keep their outcomes until they are stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from django.db import Error, transaction

from agents_registry.registering import learned, moving, registration
from league_sdk.dialects import starts
from league_sdk.protocol.faults import OWN_SIDE
from league_sdk.protocol.notes import Code, note
from league_sdk.transport.client import CallFailed, Client, NotReached, Reply
from matches.checks.carrying_out import InThread
from matches.conducting import sending
from matches.conducting.due import Plan
from matches.conducting.outgoing import Ping, Start, in_calls
from matches.conducting.parcels import Parcel
from matches.conducting.telling import Found, Telling
from matches.conducting.waking import MIN_SUSPENSION_S, Waker
from matches.inbox.calling import AgentCaller
from matches.inbox.finding import found_by
from matches.inbox.hub import hub
from matches.league import losses, outbox, play
from matches.league.losses import UntakenStart
from matches.observing import metrics, telemetry
from matches.view.recent import Recent
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

MAX_UNREACHED = 10_000
"""How many deliveries that failed to reach their agents a conductor remembers."""
MAX_DELIVERING_S = 1.0
"""Once broadcasts have been sent to one agent for this long, its other ones are left to the next look."""


@dataclass(slots=True)
class Outcomes:
    """The outcomes of what was sent, until they are stored.

    Attributes:
        deliveries: pairs of delivery and problem; an empty problem means delivered.
        undeliverable: starts that were not taken.
        pings: for each agent that was pinged its problem, and what was found at its address
            (:func:`matches.inbox.finding.found_by`).
        moves: for each call at an address to which a player moves the player, the address, and whether it answered.
        learned: pairs of an agent and what was found out about how it speaks.
        freed: agents that no broadcast or ping is being sent to any more.
    """

    deliveries: list[tuple[int, str]] = field(default_factory=list)
    undeliverable: list[UntakenStart] = field(default_factory=list)
    pings: list[tuple[int, str, str | None]] = field(default_factory=list)
    moves: list[tuple[int, str, bool]] = field(default_factory=list)
    learned: list[tuple[int, Found]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.deliveries or self.undeliverable or self.pings or self.moves or self.learned)

    def put_before(self, earlier: Outcomes) -> None:
        """Insert earlier outcomes, which could not be stored, before these."""
        for one in fields(self):
            getattr(self, one.name)[:0] = getattr(earlier, one.name)

    def write_down(self) -> None:
        """Store all outcomes in the database, in one transaction."""
        with transaction.atomic():
            for lost in self.undeliverable:
                losses.undeliverable(lost)
            for agent_pk, problem, found in self.pings:
                registration.note_ping(agent_id=agent_pk, problem=problem, found=found)
            for agent_pk, endpoint, answered in self.moves:
                moving.note_call(agent_id=agent_pk, endpoint=endpoint, answered=answered)
            for agent_pk, more in self.learned:
                learned.learn_dialect(
                    agent_id=agent_pk, spoken=more.spoken, learned=more.learned, registration=more.registration
                )
                learned.add_notes(agent_id=agent_pk, notes=more.notes, registration=more.registration)
            # Deliveries last, as in a report that ends a round: another order could deadlock.
            outbox.settle(self.deliveries)


class Sender:
    """Sends what a look has planned.

    An agent is busy, and left out of the next plans, while broadcasts or a ping are sent to it; starts do not count.

    Args:
        client: a client with the endpoint policy.
        in_thread: runs database work in the conductor's thread.
        waker: woken when an outcome waits to be stored.
        patience: how long it waits.
    """

    def __init__(
        self, client: Client, in_thread: InThread, waker: Waker, patience: sending.Patience | None = None
    ) -> None:
        self._patience = patience or sending.Patience()
        self._client = client
        self._in_thread = in_thread
        self._waker = waker
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[int] = set()
        self._delivering = 0
        self._telling = Telling(client)
        self._outcomes = Outcomes()
        # The time at which each delivery first failed to reach its agent, in monotonic seconds.
        # Those that are dropped meanwhile stay until newer ones push them out.
        self._unreached: Recent[int, float] = Recent(MAX_UNREACHED)

    @property
    def busy(self) -> frozenset[int]:
        """Agents that broadcasts or a ping are being sent to, or whose outcomes have not been taken yet."""
        return frozenset(self._busy)

    def take_outcomes(self) -> Outcomes:
        """Take the outcomes, to store them; their agents are not busy any more."""
        outcomes, self._outcomes = self._outcomes, Outcomes()
        self._busy.difference_update(outcomes.freed)
        return outcomes

    def put_back(self, outcomes: Outcomes) -> None:
        """Put outcomes back that may not have been stored; their agents are busy again."""
        self._busy.update(outcomes.freed)
        self._outcomes.put_before(outcomes)

    def send(self, plan: Plan) -> None:
        """Start sending all of a plan; returns at once."""
        for together in in_calls(plan.starts):
            self._spawn(self._start(together, plan.made_at))
        for agent_pk, parcels in plan.parcels.items():
            self._busy.add(agent_pk)
            self._delivering += 1
            self._spawn(self._deliver(agent_pk, parcels, plan.made_at))
        for ping in plan.pings:
            self._busy.add(ping.agent_pk)
            self._spawn(self._ping(ping))

    async def finish(self, patience_s: float) -> None:
        """Wait at most ``patience_s`` seconds for messages that are being sent."""
        try:
            async with asyncio.timeout(patience_s):
                while self._tasks:
                    await asyncio.wait(set(self._tasks))
        except TimeoutError:
            logger.warning("%d messages were still on their way; they may arrive twice", len(self._tasks))

    async def stop(self) -> None:
        """Cancel messages that are being sent, and end the MCP sessions with players."""
        broken_off = list(self._tasks)
        for task in broken_off:
            task.cancel()
        await asyncio.gather(*broken_off, return_exceptions=True)
        await self._telling.aclose()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a task that sends messages failed", exc_info=error)

    async def _start(
        self, together: Sequence[Start], given_at: float, *, renewed: bool = False, again: bool = False
    ) -> None:
        """Send starts to one referee. What it does not take goes to another one; what is in doubt is sent once more.

        Args:
            together: starts of one limit, as :func:`matches.conducting.outgoing.in_calls` puts them together.
            given_at: when the matches were assigned or their leases renewed, or earlier, in monotonic seconds.
            renewed: their leases were renewed at ``given_at``, and are not renewed again however long ago that is.
            again: this is the second try: what is still in doubt goes to another referee when its lease is over.
        """
        first, waited_s = together[0], time.monotonic() - given_at
        if not renewed and waited_s > min(MIN_SUSPENSION_S, first.limit_s / 2):
            # The attempts may be over by now; those that are not get a new lease.
            for start in together:
                self._spawn(self._start_renewed(start, again=again))
            return
        limit_s = first.limit_s - waited_s if first.sends_progress else first.limit_s
        if limit_s <= 0:
            logger.warning("a start came too late to be sent; its match waits until its lease is over")
            return
        caller = AgentCaller(self._client, first.referee_pk)
        with ExitStack() as records:
            sent = [records.enter_context(telemetry.sending(start.about)) for start in together]
            results = await sending.send_starts(caller, together, limit_s=limit_s)
            for one, result in zip(sent, results, strict=True):
                if result.problem:
                    one.failed(result.cause, str(result.problem))
        for start, result in zip(together, results, strict=True):
            if not result.in_doubt:
                self._started(start, result)
            elif not again:
                # Do not give it to another referee now: two might play it, and tell its players two results.
                self._spawn(self._start_renewed(replace(start, sent_before=True), again=True))

    async def _start_renewed(self, start: Start, *, again: bool) -> None:
        """Send a start with a new lease, if its match is still the referee's to start."""
        renewed = await self._in_thread(partial(_renew, start))
        if renewed is not None:
            start, given_at = renewed
            await self._start([start], given_at, renewed=True, again=again)

    def _started(self, start: Start, result: sending.StartResult) -> None:
        if result.way:
            self._outcomes.learned.append((start.referee_pk, Found(spoken={starts.KIND: result.way})))
        if result.problem:
            why = (result.problem, result.counts, result.cause)
            self._outcomes.undeliverable.append(UntakenStart(start.match_pk, start.attempt, start.lease_until, *why))
        if result.way or result.problem:
            self._waker.wake()

    async def _deliver(self, agent_pk: int, parcels: list[Parcel], planned_at: float) -> None:
        """Send broadcasts to one agent, one after the other; any HTTP answer settles one (ruling, section 6)."""
        begun = time.monotonic()
        try:
            for parcel in parcels:
                # If this process was suspended, another conductor may have sent these messages; if the agent is slow,
                # some of them may have been dropped meanwhile. The next look plans the rest again.
                if time.monotonic() - begun > MAX_DELIVERING_S or time.monotonic() - planned_at > MIN_SUSPENSION_S:
                    break
                problem = await self._post(agent_pk, parcel)
                if problem is None:
                    # The next look plans it again, unless a newer table has overtaken it or another conductor leads.
                    metrics.DELIVERY_RETRIES.inc()
                    await asyncio.sleep(self._patience.retry_s)
                    break
                # Read self._outcomes only now: a look may have taken the earlier object.
                self._outcomes.deliveries.append((parcel.delivery_pk, problem))
        finally:
            self._outcomes.freed.append(agent_pk)
            self._delivering -= 1
            # Urgent only for the last delivery: a round opens when all of its announcements are settled.
            self._waker.wake(urgent=self._delivering == 0)

    async def _post(self, agent_pk: int, parcel: Parcel) -> str | None:
        """Send one broadcast.

        Returns the problem, empty if it was delivered; None if the agent was not reached and it is to be sent again.
        """
        caller = AgentCaller(self._client, agent_pk, confirm=True)
        try:
            with telemetry.sending(parcel.about):
                if parcel.registration:
                    found = await self._telling.tell(caller, parcel)
                else:
                    found = Found(spoken=await sending.send_broadcast(caller, parcel))
        except NotReached as error:
            if error.cause in OWN_SIDE:
                # Nobody knows whether the agent is there. The tries count from when the whole site runs again.
                self._unreached.pop(parcel.delivery_pk, None)
                return None
            if self._is_sent_again(agent_pk, parcel.delivery_pk, patient=not error.connected):
                return None
            problem = str(error)
        except CallFailed as error:
            problem = str(error)
        except Exception:
            # An answer that our code cannot read settles its message, too: it would be sent again at once, for ever.
            logger.exception("a broadcast failed")
            problem = str(note(Code.ANSWER_NOT_READ))
        else:
            problem = ""
            if found:
                self._outcomes.learned.append((agent_pk, found))
        self._unreached.pop(parcel.delivery_pk, None)
        return problem

    def _is_sent_again(self, agent_pk: int, delivery_pk: int, *, patient: bool) -> bool:
        """Whether a delivery that did not reach its agent is sent again.

        Each is sent again once; after that only to an agent that is expected to open a line soon.

        Args:
            patient: nobody took the message. One that a line took and may have lost, or that a bridge could not pass
                on, is sent once more only.
        """
        now = time.monotonic()
        failed_at = self._unreached.get(delivery_pk)
        if failed_at is None:
            self._unreached[delivery_pk] = now
            return True
        return patient and hub.dials_out(agent_pk) and now - failed_at < self._patience.line_s

    async def _ping(self, ping: Ping) -> None:
        # What answers over an agent's line proves nothing of an address.
        caller, problem = self._client if ping.proves else AgentCaller(self._client, ping.agent_pk), ""
        outcome: Reply | CallFailed
        try:
            with telemetry.sending({"message_type": "ping"}):
                outcome = await caller.post(ping.endpoint, ping.body, limit_s=self._patience.ping_s)
        except CallFailed as error:
            outcome, problem = error, str(error)
            if error.cause in OWN_SIDE:
                await asyncio.sleep(self._patience.retry_s)
        finally:
            self._outcomes.freed.append(ping.agent_pk)
        if isinstance(outcome, CallFailed) and outcome.cause in OWN_SIDE:
            # It says nothing of the agent. The next look pings it again.
            self._waker.wake()
            return
        found_instead = found_by(outcome, rpc=b'"jsonrpc"' in ping.body)
        if ping.proves:
            self._outcomes.moves.append((ping.agent_pk, ping.endpoint, not problem and found_instead == ""))
        else:
            found = None if found_instead is None else str(found_instead)
            self._outcomes.pings.append((ping.agent_pk, problem, found))
        self._waker.wake()


@outside_requests()
def _renew(start: Start) -> tuple[Start, float] | None:
    """Renew the lease of a match, if it is still ASSIGNED in this attempt.

    Returns the start with the new lease, and when that began, in monotonic seconds; None if it was not renewed.
    """
    try:
        given_at = time.monotonic()
        until = play.renew_lease(match_pk=start.match_pk, attempt=start.attempt, lease_s=start.lease_s)
        return None if until is None else (replace(start, lease_until=until), given_at)
    except Error:
        logger.exception("the lease of a match was not renewed; it runs out")
        return None
